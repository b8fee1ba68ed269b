// SPDX-License-Identifier: GPL-2.0-only
//! Running clang: the same way for the build script and at run time.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libbpf_rs::Linker;

use crate::{guarded, listing, scan};

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
    /// The text asks for a file that it may not have, whichever machine it is compiled for.
    pub refused: bool,
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
    /// What objects call it: the file's name without a folder, so that they are the same wherever
    /// it lies.
    pub label: &'a str,
    /// What messages call it.
    pub path: &'a Path,
    /// Where `#include "…"` looks first.
    pub folder: &'a Path,
    pub text: &'a str,
    /// Whether it may hold assembler, which is looked through then.
    pub may_assemble: bool,
}

/// The compiler: `BPF_CLANG`, else the newest of the versioned names, else `clang` if it is new
/// enough.
pub fn find() -> Result<PathBuf, String> {
    if let Some(chosen) = std::env::var_os("BPF_CLANG") {
        let path = PathBuf::from(chosen);
        // A name is searched in `PATH`; a relative path starts at the current directory.
        return Ok(if path.components().count() > 1 { absolute(&path) } else { path });
    }
    names().find(|name| version(name).is_some_and(|major| major >= OLDEST)).map(Into::into).ok_or(
        "no clang of version 16 or newer: install the package clang-19, or name one in BPF_CLANG"
            .into(),
    )
}

fn names() -> impl Iterator<Item = String> {
    let versioned = (OLDEST..=22).rev().map(|version| format!("clang-{version}"));
    versioned.chain(["clang".to_owned()])
}

/// Tells the compilers of this machine from those of others, and from those that were here before:
/// the SHA-256 of the paths, lengths and dates of all that [`find`] may choose; `None`: there is
/// none. None of them runs, because each look into the cache asks for it.
pub fn stamp() -> Option<String> {
    let chosen = std::env::var_os("BPF_CLANG").map(|chosen| chosen.to_string_lossy().into_owned());
    stamp_of(chosen.map_or_else(|| names().collect(), |chosen| vec![chosen]))
}

fn stamp_of(candidates: Vec<String>) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let described = candidates.iter().filter_map(|name| {
        let path = process::installed::find(name)?;
        let file = path.metadata().ok()?;
        let (length, date) = (file.len(), (file.mtime(), file.mtime_nsec()));
        Some(format!("{} {length} {date:?}\n", path.display()))
    });
    let described: String = described.collect();
    let hash = || model::trial::sha256_hex(described.as_bytes())[..16].to_owned();
    (!described.is_empty()).then(hash)
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
    let scratch = scratch()?;
    let raw = scratch.path().join("raw.o");
    let call = Call { clang, headers, source, flags: FLAGS, folders: &[".", "bpf-compat"] };
    let read = call.object(&raw)?;
    let object = strip(&raw, &scratch.path().join("linked.o")).map_err(|error| {
        Complaint::about_nothing(format!("libbpf cannot link the object: {error}"))
    })?;
    Ok((object, read))
}

pub fn scratch() -> Result<tempfile::TempDir, Complaint> {
    tempfile::tempdir()
        .map_err(|error| Complaint::about_nothing(format!("no temporary folder: {error}")))
}

/// The files in a rule for `make`: `object: file file \`, spaces in names with a backslash.
fn read_files(rule: &str) -> Vec<PathBuf> {
    let (_, files) = rule.split_once(": ").unwrap_or_default();
    let files = files.replace("\\\n", " ").replace("\\ ", "\0").replace("$$", "$");
    files.split_whitespace().map(|file| file.replace('\0', " ").into()).collect()
}

/// One text to be compiled.
pub struct Call<'a> {
    pub clang: &'a Path,
    /// Below it are all headers that there are, besides the text's own folder.
    pub headers: &'a Path,
    pub source: &'a Text<'a>,
    pub flags: &'a [&'a str],
    /// Folders of headers, from the first that is looked into.
    pub folders: &'a [&'a str],
}

/// The folder of the headers in debugging information.
const HEADERS_NAME: &str = "headers";

/// The header of ours whose macros make assembler of their arguments.
const ASSEMBLING: &str = "bpf_experimental.h";

