// SPDX-License-Identifier: GPL-2.0-only
//! Style as a test: what can be enforced is enforced here, so that nobody has to remember it.
//!
//! `FAIRGROUND_BLESS=1 cargo test --release --test tidy` rewrites the generated index of the
//! schedulers; the generated parts of the book belong to the test `book`.

mod closure;
mod counterparts;
mod documents;
mod functions;
mod layout;
mod names;
mod portable;
#[path = "../project.rs"]
mod project;
mod schedulers;
mod text;
mod words;

pub use project::{File, expect_none, files, root};
