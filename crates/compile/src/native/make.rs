// SPDX-License-Identifier: GPL-2.0-only
//! Running clang and the linker for a native object: the same way for the build script and at run
//! time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clang::{Call, Done, Text, absolute, scratch};
use crate::complaint::Complaint;
use crate::guarded;

/// How schedulers and trampolines are compiled. Line tables are kept for naming the place of a
/// crash; aliasing rules are off as in the kernel; warnings are the BPF compilation's business.
pub const NATIVE_FLAGS: &[&str] = &[
    "-O2",
    "-fPIC",
    "-ffunction-sections",
    "-gline-tables-only",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    // What uses a null pointer crashes there, instead of running into what comes next.
    "-fno-delete-null-pointer-checks",
    "-fno-stack-protector",
    "-DBPF_NO_PRESERVE_ACCESS_INDEX",
    // An attribute of BPF's alone. Places are those of the model, see `flavors`.
    "-Dpreserve_access_index=annotate(\"core\")",
    "-Dfairground_type_size=sizeof",
    "-D__bpf__",
    "-D__BPF__",
    // An arena's address is one of this process, so that casts are none.
    "-D__BPF_FEATURE_ADDR_SPACE_CAST",
    "-Wno-everything",
    "-Werror=implicit-function-declaration",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-fdebug-compilation-dir=.",
];

/// Additional flags for schedulers: a kfunc's error names the calling line, so tail calls must keep
/// their frame. Trampolines have no frame of their own, by the same optimisation.
pub const SCHEDULER_FLAGS: &[&str] = &["-fno-optimize-sibling-calls"];

/// Additional flags where callbacks interleave: see `interleaved.inc.c`. A read is reported
/// although a write of the same place follows.
pub const INTERLEAVED_FLAGS: &[&str] = &[
    "-DFAIRGROUND_RACES",
    "-fsanitize=thread",
    "-mllvm",
    "-tsan-instrument-func-entry-exit=0",
    "-mllvm",
    "-tsan-instrument-memintrinsics=0",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
];

/// How a scheduler is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Each callback runs from its beginning to its end.
    Usual,
    /// Callbacks of several CPUs interleave.
    Interleaved,
}

/// `-z defs` turns functions that the model lacks into errors, after `--gc-sections` has removed
/// unused code: headers define functions that a scheduler does not call. `-Bsymbolic` makes calls
/// inside the object direct.
pub const LINK_FLAGS: &[&str] = &[
    "-shared",
    "-nostdlib",
    "-Wl,--gc-sections",
    "-Wl,-z,defs",
    "-Wl,-z,separate-code",
    "-Wl,-Bsymbolic",
    "-Wl,--build-id=none",
    "-o",
];

/// Headers of the ecosystem that limit loops by an instruction of BPF, each after the others. Here
/// `fairground/loops.h` follows each, ours or a scheduler's own.
pub const LOOPING: &[&str] =
    &["bpf_arena_common.bpf.h", "bpf_arena_spin_lock.h", "bpf_atomic.h", "bpf_experimental.h"];

/// Compiles and links one scheduler. The trampolines' object lies among the headers. Also says
/// what was done for that.
pub fn object(
    clang: &Path,
    headers: &Path,
    units: &[Text],
    form: Form,
) -> Result<(Vec<u8>, Done), Complaint> {
    let scratch = scratch()?;
    let (mut parts, mut all) = (Vec::new(), Done::default());
    let more = if form == Form::Interleaved { INTERLEAVED_FLAGS } else { &[] };
    let flags = [SCHEDULER_FLAGS, more].concat();
    for (number, source) in units.iter().enumerate() {
        let part = scratch.path().join(format!("scheduler{number}.o"));
        all.extend(compile(clang, headers, source, &flags, &part)?);
        prepare(&part, true)?;
        parts.push(part);
    }
    let linked = link(clang, headers, units, form, &parts, scratch.path());
    // What only an optional program needs, and the model lacks, is no reason to refuse the others.
    let object = linked.or_else(|_| {
        parts.iter().try_for_each(|part| prepare(part, false))?;
        link(clang, headers, units, form, &parts, scratch.path())
    })?;
    Ok((object, all))
}

