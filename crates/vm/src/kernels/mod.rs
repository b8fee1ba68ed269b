// SPDX-License-Identifier: GPL-2.0-only
//! Kernels to boot: `<home>/kernels/<release>/{vmlinuz,config,kernel.json}`, the host's `/boot`,
//! and any image given by path.
//!
//! `collection` finds and stores them; `apt` gets them from the Debian mirror that
//! `mirror` finds; `examples` gets the kernel's own example schedulers in the same way.

mod apt;
mod collection;
mod config;
mod examples;
mod image;
mod mirror;
mod subprocess;

pub use apt::{NAMES, pull};
pub use collection::{Kernel, add_file, find, list};
pub use examples::pull_examples;
