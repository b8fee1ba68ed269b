// SPDX-License-Identifier: GPL-2.0-only
//! From the same `.bpf.c` file to a native object that the simulator loads.
//!
//! The source is compiled with the ecosystem's own headers, before which a few of ours stand on the
//! include path (`native/shim/`), and linked with one file of trampolines (`fairground/kfuncs.c`).
//! What the object does not say about itself, the types of maps and knobs, is taken from its BPF
//! twin's BTF.
//!
//! What is not here: running it. See the `sim` crate.

mod facts;
mod lines;
mod make;
mod store;

pub use facts::{Facts, Kind, Map, Place, Variable};
pub use lines::{Line, find_line};

use crate::{CompileError, Compiled, Source, clang, toolkit};

/// A scheduler that the simulator can load.
#[derive(Clone, Debug, PartialEq)]
pub struct Native {
    /// The scheduler's name.
    pub name: String,
    /// The identity of its source.
    pub sha256: String,
    /// A shared object without dependencies.
    pub object: Vec<u8>,
    /// What the loader needs to know about it.
    pub facts: Facts,
}

/// Compiles a scheduler for the simulator, or finds it compiled: built in, in
/// `$FAIRGROUND_OBJECTS`, or in the cache.
///
/// # Errors When clang refuses the source; when it uses a kfunc, a helper, a field or a kind of
/// program that the model lacks (the message names it, the file and the line); when there is no
/// clang.
pub fn native(source: &Source) -> Result<Native, CompileError> {
    if let Some((object, facts)) = store::find(&source.sha256) {
        return Ok(named(source, object, facts));
    }
    let twin = crate::compile(source)?;
    let (object, facts) = fresh(source, &twin)?;
    // A cache that cannot be written costs time, nothing else.
    let _ = store::write(&crate::object::cache(), &source.sha256, &object, &facts);
    Ok(named(source, object, facts))
}

/// Puts a native object into a folder of objects (`$FAIRGROUND_OBJECTS`), which is made if needed.
///
/// # Errors
/// When the folder cannot be written.
pub fn write_native(folder: &std::path::Path, native: &Native) -> std::io::Result<()> {
    store::write(folder, &native.sha256, &native.object, &native.facts)
}

fn named(source: &Source, object: Vec<u8>, facts: Facts) -> Native {
    Native { name: source.name.clone(), sha256: source.sha256.clone(), object, facts }
}

fn fresh(source: &Source, twin: &Compiled) -> Result<(Vec<u8>, Facts), CompileError> {
    let compiler = clang::find().map_err(|message| CompileError::new(&source.path, message))?;
    let headers = toolkit::headers().map_err(|error| toolkit_error(&source.path, &error))?;
    let folder = std::path::Path::new(&source.path).parent().unwrap_or(std::path::Path::new("."));
    let text = clang::Text { label: &source.path, folder, text: &source.text };
    let complain = |complaint: clang::Complaint| CompileError {
        file: if complaint.file.is_empty() { source.path.clone() } else { complaint.file },
        line: complaint.line,
        message: format!("not for the simulator: {}", complaint.message),
    };
    let object = make::object(&compiler, &headers, &text).map_err(complain)?;
    let facts = facts::facts(&twin.object, &object)
        .map_err(|message| complain(clang::Complaint { message, ..Default::default() }))?;
    Ok((object, facts))
}

fn toolkit_error(path: &str, error: &std::io::Error) -> CompileError {
    let folder = toolkit::folder();
    let message = format!(
        "the scheduler headers cannot be unpacked to {}: {error}; set FAIRGROUND_HOME to a \
         folder that can be written",
        folder.display()
    );
    CompileError::new(path, message)
}

#[cfg(test)]
mod tests;
