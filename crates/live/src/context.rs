// SPDX-License-Identifier: GPL-2.0-only
//! What the caller of a trial knows about the machine and the boot that it runs in.

use std::path::PathBuf;

/// The surroundings of a trial. Nothing of it can be read from the running system.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// How the CPU is virtualised: `kvm`, `tcg`, or `none`.
    pub accelerator: String,
    /// SHA-256 of the kernel image, hexadecimal; empty where unknown.
    pub kernel_sha256: String,
    /// Identifies the boot: trials of one boot share it.
    pub boot_id: String,
    /// Number of trials that ran in this boot before.
    pub boot_position: u32,
    /// Whether this is a virtual machine that Fairground started.
    pub in_guest: bool,
    /// Whether one instruction takes one nanosecond of the clock (QEMU's `-icount shift=0`).
    pub virtual_clock: bool,
    /// Rounds of the busy loop in one millisecond, if they were measured on this machine before,
    /// see [`crate::player::busy::calibrate`].
    pub calibration_rounds_per_ms: Option<u64>,
    /// Version of this program.
    pub fairground: String,
    /// Folder of the source trees that `scripts/sources.sh` prepared; `None`: there are none.
    pub sources: Option<PathBuf>,
    /// Working folder of the trial's program, see [`crate::trial::preparation`]; `None`: the
    /// current folder.
    pub folder: Option<PathBuf>,
}
