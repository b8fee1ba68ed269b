// SPDX-License-Identifier: GPL-2.0-only
//! The sim backend: a model of Linux's sched_ext core that runs schedulers natively in virtual
//! time.
//!
//! ```text
//! Trial ──► player (what tasks do) ──► core + ext (the kernel's part) ──► measure ──► Record
//!                                                  ▲
//!                                                  └──► Ops (the scheduler)
//! ```
//!
//! Read in this order: [`trial`] is the whole answer to one question; [`core`] is the machine with
//! the classes above sched_ext; [`ext`] is sched_ext itself; [`ops`] is its boundary with the
//! scheduler, and [`native`] the scheduler's side of it; [`player`] plays the workload;
//! [`measure`] counts.
//!
//! Where the model is not the kernel, a comment says `DIVERGES:` and why. It may do less than
//! Linux, never something that Linux could not do.
//!
//! What is not here: clocks, threads, root, compilation.

pub mod core;
pub mod ext;
pub mod flags;
pub mod measure;
pub mod native;
pub mod ops;
pub mod player;
pub mod trial;

pub use crate::core::memory::TaskLayout;
pub use crate::core::{Core, TaskId};
pub use ops::{ExitInfo, Ops, OpsPresent};
pub use trial::run_ops;
