// SPDX-License-Identifier: GPL-2.0-only
//! What of a scheduler's texts is given to the compiler: what the preprocessor asks for, with
//! headers of ours in the place of those that are not there, and, for the simulator, of those that
//! describe a kernel.

use std::collections::BTreeSet;
use std::path::Path;

use crate::identity::{folder_of, places, plain};
use crate::job::{For, Job};
use crate::native::make;
use crate::{Source, clang, own_files, scan, source};

/// The most bytes of a header of ours.
const LONGEST: u64 = 1 << 20;
/// The header of scx that schedulers begin with, and the end of its name.
const COMMON: &str = "common.bpf.h";

/// Takes the kernel's types that lie beside a scheduler away, where it is written against our
/// headers, which need ours.
pub fn leave_out_types(source: &mut Source) {
    if uses_common(source) && !has_own_common(source) {
        source.included.retain(|(name, text)| !is_types(name, text));
    }
}

/// Takes the own files away that stand below a condition and that the preprocessor does not ask
/// for. Without a compiler they stay.
pub fn leave_out_unread(source: &mut Source) {
    let Ok(job) = Job::new(source, For::Kernels) else { return };
    let units = job.units();
    let Ok(read) = clang::read(&job.clang, &job.headers, &units) else { return };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let read: Vec<_> = read.iter().map(|path| real(path)).collect();
    let folder = job.folder().to_owned();
    let is_read = |name: &str| read.contains(&real(&folder.join(name)));
    let kept: Vec<bool> = source
        .included
        .iter()
        .map(|(name, text)| {
            let is_ours = source::brought(name).as_ref() == Some(text);
            is_ours || source.others.contains(name) || is_read(name)
        })
        .collect();
    drop(units);
    drop(job);
    let mut kept = kept.into_iter();
    source.included.retain(|_| kept.next().unwrap_or(true));
}

/// Whether a scheduler is written against the headers of scx, ours or its own.
pub fn uses_common(source: &Source) -> bool {
    let names_it = |text: &str| {
        scan::includes(text).iter().any(|include| include.name.ends_with("scx/common.bpf.h"))
    };
    source.texts().any(names_it) || has_own_common(source)
}

fn has_own_common(source: &Source) -> bool {
    source.included.iter().any(|(name, text)| is_common(name, text))
}

fn file_of(name: &str) -> &str {
    &name[folder_of(name).len()..]
}

/// The kernel's types, as bpftool writes them.
fn is_types(name: &str, text: &str) -> bool {
    file_of(name).starts_with("vmlinux") && text.contains("\nstruct task_struct {")
}

/// Whether a header is called as one of the ecosystem's that the simulator adds something to.
pub fn is_named_as_ecosystem(name: &str) -> bool {
    file_of(name) == COMMON || make::LOOPING.contains(&file_of(name))
}

fn is_common(name: &str, text: &str) -> bool {
    file_of(name) == COMMON && text.contains("BPF_STRUCT_OPS(")
}

/// What the simulator has headers of its own for.
fn is_replaced(name: &str, text: &str) -> bool {
    const LIBBPF: &[&str] = &["bpf_helpers.h", "bpf_tracing.h", "bpf_core_read.h"];
    is_types(name, text) || LIBBPF.contains(&file_of(name)) || file_of(name) == "bpf_helper_defs.h"
}

/// The texts for one compilation: names and texts, the scheduler's own first.
pub fn of(source: &Source, headers: &Path, wanted: For) -> Vec<(String, String)> {
    let all = source::files(source);
    let is_left = |(name, text): &&(String, String)| {
        wanted == For::Kernels || name == &source.file || !is_replaced(name, text)
    };
    let left: Vec<(String, String)> = all.iter().filter(is_left).cloned().collect();
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    let there = There { names: &names, folders: &source.folders, headers };
    let own = own_functions(source, headers);
    let own = own.iter().map(|(name, other)| (name.as_str(), other.as_str()));
    let words: Vec<(&str, &str)> = renamed(source).iter().copied().chain(own).collect();
    let declared = declared(source);
    let mut written = Vec::new();
    for (name, text) in &left {
        let mut text = there.with_ours(folder_of(name), text);
        if words.iter().any(|(old, _)| text.contains(old)) {
            // A declaration of an older name stays beside one of the newer name.
            let is_second = |part: &str| {
                let is_old =
                    |(old, new): &&(&str, &str)| declared.contains(*new) && part.contains(old);
                part.contains("__ksym") && words.iter().any(|word| is_old(&word))
            };
            let parts = text.split_inclusive(';');
            text = parts
                .map(|part| match is_second(part) {
                    true => part.to_owned(),
                    false => scan::with_words(part, &words),
                })
                .collect();
        }
        if wanted == For::Simulator && is_common(name, &text) {
            let own = format!("{}own_{COMMON}", folder_of(name));
            written.push((own, format!("#line 1 \"{name}\"\n{text}")));
            text = format!(
                "#define __SCX_ENUMS_BPF_H\n#include \"own_{COMMON}\"\n\
                 #include <fairground/after_common.h>\n"
            );
        } else if wanted == For::Simulator && make::LOOPING.contains(&file_of(name)) {
            text.push_str("\n#include <fairground/loops.h>\n");
        }
        written.push((name.clone(), text));
    }
    // The scheduler's own text comes through a pipe.
    let own = written.iter().position(|(name, _)| *name == source.file).unwrap_or(0);
    let own = written.remove(own);
    written.insert(0, own);
    written
}

/// What the compiler will find.
struct There<'a> {
    names: &'a [&'a str],
    folders: &'a [String],
    headers: &'a Path,
}

