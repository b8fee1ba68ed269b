// SPDX-License-Identifier: GPL-2.0-only
//! How tasks are named inside the simulator.

/// A task's number inside the simulator. Idle tasks come first: the idle task of CPU *n* is number
/// *n*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

pub const NO_TASK: u32 = u32::MAX;
