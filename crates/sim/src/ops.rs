// SPDX-License-Identifier: GPL-2.0-only
//! What the core knows about a scheduler: which callbacks it has, and why it exited.

/// Which callbacks a scheduler has. The core never calls an absent callback and follows the
/// kernel's default instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpsPresent {
    pub select_cpu: bool,
    pub enqueue: bool,
    pub dequeue: bool,
    pub dispatch: bool,
    pub tick: bool,
    pub runnable: bool,
    pub running: bool,
    pub stopping: bool,
    pub quiescent: bool,
    pub r#yield: bool,
    pub set_weight: bool,
    pub set_cpumask: bool,
    pub update_idle: bool,
    pub init_task: bool,
    pub exit_task: bool,
    pub enable: bool,
    pub disable: bool,
    pub cpu_online: bool,
    pub cpu_offline: bool,
}

/// Why a scheduler exited (`struct scx_exit_info`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitInfo {
    /// `SCX_EXIT_*`, see [`crate::flags`].
    pub kind: u64,
    /// The code given to `scx_bpf_exit()`.
    pub code: i64,
    /// The kind as the kernel prints it, such as `runtime error`.
    pub reason: String,
    pub message: String,
}
