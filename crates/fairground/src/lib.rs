// SPDX-License-Identifier: GPL-2.0-only
//! The library behind the `fairground` program.
//!
//! ```text
//! spec ─► plan ─► run (sim │ vm │ live) ─► store ─► summary ─► report
//! ```
//!
//! Read in this order: [`cmd`] is the table of verbs, [`question`] what a command line asks;
//! the crate `spec` reads files and lays out trials, [`run`] executes them; [`records`],
//! [`stores`], [`runs`] and [`summary`] are what the reading verbs share, [`lineage`] which
//! scheduler descends from which, [`design`] what a plan can prove; [`claims`] asks again what
//! others have published, [`recommend`] which scheduler is for whom, [`calibrate`] what the
//! kernel's work costs; [`ui`] and [`output`] show, [`exit`] maps errors to exit codes; [`home`]
//! says where files are kept, [`words`] is this process's command line. The crate `exchange` makes
//! results travel.

pub mod calibrate;
pub mod claims;
pub mod cmd;
pub mod design;
pub mod exit;
pub mod home;
pub mod lineage;
pub mod output;
pub mod question;
pub mod recommend;
pub mod records;
pub mod run;
pub mod runs;
pub mod stores;
pub mod summary;
pub mod ui;
pub mod words;

use std::panic;
use std::process::ExitCode;

use clap::Parser;

/// The whole program: from the command line to the exit code.
pub fn start() -> ExitCode {
    // The player's `exec` steps start this very program and want nothing but its end.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "--exit-now") {
        return ExitCode::SUCCESS;
    }
    if vm::guest::is_init() {
        run::guest::serve();
    }
    exit::hook_panics();
    let result = panic::catch_unwind(|| cmd::Cli::parse().run());
    match result {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => exit::report(&error),
        Err(_) => ExitCode::from(exit::LAB_FAILED),
    }
}