impl Call<'_> {
    /// Compiles to an object in a folder for this call. Says which files were read.
    pub fn object(&self, object: &Path) -> Result<Vec<PathBuf>, Complaint> {
        if self.source.may_assemble {
            self.check_listing(object)?;
        }
        let rules = object.with_extension("d");
        let mut command = self.command();
        command.args(["-c", "-fintegrated-as", "-MD", "-MT", "object", "-MF"]).arg(&rules);
        self.run(command, object)?;
        let read = read_files(&std::fs::read_to_string(rules).unwrap_or_default());
        if !self.source.may_assemble && read.iter().any(|file| file.ends_with(ASSEMBLING)) {
            self.check_listing(object)?;
        }
        Ok(read)
    }

    /// Looks through what an assembler would get. Only one that is a program of its own gets the
    /// text as it is; clang's own would read files meanwhile.
    fn check_listing(&self, object: &Path) -> Result<(), Complaint> {
        let listing = object.with_extension("s");
        let mut command = self.command();
        command.args(["-S", "-fno-integrated-as"]);
        self.run(command, &listing)?;
        let text = std::fs::read(&listing).unwrap_or_default();
        listing::check(&String::from_utf8_lossy(&text))
            .map_err(|message| Complaint { refused: true, ..Complaint::about_nothing(message) })
    }

    /// A clang that reads its text from a pipe, so that the compiled text is the hashed one, and no
    /// headers of this host.
    fn command(&self) -> Command {
        let (folder, headers) = (absolute(self.source.folder), absolute(self.headers));
        let mut command = Command::new(self.clang);
        command.args(["--no-default-config", "-nostdinc"]);
        command.arg("-fno-crash-diagnostics").args(self.flags);
        command.arg(format!("-D__TARGET_ARCH_{}", arch()));
        command.arg("-iquote").arg(&folder);
        for part in self.folders.iter().chain(&["libc"]) {
            command.arg("-I").arg(if *part == "." { headers.clone() } else { headers.join(part) });
        }
        // Debugging information and the verifier's log name the same paths on every host.
        // Compilers disagree which of two maps counts where both match, so they never do.
        command.arg(format!("-ffile-prefix-map={}={HEADERS_NAME}", headers.display()));
        if !folder.starts_with(&headers) {
            command.arg(format!("-ffile-prefix-map={}/=", folder.display()));
        }
        // That header declares the kernel's functions itself, also where vmlinux.h comes before it.
        let includes = scan::includes(self.source.text);
        if includes.iter().any(|include| include.name == "scx/common.bpf.h") {
            command.arg("-DBPF_NO_KFUNC_PROTOTYPES=");
        }
        command.args(["-x", "c", "-"]);
        command
    }

    /// Runs a clang of [`Call::command`] that writes this file.
    fn run(&self, mut command: Command, to: &Path) -> Result<(), Complaint> {
        let Call { clang, headers, source, .. } = *self;
        let folder = absolute(source.folder);
        let scratch = to.parent().unwrap_or(Path::new("."));
        let reach = guarded::reach(clang, &[&absolute(headers), &folder], scratch);
        let not_run = |error| Complaint::not_run(clang, &error);
        // A text from a pipe finds `#include "…"` first in the folder where clang runs.
        let nowhere = tempfile::tempdir_in(scratch).map_err(not_run)?;
        command.current_dir(nowhere.path()).arg("-o").arg(to);
        // Whether a file exists is in no identity. `#line` gives the text its name.
        let named = format!(
            "#pragma GCC poison __has_include __has_include_next __has_embed\n\
             #line 1 \"{}\"\n{}",
            source.label.escape_default(),
            source.text
        );
        let mut output = guarded::run(command, &named, &reach).map_err(not_run)?;
        if output.status.success() {
            return Ok(());
        }
        let shown = source.path.parent().unwrap_or(Path::new("")).join("").display().to_string();
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.replace(&folder.join("").display().to_string(), &shown);
        output.stderr = said.lines().flat_map(|line| source.with_path(line)).collect();
        Err(Complaint::failed(clang, &output))
    }
}

impl Text<'_> {
    /// A line of the compiler's or the linker's, with the text's path in place of its label.
    fn with_path(&self, line: &str) -> Vec<u8> {
        let rest = line.strip_prefix(self.label).filter(|rest| rest.starts_with(':'));
        match rest {
            Some(rest) => format!("{}{rest}\n", self.path.display()).into_bytes(),
            None => format!("{line}\n").into_bytes(),
        }
    }
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
        refused: message.contains("' file not found"),
        message,
        interrupted: false,
    }
}

/// Says what to write instead where the compiler was kept from a file, which a macro has named.
fn about_files(mut complaint: Complaint) -> Complaint {
    if complaint.message.contains("Permission denied") {
        complaint.refused = true;
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
    fn another_compiler_has_another_stamp() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let stamp = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("it can be written");
            let runs = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, runs).expect("its owner may");
            stamp_of(vec![path.display().to_string()])
        };
        let first = stamp("one", "1");
        assert_eq!(stamp_of(vec![folder.path().join("one").display().to_string()]), first);
        assert_ne!(stamp("two", "1"), first);
        assert_ne!(stamp("one", "newer"), first);
        assert_eq!(stamp_of(Vec::new()), None);
    }

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
