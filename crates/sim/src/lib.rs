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
//! Read in this order: `trial` runs a whole trial; `core` is the machine with the classes above
//! sched_ext; `ext` is sched_ext itself; [`Ops`] is the interface to the scheduler, and
//! [`native`] implements it for compiled schedulers; `player` plays the workload; `measure`
//! counts; `races` lets callbacks interleave.
//!
//! Where the model differs from the kernel, a comment with `DIVERGES:` gives the reason. The model
//! may do less than Linux, but never something that Linux could not do.
//!
//! What is not here: clocks, threads, root, compilation.

mod core;
mod ext;
pub mod flags;
mod measure;
pub mod native;
mod player;
mod races;
mod trial;

pub use crate::core::kernel::{Core, ExitInfo, Ops, OpsPresent};
pub use crate::core::memory::TaskLayout;
pub use crate::core::task::TaskId;
pub use trial::run_ops;
