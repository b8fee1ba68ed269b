// SPDX-License-Identifier: GPL-2.0-only
//! Running clang: the same way for the build script and at run time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use libbpf_rs::{Linker, PrintLevel, set_print};

use crate::complaint::{self, Complaint, OURS};
use crate::{guarded, listing};

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

/// A source text and its place.
pub struct Text<'a> {
    /// What objects call it: the file's name as seen from the scheduler's folder, so that they are
    /// the same wherever it lies.
    pub label: String,
    /// What messages call it.
    pub path: PathBuf,
    pub text: String,
    /// Where `#include "…"` looks first.
    pub beside: PathBuf,
    /// The scheduler's folder, where it looks next.
    pub folder: &'a Path,
    /// Folders of headers that are the scheduler's own.
    pub folders: &'a [PathBuf],
    /// What the compiler may read of the scheduler's.
    pub root: &'a Path,
    /// Macros, as `NAME=VALUE`.
    pub definitions: &'a [String],
    /// Whether it may hold assembler, which is looked through then.
    pub may_assemble: bool,
}

impl<'a> Text<'a> {
    /// A text that includes what lies in this folder: for the build script and tests.
    #[allow(dead_code)]
    pub fn alone(label: &str, path: &Path, folder: &'a Path, text: &str) -> Text<'a> {
        Text {
            label: label.into(),
            path: path.into(),
            text: text.into(),
            beside: folder.into(),
            folder,
            folders: &[],
            root: folder,
            definitions: &[],
            may_assemble: false,
        }
    }
}

/// The compiler: `BPF_CLANG`, else the newest of the versioned names, else `clang` if it is new
/// enough.
pub fn find() -> Result<PathBuf, String> {
    if let Some(chosen) = std::env::var_os("BPF_CLANG") {
        let path = PathBuf::from(chosen);
        // A name is searched in `PATH`; a relative path starts at the current directory.
        return Ok(if path.components().count() > 1 { absolute(&path) } else { path });
    }
    names()
        .find(|name| version(name).is_some_and(|major| major >= OLDEST))
        .map(Into::into)
        .ok_or_else(|| {
            let remedy = process::packages::install("clang-19");
            format!(
                "no clang of version 16 or newer, and BPF_CLANG names none; to get one: {remedy}"
            )
        })
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
    let output = process::stop::output(Command::new(clang).arg("--version")).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("clang version ")?;
    rest.split('.').next()?.parse().ok()
}

/// What a compiler did besides its output.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The files that were read.
    pub read: Vec<PathBuf>,
    /// Its warnings about the scheduler's own lines, as it writes them.
    pub warnings: Vec<String>,
    /// Whether it may hold instructions whose result depends on the host.
    pub may_ask_host: bool,
}

impl Done {
    /// Adds what was done for another part of the same scheduler.
    pub fn extend(&mut self, other: Done) {
        self.read.extend(other.read);
        self.warnings.extend(other.warnings);
        self.may_ask_host |= other.may_ask_host;
    }
}

/// Compiles texts to one BPF object without DWARF but with BTF.
pub fn compile(clang: &Path, headers: &Path, units: &[Text]) -> Result<(Vec<u8>, Done), Complaint> {
    let scratch = scratch()?;
    let (mut raw, mut all) = (Vec::new(), Done::default());
    for (number, source) in units.iter().enumerate() {
        let object = scratch.path().join(format!("raw{number}.o"));
        let call = Call { clang, headers, source, flags: FLAGS, folders: FOLDERS };
        all.extend(call.object(&object)?);
        raw.push(object);
    }
    let object = link(&raw, &scratch.path().join("linked.o"))?;
    Ok((object, all))
}

/// Which files the preprocessor reads for a kernel's objects of these texts.
pub fn read(clang: &Path, headers: &Path, units: &[Text]) -> Result<Vec<PathBuf>, Complaint> {
    let scratch = scratch()?;
    let to = scratch.path().join("text");
    let mut read = Vec::new();
    for source in units {
        let call = Call { clang, headers, source, flags: FLAGS, folders: FOLDERS };
        read.extend(call.output(&["-E"], &to)?.read);
    }
    Ok(read)
}

