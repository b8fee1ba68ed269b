// SPDX-License-Identifier: GPL-2.0-only
//! The very `.bpf.c` file, running natively inside the simulator.
//!
//! [`scheduler`] is loaded by `load` from what `compile::native` made, is called by the engine
//! through [`crate::Ops`] (`bridge`), and calls back: `table` says which function answers which
//! kfunc or helper, `kfuncs`, `helpers`, `timers` and `maps` are these functions, `simulator` is
//! their memory, `abi` what both sides know. [`isolate`] gives each trial a process, in which
//! [`fault`] reports what goes wrong.
//!
//! What is not here: the meaning of kfuncs, which is the engine's ([`kernel`]); compilation.

// Boxes in tables are there because the scheduler keeps the addresses of what is in them.
#![allow(clippy::vec_box)]

mod abi;
mod bridge;
mod callbacks;
#[cfg(target_arch = "x86_64")]
mod division;
mod engine;
pub mod fault;
mod format;
mod helpers;
pub mod isolate;
pub mod kernel;
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

#[cfg(test)]
mod tests;
