// SPDX-License-Identifier: GPL-2.0-only
//! Running clang: the same way for the build script and at run time.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libbpf_rs::Linker;

use crate::{guarded, scan};

/// The oldest clang that is accepted: older ones lose the upper half of 64-bit enumerators.
pub const OLDEST: u32 = 16;

/// The flags of every BPF object. Kernels from 6.1 on understand `v3`; kernels below 6.6 refuse the
/// newer `v4`. The flags are part of the toolchain's identity.
pub const FLAGS: &[&str] = &[
    "-g",
    "-O2",
    "-target",
    "bpf",
    "-mcpu=v3",
    "-fno-stack-protector",
    "-Wall",
    "-Wno-compare-distinct-pointer-types",
    "-Wno-missing-declarations",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-fdebug-compilation-dir=.",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The file that it is about, as the compiler names it; empty when it is about none.
    pub file: String,
    pub line: Option<u32>,
    /// The message, and the compiler's notes on the lines below.
    pub message: String,
    /// Nothing is wrong: somebody asked for the end.
    pub interrupted: bool,
}

impl Complaint {
    pub fn about_nothing(message: String) -> Complaint {
        Complaint { message, ..Complaint::default() }
    }

    /// A compiler that was not run to its end.
    pub fn not_run(clang: &Path, error: &io::Error) -> Complaint {
        let name = clang.display();
        match error.kind() {
            io::ErrorKind::Interrupted => {
                Complaint { interrupted: true, ..Complaint::about_nothing("interrupted".into()) }
            }
            io::ErrorKind::TimedOut => {
                Complaint::about_nothing(format!("{name} {}", guarded::too_long()))
            }
            _ => Complaint::about_nothing(format!("{name} does not run: {error}")),
        }
    }

