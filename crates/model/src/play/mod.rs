// SPDX-License-Identifier: GPL-2.0-only
//! The meaning of a workload, defined once for all backends.
//!
//! ```text
//! Workload ──► Script (names are numbers, steps a flat table) ──► a player in `live` or `sim`
//!          └─► Refusal (what cannot be played, where, and what to write instead)
//! ```
//!
//! Read in this order: [`script`] resolves a workload; [`op`] is the table of steps, [`tapes`] what
//! the tasks of a recording do; [`limits`] and [`policy`] are the ranges of numbers, with the error
//! of all of these; [`timer`] counts releases and deadlines, [`frames`] frames and stutters;
//! [`ceilings`] has the priorities of who holds mutexes; [`control_groups`] is the tree of control
//! groups, [`sessions`] says who starts which tasks; [`sums`] puts the groups' numbers together.
//! What is not here: clocks, threads, costs, files, and the limits of single backends
//! (`spec::capability`).

pub mod ceilings;
pub mod control_groups;
pub mod frames;
pub mod limits;
mod names;
pub mod op;
pub mod policy;
pub mod script;
pub mod sessions;
pub mod sums;
pub mod tapes;
pub mod timer;

pub use frames::FrameClock;
pub use limits::Refusal;
pub use op::Op;
pub use policy::LAB_PRIORITY;
pub use script::{Group, Script, Setting};
pub use sums::{ALL, PROGRAM};
pub use timer::{Tally, TimerPlan, TimerState};

/// How many bytes a task reads or writes in one system call, at most.
pub const CALL_BYTES: u64 = 16 * 1024;