fn link(
    clang: &Path,
    headers: &Path,
    units: &[Text],
    form: Form,
    parts: &[PathBuf],
    scratch: &Path,
) -> Result<Vec<u8>, Complaint> {
    let whole = scratch.join("scheduler.so");
    let mut link = Command::new(clang);
    let trampolines = absolute(&trampolines(headers, form));
    link.arg("--no-default-config").args(LINK_FLAGS).arg(&whole).args(parts).arg(&trampolines);
    link.args(absent_options(parts, &trampolines)?).args(kept_options(parts)?);
    let reach = guarded::reach(clang, &[&absolute(headers)], scratch);
    let output =
        guarded::run(link, "", &reach).map_err(|error| Complaint::not_run(clang, &error))?;
    if let Some(why) = guarded::stopped_by(&output) {
        return Err(said(format!("the linker {why}")));
    }
    if !output.status.success() {
        return Err(link_complaint(&String::from_utf8_lossy(&output.stderr), units));
    }
    std::fs::read(&whole).map_err(|error| said(format!("the linked object is gone: {error}")))
}

/// Tells the linker what it keeps although nothing refers to it.
fn kept_options(parts: &[PathBuf]) -> Result<Vec<String>, Complaint> {
    let gone = |error| said(format!("a compiled object is gone: {error}"));
    let mut options = Vec::new();
    for part in parts {
        let kept = super::part::kept(&std::fs::read(part).map_err(gone)?);
        options.extend(kept.iter().map(|name| format!("-Wl,-u,{name}")));
    }
    Ok(options)
}

/// Gives the kernel's options that the model's kernel lacks to the linker, as zeros.
fn absent_options(parts: &[PathBuf], trampolines: &Path) -> Result<Vec<String>, Complaint> {
    let gone = |error| said(format!("a compiled object is gone: {error}"));
    let known = super::part::options(&std::fs::read(trampolines).map_err(gone)?, |_| true);
    let mut absent = BTreeSet::new();
    for part in parts {
        let asked = super::part::options(&std::fs::read(part).map_err(gone)?, |is_weak| is_weak);
        absent.extend(asked.into_iter().filter(|name| !known.contains(name)));
    }
    Ok(absent.iter().map(|name| format!("-Wl,--defsym={name}={ABSENT}")).collect())
}

/// What an absent option reads as; see `kernel_variables.inc.c`.
const ABSENT: &str = "fairground_absent_option";

/// See [`super::part`].
fn prepare(part: &Path, with_optional: bool) -> Result<(), Complaint> {
    let gone = |error| said(format!("the compiled object is gone: {error}"));
    let mut bytes = std::fs::read(part).map_err(gone)?;
    super::part::prepare(&mut bytes, with_optional);
    std::fs::write(part, bytes).map_err(gone)
}

/// The path of the trampolines' object below the headers.
pub fn trampolines(headers: &Path, form: Form) -> PathBuf {
    let name = if form == Form::Interleaved { "interleaved.o" } else { "kfuncs.o" };
    headers.join("native/fairground").join(name)
}

/// Folders of our headers for the simulator's objects.
pub const FOLDERS: &[&str] = &["native", ".", "bpf-compat"];

/// Compiles one text to a relocatable object. Says which files were read.
pub fn compile(
    clang: &Path,
    headers: &Path,
    source: &Text,
    flags: &[&str],
    to: &Path,
) -> Result<Done, Complaint> {
    let flags = [NATIVE_FLAGS, flags].concat();
    Call { clang, headers, source, flags: &flags, folders: FOLDERS }.object(to)
}

fn said(message: String) -> Complaint {
    Complaint { message, ..Complaint::default() }
}

