// SPDX-License-Identifier: GPL-2.0-only
//! The machine: CPUs, clock, events, tasks and the classes above sched_ext.
//!
//! Read in this order: `kernel` holds all state, with `events`, `task` and `cpu`; `event_loop` is
//! the main loop with the tick; `schedule` and `wake` are the kernel's `core.c`; `rt`, `deadline`
//! and `ext_server` are the classes above sched_ext. sched_ext itself is `crate::ext`.
//!
//! What happens at each switch is inlined, here and in `crate::ext`. Its rare cases are functions
//! of their own that are not: otherwise each function would save registers for them at each switch.
//!
//! DIVERGES: the machine has no daemons, no kernel threads but the workers that tell of control
//! groups, and no device interrupts but those of a workload; a real machine has about eighty
//! threads, which wake now and then.

pub(crate) mod control_groups;
pub(crate) mod cpu;
pub(crate) mod deadline;
pub(crate) mod event_loop;
pub(crate) mod events;
pub(crate) mod ext_server;
pub(crate) mod kernel;
pub mod mask;
pub mod memory;
mod process;
pub(crate) mod rt;
pub(crate) mod schedule;
mod speed;
pub(crate) mod task;
pub(crate) mod task_struct;
pub mod topology;
pub(crate) mod wake;

/// What schedulers read on the clock at the workload's common start, ns: the machine was booted
/// some time ago.
pub(crate) const BOOTED_NS: u64 = 1_000_000_000;

pub use kernel::Core;
pub use task::{NO_TASK, TaskId};
