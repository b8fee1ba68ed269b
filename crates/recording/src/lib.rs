// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's trace tells of a load, in one form for all sources.
//!
//! [`event`] is that form: tasks and what happened to them.

pub mod event;
pub mod export;
