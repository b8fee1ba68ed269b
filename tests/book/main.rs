// SPDX-License-Identifier: GPL-2.0-only
//! The book (`docs/`) stays true: its commands run, its generated parts equal what generates them,
//! and it can be read and searched without a network.
//!
//! `FAIRGROUND_BLESS=1 cargo test --release --test book` rewrites the generated parts and the
//! output of commands.

mod chapters;
mod commands;
mod fields;
mod full;
mod page;
mod reference;
mod refusals;
mod statements;

pub use testing::project::{self, expect_none, files, is_blessing, root};
