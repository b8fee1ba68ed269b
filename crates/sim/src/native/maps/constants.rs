// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of the kernel's interface to maps.

/// `EINVAL`, `ENOENT`, … as kfuncs return them.
pub mod errno {
    pub const ENOENT: i64 = -2;
    pub const E2BIG: i64 = -7;
    pub const EBUSY: i64 = -16;
    pub const EEXIST: i64 = -17;
    pub const EINVAL: i64 = -22;
    pub const EOPNOTSUPP: i64 = -95;
}

/// `BPF_NOEXIST`: the key must be new.
pub const NOEXIST: u64 = 1;
/// `BPF_EXIST`: the key must exist; for a full queue: drop the oldest entry.
pub const EXIST: u64 = 2;
