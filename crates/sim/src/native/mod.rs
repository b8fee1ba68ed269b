// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's own `.bpf.c` file, compiled to native code and run inside the simulator.
//!
//! `load` loads the object that `compile::native` made into a [`NativeScheduler`] (`scheduler`).
//! The engine calls it through [`crate::Ops`] (`bridge`), and it calls kfuncs and helpers: `table`
//! maps their names to functions; `kfuncs`, `arguments`, `helpers`, `timers` and `maps` are these
//! functions; `simulator` is their state; `abi` is what the object and this crate both know.
//! `isolate` runs each trial in a process of its own, in which [`fault`] reports crashes.
//!
//! What is not here: what kfuncs do, which is the engine's business ([`crate::core`],
//! [`crate::ext`]); compilation.

// Boxes in tables are there because the scheduler keeps the addresses of what is in them.
#![allow(clippy::vec_box)]

mod abi;
mod arguments;
mod bridge;
mod callbacks;
#[cfg(target_arch = "x86_64")]
mod division;
pub mod fault;
mod format;
mod helpers;
mod isolate;
mod kfuncs;
mod load;
mod maps;
mod run;
mod scheduler;
mod simulator;
mod table;
mod timers;

pub use bridge::layout;
pub use load::knobs;
pub use run::{run, supervise};
pub use scheduler::{Host, NativeScheduler};
