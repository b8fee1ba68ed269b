// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers as text: the built-in ones and other files.

use std::path::Path;

use crate::identity::{identity, included};
use crate::{CompileError, Header, embedded};

/// The ending of a scheduler's file name.
const ENDING: &str = ".bpf.c";

/// A scheduler's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's stem, `vtime`.
    pub name: String,
    /// Its place for messages.
    pub path: String,
    /// The text.
    pub text: String,
    /// The SHA-256 of the text and of the files that it includes with quotation marks, hexadecimal.
    pub sha256: String,
    /// The answers of its top comment.
    pub header: Header,
}

/// The built-in schedulers, sorted by name.
pub fn builtin() -> Vec<Source> {
    let source = |entry: &embedded::Builtin| Source {
        name: entry.name.into(),
        path: entry.path.into(),
        text: entry.text.into(),
        sha256: entry.sha256.into(),
        header: Header::parse(entry.name, entry.text),
    };
    embedded::BUILTINS.iter().map(source).collect()
}

/// Finds a scheduler: a name without `/` and `.bpf.c` is a built-in one, everything else is a file,
/// relative to
/// `base`.
///
/// # Errors
/// When there is no such scheduler or file; the message says which names there are.
pub fn resolve(file: &str, base: &Path) -> Result<Source, CompileError> {
    if !file.contains('/') && !file.ends_with(ENDING) {
        return builtin().into_iter().find(|s| s.name == file).ok_or_else(|| unknown(file));
    }
    let path = if base == Path::new(".") { file.into() } else { base.join(file) };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        CompileError::new(path.display(), format!("cannot be read as a scheduler: {error}"))
    })?;
    let stem = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = stem.strip_suffix(ENDING).ok_or_else(|| {
        CompileError::new(path.display(), format!("a scheduler's file name ends in {ENDING}"))
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Ok(Source {
        name: name.to_owned(),
        path: path.display().to_string(),
        sha256: identity(&text, &|included| read_included(folder, included)),
        header: Header::parse(name, &text),
        text,
    })
}

/// A scheduler's text and those that it includes with quotation marks, in the order of inclusion,
/// with their names. The SHA-256 of all texts one after the other is the source's, unless an
/// included file has changed since.
pub fn files(source: &Source) -> Vec<(String, String)> {
    let own = (format!("{}{ENDING}", source.name), source.text.clone());
    let is_builtin = embedded::BUILTINS.iter().any(|entry| entry.sha256 == source.sha256);
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new("."));
    let read = |name: &str| match is_builtin {
        true => brought(name),
        false => read_included(folder, name),
    };
    std::iter::once(own).chain(included(&source.text, &read)).collect()
}

fn unknown(name: &str) -> CompileError {
    let known: Vec<&str> = embedded::BUILTINS.iter().map(|entry| entry.name).collect();
    let known = known.join(", ");
    let message = format!(
        "no built-in scheduler has this name; there are {known}; a file needs its {ENDING}"
    );
    CompileError::new(name, message)
}

/// Searches as the compiler does: next to the file, then among the headers and schedulers that we
/// bring.
fn read_included(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok().or_else(|| brought(name))
}

/// The headers and schedulers that we bring.
fn brought(name: &str) -> Option<String> {
    let header = || embedded::INCLUDES.iter().find(|(known, _)| *known == name);
    let scheduler = || {
        let name = name.strip_suffix(ENDING)?;
        embedded::BUILTINS.iter().find(|entry| entry.name == name)
    };
    header().map(|(_, text)| *text).or_else(|| Some(scheduler()?.text)).map(str::to_owned)
}
