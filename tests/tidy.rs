// SPDX-License-Identifier: GPL-2.0-only
//! Style as a test: what can be enforced is enforced here, so that nobody has to remember it.
//!
//! `FAIRGROUND_BLESS=1 cargo test --release --test tidy` rewrites the generated index of the
//! schedulers; the generated parts of the book belong to the test `book`.

#[path = "tidy/closure.rs"]
mod closure;
#[path = "tidy/counterparts.rs"]
mod counterparts;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/portable.rs"]
mod portable;
mod project;
#[path = "tidy/schedulers.rs"]
mod schedulers;
#[path = "tidy/text.rs"]
mod text;
#[path = "tidy/words.rs"]
mod words;

pub use project::{File, expect_none, files, root};
