// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's trace tells of real tasks, in one form for all sources, and the workload
//! that plays it again.
//!
//! ```text
//! trace ─► text, perfetto ─► collect ─► Recording ─► tapes (one a task) ─► workload (a file)
//! ```
//!
//! Read in this order: [`event`] is the form: tasks and what happened to them. [`text`] reads
//! [`scheduler_event`]s from ftrace, trace-cmd and perf, [`perfetto`] from the files of that
//! program, [`traced`] from the trace of a trial. [`collect`] makes a recording of them, [`tapes`]
//! makes tapes of that, [`groups`] finds like tasks and reads from tapes who waits for whom,
//! [`workload`] writes the file. [`as_trace`] gives a recording the form of a trial's trace, which
//! can be explained.
//!
//! What is not here: reading and writing files, playing.

pub mod as_trace;
pub mod collect;
pub mod control_groups;
pub mod event;
pub mod groups;
pub mod perfetto;
pub mod tapes;
pub mod text;
pub mod traced;
pub mod workload;