/// Names the undefined symbols. Both GNU ld and lld say `undefined … name` and, from the line
/// tables, `file:line`; where they do not say the line, the first mention in the texts is taken.
fn link_complaint(stderr: &str, units: &[Text]) -> Complaint {
    let mut missing = Vec::new();
    for line in stderr.lines().filter(|line| line.contains("undefined ")) {
        let Some(symbol) = undefined_symbol(line) else { continue };
        let mentioned = |unit: &Text| Some((unit.label.clone(), mention(&unit.text, symbol)?));
        let place = place_of(stderr, line).or_else(|| units.iter().find_map(mentioned));
        let entry = (place, kernel_name(symbol).to_owned());
        if !missing.contains(&entry) {
            missing.push(entry);
        }
    }
    if missing.is_empty() {
        return said(format!("the linker: {}", stderr.trim()));
    }
    missing.sort();
    let lines = missing.iter().map(|(place, symbol)| {
        let place = place.as_ref().map(|(_, line)| format!(" (line {line})")).unwrap_or_default();
        if symbol.contains("bpf_") {
            return format!("the model has no {symbol}(){place}");
        }
        format!(
            "neither its sources nor the model have {symbol}(){place}; several sources are linked \
             as FILE+FILE, or by the name of their folder"
        )
    });
    let first = missing.iter().find_map(|(place, _)| place.clone());
    let (file, line) = first.unzip();
    let unit = units.iter().find(|unit| Some(&unit.label) == file.as_ref());
    let path = unit.unwrap_or(&units[0]).path.display().to_string();
    // An included file lies where its name says, as seen from the scheduler's folder.
    let folder = path.strip_suffix(&units[0].label).filter(|_| unit.is_none());
    Complaint {
        file: match (folder, file) {
            (Some(folder), Some(file)) => format!("{folder}{file}"),
            _ => path,
        },
        line,
        message: lines.collect::<Vec<_>>().join("\n"),
        ..Complaint::default()
    }
}

/// The name in ``undefined reference to `name'`` or `undefined symbol: name`.
fn undefined_symbol(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("undefined ")?;
    let rest = rest.trim_start_matches("hidden ");
    let rest = rest.strip_prefix("reference to ").or_else(|| rest.strip_prefix("symbol: "))?;
    Some(rest.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
}

/// The file and its line, in this line (ld) or the next one (lld).
fn place_of(stderr: &str, line: &str) -> Option<(String, u32)> {
    let following = stderr.lines().skip_while(|other| *other != line).take(2);
    let mut words = following.flat_map(|line| line.split([' ', '(', ')']));
    words.find_map(|word| {
        let mut parts = word.trim_start_matches("./").split(':');
        let file = parts.next().filter(|file| file.ends_with(".c") || file.ends_with(".h"))?;
        Some((file.to_owned(), parts.next()?.parse().ok()?))
    })
}

fn mention(text: &str, symbol: &str) -> Option<u32> {
    let name = kernel_name(symbol);
    let index = text.lines().position(|line| line.contains(name))?;
    u32::try_from(index + 1).ok()
}

/// The kernel's name of a kfunc; a suffix after `___` distinguishes its signatures.
pub(crate) fn kernel_name(symbol: &str) -> &str {
    symbol.split_once("___").map_or(symbol, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linker_that_knows_no_mark_keeps_what_is_marked() {
        const RETAIN: u8 = 1 << 5;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = "#define MARKED __attribute__((used, retain))\n\
            __attribute__((section(\".struct_ops.link\"))) MARKED long table = 1;\n\
            __attribute__((section(\"syscall\"))) MARKED int called(void) { return 0; }\n";
        let source = Text::alone("a.c", Path::new("a.c"), folder.path(), text);
        let part = folder.path().join("a.o");
        let clang = crate::clang::find().expect("there is a compiler");
        compile(&clang, folder.path(), &source, &[], &part).expect("it is right");
        let options = kept_options(std::slice::from_ref(&part)).expect("it is there");
        assert_eq!(options, ["-Wl,-u,called", "-Wl,-u,table"]);
        let mut bytes = std::fs::read(&part).expect("it is there");
        let (at, size) = (bytes[0x28] as usize | (bytes[0x29] as usize) << 8, 64);
        bytes[at..].chunks_exact_mut(size).for_each(|header| header[10] &= !RETAIN);
        std::fs::write(&part, bytes).expect("the folder can be written");
        let symbols = |options: &[String]| {
            let whole = folder.path().join("a.so");
            let mut link = Command::new(&clang);
            link.args(LINK_FLAGS).arg(&whole).arg(&part).args(options);
            assert!(link.status().expect("it runs").success());
            let whole = std::fs::read(whole).expect("it is linked");
            let file = object::File::parse(&whole[..]).expect("an ELF object");
            use object::{Object, ObjectSymbol};
            file.symbols()
                .filter(|one| one.name() == Ok("table") || one.name() == Ok("called"))
                .count()
        };
        assert_eq!((symbols(&[]), symbols(&options)), (0, 2));
    }
}
