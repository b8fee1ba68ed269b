// SPDX-License-Identifier: GPL-2.0-only
//! The live backend: loads schedulers, plays workloads with real threads, probes the kernel.
//!
//! ```text
//! Trial ──► trial::supervise ──► trial::run ──► load ─► attach probes ─► play ─► verify ─► Record
//! ```
//!
//! Read in this order: [`trial`] is the whole answer to one question; [`player`] plays a workload's
//! steps with real threads and processes; [`program`] runs real programs beside them (the crate
//! `parsers` reads what they print); [`loader`], [`active`] and [`probes`] are the kernel's side of
//! it; [`facts`] says on what all this happened.
//!
//! What is not here: virtual machines, statistics, files of results, anything that prints.

pub mod active;
pub mod btf;
mod custody;
pub mod facts;
pub mod loader;
pub mod player;
mod printed;
pub mod probes;
pub mod program;
pub mod topology;
pub mod trial;