    /// A compiler that ended with an error, or was ended.
    pub fn failed(clang: &Path, output: &Output) -> Complaint {
        match guarded::stopped_by(output) {
            Some(why) => Complaint::about_nothing(format!("{} {why}", clang.display())),
            None => about_files(complaint(&String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// A source text and its place.
pub struct Text<'a> {
    /// The path that diagnostics and the verifier's log name.
    pub label: &'a str,
    /// Where `#include "…"` looks first.
    pub folder: &'a Path,
    pub text: &'a str,
}

/// The compiler: `BPF_CLANG`, else the newest of the versioned names, else `clang` if it is new
/// enough.
pub fn find() -> Result<PathBuf, String> {
    if let Some(chosen) = std::env::var_os("BPF_CLANG") {
        let path = PathBuf::from(chosen);
        // A name is searched in `PATH`; a relative path starts at the current directory.
        return Ok(if path.components().count() > 1 { absolute(&path) } else { path });
    }
    let versioned = (OLDEST..=22).rev().map(|version| format!("clang-{version}"));
    let mut names = versioned.chain(["clang".to_owned()]);
    names.find(|name| version(name).is_some_and(|major| major >= OLDEST)).map(Into::into).ok_or(
        "no clang of version 16 or newer: install the package clang-19, or name one in BPF_CLANG"
            .into(),
    )
}

/// The major version of a clang; `None` when it does not run.
pub fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("clang version ")?;
    rest.split('.').next()?.parse().ok()
}

/// Compiles one text to a BPF object without DWARF but with BTF. Also says which files were read.
pub fn compile(
    clang: &Path,
    headers: &Path,
    source: &Text,
) -> Result<(Vec<u8>, Vec<PathBuf>), Complaint> {
    let scratch = tempfile::tempdir()
        .map_err(|error| Complaint::about_nothing(format!("no temporary folder: {error}")))?;
    let raw = scratch.path().join("raw.o");
    let output =
        run(clang, headers, source, &raw).map_err(|error| Complaint::not_run(clang, &error))?;
    if !output.status.success() {
        return Err(Complaint::failed(clang, &output));
    }
    let object = strip(&raw, &scratch.path().join("linked.o")).map_err(|error| {
        Complaint::about_nothing(format!("libbpf cannot link the object: {error}"))
    })?;
    let rules = std::fs::read_to_string(raw.with_extension("d")).unwrap_or_default();
    Ok((object, read_files(&rules)))
}

/// The files in a rule for `make`: `object: file file \`, spaces in names with a backslash.
fn read_files(rule: &str) -> Vec<PathBuf> {
    let (_, files) = rule.split_once(": ").unwrap_or_default();
    let files = files.replace("\\\n", " ").replace("\\ ", "\0").replace("$$", "$");
    files.split_whitespace().map(|file| file.replace('\0', " ").into()).collect()
}

fn run(clang: &Path, headers: &Path, source: &Text, object: &Path) -> std::io::Result<Output> {
    let mut command = reading_a_pipe(clang, headers, source);
    command
        .args(FLAGS)
        .arg(format!("-D__TARGET_ARCH_{}", arch()))
        .arg("-I")
        .arg(absolute(headers))
        .arg("-I")
        .arg(absolute(headers).join("bpf-compat"))
        .args(["-MD", "-MT", "object", "-MF"])
        .arg(object.with_extension("d"))
        .arg("-o")
        .arg(object);
    fed(command, clang, headers, source, object)
}

/// A clang that reads its text from a pipe, so that the compiled text is the hashed one.
pub fn reading_a_pipe(clang: &Path, headers: &Path, source: &Text) -> Command {
    let (folder, headers) = (absolute(source.folder), absolute(headers));
    let mut command = Command::new(clang);
    command.arg("-iquote").arg(&folder);
    // Debugging information and the verifier's log name the same paths on every host. Compilers
    // disagree which of two maps counts where both match, so they never do.
    command.arg(prefix_map(&headers, Path::new(HEADERS_NAME)));
    if !folder.starts_with(&headers) {
        command.arg(prefix_map(&folder, source.folder));
    }
    // Where the C library's headers have their parts; with `-target bpf` clang does not know it.
    let parts = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    command.arg("-idirafter").arg(parts);
    // That header declares the kernel's functions itself, also where vmlinux.h comes before it.
    if scan::includes(source.text).iter().any(|include| include.name == "scx/common.bpf.h") {
        command.arg("-DBPF_NO_KFUNC_PROTOTYPES=");
    }
    command.args(["-x", "c", "-c", "-"]);
    command
}

/// The folder of the headers in debugging information.
const HEADERS_NAME: &str = "headers";

fn prefix_map(from: &Path, to: &Path) -> String {
    format!("-ffile-prefix-map={}={}", from.display(), to.display())
}

/// Runs a clang of [`reading_a_pipe`] that writes this object.
pub fn fed(
    mut command: Command,
    clang: &Path,
    headers: &Path,
    source: &Text,
    object: &Path,
) -> io::Result<Output> {
    let folder = absolute(source.folder);
    let scratch = object.parent().unwrap_or(Path::new("."));
    let reach = guarded::reach(clang, &[&absolute(headers), &folder], scratch);
    // A text from a pipe finds `#include "…"` first in the folder where clang runs.
    let nowhere = tempfile::tempdir_in(scratch)?;
    command.current_dir(nowhere.path());
    command.arg("-fno-crash-diagnostics");
    // `#line` gives the text its name.
    let named = format!("#line 1 \"{}\"\n{}", source.label.escape_default(), source.text);
    let mut output = guarded::run(command, &named, &reach)?;
    let [long, short] = [folder.as_path(), source.folder].map(|f| f.join("").display().to_string());
    output.stderr = String::from_utf8_lossy(&output.stderr).replace(&long, &short).into_bytes();
    Ok(output)
}

pub fn absolute(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// libbpf's linker leaves the DWARF out, which libbpf does not need and which names local paths.
fn strip(raw: &Path, linked: &Path) -> Result<Vec<u8>, String> {
    let mut linker = Linker::new(linked).map_err(|error| error.to_string())?;
    linker.add_file(raw).map_err(|error| error.to_string())?;
    linker.link().map_err(|error| error.to_string())?;
    std::fs::read(linked).map_err(|error| error.to_string())
}

/// The kernel's name of this program's architecture.
pub fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "riscv64" => "riscv",
        "powerpc64" => "powerpc",
        "s390x" => "s390",
        other => other,
    }
}

/// The number of lines of clang's messages that are kept.
const KEPT_LINES: usize = 12;

/// Reads clang's diagnostics: the first error gives file and line; the other lines follow it.
pub fn complaint(stderr: &str) -> Complaint {
    let errors: Vec<&str> = stderr.lines().filter(|line| is_diagnostic(line)).collect();
    let Some(first) = errors.first() else {
        return Complaint::about_nothing(format!("clang: {}", stderr.trim()));
    };
    let (place, message) = first.split_once("error: ").unwrap_or(("", first));
    let mut parts = place.trim_end_matches(['f', 'a', 't', 'l', ' ', ':']).rsplitn(3, ':');
    let (_column, line, file) = (parts.next(), parts.next(), parts.next());
    let mut message = message.to_owned();
    for further in errors.iter().skip(1).take(KEPT_LINES) {
        message.push_str(&format!("\n{further}"));
    }
    Complaint {
        file: file.unwrap_or_default().into(),
        line: line.and_then(|line| line.parse().ok()),
        message,
        interrupted: false,
    }
}

/// Says what to write instead where the compiler was kept from a file, which a macro has named.
fn about_files(mut complaint: Complaint) -> Complaint {
    if complaint.message.contains("incbin file") {
        // Assembler has lines of its own.
        (complaint.file, complaint.line) = (String::new(), None);
        complaint.message +=
            ": a scheduler reads no files with .incbin; write the bytes into an array";
    } else if complaint.message.contains("Permission denied") {
        complaint.message += ": it lies outside the scheduler's folder; copy it there";
    }
    complaint
}

/// A line with an error of its own; notes, warnings and the count at the end are not.
fn is_diagnostic(line: &str) -> bool {
    line.contains("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_decides_the_place() {
        let said = "In file included from ./a.bpf.c:3:\n\
                    ./a.bpf.c:17:2: warning: unused variable 'x' [-Wunused-variable]\n\
                    ./a.bpf.c:21:9: error: use of undeclared identifier 'wieght'\n\
                    ./a.bpf.c:30:1: error: expected '}'\n\
                    1 warning and 2 errors generated.\n";
        let found = complaint(said);
        assert_eq!((found.file.as_str(), found.line), ("./a.bpf.c", Some(21)));
        assert!(found.message.starts_with("use of undeclared identifier 'wieght'\n"));
        assert!(found.message.contains("a.bpf.c:30:1"), "{}", found.message);
    }

    #[test]
    fn a_missing_header_is_a_fatal_error_with_a_line() {
        let found = complaint("x/alt.bpf.c:4:10: fatal error: 'nothing.h' file not found\n");
        assert_eq!((found.file.as_str(), found.line), ("x/alt.bpf.c", Some(4)));
        assert_eq!(found.message, "'nothing.h' file not found");
    }

    #[test]
    fn words_without_a_place_are_kept() {
        let found = complaint("error: unable to create target: 'bpf'\n");
        assert_eq!((found.file.as_str(), found.line), ("", None));
        assert!(found.message.contains("unable to create target"));
    }
}
