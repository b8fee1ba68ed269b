// SPDX-License-Identifier: GPL-2.0-only
//! The archive that a kernel unpacks into its first file system: cpio's "newc" form
//! (Documentation/driver-api/early-userspace/buffer-format.rst), and the shared libraries that the
//! programs in it need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;
use object::Endianness;
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use spec::files;

use crate::installed;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER: u32 = 0o020_000;
const LINK: u32 = 0o120_000;

/// An archive under construction. Equal calls give equal bytes: no times, no owners, numbers in
/// order.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    paths: BTreeSet<String>,
}

impl Archive {
    /// A folder, and those above it. An existing one is unchanged.
    pub fn folder(&mut self, path: &str) {
        let path = path.trim_matches('/');
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            if !self.has(&path[..end]) {
                self.entry(&path[..end], DIRECTORY | 0o755, (0, 0), b"");
            }
        }
    }

    /// A file. The first of two with the same path wins; `false` says that there was one.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> bool {
        if self.has(path) {
            return false;
        }
        self.folder(parent(path));
        self.entry(path, REGULAR | permissions, (0, 0), content);
        true
    }

    /// A symbolic link, unless something has its path.
    pub fn link(&mut self, path: &str, target: &str) {
        if !self.has(path) {
            self.folder(parent(path));
            self.entry(path, LINK | 0o777, (0, 0), target.as_bytes());
        }
    }

    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.folder(parent(path));
        self.entry(path, CHARACTER | 0o600, (major, minor), b"");
    }

    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_matches('/'))
    }

    /// SHA-256 of all entries so far.
    pub fn sha256(&self) -> String {
        sha256_hex(&self.bytes)
    }

    /// The archive with its end mark.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), b"");
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        let path = path.trim_matches('/');
        self.paths.insert(path.to_owned());
        self.entries += 1;
        let links = if mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let fields = [
            self.entries,
            mode,
            0, // owner
            0, // group
            links,
            0, // time
            content.len() as u32,
            0, // device that holds the file
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0, // no checksum in this form
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Reads an archive back: path, mode and content of every entry.
#[cfg(test)]
pub fn read(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut at = 0;
    loop {
        assert_eq!(&bytes[at..at + 6], b"070701", "at byte {at}");
        let field = |number: usize| {
            let start = at + 6 + 8 * number;
            let digits = std::str::from_utf8(&bytes[start..start + 8]).unwrap();
            usize::from_str_radix(digits, 16).unwrap()
        };
        let (mode, size, name_size) = (field(1), field(6), field(11));
        let name = at + 110;
        let content = (name + name_size).next_multiple_of(4);
        let path = String::from_utf8(bytes[name..name + name_size - 1].to_vec()).unwrap();
        assert_eq!(bytes[name + name_size - 1], 0);
        if path == "TRAILER!!!" {
            return entries;
        }
        entries.push((path, mode as u32, bytes[content..content + size].to_vec()));
        at = (content + size).next_multiple_of(4);
    }
}

/// The absolute path of a program that a trial needs.
pub fn find(name: &str) -> Result<PathBuf> {
    let found = installed::find(name).with_context(|| {
        format!("the program `{name}`, which a trial in the VM needs, is not installed here")
    })?;
    std::path::absolute(&found).with_context(|| format!("resolving {}", found.display()))
}

/// The paths of the loader and of every library that it loads for a program; empty for a static
/// one.
///
/// It runs the loader itself (`LD_TRACE_LOADED_OBJECTS`), because only it knows the order in which
/// run paths, configuration, cache and hardware variants are searched.
///
/// # Errors
/// The program is a script or of another machine, or a library is missing.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let bytes = files::read(program, files::PACKED)
        .with_context(|| format!("reading {}", program.display()))?;
    let Some(loader) = interpreter(&bytes).with_context(|| refusal(program, &bytes))? else {
        return Ok(Vec::new());
    };
    let mut asking = Command::new(&loader);
    asking.arg(program).env("LD_TRACE_LOADED_OBJECTS", "1");
    // In the guest neither variable is set.
    asking.env_remove("LD_PRELOAD").env_remove("LD_LIBRARY_PATH");
    let output = process::stop::output(&mut asking)
        .with_context(|| format!("asking {loader} for the libraries of {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found =
        parse_trace(&text).with_context(|| format!("packing {} for the VM", program.display()))?;
    found.push(PathBuf::from(loader));
    found.sort();
    found.dedup();
    Ok(found)
}

fn refusal(program: &Path, bytes: &[u8]) -> String {
    let what = if bytes.starts_with(b"#!") { "a script" } else { "no x86-64 program" };
    format!("{} is {what}: the VM can only take compiled programs", program.display())
}

/// Lines are `name => path (address)`, `path (address)`, or `name => not found`.
fn parse_trace(text: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim) {
        let (name, target) = line.split_once(" => ").unwrap_or((line, line));
        if target.starts_with("not found") {
            bail!("its library {name} is not installed here");
        }
        let path = target.rsplit_once(" (").map_or(target, |(path, _)| path);
        // The vDSO has an address but no path.
        if path.starts_with('/') {
            paths.push(PathBuf::from(path));
        }
    }
    Ok(paths)
}

/// The loader that an x86-64 program names (`PT_INTERP`); `Some(None)` for a static one, `None` if
/// it is no such file.
fn interpreter(bytes: &[u8]) -> Option<Option<String>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != EM_X86_64 {
        return None;
    }
    for segment in header.program_headers(endian, bytes).ok()? {
        if let Some(path) = segment.interpreter(endian, bytes).ok()? {
            return Some(Some(String::from_utf8_lossy(path).into_owned()));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    fn example() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.device("/dev/null", 1, 3);
        assert!(archive.file("/usr/bin/true", 0o755, b"abcde"));
        assert!(!archive.file("/usr/bin/true", 0o755, b"other"));
        archive.folder("/usr/lib/");
        archive.finish()
    }

    #[test]
    fn an_archive_can_be_read_back() {
        let entries = read(&example());
        let modes: Vec<(&str, u32)> = entries.iter().map(|e| (e.0.as_str(), e.1)).collect();
        let folder = DIRECTORY | 0o755;
        let expected = [
            ("dev", folder),
            ("dev/null", CHARACTER | 0o600),
            ("usr", folder),
            ("usr/bin", folder),
            ("usr/bin/true", REGULAR | 0o755),
            ("usr/lib", folder),
        ];
        assert_eq!(modes, expected);
        assert_eq!(entries[4].2, b"abcde");
    }

    #[test]
    fn cpio_agrees() {
        testing::beyond_cargo_test!("needs cpio");
        let spawned = Command::new("cpio")
            .args(["--list", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = testing::need!(spawned.map_err(|why| format!("cpio: {why}")));
        child.stdin.take().unwrap().write_all(&example()).unwrap();
        let output = child.wait_with_output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let paths: Vec<String> = read(&example()).into_iter().map(|entry| entry.0).collect();
        assert_eq!(listed.lines().collect::<Vec<_>>(), paths);
    }

    #[test]
    fn the_loaders_answer_is_understood() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc1c9f2000)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0000000000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f1111111111)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(parse_trace(text).unwrap(), expected.map(PathBuf::from));
        let error = parse_trace("\tlibnuma.so.1 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libnuma.so.1"), "{error}");
    }

    #[test]
    fn this_test_has_libraries_and_they_exist() {
        let libraries = libraries(&std::env::current_exe().unwrap()).unwrap();
        assert!(libraries.iter().any(|path| path.to_string_lossy().contains("libc.so")));
        assert!(libraries.iter().all(|path| path.is_file()), "{libraries:?}");
    }

    #[test]
    fn scripts_and_missing_programs_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("greet");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let error = format!("{:#}", libraries(&script).unwrap_err());
        assert!(error.contains("greet is a script"), "{error}");
        let error = find("no-such-program-here").unwrap_err().to_string();
        assert!(error.contains("no-such-program-here"), "{error}");
    }

    #[test]
    fn damaged_elf_files_are_refused() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(interpreter(&own).unwrap().unwrap().starts_with('/'));
        assert_eq!(interpreter(&own[..0x30]), None);
        assert_eq!(interpreter(b"MZ"), None);
    }
}