impl There<'_> {
    /// The text, line by line, with a header of ours for each own one that is not there.
    fn with_ours(&self, folder: &str, text: &str) -> String {
        let missing: Vec<(u32, String, String)> = scan::includes(text)
            .into_iter()
            .filter(|include| !self.has(folder, include))
            .filter_map(|include| Some((include.line, self.ours(&include.name)?, include.name)))
            .collect();
        if missing.is_empty() {
            return text.to_owned();
        }
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        for (number, ours, name) in missing {
            let line = &mut lines[number as usize - 1];
            let ours = format!("<{ours}>");
            *line =
                line.replace(&format!("\"{name}\""), &ours).replace(&format!("<{name}>"), &ours);
        }
        lines.join("\n")
    }

    fn has(&self, folder: &str, include: &scan::Include) -> bool {
        let name = &include.name;
        let quoted = places(folder, name).into_iter().filter(|_| include.quoted);
        let inside = self.folders.iter().map(|folder| plain(&format!("{folder}/{name}")));
        quoted.chain(inside).any(|place| self.names.contains(&place.as_str()))
            || self.is_ours(name) && !name.contains("..")
    }

    fn is_ours(&self, name: &str) -> bool {
        let folders = [".", "bpf-compat", "libc"];
        folders.iter().any(|folder| self.headers.join(folder).join(name).is_file())
    }

    /// The header of ours with the longest end of this name.
    fn ours(&self, name: &str) -> Option<String> {
        let parts: Vec<&str> =
            name.split('/').filter(|part| !matches!(*part, "." | "..")).collect();
        if parts.first() == Some(&"linux") {
            return None;
        }
        let ends = (0..parts.len()).map(|start| parts[start..].join("/"));
        let file = parts.last()?;
        let alone = ["scx", "bpf", "lib"].map(|folder| format!("{folder}/{file}"));
        let is_known = |name: &String| name.ends_with(".h") && self.is_ours(name);
        ends.chain(alone).find(is_known)
    }
}

/// Makes the headers of scx write constants of the kernel as numbers.
pub const CONSTANTS: &str = "__SCX_ENUMS_BPF_H=";

/// Names of Linux 6.12 and what they are called since 6.13.
const RENAMED: &[(&str, &str)] = &[
    ("scx_bpf_dispatch", "scx_bpf_dsq_insert"),
    ("scx_bpf_dispatch_vtime", "scx_bpf_dsq_insert_vtime"),
    ("scx_bpf_consume", "scx_bpf_dsq_move_to_local"),
    ("scx_bpf_dispatch_from_dsq", "scx_bpf_dsq_move"),
    ("scx_bpf_dispatch_vtime_from_dsq", "scx_bpf_dsq_move_vtime"),
    ("scx_bpf_dispatch_from_dsq_set_slice", "scx_bpf_dsq_move_set_slice"),
    ("scx_bpf_dispatch_from_dsq_set_vtime", "scx_bpf_dsq_move_set_vtime"),
];

/// What kernels of another time call a function of the kernel.
pub fn other_name(kfunc: &str) -> Option<&'static str> {
    let one = |(old, new): &(&'static str, &'static str)| {
        let newer = (*old == kfunc).then_some(*new);
        newer.or_else(|| (*new == kfunc).then_some(*old))
    };
    RENAMED.iter().find_map(one)
}

/// Words that stand for others in a scheduler's texts: ours know the older names themselves.
fn renamed(source: &Source) -> &'static [(&'static str, &'static str)] {
    let is_older = |name: &String| RENAMED.iter().any(|(old, _)| old == name);
    let is_renamed =
        !uses_common(source) || has_own_common(source) && declared(source).iter().any(is_older);
    if is_renamed { RENAMED } else { &[] }
}

/// The functions that a scheduler's texts declare.
fn declared(source: &Source) -> BTreeSet<String> {
    let own = source.included.iter().filter(|(name, text)| !is_types(name, text));
    let own = own.map(|(_, text)| text.as_str()).chain([source.text.as_str()]);
    own.flat_map(scan::declared_functions).collect()
}

/// The functions that a scheduler defines and our headers too, which were once without them, and
/// what they are called instead.
fn own_functions(source: &Source, headers: &Path) -> Vec<(String, String)> {
    if !uses_common(source) || has_own_common(source) {
        return Vec::new();
    }
    let ours = ["common", "compat"].map(|name| {
        let path = headers.join(format!("scx/{name}.bpf.h"));
        own_files::read_text(&path, LONGEST).unwrap_or_default()
    });
    let are_ours: BTreeSet<String> =
        ours.iter().flat_map(|text| scan::defined_functions(text)).collect();
    let mut names: Vec<String> = source.texts().flat_map(scan::defined_functions).collect();
    names.retain(|name| {
        are_ours.contains(name)
            || ours.iter().any(|text| text.contains(&format!("#define {name}(")))
    });
    names.into_iter().map(|name| (name.clone(), format!("{name}_own"))).collect()
}

/// What the compiler is told to define for a scheduler.
pub fn definitions(source: &Source) -> Vec<String> {
    if uses_common(source) && !has_own_common(source) {
        // Our header declares the kernel's functions itself, also where vmlinux.h comes first.
        let counts =
            source.texts().any(|text| scan::has_value_of(text, "scx_bpf_reenqueue_local("));
        let counts = counts.then(|| "FAIRGROUND_REENQUEUED=1".to_owned());
        return ["BPF_NO_KFUNC_PROTOTYPES=".to_owned()].into_iter().chain(counts).collect();
    }
    let renamed = renamed(source);
    let kernels = |name: String| {
        let new =
            renamed.iter().find(|(old, _)| *old == name).map_or(name.as_str(), |(_, new)| new);
        format!("FAIRGROUND_OWN_{new}=1")
    };
    declared(source).into_iter().map(kernels).collect()
}
