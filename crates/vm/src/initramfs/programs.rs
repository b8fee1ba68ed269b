// SPDX-License-Identifier: GPL-2.0-only
//! Programs with the shared libraries that they need.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use object::Endianness;
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use spec::files;

use crate::installed;

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

    use super::*;

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
