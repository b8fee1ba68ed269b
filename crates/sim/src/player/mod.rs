// SPDX-License-Identifier: GPL-2.0-only
//! The player: plays a workload's [`model::play::Script`] in virtual time.
//!
//! Read in this order: `workload_state` is its state, with what tasks share, `objects`; `play_loop`
//! goes through the operations, starts all tasks and ends the trial; `steps`, `pipes`, `sockets`,
//! `synchronization` and `group_steps` say what each does, `tapes` what recorded tasks do;
//! `lifecycle` forks and ends tasks, and asks whether the scheduler has forgotten one; `start_up`
//! makes the first ones and brings them to the gate; `kernel_threads` are those that take a CPU
//! from them.

mod group_steps;
mod kernel_threads;
pub(crate) mod lifecycle;
pub(crate) mod objects;
mod pipes;
pub(crate) mod play_loop;
mod sockets;
pub(crate) mod start_up;
pub(crate) mod steps;
mod synchronization;
pub(crate) mod tapes;
pub(crate) mod workload_state;
