// SPDX-License-Identifier: GPL-2.0-only
//! The programs that a build starts: the Debian packages that have them, and how one runs (its
//! lines meanwhile, its end by Ctrl-C, and why it failed).
//!
//! `make` of a kernel, with what makes two builds alike, and its progress.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::installed;
use crate::kernels::build::source::Workshop;
use crate::kernels::build::{BuildEvent, Interrupted, OnBuildEvent, refused};

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

/// Lines of a first build with the minimal configuration.
const ESTIMATE: u64 = 1100;

/// A build's own `make`.
pub struct Make<'a> {
    workshop: &'a Workshop,
    name: &'a str,
    jobs: usize,
    stop: &'a AtomicBool,
}

impl<'a> Make<'a> {
    /// Prepares the folder of objects. `name` becomes part of the release.
    pub fn new(
        workshop: &'a Workshop,
        name: &'a str,
        jobs: usize,
        stop: &'a AtomicBool,
    ) -> Result<Make<'a>> {
        let objects = workshop.objects();
        fs::create_dir_all(&objects).with_context(|| format!("creating {}", objects.display()))?;
        let make = Make { workshop, name, jobs, stop };
        write_pahole(&make.pahole())?;
        Ok(make)
    }

    /// The configuration that the tree makes of the text.
    pub fn configure(&self, text: &str) -> Result<String> {
        let wanted = self.workshop.folder.join("wanted.config");
        fs::write(&wanted, text).with_context(|| format!("writing {}", wanted.display()))?;
        let mut make = self.command();
        make.env("KCONFIG_ALLCONFIG", &wanted).arg("allnoconfig");
        self.run(make, &mut |_| ())?;
        let path = self.workshop.objects().join(".config");
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }

    pub fn image(&self, hear: &mut OnBuildEvent<'_>) -> Result<PathBuf> {
        let image = self.workshop.objects().join("arch/x86/boot/bzImage");
        // The first build of a source makes all files, a variant some.
        let kind = if image.is_file() { "files-of-a-variant" } else { "files-of-the-first" };
        let counted = self.workshop.folder.join(kind);
        let last = fs::read_to_string(&counted).ok().and_then(|text| text.trim().parse().ok());
        let about = last.unwrap_or(ESTIMATE);
        let mut make = self.command();
        make.arg(format!("-j{}", self.jobs)).arg("bzImage");
        let done = self.run(make, &mut |done| {
            hear(BuildEvent::Compiled { done, about: about.max(done) });
        })?;
        // A build that was ended and goes on would make the estimate too small.
        if done * 2 > about || last.is_none() {
            fs::write(&counted, done.to_string())?;
        }
        Ok(image)
    }

    /// Nothing of the user's environment, of the time or of the folders is in the image.
    fn command(&self) -> Command {
        let (source, objects) = (self.workshop.source.display(), self.workshop.objects());
        let objects = objects.display();
        let map = format!("-ffile-prefix-map={objects}=. -ffile-prefix-map={source}=.");
        let mut make = Command::new("make");
        for name in ["MAKEFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "CC", "LOCALVERSION"] {
            make.env_remove(name);
        }
        make.env("LC_ALL", "C")
            // Programs of the source leave nothing in it.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026")
            .env("KBUILD_BUILD_USER", "fairground")
            .env("KBUILD_BUILD_HOST", "fairground")
            .env("KBUILD_BUILD_VERSION", "1")
            .arg("-C")
            .arg(&self.workshop.source)
            .arg(format!("O={objects}"))
            .args(["ARCH=x86_64", "CC=gcc", "HOSTCC=gcc"])
            .arg(format!("LOCALVERSION=-{}", self.name))
            .arg(format!("KCPPFLAGS={map}"))
            // A debugger would want to know where variables are at each instruction; BTF does not
            // say it. A sixth of the time, and the same code.
            .arg("KCFLAGS=-fno-var-tracking")
            .arg(format!("PAHOLE={}", self.pahole().display()));
        make
    }

    fn pahole(&self) -> PathBuf {
        self.workshop.folder.join("pahole")
    }

    /// Runs it, counts the lines that name a made file, and returns their number.
    fn run(&self, make: Command, on_file: &mut dyn FnMut(u64)) -> Result<u64> {
        let log = self.workshop.folder.join("build.log");
        let job = Job { what: "the kernel", log: &log, stop: self.stop };
        let mut done = 0;
        job.run(make, &mut |line| {
            if is_made(line) {
                done += 1;
                on_file(done);
            }
        })?;
        Ok(done)
    }
}

/// `  CC      kernel/sched/core.o`.
fn is_made(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// pahole with several threads numbers types by chance, so the trees' `-j` is left out.
fn write_pahole(path: &Path) -> Result<()> {
    let Some(real) = installed::find("pahole") else { bail!("pahole is gone") };
    let text = format!(
        "#!/bin/sh\nfor word; do shift; case $word in -j*) ;; *) set -- \"$@\" \"$word\";; esac\n\
         done\nexec {} \"$@\"\n",
        real.display()
    );
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let mut file = File::create(path).with_context(|| format!("writing {}", path.display()))?;
    file.write_all(text.as_bytes())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
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

    #[test]
    fn files_are_counted_and_other_words_are_not() {
        assert!(is_made("  CC      kernel/sched/core.o") && is_made("  LD      vmlinux"));
        assert!(!is_made("make[1]: Entering directory") && !is_made("  warning"));
    }
}
