// SPDX-License-Identifier: GPL-2.0-only
//! Compiles a `.bpf.c` file to a native object that the simulator loads.
//!
//! The source is compiled with the scx headers, in front of which the include path has a few of
//! ours (`native/shim/`), and linked with one file of trampolines (`fairground/kfuncs.c`). The
//! types of maps and knobs, which the native object does not contain, come from the BTF of the BPF
//! object.
//!
//! What is not here: running the object. See the `sim` crate.

mod facts;
mod flavors;
pub mod interface;
pub(crate) mod make;
mod null_reads;
mod part;
mod programs;
mod special;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSymbol};

use crate::object::OBJECTS_VARIABLE;
use crate::{CompileError, Compiled, For, Job, Source, complaint, scan};

pub use facts::{Callable, Facts, HostInstruction, Map, SymbolRange, Variable};
pub use make::Form;
pub use programs::{EVENTS, Tracer};

/// A scheduler that the simulator can load.
#[derive(Clone, Debug, PartialEq)]
pub struct Native {
    pub name: String,
    /// The identity of its source.
    pub sha256: String,
    /// The shared object; it has no dependencies.
    pub object: Vec<u8>,
    /// Addresses and types of its ops table, maps and knobs.
    pub facts: Facts,
}

/// Compiles a scheduler for the simulator, unless there is a compiled one: built in, in
/// `$FAIRGROUND_OBJECTS`, or in the cache.
///
/// # Errors
/// There is no clang, clang refuses the source, or the source uses a kfunc, a helper, a field or a
/// kind of program that the model lacks (the message names it, with file and line).
pub fn native(source: &Source) -> Result<Native, CompileError> {
    native_as(source, Form::Usual)
}

/// The same in one of its forms.
///
/// # Errors
/// As [`native`].
pub fn native_as(source: &Source, form: Form) -> Result<Native, CompileError> {
    let key = key(&source.sha256, form);
    if let Some((object, facts)) = find_stored(&key) {
        return Ok(named(source, object, facts));
    }
    let twin = crate::compile(source)?;
    let (object, facts) = fresh(source, &twin, form)?;
    // Without a writable cache, compiling is only repeated.
    let _ = keep(&crate::object::cache(), &key, &object, &facts);
    Ok(named(source, object, facts))
}

/// What an object is kept under.
pub fn key(sha256: &str, form: Form) -> String {
    let ending = if form == Form::Interleaved { "-interleaved" } else { "" };
    format!("{sha256}{ending}")
}

fn named(source: &Source, object: Vec<u8>, facts: Facts) -> Native {
    Native { name: source.name.clone(), sha256: source.sha256.clone(), object, facts }
}

fn fresh(source: &Source, twin: &Compiled, form: Form) -> Result<(Vec<u8>, Facts), CompileError> {
    let job = Job::new(source, For::Simulator)?;
    let mut units = job.units();
    let complain = |complaint: complaint::Complaint| {
        let is_not_modelled = !complaint.interrupted && !complaint.refused;
        let error = job.error(complaint);
        if !is_not_modelled {
            return error;
        }
        let message = format!("not for the simulator: {}", error.message);
        CompileError { message, unsupported: true, ..error }
    };
    let (clang, headers) = (&job.clang, &job.headers);
    let mut read = flavors::place(clang, headers, &mut units, &twin.object).map_err(complain)?;
    let (object, of_object) = make::object(clang, headers, &units, form).map_err(complain)?;
    read.extend(of_object.read);
    job.check_read(&read)?;
    let said = |message| complain(complaint::Complaint { message, ..Default::default() });
    if let Some(name) = facts::data_in_code(&object) {
        return Err(said(format!("{name} is data in a section of code; leave its section out")));
    }
    let mut facts = facts::facts(&twin.object, &object).map_err(|message| {
        let line = scan::first_of(&source.text, &["struct sched_ext_ops"]).map(|found| found.0);
        job.error(complaint::Complaint { message, line, ..Default::default() })
    })?;
    facts.calls = noted_calls(&object);
    if of_object.may_ask_host && cfg!(target_arch = "x86_64") {
        facts.host_instruction = facts::host_instruction(&object);
    }
    Ok((object, facts))
}

