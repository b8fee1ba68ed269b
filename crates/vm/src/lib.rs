// SPDX-License-Identifier: GPL-2.0-only
//! The vm backend: real kernels in QEMU, without root and without a disk image.
//!
//! ```text
//! kernels ──► initramfs ──► qemu ──► guest: one trial after another ──► channel ──► trials
//! ```
//!
//! [`kernels`] finds the image, [`initramfs`] packs this very program as `/init`, [`qemu`] starts
//! the machine, [`guest`] is what runs inside, [`channel`] carries records out of it, and
//! [`run_trials`] sees to it that every trial gets exactly one record.
//!
//! What is not here: how a trial is run (that is the caller's, handed to [`guest::run`]), and
//! printing.

mod boot;
pub mod channel;
mod console;
pub mod guest;
pub mod initramfs;
pub mod kernels;
pub mod qemu;
mod trials;

pub use kernels::Kernel;
pub use qemu::Accelerator;
pub use trials::{BootRequest, Event, kvm, run_trials};
