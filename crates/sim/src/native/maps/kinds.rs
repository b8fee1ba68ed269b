// SPDX-License-Identifier: GPL-2.0-only
//! Types of BPF maps: `BPF_MAP_TYPE_*`.

pub const HASH: u32 = 1;
pub const ARRAY: u32 = 2;
pub const PERF_EVENT_ARRAY: u32 = 4;
pub const PERCPU_HASH: u32 = 5;
pub const PERCPU_ARRAY: u32 = 6;
pub const LRU_HASH: u32 = 9;
pub const LRU_PERCPU_HASH: u32 = 10;
pub const ARRAY_OF_MAPS: u32 = 12;
pub const HASH_OF_MAPS: u32 = 13;
pub const QUEUE: u32 = 22;
pub const STACK: u32 = 23;
pub const RINGBUF: u32 = 27;
pub const TASK_STORAGE: u32 = 29;
pub const BLOOM_FILTER: u32 = 30;
pub const USER_RINGBUF: u32 = 31;
pub const CGRP_STORAGE: u32 = 32;
pub const ARENA: u32 = 33;

/// Those that the model lacks and that a scheduler may have.
const LACKING: &[(u32, &str)] = &[
    (3, "PROG_ARRAY"),
    (7, "STACK_TRACE"),
    (8, "CGROUP_ARRAY"),
    (11, "LPM_TRIE"),
    (24, "SK_STORAGE"),
    (28, "INODE_STORAGE"),
    (34, "INSN_ARRAY"),
];

/// A type as the kernel's header calls it.
pub fn name(kind: u32) -> String {
    match LACKING.iter().find(|(number, _)| *number == kind) {
        Some((_, name)) => format!("BPF_MAP_TYPE_{name}"),
        None => format!("{kind} (BPF_MAP_TYPE_*)"),
    }
}
