// SPDX-License-Identifier: GPL-2.0-only
//! The live backend: loads schedulers, plays workloads with real threads, probes the kernel.
//!
//! ```text
//! Trial ──► trial::supervise ──► trial::run ──► load ─► attach probes ─► play ─► verify ─► Record
//! ```
//!
//! Read in this order: [`trial`] runs a whole trial; [`player`] plays a workload's steps with
//! threads and processes; [`program`] runs real programs, whose output `model::parsers` reads;
//! [`loader`] and [`probes`] deal with the kernel; [`facts`] and [`context`] describe the machine,
//! [`control_groups`] makes groups of tasks, [`group_settings`] has their files and the switch of
//! autogroup, `interrupts` interrupts CPUs.
//! [`recorder`] measures nothing: it records what the machine's tasks do anyway.
//!
//! What is not here: virtual machines, statistics, the store, anything that prints.

pub mod control_groups;
pub mod facts;
pub mod group_settings;
mod interrupts;
pub mod loader;
pub mod player;
mod printed;
pub mod probes;
pub mod program;
mod reaping;
pub mod recorder;
pub mod trial;
