// SPDX-License-Identifier: GPL-2.0-only
//! What the running kernel has: its types (BTF), its flags of `struct sched_ext_ops`, and what
//! keeps this process from loading a scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use libbpf_rs::Object;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Enum64};
use libbpf_rs::libbpf_sys::{bpf_prog_get_info_by_fd, bpf_prog_info};

use super::{LoadError, unsupported};
use crate::facts::{is_root, sched_ext};

/// The kernel's side of the contract.
pub struct KernelBtf {
    /// The values of the requested enumerators that exist.
    pub enumerators: BTreeMap<String, u64>,
    pub ops_members: BTreeSet<String>,
}

impl KernelBtf {
    /// Reads `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// When the kernel has no BTF, or no `struct sched_ext_ops` in it.
    pub fn read(wanted: &BTreeSet<String>) -> Result<KernelBtf, String> {
        let btf = Btf::from_vmlinux()
            .map_err(|error| format!("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): {error}"))?;
        let ops = compile::variables::ops_members(&btf);
        if ops.is_empty() {
            let why = "this kernel's BTF has no struct sched_ext_ops (CONFIG_SCHED_CLASS_EXT)";
            return Err(why.into());
        }
        Ok(KernelBtf {
            enumerators: enumerators(&btf, wanted),
            ops_members: ops.into_iter().map(|member| member.name).collect(),
        })
    }
}

/// Looks in every enumeration, because enumerators have moved between them from version to version.
fn enumerators(btf: &Btf, wanted: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut note = |name: Option<&std::ffi::OsStr>, value: u64| {
        let name = name.and_then(|name| name.to_str()).unwrap_or_default();
        if wanted.contains(name) {
            found.entry(name.to_owned()).or_insert(value);
        }
    };
    for enumeration in btf.type_by_kind::<Enum64>() {
        enumeration.iter().for_each(|member| note(member.name, member.value as u64));
    }
    for enumeration in btf.type_by_kind::<Enum>() {
        enumeration.iter().for_each(|member| note(member.name, member.value as u64));
    }
    found
}

/// `enum scx_ops_flags`, whose bits are the same in every kernel that has them.
pub const FLAGS: [(&str, u64); 11] = [
    ("SCX_OPS_KEEP_BUILTIN_IDLE", 1 << 0),
    ("SCX_OPS_ENQ_LAST", 1 << 1),
    ("SCX_OPS_ENQ_EXITING", 1 << 2),
    ("SCX_OPS_SWITCH_PARTIAL", 1 << 3),
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", 1 << 4),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", 1 << 5),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", 1 << 6),
    ("SCX_OPS_ALWAYS_ENQ_IMMED", 1 << 7),
    ("SCX_OPS_TID_TO_TASK", 1 << 8),
    ("SCX_OPS_LAZY_RESCHED", 1 << 9),
    ("SCX_OPS_ENQ_BLOCKED", 1 << 10),
];

/// Clears the flags in this member of the ops table, a little-endian number, that the kernel lacks,
/// because it refuses unknown bits. Returns a note for each.
pub fn clear_unknown_flags(member: &mut [u8], kernel: &KernelBtf) -> Vec<String> {
    let set = member.iter().rev().fold(0, |flags, byte| flags << 8 | u64::from(*byte));
    let lacks = |name: &str| !kernel.enumerators.contains_key(name);
    let unknown = FLAGS.iter().filter(|(name, bit)| set & bit != 0 && lacks(name));
    let known = unknown.clone().fold(set, |flags, (_, bit)| flags & !bit);
    member.iter_mut().zip(known.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    unknown.map(|(name, _)| format!("this kernel has no {name}; not set")).collect()
}

/// What keeps this process from loading a sched_ext scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The kernel is too old, or was built without sched_ext.
    NoSchedExt,
    /// The process does not run as root.
    NotRoot,
    /// The kernel does not describe its structures.
    NoBtf,
    /// Another scheduler is there.
    Taken {
        /// What the kernel says about it: `enabled`.
        state: String,
        ops: String,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obstacle::NoSchedExt => {
                "this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)"
            }
            Obstacle::NotRoot => "loading a scheduler needs root",
            Obstacle::NoBtf => "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)",
            Obstacle::Taken { state, ops } => {
                return write!(f, "another scheduler is {state} ({ops}): stop it first");
            }
        })
    }
}

/// Everything that keeps this process from loading a sched_ext scheduler now; empty if nothing
/// does.
pub fn obstacles() -> Vec<Obstacle> {
    let state = sched_ext("state");
    let has_btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    let taken = state
        .clone()
        .filter(|state| state != "disabled")
        .map(|state| Obstacle::Taken { state, ops: sched_ext("root/ops").unwrap_or_default() });
    let all = [
        state.is_none().then_some(Obstacle::NoSchedExt),
        (!is_root()).then_some(Obstacle::NotRoot),
        (!has_btf).then_some(Obstacle::NoBtf),
        taken,
    ];
    all.into_iter().flatten().collect()
}

/// Whether any sched_ext scheduler can be loaded, and none is.
pub fn check() -> Result<(), LoadError> {
    match obstacles().first() {
        None => Ok(()),
        Some(taken @ Obstacle::Taken { .. }) => Err(taken.to_string().into()),
        Some(obstacle) => Err(unsupported(obstacle.to_string())),
    }
}

/// How the note begins that names each program and its instructions: `name 123, name 4`.
pub const VERIFIED: &str = "verified instructions: ";

/// The note, or nothing where the kernel does not say (before 5.16).
pub(super) fn note(object: &Object) -> Option<String> {
    let counts: Vec<String> = object
        .progs()
        .filter_map(|program| {
            let count = verified(program.as_fd().as_raw_fd()).filter(|count| *count > 0)?;
            Some(format!("{} {count}", program.name().to_string_lossy()))
        })
        .collect();
    (!counts.is_empty()).then(|| format!("{VERIFIED}{}", counts.join(", ")))
}

fn verified(program: i32) -> Option<u32> {
    let mut size = size_of::<bpf_prog_info>() as u32;
    // SAFETY: a plain structure; the kernel writes at most `size` bytes of it.
    let (info, result) = unsafe {
        let mut info: bpf_prog_info = zeroed();
        let result = bpf_prog_get_info_by_fd(program, &raw mut info, &raw mut size);
        (info, result)
    };
    (result == 0).then_some(info.verified_insns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_the_kernel_lacks_is_not_set_and_said() {
        let enumerators = BTreeMap::from([("SCX_OPS_ENQ_LAST".to_owned(), 2)]);
        let kernel = KernelBtf { enumerators, ops_members: BTreeSet::new() };
        // SCX_OPS_ENQ_LAST and SCX_OPS_TID_TO_TASK.
        let mut flags = (2_u64 | 1 << 8).to_le_bytes();
        let notes = clear_unknown_flags(&mut flags, &kernel);
        assert_eq!(notes, ["this kernel has no SCX_OPS_TID_TO_TASK; not set"]);
        assert_eq!(u64::from_le_bytes(flags), 2);
    }
}
