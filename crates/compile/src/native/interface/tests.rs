// SPDX-License-Identifier: GPL-2.0-only
//! The tables against the kernels themselves, and against what the linker does.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libbpf_rs::btf::types::{DeclTag, Enum, Enum64, Func, Struct};
use libbpf_rs::btf::{Btf, ReferencesType};

use super::*;

/// Enumerations that no scheduler passes to the kernel or gets from it, and those of nested
/// schedulers, whose kfuncs and members are refused.
const OTHERS: &[&str] = &[
    "scx_cap_flags",
    "scx_dsq_lnode_flags",
    "scx_ent_dsq_flags",
    "scx_ent_flags",
    "scx_exit_flags",
    "scx_kf_allow_flags",
    "scx_rq_flags",
    "scx_sched_pcpu_flags",
    "scx_tg_flags",
];

/// The interface of a kernel.
#[derive(Default)]
struct Found {
    kfuncs: BTreeSet<String>,
    members: Vec<String>,
    enums: BTreeMap<String, Vec<(String, u64)>>,
}

/// What the tables lack or have wrong, a line each.
fn missing(found: &Found) -> Vec<String> {
    let has = |table: &[Named], name: &str| table.iter().any(|entry| entry.0 == name);
    let kfuncs = found.kfuncs.iter().filter(|name| !has(KFUNCS, name));
    let of_cids = |name: &str| CID_MEMBERS.iter().any(|(own, _)| *own == name);
    let members = found.members.iter().filter(|name| !has(MEMBERS, name) && !of_cids(name));
    let mut lines: Vec<String> =
        kfuncs.map(|name| format!("kfunc {name}")).chain(members.cloned()).collect();
    for (name, values) in &found.enums {
        let table = ENUMS.iter().find(|known| known.0 == name).map(|known| known.1);
        if table.is_none() && name.ends_with("_flags") && !OTHERS.contains(&name.as_str()) {
            lines.push(format!("enum {name}"));
        }
        let is_one = |name: &str| !name.starts_with("__") && !name.ends_with("_ALL_FLAGS");
        for (flag, value) in values.iter().filter(|(flag, _)| is_one(flag)) {
            let is_known = |table: &[Flag]| table.iter().any(|e| (e.0, e.1) == (flag, *value));
            if table.is_some_and(|table| !is_known(table)) {
                lines.push(format!("{flag} = {value:#x}"));
            }
        }
    }
    lines
}

fn is_kfunc(name: &str) -> bool {
    ["scx_bpf_", "__scx_bpf_", "bpf_iter_scx_"].iter().any(|prefix| name.starts_with(prefix))
}

/// The interface that `vmlinux.h` declares, which is that of the newest kernel.
fn of_header(text: &str) -> Found {
    let mut found = Found::default();
    let mut inside = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_suffix(" {") {
            inside = rest;
        } else if line.starts_with('}') {
            inside = "";
        } else if let Some(name) = inside.strip_prefix("enum ").filter(|name| is_ours(name)) {
            let (flag, value) = line.trim().trim_end_matches(',').split_once(" = ").expect("both");
            let value = value.trim_end_matches("ULL");
            let value = value.parse().or_else(|_| value.parse().map(|signed: i64| signed as u64));
            let values = found.enums.entry(name.to_owned()).or_default();
            values.push((flag.to_owned(), value.expect("a number")));
        } else if ["struct sched_ext_ops", "struct sched_ext_ops_cid"].contains(&inside) {
            let (before, after) = line.split_once("(*").unwrap_or(("", line.trim()));
            let name =
                if before.is_empty() { after.rsplit([' ', '*']).next() } else { Some(after) };
            let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            let name = name.and_then(|name| name.split(end).next());
            let name = name.filter(|name| !name.starts_with("__"));
            found.members.extend(name.map(str::to_owned));
        } else if let Some((before, _)) = line.split_once('(').filter(|_| line.starts_with("ext")) {
            let name = before.rsplit([' ', '*']).next().unwrap_or_default();
            found.kfuncs.extend(is_kfunc(name).then(|| name.to_owned()));
        }
    }
    found
}

