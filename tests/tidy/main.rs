// SPDX-License-Identifier: GPL-2.0-only
//! Style as a test: what can be enforced is enforced here, so that nobody has to remember it.

mod closure;
mod counterparts;
mod documents;
mod functions;
mod layout;
mod licences;
mod names;
mod portable;
mod schedulers;
mod text;
mod tiers;

pub use testing::project::{File, expect_none, files, root};
