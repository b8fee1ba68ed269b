// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers as text: the built-in ones and other files.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use crate::identity::{identity, included};
use crate::{CompileError, Header, embedded};

const ENDING: &str = ".bpf.c";

/// The most bytes of a scheduler; the largest of the project has 60,000.
const LONGEST: u64 = 4 << 20;
/// The most bytes of an included file: some bring a `vmlinux.h`.
const LONGEST_INCLUDED: u64 = 16 << 20;
/// The most bytes of all included files of a scheduler.
const MOST_INCLUDED: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's stem, `vtime`.
    pub name: String,
    /// Its place for messages.
    pub path: String,
    pub text: String,
    /// Names and texts of what it includes with quotation marks, in the order of inclusion. What is
    /// compiled are these texts, whatever happens to the files.
    pub included: Vec<(String, String)>,
    /// The identity of the text and of those that it includes, see [`model::trial::identity`].
    pub sha256: String,
    /// The answers of its top comment.
    pub header: Header,
}

/// The built-in schedulers, sorted by name.
pub fn builtin() -> Vec<Source> {
    embedded::BUILTINS.iter().map(source_of).collect()
}

fn source_of(entry: &embedded::Builtin) -> Source {
    Source {
        name: entry.name.into(),
        path: entry.path.into(),
        text: entry.text.into(),
        included: included(entry.text, &brought),
        sha256: entry.sha256.into(),
        header: Header::parse(entry.name, entry.text),
    }
}

/// Whether a scheduler of this identity is built in.
pub fn is_builtin(sha256: &str) -> bool {
    embedded::BUILTINS.iter().any(|entry| entry.sha256 == sha256)
}

/// Whether [`resolve`] takes it for a file's path.
pub fn is_path(file: &str) -> bool {
    file.contains('/') || file.ends_with(ENDING)
}

/// Finds a scheduler: a name without `/` and `.bpf.c` is a built-in one, everything else is a file,
/// relative to
/// `base`.
///
/// # Errors
/// When there is no such scheduler or file; the message says which names there are.
pub fn resolve(file: &str, base: &Path) -> Result<Source, CompileError> {
    if !is_path(file) {
        let entry = embedded::BUILTINS.iter().find(|entry| entry.name == file);
        return entry.map(source_of).ok_or_else(|| unknown(file));
    }
    let path = if base == Path::new(".") { file.into() } else { base.join(file) };
    let text = read_text(&path, LONGEST).map_err(|why| {
        CompileError::new(path.display(), format!("cannot be read as a scheduler: {why}"))
    })?;
    let stem = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = stem.strip_suffix(ENDING).ok_or_else(|| {
        CompileError::new(path.display(), format!("a scheduler's file name ends in {ENDING}"))
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let size = Cell::new(0);
    let included = included(&text, &|included| {
        let text = read_included(folder, included).filter(|_| size.get() <= MOST_INCLUDED)?;
        size.set(size.get() + text.len());
        Some(text)
    });
    if size.get() > MOST_INCLUDED {
        let message = format!("its headers have more than {} MiB", MOST_INCLUDED >> 20);
        return Err(CompileError::new(path.display(), message));
    }
    Ok(Source {
        name: name.to_owned(),
        path: path.display().to_string(),
        sha256: identity(&stem, &text, &included),
        included,
        header: Header::parse(name, &text),
        text,
    })
}

/// A scheduler's text and those that it includes with quotation marks, in the order of inclusion,
/// with their names. Their identity is the source's.
pub fn files(source: &Source) -> Vec<(String, String)> {
    let own = (file_name(source), source.text.clone());
    std::iter::once(own).chain(source.included.iter().cloned()).collect()
}

/// The name of a scheduler's file without its folder: what compiled objects call it.
pub(crate) fn file_name(source: &Source) -> String {
    format!("{}{ENDING}", source.name)
}

/// A scheduler from its texts, as [`files`] gives them: they are written into an empty folder,
/// where the compiler will find them.
///
/// # Errors
/// When a name leaves the folder, or the folder cannot be written.
pub fn unpack(files: &[(String, String)], folder: &Path) -> Result<Source, CompileError> {
    write_texts(files, folder)?;
    let own = files.first().map_or("", |(name, _)| name);
    resolve(&format!("./{own}"), folder)
}

/// Writes texts below an empty folder.
pub(crate) fn write_texts(files: &[(String, String)], folder: &Path) -> Result<(), CompileError> {
    for (name, text) in files {
        let place = flat(Path::new(name)).filter(|place| !place.as_os_str().is_empty());
        let place = place.ok_or_else(|| CompileError::new(name, "leaves its folder".into()))?;
        let path = folder.join(place);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| CompileError::new(path.display(), format!("not written: {error}")))?;
    }
    Ok(())
}

fn unknown(name: &str) -> CompileError {
    let known: Vec<&str> = embedded::BUILTINS.iter().map(|entry| entry.name).collect();
    let known = known.join(", ");
    let message = format!(
        "no built-in scheduler has this name; there are {known}; a file needs its {ENDING}"
    );
    CompileError::new(name, message)
}

/// Where a scheduler's own files are.
pub(crate) fn folder(source: &Source) -> PathBuf {
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    if folder.as_os_str().is_empty() { ".".into() } else { folder.to_owned() }
}

/// Searches as the compiler does: next to the file, then among the headers and schedulers that we
/// bring. What lies outside the file's folder is not read.
fn read_included(folder: &Path, name: &str) -> Option<String> {
    let own = inside(folder, Path::new(name));
    own.and_then(|path| read_text(&path, LONGEST_INCLUDED).ok()).or_else(|| brought(name))
}

/// The real path of an included file, if it exists and lies in the folder, also after all links.
pub(crate) fn inside(folder: &Path, name: &Path) -> Option<PathBuf> {
    let real = folder.join(flat(name)?).canonicalize().ok()?;
    real.starts_with(folder.canonicalize().ok()?).then_some(real)
}

/// A path that does not leave where it begins, without its detours.
pub(crate) fn flat(path: &Path) -> Option<PathBuf> {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => flat.push(part),
            Component::CurDir => {}
            Component::ParentDir => flat.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(flat)
}

/// Reads a file of text; a pipe or a device would never end.
fn read_text(path: &Path, longest: u64) -> Result<String, String> {
    let wrong = |error: std::io::Error| error.to_string();
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(wrong)?;
    let facts = file.metadata().map_err(wrong)?;
    if !facts.is_file() {
        return Err("it is no regular file; copy the text into one".into());
    }
    let mut text = String::new();
    file.take(longest + 1).read_to_string(&mut text).map_err(wrong)?;
    if text.len() as u64 > longest {
        Err(format!("it has more than {} MiB; a scheduler is shorter", longest >> 20))
    } else {
        Ok(text)
    }
}

/// The headers and schedulers that we bring.
pub(crate) fn brought(name: &str) -> Option<String> {
    let header = || embedded::INCLUDES.iter().find(|(known, _)| *known == name);
    let scheduler = || {
        let name = name.strip_suffix(ENDING)?;
        embedded::BUILTINS.iter().find(|entry| entry.name == name)
    };
    header().map(|(_, text)| *text).or_else(|| Some(scheduler()?.text)).map(str::to_owned)
}
