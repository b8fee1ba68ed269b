// SPDX-License-Identifier: GPL-2.0-only
//! The library behind the `fairground` program.
//!
//! ```text
//! spec ─► plan ─► measure ─► execution (sim │ vm │ live) ─► store ─► comparison ─► report
//! ```
//!
//! Read in this order: [`cmd`] is the table of verbs; [`planned_experiment`] turns a
//! command line into trials, with the crate `spec`; [`measure`] is the service behind every verb
//! that measures, and [`execution`] executes trials on the backends. [`records`], [`selected`],
//! [`recordings`] and [`comparison`] are what the reading verbs share, [`leaving`] says what files
//! for others may tell. [`claims`] tests what others have published, [`advice`] finds the scheduler
//! for a user, [`abilities`] what this machine can do. [`build_progress`], [`command_line`],
//! [`exit`], [`output`], [`test_cases`], [`times`] and [`ui`] are small things that many verbs
//! need. Other tools' files, and files for other people, are in `store::exchange`.

pub mod abilities;
pub mod advice;
pub mod build_progress;
pub mod claims;
pub mod cmd;
pub mod command_line;
pub mod comparison;
pub mod execution;
pub mod exit;
pub mod leaving;
pub mod measure;
pub mod output;
pub mod planned_experiment;
pub mod recordings;
pub mod records;
pub mod selected;
pub mod size;
pub mod test_cases;
pub mod times;
pub mod today;
pub mod ui;

use std::panic;
use std::process::ExitCode;

use execution::interrupt;

/// The whole program: from the command line to the exit code.
pub fn start() -> ExitCode {
    // The player's `exec` steps start this program only to see it end.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "--exit-now") {
        return ExitCode::SUCCESS;
    }
    if vm::guest::is_init() {
        execution::live::serve();
    }
    exit::hook_panics();
    spec::assets::on_note(output::tell_once);
    interrupt::survive_file_limit();
    interrupt::end_at_first();
    match panic::catch_unwind(|| cmd::Cli::read().run()) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => exit::report(&error),
        Err(_) => ExitCode::from(exit::LAB_FAILED),
    }
}
