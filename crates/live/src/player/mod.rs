// SPDX-License-Identifier: GPL-2.0-only
//! The player: plays a workload with real threads and processes.
//!
//! ```text
//! Script ──► run_state (shared memory) ──► threads (one per task, at the gate)
//!        ──► main_thread (start, wait, end) ──► Played
//! ```
//!
//! A [`task`] is one thread or forked process; [`steps`] performs its operations, with
//! [`messages`], [`files`], [`memory`], [`children`] and [`tapes`] for the larger ones. All of them
//! rest on [`futex`], [`shared_memory`], [`clock`], [`busy`], [`attributes`] and [`usage`].
//! [`periodic`] acts on the scheduler during the trial, e.g. reloads it. Nothing is printed
//! between the common start and the end of the trial, and nothing allocated but for threads that
//! tapes make.
//!
//! What is not here: what a workload means (`model::play`), the scheduler under test, metrics by
//! name, files of results.

use std::io;
use std::path::Path;

use model::Histogram;
use model::play::Setting;

use crate::probes::{Probes, Readings};
use crate::program::Finished;

pub mod attributes;
pub mod busy;
pub mod children;
pub mod clock;
mod descriptors;
pub mod files;
pub mod fork_isolation;
pub mod futex;
pub mod made_threads;
mod main_thread;
pub mod memory;
pub mod messages;
pub mod periodic;
mod played;
pub mod run_state;
pub mod shared_memory;
pub mod steps;
pub mod tapes;
pub mod task;
#[cfg(test)]
mod tests;
pub mod threads;
pub mod usage;

pub use busy::BusyLoop;
pub use main_thread::play;
pub use periodic::Periodic;

/// How to play.
pub struct Options<'a> {
    /// The inputs of the script besides the workload. A real program gets its policy too.
    pub setting: Setting,
    /// The folder in which a real program works; `None`: the current one.
    pub folder: Option<&'a Path>,
    /// How CPU time is used.
    pub busy: BusyLoop,
    /// The probes, attached to [`model::play::script::measured_groups`], if there are any.
    pub probes: Option<&'a Probes>,
    /// Called when the trial is aborted, before the tasks are ended: a scheduler that does not run
    /// them would not let them end.
    pub on_interrupt: &'a mut dyn FnMut(),
    /// The periodic action on the scheduler.
    pub periodic: Periodic<'a>,
}

/// The result of playing.
#[derive(Debug, Default)]
pub struct Played {
    /// From the common start to the end of the trial, nanoseconds.
    pub run_ns: u64,
    /// From the common start to the end of the last finite task; `None` without finite tasks, or
    /// when not all of them ended.
    pub completion_ns: Option<u64>,
    /// One for each of [`model::play::script::measured_groups`], without `program`.
    pub groups: Vec<GroupPlayed>,
    /// The real program, if there is one.
    pub program: Option<Finished>,
    /// What the probes counted.
    pub readings: Option<Readings>,
    /// The tasks that were still running, if the trial was aborted.
    pub interrupted: Option<String>,
    /// Whether the player could get a priority above that of the workload.
    pub above_load: bool,
    /// The time until all tasks had begun, nanoseconds.
    pub start_took_ns: u64,
}

/// The results of one group.
#[derive(Clone, Debug, Default)]
pub struct GroupPlayed {
    /// The group's name.
    pub name: String,
    /// Tasks that ran, forked ones included.
    pub tasks: u64,
    /// Completed repetitions of the steps.
    pub rounds: u64,
    /// Whether its tasks have timers; without, there are no deadlines.
    pub has_timers: bool,
    /// Whether its tasks play spans; without, there are no time-outs.
    pub has_spans: bool,
    /// Whether its tasks end by themselves.
    pub is_finite: bool,
    /// Whether its processes replace their program, so that their ends were not seen.
    pub execs: bool,
    /// See [`model::metric::MEASURES`].
    pub deadlines: u64,
    /// See [`model::metric::MEASURES`].
    pub deadlines_missed: u64,
    /// See [`model::metric::MEASURES`].
    pub timeouts: u64,
    /// CPU time of each task that started by itself; `None` if a later process took the number of
    /// one that ended.
    pub cpu_ns: Option<Vec<u64>>,
    /// CPU time of the forked processes that ended by themselves, without probes.
    pub forked_cpu_ns: u64,
    /// Whether processes were forked into it.
    pub forked: bool,
    /// User and system time, voluntary and involuntary switches, as the kernel accounts them.
    pub usage: usage::Usage,
    /// See [`model::metric::MEASURES`].
    pub timer_lateness: Histogram,
    /// See [`model::metric::MEASURES`].
    pub response_time: Histogram,
    /// See [`model::metric::MEASURES`].
    pub turnaround: Histogram,
    /// See [`model::metric::MEASURES`].
    pub span: Histogram,
}

/// Why a workload could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// This machine or kernel cannot play it.
    #[error("{0}")]
    Unsupported(String),
    /// The workload is at fault.
    #[error("{0}")]
    Failed(String),
}

impl PlayError {
    fn system(what: &str) -> impl Fn(io::Error) -> PlayError {
        move |error| PlayError::Failed(format!("{what}: {error}"))
    }
}
