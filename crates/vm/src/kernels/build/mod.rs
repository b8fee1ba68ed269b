// SPDX-License-Identifier: GPL-2.0-only
//! Kernels that are built here: an original with its patches, its unpatched base, or a person's own
//! tree.
//!
//! ```text
//! kernels/x.toml ─► definition ─► source (the mirror's package) ─► tree (patches applied)
//!                                 config (minimal + options) ─► make ─► kept among the kernels
//! ```
//!
//! Read in this order: [`definition`], `patches` (found by SHA-256), `source`, `pristine` and
//! `tree` (what is compiled), `build_config` and [`needs`] (how), `tools` and `make` (by what),
//! [`steps`] (in which order). `crate::emulator` builds the QEMU for virtual time in the same way.
//!
//! What is not here: kernels that are downloaded, and booting (`vm`).

pub mod build_config;
pub mod definition;
mod patches;
pub(crate) mod source;
pub mod steps;
pub mod tools;
pub(crate) mod tree;

/// The user's mistake: what was given and what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// A build, or a download, was ended by Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; the same command continues where it stopped")]
pub struct Interrupted;

/// # Errors
/// Somebody has asked for the end.
fn go_on() -> anyhow::Result<()> {
    if process::stop::is_asked() { Err(Interrupted.into()) } else { Ok(()) }
}

/// What a build tells while it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildEvent<'a> {
    /// A slow step begins, or something worth knowing.
    Note(&'a str),
    /// The compiler has made so many files.
    Compiled {
        /// Files until now.
        done: u64,
        /// How many there were last time, or an estimate; never less than `done`.
        about: u64,
    },
}

pub type OnBuildEvent<'a> = dyn FnMut(BuildEvent<'_>) + 'a;

/// Shorthand for a [`Refused`].
pub(crate) fn refused(message: impl Into<String>) -> anyhow::Error {
    Refused(message.into()).into()
}
