// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's text must not ask the compiler for: files that are not its own. They would
//! become part of an object, and of what `share` publishes.

use std::path::{Component, Path, PathBuf};

use object::{Object, ObjectSection};

use crate::scan::{self, Include};
use crate::{CompileError, Source, own_files, source};

/// Words that read a file, or look whether there is one, without an include.
const READING: &[(&str, &str)] = &[
    (".incbin", "write the bytes into an array"),
    ("#embed", "write the bytes into an array"),
    ("__has_include", "include the file, or leave it out"),
    ("__has_embed", "write the bytes into an array"),
];

/// Refuses a scheduler that includes files outside its folder and our headers, or reads files in
/// other ways, with file and line.
///
/// # Errors
/// It does; the message says what to write instead.
pub fn check(source: &Source) -> Result<(), CompileError> {
    let folder = source::folder(source);
    check_text(source, &folder, "", &source.text)?;
    for (name, text) in &source.included {
        check_text(source, &folder, name, text)?;
    }
    Ok(())
}

/// Compares what a compilation has read with the texts that it was given, in the folder `texts`:
/// the identity of a scheduler, and what is published of it, are these.
///
/// # Errors
/// A file was read that is neither one of them nor a header that Fairground brings.
pub fn check_read(
    source: &Source,
    headers: &Path,
    texts: &Path,
    read: &[PathBuf],
) -> Result<(), CompileError> {
    let ours = [real(headers), real(texts)];
    let is_foreign = |path: &&PathBuf| !ours.iter().any(|folder| real(path).starts_with(folder));
    match read.iter().find(is_foreign) {
        Some(path) => Err(CompileError::new(&source.path, outside(&path.display().to_string()))),
        None => Ok(()),
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What to write instead of an include that the compiler has not found.
pub fn not_found(source: &Source, message: &str) -> Option<String> {
    let (before, rest) = message.split_once('\'')?;
    let name = rest.split_once("' file not found")?.0;
    if own_files::may_be_included(&source::folder(source).join(name)) {
        return Some(format!(
            "{before}{name} is included in a roundabout way: write #include \"…\" with its name"
        ));
    }
    if name.starts_with("linux/") || name.starts_with("asm/") {
        return Some(format!(
            "{before}'{name}' file not found: leave it out; vmlinux.h has the kernel's types"
        ));
    }
    Some(format!(
        "{before}'{name}' file not found: Fairground brings vmlinux.h, the headers of scx and \
         libbpf, and of C {}, and looks beside the scheduler and in the folders `include` there \
         and above; copy others beside the scheduler and write #include \"…\"",
        OF_C.join(", ")
    ))
}

/// The headers of C that schedulers find; see `native/libc`.
pub const OF_C: &[&str] =
    &["errno.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"];

/// `name` is an included file's, as seen from the scheduler's folder; empty for the scheduler.
fn check_text(source: &Source, folder: &Path, name: &str, text: &str) -> Result<(), CompileError> {
    let file = match name {
        "" => source.path.clone(),
        name => folder.join(name).display().to_string(),
    };
    let refused =
        |line, message| CompileError { line: Some(line), ..CompileError::new(&file, message) };
    let words: Vec<&str> = READING.iter().map(|(word, _)| *word).collect();
    if let Some((line, word)) = scan::first_of(text, &words) {
        let instead = READING.iter().find(|(known, _)| *known == word).map_or("", |(_, text)| text);
        return Err(refused(line, format!("a scheduler reads no files with {word}: {instead}")));
    }
    let beside = Path::new(name).parent().unwrap_or(Path::new(""));
    for include in scan::includes(text) {
        if let Some(why) = why_not(folder, beside, &include) {
            return Err(refused(include.line, why));
        }
    }
    Ok(())
}

/// Why a file must not be included; `None`: it may, or it is not there.
fn why_not(folder: &Path, beside: &Path, include: &Include) -> Option<String> {
    let name = Path::new(&include.name);
    let is_there = |place: &PathBuf| folder.join(place).symlink_metadata().is_ok();
    let places = [beside.join(name), name.to_owned()];
    if name.is_absolute() || !include.quoted {
        let climbs = name.components().any(|c| c == Component::ParentDir);
        let is_header = own_files::may_be_included(name) || !is_there(&places[1]);
        return (name.is_absolute() || climbs && !is_header).then(|| outside(&include.name));
    }
    let path = folder.join(places.iter().find(|place| is_there(place))?);
    if own_files::may_be_included(&path) {
        return None;
    }
    let is_inside = path.canonicalize().is_ok_and(|real| {
        real.starts_with(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()))
    });
    Some(if is_inside {
        format!("{:?} is no file with text that ends in .h or .c: include a header", include.name)
    } else {
        outside(&include.name)
    })
}

fn outside(name: &str) -> String {
    let last = Path::new(name).file_name().map(PathBuf::from).unwrap_or_default();
    let last = last.display().to_string();
    match source::brought(&last) {
        Some(_) => format!(
            "{name:?} lies outside the scheduler's folder: write {last:?}, which Fairground brings"
        ),
        None => format!(
            "{name:?} lies outside the scheduler's folder: copy it there and write \
             #include {last:?}"
        ),
    }
}

/// The kernel loads struct_ops programs only under these licences (`license_is_gpl_compatible`).
const COMPATIBLE: &[&str] =
    &["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// Refuses a scheduler that no kernel loads because of its licence.
///
/// # Errors
/// It has none, or another one; the message says what to write instead.
pub fn check_licence(source: &Source, object: &[u8]) -> Result<(), CompileError> {
    let found = licence(object);
    if COMPATIBLE.contains(&found.as_str()) {
        return Ok(());
    }
    let is_meant = |line: &str| line.contains("SEC(\"license\")");
    let line = source.text.lines().position(is_meant).map(|at| at as u32 + 1);
    let what = if found.is_empty() {
        "has no licence".into()
    } else {
        format!("has the licence {found:?}")
    };
    let message = format!(
        "{} {what}, and a kernel loads only schedulers whose licence is compatible with the GPL: \
         write char _license[] SEC(\"license\") = \"GPL\";",
        source.name
    );
    Err(CompileError { line, ..CompileError::new(&source.path, message) })
}

fn licence(object: &[u8]) -> String {
    let file = object::File::parse(object).ok();
    let section = file.as_ref().and_then(|file| file.section_by_name("license"));
    let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
