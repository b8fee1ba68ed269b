// SPDX-License-Identifier: GPL-2.0-only
//! From a `.bpf.c` file to a BPF object, at build time and at run time.
//!
//! The build script compiles every `schedulers/*.bpf.c` and embeds source and object; a file from
//! anywhere else is compiled when it is named, by the same clang call with the same headers, which
//! travel inside the binary.
//!
//! What is not here: loading. See the `live` crate.

use std::path::Path;

mod clang;
mod header;
mod identity;
pub mod native;
mod object;
mod source;
mod toolkit;

/// What the build script made.
mod embedded {
    /// A scheduler of the project.
    pub struct Builtin {
        pub name: &'static str,
        pub path: &'static str,
        pub text: &'static str,
        pub sha256: &'static str,
        pub object: &'static [u8],
    }

    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

pub use header::{Header, Lineage};
pub use object::{Compiled, OBJECTS_VARIABLE, find_object, write_object};
pub use source::{Source, builtin, files, resolve};

/// Why a scheduler could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct CompileError {
    /// The file that is to blame, or the name that was asked for.
    pub file: String,
    /// The line in it, where one is to blame.
    pub line: Option<u32>,
    /// What clang said, or what is missing and how to get it.
    pub message: String,
}

impl CompileError {
    fn new(file: impl std::fmt::Display, message: String) -> CompileError {
        CompileError { file: file.to_string(), line: None, message }
    }
}

/// Compiles a scheduler, or finds it compiled.
///
/// # Errors
/// When clang refuses the source (with file and line), or when there is no clang.
pub fn compile(source: &Source) -> Result<Compiled, CompileError> {
    let compiled =
        |object| Compiled { name: source.name.clone(), sha256: source.sha256.clone(), object };
    if let Some(line) = header::line_of_flags(&source.text) {
        let message = "flags in a comment are not read any more: put `.flags = SCX_OPS_…,` into \
                       SCX_OPS_DEFINE";
        return Err(CompileError {
            line: Some(line),
            ..CompileError::new(&source.path, message.into())
        });
    }
    if let Some(found) = find_object(&source.sha256) {
        return Ok(compiled(found.object));
    }
    let fresh = compiled(run_clang(source)?);
    // A cache that cannot be written costs time, nothing else.
    let _ = write_object(&object::cache(), &fresh);
    Ok(fresh)
}

fn run_clang(source: &Source) -> Result<Vec<u8>, CompileError> {
    let clang = clang::find().map_err(|message| CompileError::new(&source.path, message))?;
    let headers = toolkit::headers().map_err(|error| {
        let folder = toolkit::folder();
        let message = format!(
            "the scheduler headers cannot be unpacked to {}: {error}; set FAIRGROUND_HOME to a \
             folder that can be written",
            folder.display()
        );
        CompileError::new(&source.path, message)
    })?;
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new("."));
    let text = clang::Text { label: &source.path, folder, text: &source.text };
    clang::compile(&clang, &headers, &text).map_err(|complaint| CompileError {
        file: if complaint.file.is_empty() { source.path.clone() } else { complaint.file },
        line: complaint.line,
        message: complaint.message,
    })
}

/// The object of the probes that the `live` crate loads.
pub fn probes_object() -> &'static [u8] {
    embedded::PROBES
}
