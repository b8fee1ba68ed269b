// SPDX-License-Identifier: GPL-2.0-only
//! What the tests of several crates share: what a machine may lack, a browser, rt-app's examples,
//! synthetic records, the project's files.

use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::{env, io, thread};

pub use page_data::page_data;

pub mod alone;
pub mod chromium;
pub mod one_cell;
mod page_data;
pub mod project;
pub mod rtapp_examples;
pub mod synthetic;

/// What a test needs and a machine may lack: `let kernel = need!(kernel());`. A machine that lacks
/// it skips the test, which says so; with `CI` set the test fails instead.
#[macro_export]
macro_rules! need {
    ($found:expr) => {
        match $crate::or_skip($found) {
            Some(found) => found,
            None => return,
        }
    };
}

pub fn or_skip<T>(found: Result<T, impl Display>) -> Option<T> {
    let why = match found {
        Ok(found) => return Some(found),
        Err(why) => why,
    };
    assert!(env::var_os("CI").is_none(), "{why}, and CI must have it");
    skip(why);
    None
}

/// Says that a test ends here although nothing is missing that CI must have.
pub fn skip(why: impl Display) {
    let thread = thread::current();
    let alone = env::var(alone::ALONE).ok();
    let name = alone.as_deref().or(thread.name()).unwrap_or("a test");
    // The harness shows what a passed test prints to nobody; `scripts/test.sh` counts these lines.
    let _ = writeln!(io::stderr(), "skipped: {name}: {why}");
}

/// The first line of a test that takes more than a processor: `cargo test` alone skips it, and says
/// so; `make test` and `make test-all` set `FAIRGROUND_TESTS`.
#[macro_export]
macro_rules! beyond_cargo_test {
    ($needed:literal) => {
        if std::env::var_os("FAIRGROUND_TESTS").is_none() {
            $crate::skip(concat!($needed, "; `make test` and `make test-all` do it"));
            return;
        }
    };
}

/// The path of a program that `PATH` has.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{name} is not installed (scripts/setup.sh has its package)"))
}
