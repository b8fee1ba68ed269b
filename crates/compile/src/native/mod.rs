// SPDX-License-Identifier: GPL-2.0-only
//! Compiles a `.bpf.c` file to a native object that the simulator loads.
//!
//! The source is compiled with the scx headers, in front of which the include path has a few of
//! ours (`native/shim/`), and linked with one file of trampolines (`fairground/kfuncs.c`). The
//! types of maps and knobs, which the native object does not contain, come from the BTF of the BPF
//! object.
//!
//! What is not here: running the object. See the `sim` crate.

mod facts;
pub mod interface;
mod lines;
pub(crate) mod make;
mod store;

pub use facts::{Facts, Map, SymbolRange, Variable, VariableKind};
pub use lines::{SourceLine, find_line};

use crate::{CompileError, Compiled, Source, clang};

/// A scheduler that the simulator can load.
#[derive(Clone, Debug, PartialEq)]
pub struct Native {
    pub name: String,
    /// The identity of its source.
    pub sha256: String,
    /// The shared object; it has no dependencies.
    pub object: Vec<u8>,
    /// Addresses and types of its ops table, maps and knobs.
    pub facts: Facts,
}

/// Compiles a scheduler for the simulator, unless there is a compiled one: built in, in
/// `$FAIRGROUND_OBJECTS`, or in the cache.
///
/// # Errors
/// There is no clang, clang refuses the source, or the source uses a kfunc, a helper, a field or a
/// kind of program that the model lacks (the message names it, with file and line).
pub fn native(source: &Source) -> Result<Native, CompileError> {
    if let Some((object, facts)) = store::find(&source.sha256) {
        return Ok(named(source, object, facts));
    }
    let twin = crate::compile(source)?;
    let (object, facts) = fresh(source, &twin)?;
    // Without a writable cache, compiling is only repeated.
    let _ = store::write(&crate::object::cache(), &source.sha256, &object, &facts);
    Ok(named(source, object, facts))
}

fn named(source: &Source, object: Vec<u8>, facts: Facts) -> Native {
    Native { name: source.name.clone(), sha256: source.sha256.clone(), object, facts }
}

fn fresh(source: &Source, twin: &Compiled) -> Result<(Vec<u8>, Facts), CompileError> {
    let compiler = clang::find().map_err(|message| CompileError::new(&source.path, message))?;
    let headers = crate::headers_for(&source.path)?;
    let folder = std::path::Path::new(&source.path).parent().unwrap_or(std::path::Path::new("."));
    let text = clang::Text { label: &source.path, folder, text: &source.text };
    let complain = |complaint: clang::Complaint| {
        if complaint.interrupted {
            return CompileError::of(source, complaint);
        }
        let message = format!("not for the simulator: {}", complaint.message);
        CompileError::of(source, clang::Complaint { message, ..complaint })
    };
    let object = make::object(&compiler, &headers, &text).map_err(complain)?;
    let facts = facts::facts(&twin.object, &object)
        .map_err(|message| complain(clang::Complaint { message, ..Default::default() }))?;
    Ok((object, facts))
}

#[cfg(test)]
mod tests;
