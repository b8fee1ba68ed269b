// SPDX-License-Identifier: GPL-2.0-only
//! The book (`docs/`) stays true: its commands run, its generated parts equal what generates them,
//! and it can be read and searched without a network.
//!
//! `FAIRGROUND_BLESS=1 cargo test --release --test book` rewrites the generated parts and the
//! output of commands.

#[path = "book/built.rs"]
mod built;
#[path = "../crates/report/tests/report/chromium/mod.rs"]
mod chromium;
#[path = "book/commands.rs"]
mod commands;
#[path = "book/fields.rs"]
mod fields;
#[path = "book/lines.rs"]
mod lines;
#[path = "book/page.rs"]
mod page;
mod project;
#[path = "book/reference.rs"]
mod reference;
#[path = "book/rtapp.rs"]
mod rtapp;
mod rtapp_examples;

pub use project::{expect_none, files, is_blessing, root};
