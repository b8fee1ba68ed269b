// SPDX-License-Identifier: GPL-2.0-only
//! The part of the build script that serves the simulator: the headers that stand first, and every
//! scheduler as a native object.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::native::make::Form;
use crate::native::{facts, make};
use crate::{Result, complaint, copy_tree, file_name, identity_of, text_of};

const SHIM: &str = "native/shim";

/// Structures of vmlinux.h that the simulator replaces by what it maintains of them.
const REPLACED: &[&str] = &[
    "autogroup",
    "mm_struct",
    "pid",
    "rq",
    "sched_entity",
    "sched_ext_entity",
    "sched_info",
    "scx_dispatch_q",
    "signal_struct",
    "task_struct",
];

/// Adds the folder `native` to the tree of headers: what stands before the others when the
/// simulator's objects are compiled, and the trampolines that they are linked with.
pub fn add_headers(clang: &Path, tree: &Path) -> Result {
    println!("cargo::rerun-if-changed={SHIM}");
    println!("cargo::rerun-if-changed=src/build_native.rs");
    for name in ["facts", "interface/mod", "make", "null_reads", "part", "programs", "special"] {
        println!("cargo::rerun-if-changed=src/native/{name}.rs");
    }
    let native = tree.join("native");
    copy_tree(Path::new(SHIM), &native)?;
    fs::copy(tree.join("bpf/bpf_helpers.h"), native.join("bpf/libbpf_helpers.h"))?;
    let ours = fs::read_to_string(native.join("fairground/task_struct.h"))?;
    let vmlinux = with_autogroup(&fs::read_to_string(tree.join("vmlinux.h"))?)?;
    let vmlinux = with_replaced(&vmlinux, &ours)?;
    fs::write(native.join("vmlinux.h"), vmlinux)?;
    for name in make::LOOPING {
        let text = fs::read_to_string(tree.join(name))?;
        fs::write(native.join(name), text + "\n#include <fairground/loops.h>\n")?;
    }
    let helpers = prototypes(&fs::read_to_string(tree.join("bpf/bpf_helper_defs.h"))?);
    fs::write(native.join("bpf/bpf_helper_defs.h"), helpers)?;
    let known = fs::read_to_string(tree.join("scx/enum_defs.autogen.h"))?;
    let enums = constants(&fs::read_to_string(tree.join("scx/enums.autogen.bpf.h"))?, &known)?;
    fs::write(native.join("fairground/enums.h"), enums)?;
    trampolines(clang, tree)
}

/// Adds the structures of autogroup: some headers are of kernels without
/// `CONFIG_SCHED_AUTOGROUP`.
fn with_autogroup(vmlinux: &str) -> Result<String> {
    let mut text = vmlinux.to_owned();
    if structure(&text, "autogroup").is_some() {
        return Ok(text);
    }
    let group = structure(&text, "task_group").ok_or("vmlinux.h has no struct task_group")?;
    let members = group.trim_end_matches("};\n");
    let more = format!(
        "struct autogroup {{\n\tint nice;\n}};\n\n{members}\tstruct autogroup *autogroup;\n}};\n"
    );
    text = text.replacen(group, &more, 1);
    Ok(text)
}

/// Exchanges structures by their namesakes.
fn with_replaced(vmlinux: &str, ours: &str) -> Result<String> {
    let mut text = vmlinux.to_owned();
    for name in REPLACED {
        let replacement = structure(ours, name).ok_or(format!("the shim has no struct {name}"))?;
        let original = structure(&text, name).ok_or(format!("vmlinux.h has no struct {name}"))?;
        text = text.replacen(original, replacement, 1);
    }
    Ok(text)
}

/// A structure's definition, which begins and ends at the margin.
fn structure<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let begin = text.find(&format!("\nstruct {name} {{\n"))? + 1;
    let length = text[begin..].find("\n};\n")? + "\n};\n".len();
    Some(&text[begin..begin + length])
}

/// Helpers are constant pointers to small numbers for BPF; here they are functions to be linked:
/// `static T (* const name)(…) = (void *) 1;` becomes `T name(…);`.
fn prototypes(definitions: &str) -> String {
    let mut text = String::new();
    for line in definitions.lines() {
        let prototype = line.strip_prefix("static ").and_then(|rest| {
            let (result, rest) = rest.split_once("(* const ")?;
            let (name, rest) = rest.split_once(')')?;
            let (parameters, _) = rest.split_once(" = (void *)")?;
            Some(format!("{result}{name}{parameters};"))
        });
        text.push_str(prototype.as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}

/// The constants that a loader looks up in the kernel, as vmlinux.h has them and with the type of
/// the variables. What vmlinux.h lacks is 0, as a loader leaves it.
fn constants(variables: &str, known: &str) -> Result<String> {
    let mut text = String::new();
    for line in variables.lines() {
        let Some(name) = line.strip_prefix("#define ").and_then(|rest| rest.split(' ').next())
        else {
            continue;
        };
        let exists = known.lines().any(|line| line == format!("#define HAVE_{name}"));
        let value = if exists { format!("((u64){name})") } else { "0ULL".into() };
        writeln!(text, "#define {name} {value}")?;
    }
    Ok(text)
}

fn trampolines(clang: &Path, tree: &Path) -> Result {
    let path = tree.join("native/fairground/kfuncs.c");
    let text = fs::read_to_string(&path)?;
    let source = text_of(&path, "fairground/kfuncs.c", &text);
    for (form, flags) in [(Form::Usual, &[][..]), (Form::Interleaved, &["-DFAIRGROUND_RACES"])] {
        let to = make::trampolines(tree, form);
        make::compile(clang, tree, &source, flags, &to).map_err(explained)?;
    }
    Ok(())
}

/// Compiles every scheduler and writes what `src/native/store.rs` includes.
pub fn write_natives(clang: &Path, headers: &Path, schedulers: &[PathBuf], out: &Path) -> Result {
    let mut code = String::from("pub const NATIVES: &[BuiltinNative] = &[\n");
    for file in schedulers {
        let name = file_name(file).trim_end_matches(".bpf.c").to_owned();
        let text = fs::read_to_string(file)?;
        let label = file_name(file);
        let source = text_of(file, &label, &text);
        let (object, _) =
            make::object(clang, headers, &[source], Form::Usual).map_err(explained)?;
        let twin = fs::read(out.join(format!("{name}.bpf.o")))?;
        let facts = facts::facts(&twin, &object).map_err(|error| format!("{label}: {error}"))?;
        fs::write(out.join(format!("{name}.so")), &object)?;
        writeln!(code, "    BuiltinNative {{ sha256: {:?},", identity_of(file, &text))?;
        writeln!(code, "        object: include_bytes!(\"{name}.so\"),")?;
        writeln!(code, "        facts: {:?} }},", serde_json::to_string(&facts)?)?;
    }
    code.push_str("];\n");
    fs::write(out.join("embedded_native.rs"), code)?;
    Ok(())
}

fn explained(complaint: complaint::Complaint) -> String {
    let line = complaint.line.unwrap_or(0);
    format!("{}:{line}: not for the simulator: {}", complaint.file, complaint.message)
}
