// SPDX-License-Identifier: GPL-2.0-only
//! The user's fault, as opposed to the lab's.

use anyhow::Error;

/// Bad input: the message names what was given and what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(String);

/// Shorthand for an [`Error`] that is [`BadInput`].
pub fn bad_input(message: impl Into<String>) -> Error {
    BadInput(message.into()).into()
}
