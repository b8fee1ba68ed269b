// SPDX-License-Identifier: GPL-2.0-only
//! The command that runs while it is recorded.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command_line::quoted;
use crate::exit::bad_input;

pub struct Command {
    words: String,
    child: Child,
    status: Option<ExitStatus>,
}

/// How long a command may take to end after SIGTERM, which a stopped one does not receive.
const LAST_WORDS: Duration = Duration::from_secs(2);

impl Command {
    /// Starts it; `None`: there is none.
    pub fn start(words: &[OsString]) -> Result<Option<Command>> {
        let Some((program, arguments)) = words.split_first() else { return Ok(None) };
        let child = std::process::Command::new(program).args(arguments).spawn();
        let child = child.map_err(|error| {
            bad_input(format!("{}: cannot be run: {error}", program.to_string_lossy()))
        })?;
        let words = words.iter().map(|word| quoted(&word.to_string_lossy()));
        Ok(Some(Command { words: words.collect::<Vec<_>>().join(" "), child, status: None }))
    }

    pub fn has_ended(&mut self) -> Result<bool> {
        self.status = self.child.try_wait().context("the command was lost")?;
        Ok(self.status.is_some())
    }

    /// Ends it if it still runs, as a terminal's hang-up would. Returns how it failed by itself.
    pub fn end(&mut self) -> Option<String> {
        let Some(status) = self.status else {
            // It may have ended at this moment.
            let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
            let begin = Instant::now();
            while matches!(self.child.try_wait(), Ok(None)) && begin.elapsed() < LAST_WORDS {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
            return None;
        };
        let how = match (status.code(), status.signal()) {
            (Some(0), _) => return None,
            (Some(code), _) => format!("with exit code {code}"),
            (None, Some(signal)) => format!("by signal {signal}"),
            (None, None) => "badly".into(),
        };
        Some(format!("`{}` ended {how}", self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn ended(text: &str) -> Option<String> {
        let mut command = Command::start(&words(text)).expect("a program").expect("a command");
        while !command.has_ended().expect("a child") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        command.end()
    }

    #[test]
    fn how_a_command_failed_is_told() {
        assert_eq!(ended("true"), None);
        assert_eq!(ended("false"), Some("`false` ended with exit code 1".into()));
        let refused = Command::start(&words("no-such-program")).err().expect("an error");
        assert!(refused.to_string().starts_with("no-such-program: cannot be run: "), "{refused}");
        assert!(Command::start(&[]).expect("nothing to do").is_none());
    }

    #[test]
    fn a_command_that_still_runs_is_ended_and_has_not_failed() {
        let mut command = Command::start(&words("sleep 60")).expect("a program").expect("one");
        assert!(!command.has_ended().expect("a child"));
        assert_eq!(command.end(), None);
    }
}
