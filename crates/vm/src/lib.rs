// SPDX-License-Identifier: GPL-2.0-only
//! The vm backend: real kernels in QEMU, without root and without a disk image.
//!
//! ```text
//! kernels ──► initramfs ──► qemu ──► guest: one trial after another ──► channel ──► trials
//!                            │ ▲
//!                           saved
//! ```
//!
//! [`kernels`] finds the image, [`installed`] programs of the host and the
//! folder where what is expensive to get is kept, [`packing`] finds what the
//! trials' workloads need, [`initramfs`] packs it with the running program as `/init`, `arguments`
//! describes the machine, `start` starts it in one of two ways, [`saved_boots`] keeps the states of
//! guests that are ready, `control` tells QEMU to save and to go on, [`orders`] are what a ready
//! guest is told, [`qemu`] is the process, [`emulator`] is the QEMU of virtual time,
//! [`guest`] runs inside it, [`channel`] carries records
//! out of it, and [`run_trials`] makes sure that every trial gets exactly one record.
//!
//! What is not here: how a trial is run (the caller passes that to [`guest::run`]), and printing.

mod arguments;
mod boot;
pub mod channel;
mod control;
pub mod emulator;
pub mod guest;
pub mod initramfs;
pub mod installed;
pub mod kernels;
pub mod packing;
pub mod qemu;
mod request;
pub mod saved_boots;
mod start;
mod trials;

pub use boot::{FRESH_BOOT, SAVED_BOOT};
pub use kernels::Kernel;
pub use request::{BootRequest, Event, Resume};
pub use trials::{NoKvm, kvm, run_trials};