/// Folders of our headers for kernels' objects.
const FOLDERS: &[&str] = &[".", "bpf-compat"];

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
    /// Compiles to an object in a folder for this call.
    pub fn object(&self, object: &Path) -> Result<Done, Complaint> {
        let suspected = self.source.may_assemble;
        let before = suspected.then(|| self.check_listing(object)).transpose()?;
        let mut done = self.output(&["-c", "-fintegrated-as"], object)?;
        done.may_ask_host = before.unwrap_or_default();
        if !suspected && done.read.iter().any(|file| file.ends_with(ASSEMBLING)) {
            done.may_ask_host = self.check_listing(object)?;
        }
        Ok(done)
    }

    /// Writes a file in a folder for this call.
    pub fn output(&self, arguments: &[&str], to: &Path) -> Result<Done, Complaint> {
        let rules = to.with_extension("d");
        let mut command = self.command();
        command.args(arguments).args(["-MD", "-MT", "object", "-MF"]).arg(&rules);
        let said = self.run(command, to)?;
        let read = read_files(&std::fs::read_to_string(rules).unwrap_or_default());
        Ok(Done { read, warnings: complaint::warnings(&said), may_ask_host: false })
    }

    /// Looks through what an assembler would get. Only one that is a program of its own gets the
    /// text as it is; clang's own would read files meanwhile. Returns whether the text may hold
    /// instructions whose result depends on the host.
    fn check_listing(&self, object: &Path) -> Result<bool, Complaint> {
        let listing = object.with_extension("s");
        let mut command = self.command();
        command.args(["-S", "-fno-integrated-as"]);
        self.run(command, &listing)?;
        let text = std::fs::read(&listing).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        listing::check(&text)
            .map_err(|message| Complaint { refused: true, ..Complaint::about_nothing(message) })?;
        Ok(listing::may_ask_host(&text))
    }

    /// A clang that reads its text from a pipe, so that the compiled text is the hashed one, and no
    /// headers of this host.
    fn command(&self) -> Command {
        let (folder, headers) = (absolute(self.source.folder), absolute(self.headers));
        let mut command = Command::new(self.clang);
        command.args(["--no-default-config", "-nostdinc"]);
        command.arg("-fno-crash-diagnostics").args(self.flags);
        command.arg(format!("-D__TARGET_ARCH_{}", arch()));
        command.arg("-iquote").arg(absolute(&self.source.beside));
        command.arg("-iquote").arg(&folder);
        let ours = |part: &str| match part {
            "." => headers.clone(),
            part => headers.join(part),
        };
        // A scheduler's own headers stand before ours, and those of C behind all.
        let own = self.source.folders.iter().map(|own| absolute(own));
        for place in own.chain(self.folders.iter().chain(&["libc"]).map(|part| ours(part))) {
            command.arg("-I").arg(place);
        }
        command.args(self.source.definitions.iter().map(|definition| format!("-D{definition}")));
        // Debugging information and the verifier's log name the same paths on every host.
        // Compilers disagree which of two maps counts where both match, so they never do.
        command.arg(format!("-ffile-prefix-map={}={HEADERS_NAME}", headers.display()));
        if !folder.starts_with(&headers) {
            command.arg(format!("-ffile-prefix-map={}/=", folder.display()));
        }
        command.args(["-x", "c", "-"]);
        command
    }

    /// Runs a clang of [`Call::command`] that writes this file. Returns what it says.
    fn run(&self, mut command: Command, to: &Path) -> Result<String, Complaint> {
        let Call { clang, headers, source, .. } = *self;
        let folder = absolute(source.folder);
        let root = absolute(source.root);
        let scratch = to.parent().unwrap_or(Path::new("."));
        let reach = guarded::reach(clang, &[&absolute(headers), &root], scratch);
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
        let name = |path: &Path| path.join("").display().to_string();
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.replace(&name(&folder), &name(&source.shown_folder()));
        let said = said.replace(&name(&absolute(headers)), OURS);
        let said: String = said.lines().map(|line| source.with_path(line)).collect();
        if output.status.success() {
            return Ok(said);
        }
        output.stderr = said.into_bytes();
        Err(Complaint::failed(clang, &output))
    }
}

impl Text<'_> {
    /// The scheduler's folder as messages name it.
    fn shown_folder(&self) -> PathBuf {
        let inner = Path::new(&self.label).components().count();
        self.path.ancestors().nth(inner).unwrap_or(Path::new("")).to_owned()
    }

    /// A line of the compiler's or the linker's, with the text's path in place of its label.
    fn with_path(&self, line: &str) -> String {
        let from = "In file included from ";
        let (before, line) = line.strip_prefix(from).map_or(("", line), |rest| (from, rest));
        let rest = line.strip_prefix(self.label.as_str()).filter(|rest| rest.starts_with(':'));
        match rest {
            Some(rest) => format!("{before}{}{rest}\n", self.path.display()),
            None => format!("{before}{line}\n"),
        }
    }
}

pub fn absolute(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    // A `/` at the end would be part of what the compiler replaces in its output.
    whole.components().collect()
}

/// Links objects as `bpftool gen object` does. libbpf's linker leaves the DWARF out, which libbpf
/// does not need and which names local paths.
fn link(raw: &[PathBuf], linked: &Path) -> Result<Vec<u8>, Complaint> {
    let (made, heard) = listening(|| -> Result<Vec<u8>, String> {
        let mut linker = Linker::new(linked).map_err(|error| error.to_string())?;
        for object in raw {
            linker.add_file(object).map_err(|error| error.to_string())?;
        }
        linker.link().map_err(|error| error.to_string())?;
        std::fs::read(linked).map_err(|error| error.to_string())
    });
    made.map_err(|error| {
        let words = if heard.is_empty() { error } else { heard.trim().replace("libbpf: ", "") };
        Complaint::about_nothing(format!("libbpf cannot link its sources: {words}"))
    })
}

/// What libbpf says meanwhile is not printed.
pub fn listening<T>(work: impl FnOnce() -> T) -> (T, String) {
    let _alone = LINKING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = set_print(Some((PrintLevel::Warn, hear)));
    let made = work();
    set_print(before);
    (made, HEARD.lock().map(|mut heard| std::mem::take(&mut *heard)).unwrap_or_default())
}

static LINKING: Mutex<()> = Mutex::new(());
static HEARD: Mutex<String> = Mutex::new(String::new());

fn hear(_: PrintLevel, words: String) {
    let _ = HEARD.lock().map(|mut heard| heard.push_str(&words));
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
}