/// The kfuncs that there is something to say of; the linker leaves out what nobody calls.
fn noted_calls(object: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(object) else { return Vec::new() };
    let code = file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
    let names = code.filter_map(|symbol| symbol.name().ok()).map(make::kernel_name);
    let is_noted = |name: &&str| {
        use interface::Support::{Gone, Harmless};
        let known = interface::KFUNCS.iter().find(|kfunc| kfunc.0 == *name);
        known.is_some_and(|kfunc| matches!(kfunc.1, Harmless(_) | Gone(_)))
    };
    names.filter(is_noted).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    pub file: String,
    pub line: u32,
}

/// The suffix of a scheduler's own source, in contrast to headers.
const OWN: &str = ".bpf.c";

/// The source line of an address in a native object: where functions of headers are inlined, the
/// scheduler's line that calls them. `None` for what is not the scheduler's.
pub fn find_line(native: &[u8], address: u64) -> Option<SourceLine> {
    let lines = find_lines(native, address)?;
    lines.iter().find(|line| line.file.ends_with(OWN)).or(lines.first()).cloned()
}

/// The source line of an address, then that of each call into which it is inlined.
pub fn find_lines(native: &[u8], address: u64) -> Option<Vec<SourceLine>> {
    let file = object::File::parse(native).ok()?;
    let load = |id: gimli::SectionId| -> Result<Cow<[u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, RunTimeEndian::default()));
    let context = addr2line::Context::from_dwarf(dwarf).ok()?;
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let mut lines = Vec::new();
    while let Some(frame) = frames.next().ok()? {
        if let Some((Some(file), Some(line))) = frame.location.map(|at| (at.file, at.line)) {
            lines.push(SourceLine { file: file.trim_start_matches("./").to_owned(), line });
        }
    }
    Some(lines)
}

/// Generated by the build script.
mod embedded {
    /// A scheduler of the project.
    pub struct BuiltinNative {
        pub sha256: &'static str,
        pub object: &'static [u8],
        pub facts: &'static str,
    }

    include!(concat!(env!("OUT_DIR"), "/embedded_native.rs"));
}

/// Finds an object by its source's identity.
pub fn find_stored(sha256: &str) -> Option<(Vec<u8>, Facts)> {
    built_in(sha256)
        .or_else(|| read(Path::new(&std::env::var_os(OBJECTS_VARIABLE)?), sha256))
        .or_else(|| read(&crate::object::cache(), sha256))
}

fn built_in(sha256: &str) -> Option<(Vec<u8>, Facts)> {
    let entry = embedded::NATIVES.iter().find(|entry| entry.sha256 == sha256)?;
    Some((entry.object.into(), serde_json::from_str(entry.facts).ok()?))
}

/// The object `<sha256>.so` and its facts, `<sha256>.native.json`.
fn read(folder: &Path, sha256: &str) -> Option<(Vec<u8>, Facts)> {
    let facts = std::fs::read(folder.join(format!("{sha256}.native.json"))).ok()?;
    let facts = serde_json::from_slice(&facts).ok()?;
    Some((std::fs::read(folder.join(format!("{sha256}.so"))).ok()?, facts))
}

/// Puts an object into a folder, which is made if needed. The facts come last, so that a reader
/// that finds them finds a complete object.
///
/// # Errors
/// When the folder cannot be written.
pub fn keep(folder: &Path, sha256: &str, object: &[u8], facts: &Facts) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |ending: &str, bytes: &[u8]| {
        let fresh = tempfile::NamedTempFile::new_in(folder)?;
        std::fs::write(fresh.path(), bytes)?;
        fresh.persist(folder.join(format!("{sha256}.{ending}")))?;
        io::Result::Ok(())
    };
    write("so", object)?;
    write("native.json", &serde_json::to_vec(facts)?)
}
