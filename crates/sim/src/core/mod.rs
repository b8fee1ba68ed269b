// SPDX-License-Identifier: GPL-2.0-only
//! The machine: CPUs, clock, events, tasks and the classes above sched_ext.

pub mod memory;

/// A task's number inside the simulator. Idle tasks come first: the idle task of CPU *n* is number *n*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// The simulated kernel. Its methods with the names of kfuncs have the kernel's meaning.
pub struct Core {}
