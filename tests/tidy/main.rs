// SPDX-License-Identifier: GPL-2.0-only
//! Style as a test: what can be enforced is enforced here, so that nobody has to remember it.

mod documents;
mod layout;
mod licences;
mod portable;
mod reading;
mod schedulers;
mod sources;

pub use testing::project::{File, expect_none, files, root};
