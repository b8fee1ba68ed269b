// SPDX-License-Identifier: GPL-2.0-only
//! The player: plays a workload with real threads and processes.
//!
//! ```text
//! Script ──► run_state (shared memory) ──► threads (one per task, at the gate)
//!        ──► main_thread (start, wait, end) ──► Played
//! ```
//!
//! A [`task`] is one thread or forked process; [`steps`] performs its operations, with
//! [`input_output`], [`memory`], [`children`] and [`tapes`] for the larger ones. No module
//! imports one that imports it: what they rest on comes first.
//!
//! ```text
//! attributes clock descriptors shared_memory mapping ─► stacks futex ─► call_costs ─► busy
//!   ─► run_state ─► task ─► input_output memory children ─► tapes ─► steps ─► threads
//!   ─► sessions ─► main_thread
//! ```
//!
//! [`played`] has what acts on the scheduler during the trial, e.g. reloads it. Nothing is
//! allocated or printed between the common start and the end of the trial.
//!
//! What is not here: what a workload means (`model::play`), the scheduler under test, metrics by
//! name, files of results.

pub mod attributes;
pub mod busy;
pub mod call_costs;
pub mod children;
pub mod clock;
pub mod fork_isolation;
pub mod futex;
pub mod input_output;
mod main_thread;
pub mod mapping;
pub mod memory;
mod played;
pub mod run_state;
mod sessions;
pub mod shared_memory;
pub mod steps;
pub mod tapes;
pub mod task;
#[cfg(test)]
mod tests;
pub mod threads;

pub use busy::BusyLoop;
pub use main_thread::{Options, play};
pub use played::{GroupPlayed, Periodic, PlayError, Played};
