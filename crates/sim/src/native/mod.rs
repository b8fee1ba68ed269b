// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's own `.bpf.c` file, compiled to native code and run inside the simulator.
//!
//! `object` loads the object that `compile::native` made (`elf` maps it) into a [`NativeScheduler`]
//! (`scheduler`).
//! The engine calls it through [`crate::Ops`] (`bridge`), and it calls kfuncs and helpers:
//! `kfuncs`, `helpers`, `bpf_timers` and `maps`; `simulator` is their state; `abi` is
//! the memory that the object shares with this crate. `isolate` runs each trial in a process of its
//! own, in the sandbox of `cell`; `fork_server` makes these processes for a large program; `fault`
//! reports crashes and forbidden system calls, except reads that give zeros (`zero_reads`);
//! `interleaved` serves callbacks that interleave; `inside` looks into a scheduler for its author.
//!
//! What is not here: the work of kfuncs, which `core` and `ext` do; compilation.

// Boxes in tables are there because the scheduler keeps the addresses of what is in them.
#![allow(clippy::vec_box)]

mod abi;
mod arena_library;
mod bpf_timers;
mod bridge;
mod callbacks;
mod cell;
#[cfg(target_arch = "x86_64")]
mod division;
mod elf;
mod fault;
mod fork_server;
mod format;
mod helpers;
mod inside;
mod interleaved;
mod isolate;
mod kfuncs;
mod maps;
mod object;
mod place;
mod references;
mod scheduler;
mod simulator;
mod supervision;
#[cfg(target_arch = "x86_64")]
mod zero_reads;

pub use cell::parts as sandbox_parts;
pub use fork_server::start_fork_server;
pub use scheduler::{Host, NativeScheduler};
pub use supervision::{LabFault, run, supervise};
