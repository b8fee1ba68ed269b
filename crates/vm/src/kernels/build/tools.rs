// SPDX-License-Identifier: GPL-2.0-only
//! The programs that a build starts: the Debian packages that have them, and how one runs (its
//! lines meanwhile, its end by Ctrl-C, and why it failed).

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::installed;
use crate::kernels::build::{Interrupted, refused};

/// What a build needs, each with the package that has it.
pub struct Needs {
    /// What is built: `a kernel`.
    pub what: &'static str,
    pub programs: &'static [(&'static str, &'static str)],
    /// Headers that the compiler finds.
    pub headers: &'static [(&'static str, &'static str)],
    /// Libraries that `pkg-config` knows.
    pub libraries: &'static [(&'static str, &'static str)],
}

pub const KERNEL: Needs = Needs {
    what: "a kernel",
    programs: &[
        ("make", "make"),
        ("gcc", "gcc"),
        ("ld", "binutils"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("perl", "perl"),
        ("pahole", "dwarves"),
        ("patch", "patch"),
        ("tar", "tar"),
        ("xz", "xz-utils"),
    ],
    headers: &[("gelf.h", "libelf-dev")],
    libraries: &[],
};

/// Fails with one message that names everything that is missing.
pub fn check(needs: &Needs) -> Result<()> {
    match missing(needs).as_slice() {
        [] => Ok(()),
        missing => bail!("{}", words(needs.what, missing)),
    }
}

/// What is missing, each with its package.
pub fn missing(needs: &Needs) -> Vec<(&'static str, &'static str)> {
    let is_missing = |list: &'static [(&str, &str)], is_here: fn(&str) -> bool| {
        list.iter().copied().filter(move |(name, _)| !is_here(name))
    };
    let mut missing: Vec<(&str, &str)> =
        is_missing(needs.programs, |name| installed::find(name).is_some()).collect();
    let lacks = |name: &str| missing.iter().any(|(program, _)| *program == name);
    let (lacks_compiler, lacks_pkg_config) = (lacks("gcc"), lacks("pkg-config"));
    if !lacks_compiler {
        missing.extend(is_missing(needs.headers, has_header));
    }
    if !lacks_pkg_config {
        missing.extend(is_missing(needs.libraries, has_library));
    }
    missing
}

/// The message about what is missing.
pub fn words(what: &str, missing: &[(&str, &str)]) -> String {
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let (names, remedy) = (names.join(", "), process::packages::install(&packages.join(" ")));
    format!("building {what} needs {names}; to get them: {remedy}")
}

fn has_header(name: &str) -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-include", name, "-fsyntax-only", "-x", "c", "/dev/null"]);
    gcc.output().is_ok_and(|output| output.status.success())
}

fn has_library(name: &str) -> bool {
    let mut known = Command::new("pkg-config");
    known.args(["--exists", name]);
    known.status().is_ok_and(|status| status.success())
}

/// The compiler as records name it.
pub fn compiler() -> Result<String> {
    installed::version("gcc").context("gcc cannot be run")
}

/// How often a job's stop flag is checked.
const STOP_CHECK: Duration = Duration::from_millis(200);

pub struct Job<'a> {
    /// What it makes, for messages: `the kernel`.
    pub what: &'a str,
    /// Where its complaints go.
    pub log: &'a Path,
    /// Ends it when it becomes true.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// Runs it in a process group of its own; `on_line` gets each line of its standard output.
    pub fn run(&self, mut command: Command, on_line: &mut dyn FnMut(&str)) -> Result<()> {
        let log = self.log;
        let errors = File::create(log).with_context(|| format!("writing {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).process_group(0);
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child =
            process::spawn(&mut command).with_context(|| format!("`{name}` cannot be run"))?;
        let lines = lines(&mut child)?;
        // Some compilers' drivers complain where their progress goes.
        let mut said = String::new();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                end(&mut child);
                return Err(Interrupted.into());
            }
            match lines.recv_timeout(STOP_CHECK) {
                Ok(line) => {
                    on_line(&line);
                    said += &(line + "\n");
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if child.wait()?.success() {
            return Ok(());
        }
        Err(self.failure(&(fs::read_to_string(log).unwrap_or_default() + &said)))
    }

    /// The first complaint; the user's tree is the user's.
    fn failure(&self, said: &str) -> anyhow::Error {
        // All of it is in one file, wherever it was said.
        let _ = fs::write(self.log, said);
        let (what, log) = (self.what, self.log.display());
        if said.contains("No space left on device") {
            return anyhow::anyhow!("the disk is full: make room and build again ({log})");
        }
        let is_complaint = |line: &&str| COMPLAINTS.iter().any(|word| line.contains(word));
        let last = || said.lines().rfind(|line| !line.trim().is_empty());
        let first = said.lines().find(is_complaint).or_else(last).unwrap_or("it says nothing");
        refused(format!("{what} does not compile: {}; all of it is in {log}", first.trim()))
    }
}

const COMPLAINTS: [&str; 5] =
    ["error: ", "Error ", "ERROR: ", "undefined reference", "is not clean"];

/// Ends a program and all that it started.
fn end(child: &mut Child) {
    let group = Pid::from_raw(child.id() as i32);
    // The group is gone if the program has just ended.
    let _ = killpg(group, Signal::SIGTERM);
    let _ = child.wait();
    let _ = killpg(group, Signal::SIGKILL);
}

fn lines(child: &mut Child) -> Result<Receiver<String>> {
    let output = child.stdout.take().context("the program has no output")?;
    let (send, receive) = channel();
    thread::spawn(move || {
        // A reader that has gone away has ended the program.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    Ok(receive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::build::Refused;

    #[test]
    fn one_message_names_all_packages() {
        let text = words("a kernel", &[("flex", "flex"), ("pahole", "dwarves")]);
        let remedy = process::packages::install("flex dwarves");
        let expected = format!("building a kernel needs flex, pahole; to get them: {remedy}");
        assert_eq!(text, expected);
    }

    fn run(words: &str) -> (Vec<String>, Option<anyhow::Error>) {
        let (folder, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let log = folder.path().join("build.log");
        let job = Job { what: "it", log: &log, stop: &stop };
        let mut command = Command::new("sh");
        command.args(["-c", words]);
        let mut heard = Vec::new();
        let error = job.run(command, &mut |line| heard.push(line.to_owned())).err();
        (heard, error)
    }

    #[test]
    fn lines_are_heard_and_a_failure_names_the_first_complaint() {
        let (heard, error) = run("echo one; echo two");
        assert_eq!((heard, error.is_none()), (vec!["one".to_owned(), "two".to_owned()], true));
        let script =
            "echo 'a.c:1: warning: x' >&2; echo 'a.c:2:3: error: unknown type' >&2; exit 1";
        let error = run(script).1.unwrap();
        assert!(error.is::<Refused>());
        let said = error.to_string();
        assert!(said.starts_with("it does not compile: a.c:2:3: error: unknown type; "), "{said}");
        let spoken = run("echo 'meson.build:3:1: ERROR: no glib'; exit 1").1.unwrap().to_string();
        assert!(spoken.contains("compile: meson.build:3:1: ERROR: no glib; "), "{spoken}");
        let full = run("echo 'as: x.o: No space left on device'; exit 1").1.unwrap();
        assert!(!full.is::<Refused>() && full.to_string().starts_with("the disk is full"));
    }
}
