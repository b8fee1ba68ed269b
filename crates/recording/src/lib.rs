// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's trace tells of real tasks, in one form for all sources, and the workload
//! that plays it again.
//!
//! ```text
//! trace ─► text, perfetto ─► Recording ─► tapes (one for each task) ─► workload (its file)
//! ```
//!
//! Read in this order: [`event`] is the form: tasks and what happened to them. [`text`] reads it
//! from ftrace, trace-cmd and perf, [`perfetto`] from the files of that program, [`traced`] from
//! the trace of a trial. [`collect`] repairs what a source lost. [`tapes`] makes tapes of it,
//! [`groups`] finds like tasks and reads from tapes who waits for whom, [`workload`] writes the
//! file.
//!
//! What is not here: reading and writing files, playing.

pub mod collect;
pub mod event;
pub mod groups;
pub mod perfetto;
pub mod tapes;
pub mod text;
pub mod traced;
pub mod workload;
