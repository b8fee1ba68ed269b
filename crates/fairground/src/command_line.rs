// SPDX-License-Identifier: GPL-2.0-only
//! This process's command line, quoted so that a person can paste it into a shell.

use model::{Experiment, Seed};
use store::Session;
pub use store::exchange::shell::quoted;

use crate::execution::VERSION;
use crate::times;

/// A session that this command begins now.
pub fn session(experiment: Experiment, plan: String, seed: Seed) -> Session {
    Session {
        id: 0,
        campaign: None,
        experiment,
        plan,
        seed,
        command: command(),
        started_unix_s: times::now(),
        fairground: VERSION.into(),
        origin: None,
    }
}

/// The command that started this process, with the program's bare name.
pub fn command() -> String {
    let arguments = std::env::args().skip(1).map(|argument| quoted(&argument));
    std::iter::once("fairground".into()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The command that continues where this one was interrupted.
pub fn resume_command() -> String {
    let command = command();
    let resumes = std::env::args().any(|argument| argument == "--resume");
    if resumes { command } else { command + " --resume" }
}
