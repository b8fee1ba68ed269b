// SPDX-License-Identifier: GPL-2.0-only
//! Kernels to boot: `<home>/kernels/<release>/{vmlinuz,config,kernel.json}`, the host's `/boot`,
//! and any image given by path.
//!
//! `collection` finds and stores them, `naming` says what their names mean; `apt` gets them from
//! the Debian mirror that `mirror` finds; `examples` gets the kernel's own example schedulers in
//! the same way, `sources` the source of a kernel or of the emulator.

mod apt;
pub mod build;
mod collection;
mod config;
mod examples;
mod image;
mod mirror;
mod naming;
mod sources;
mod subprocess;

pub use apt::{NAMES, pull};
pub use collection::{Kernel, Own, add_file, add_own, find, from_image, list};
pub use examples::pull_examples;
pub use mirror::Mirror;
pub use naming::is_usable_name;
pub use sources::{Program, Source, pull_program, pull_source};