fn is_ours(name: &str) -> bool {
    name.starts_with("scx_")
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The interface that a kernel's BTF describes.
fn of_kernel(image: &Path) -> Found {
    let btf = Btf::from_path(image).expect("a kernel has BTF");
    let mut found = Found::default();
    for tag in btf.type_by_kind::<DeclTag>().filter(|tag| text(tag.name()) == "bpf_kfunc") {
        let function = Func::try_from(tag.referenced_type());
        let name = text(function.expect("kfuncs are functions").name());
        found.kfuncs.extend(is_kfunc(&name).then_some(name));
    }
    for one in btf.type_by_kind::<Enum>().filter(|one| is_ours(&text(one.name()))) {
        let values = one.iter().map(|member| (text(member.name), member.value as u64)).collect();
        found.enums.insert(text(one.name()), values);
    }
    for one in btf.type_by_kind::<Enum64>().filter(|one| is_ours(&text(one.name()))) {
        let values = one.iter().map(|member| (text(member.name), member.value as u64)).collect();
        found.enums.insert(text(one.name()), values);
    }
    let forms = ["sched_ext_ops", "sched_ext_ops_cid"];
    let forms = forms.into_iter().filter_map(|form| btf.type_by_name::<Struct>(form));
    let names = forms.flat_map(|ops| ops.iter().map(|m| text(m.name)).collect::<Vec<_>>());
    found.members = names.filter(|name| !name.starts_with("__")).collect();
    found
}

/// The kernels that were pulled, built or are in use, unpacked.
fn kernels(scratch: &Path) -> Vec<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    let folder = data.unwrap_or_default().join("fairground/kernels");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let unpacked = entries.filter_map(|entry| {
        let packed = std::fs::read(entry.path().join("vmlinuz")).ok()?;
        let image = unpacked(&packed)?;
        let path = scratch.join(entry.file_name());
        std::fs::write(&path, image).ok()?;
        Some(path)
    });
    unpacked.collect()
}

/// The ELF file inside a `vmlinuz`, by the program for its compression.
fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    const PACKERS: [(&[u8], &str); 3] =
        [(b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz"), (b"\x1f\x8b\x08", "gzip")];
    PACKERS.iter().find_map(|(magic, program)| {
        let at = packed.windows(magic.len()).position(|window| window == *magic)?;
        let mut command = Command::new(program);
        command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (mut input, rest) = (child.stdin.take()?, packed[at..].to_vec());
        // What follows the compressed part breaks the pipe.
        let feeder = std::thread::spawn(move || drop(input.write_all(&rest)));
        let output = child.wait_with_output().ok()?;
        feeder.join().ok()?;
        output.stdout.starts_with(b"\x7fELF").then_some(output.stdout)
    })
}

#[test]
fn the_tables_have_all_that_the_newest_kernel_has() {
    let headers = crate::toolkit::headers().expect("headers");
    let vmlinux = std::fs::read_to_string(headers.join("vmlinux.h")).expect("vmlinux.h");
    let found = of_header(&vmlinux);
    assert!(found.kfuncs.len() > 70 && found.members.len() > 50, "{:?}", found.members);
    assert!(found.enums["scx_enq_flags"].len() > 10);
    assert_eq!(missing(&found), Vec::<String>::new());
}

#[test]
fn the_tables_have_all_that_the_kernels_here_have() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let kernels = kernels(scratch.path());
    testing::need!((!kernels.is_empty()).then_some(()).ok_or("no kernel was pulled"));
    for kernel in kernels {
        assert_eq!(missing(&of_kernel(&kernel)), Vec::<String>::new(), "{}", kernel.display());
    }
}

/// What the linker says about a scheduler without `<scx/common.bpf.h>` that uses these kfuncs.
fn linked(kfuncs: &[&str]) -> Result<(), String> {
    // Called, because the address of what is missing may be null.
    let call = |name: &&str| format!("\t((void (*)(void)){name})();\n");
    let uses: String = kfuncs.iter().map(call).collect();
    let text = format!(
        "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n\
         SEC(\"struct_ops/init\") s32 BPF_PROG(x_init)\n{{\n{uses}\treturn 0;\n}}\n\
         SEC(\".struct_ops.link\") struct sched_ext_ops x_ops = {{ .init = (void *)x_init }};\n"
    );
    let headers = crate::toolkit::headers().map_err(|error| error.to_string())?;
    let clang = crate::clang::find()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let name = std::path::Path::new("x.bpf.c");
    let source = crate::clang::Text::alone("x.bpf.c", name, folder.path(), &text);
    let object = super::super::make::object(&clang, &headers, &[source], super::super::Form::Usual);
    object.map(drop).map_err(|complaint| complaint.message)
}

#[test]
fn kfuncs_of_the_kernels_own_names_are_modelled_or_refused_by_name() {
    let of = |wanted: fn(&Support) -> bool| -> Vec<&str> {
        KFUNCS.iter().filter(|entry| wanted(&entry.1)).map(|entry| entry.0).collect()
    };
    let is_there = |support: &Support| !matches!(support, Refused | Gone(_));
    assert_eq!(linked(&of(is_there)), Ok(()));
    let refused = of(|support| *support == Refused);
    let said = linked(&refused).expect_err("they are refused");
    for name in refused {
        assert!(said.contains(&format!("the model has no {name}()")), "{name}: {said}");
    }
}
