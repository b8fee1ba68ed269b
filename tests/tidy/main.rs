// SPDX-License-Identifier: GPL-2.0-only
//! Style as a test: what can be enforced is enforced here, so that nobody has to remember it.

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

pub use project::{File, expect_none, files, root};
