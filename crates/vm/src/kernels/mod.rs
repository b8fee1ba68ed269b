// SPDX-License-Identifier: GPL-2.0-only
//! Kernels to boot: `<home>/kernels/<release>/{vmlinuz,config,kernel.json}`, the host's `/boot`,
//! and any image given by path.
//!
//! `collection` finds and stores them, `naming` says what their names mean, and `image` what their
//! files say, `configuration` what runs here and what is packed in it; `apt` gets them, and the
//! kernel's own example schedulers, from the Debian mirror that `mirror` finds; [`build`] makes
//! kernels from sources.

mod apt;
pub mod build;
mod collection;
mod configuration;
mod image;
mod mirror;

pub use apt::{NAMES, pull, pull_examples};
pub use collection::{
    Kernel, Own, add_file, add_own, configuration, find, from_image, is_here, list,
};
pub use configuration::{embedded, running};
pub use image::is_usable_name;
pub use mirror::Mirror;
