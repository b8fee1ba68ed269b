// SPDX-License-Identifier: GPL-2.0-only
//! `ops.flags`: kernels refuse unknown bits.

use crate::btf::KernelBtf;

/// `enum scx_ops_flags`, whose bits are the same in every kernel that has them.
pub const NAMES: [(&str, u64); 11] = [
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

/// Clears the flags in this member of the ops table, a little-endian number, that the kernel lacks.
/// Returns a note for each.
pub fn clear_unknown(member: &mut [u8], kernel: &KernelBtf) -> Vec<String> {
    let set = member.iter().rev().fold(0, |flags, byte| flags << 8 | u64::from(*byte));
    let lacks = |name: &str| !kernel.enumerators.contains_key(name);
    let unknown = NAMES.iter().filter(|(name, bit)| set & bit != 0 && lacks(name));
    let known = unknown.clone().fold(set, |flags, (_, bit)| flags & !bit);
    member.iter_mut().zip(known.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    unknown.map(|(name, _)| format!("this kernel has no {name}; not set")).collect()
}
