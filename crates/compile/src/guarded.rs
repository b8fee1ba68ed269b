// SPDX-License-Identifier: GPL-2.0-only
//! Runs the compiler and the linker on a stranger's text: confined to the files that they need,
//! with limits, and only until somebody asks for the end.

use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use process::sandbox::{Limits, Reach};
use process::silence::Silence;

/// How much CPU time one call may take. The largest scheduler of the project takes two seconds.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a call may wait; the kernel limits its CPU time, and a busy host costs nothing.
const PATIENCE: Duration = Duration::from_secs(2 * 60);
/// How much memory it may take. The largest scheduler takes a quarter.
const MEMORY: u64 = 2 << 30;
const LIMITS: Limits =
    Limits { memory: MEMORY, cpu: LONGEST, file: 256 << 20, files: 1024, processes: true };

/// What every compiler and linker reads: itself, its libraries, and where these are.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/dev/null",
    "/dev/urandom",
];

/// What is left of the environment: what finds programs and libraries.
const KEPT: &[&str] = &["PATH", "LD_LIBRARY_PATH"];
/// `SOURCE_DATE_EPOCH` is what `__DATE__` and `__TIME__` say, so that an object is the same at any
/// time.
const FIXED: &[(&str, &str)] =
    &[("CCACHE_DISABLE", "1"), ("SOURCE_DATE_EPOCH", "0"), ("LC_ALL", "C"), ("TZ", "UTC")];

/// How much of what it says is kept.
const MOST_WORDS: u64 = 1 << 20;

/// The longest time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// The files that a clang call with this scratch folder may reach.
pub fn reach(clang: &Path, read: &[&Path], scratch: &Path) -> Reach {
    let mut all: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    all.extend(read.iter().map(|path| path.to_path_buf()));
    all.extend(beside(clang));
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    all.extend(std::env::split_paths(&libraries).filter(|path| path.is_absolute()));
    Reach { read: all, write: vec![scratch.to_owned()] }
}

/// The parts of a compiler that lies somewhere else than the system's.
fn beside(clang: &Path) -> Vec<PathBuf> {
    let Ok(clang) = clang.canonicalize() else { return Vec::new() };
    let folder = clang.parent().unwrap_or(Path::new("/"));
    let parts = ["lib", "lib64", "libexec", "include"].map(|part| folder.join("..").join(part));
    let folder = (folder != Path::new("/")).then(|| folder.to_owned());
    parts.into_iter().chain(folder).filter_map(|path| path.canonicalize().ok()).collect()
}

/// Runs a command with this text as its input and waits for its end.
///
/// # Errors
/// It does not start. `Interrupted`: somebody asked for the end. `TimedOut`: it took too long.
pub fn run(mut command: Command, input: &str, reach: &Reach) -> io::Result<Output> {
    // A variable could name further headers, or options.
    command.env_clear().envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(FIXED.iter().copied());
    if let Some(scratch) = reach.write.first() {
        command.env("TMPDIR", scratch);
    }
    process::sandbox::confine(&mut command, reach, LIMITS)?;
    // Files: of a pipe's ends, processes that other threads fork meanwhile keep copies.
    let (mut text, mut words) = (tempfile::tempfile()?, tempfile::tempfile()?);
    text.write_all(input.as_bytes())?;
    text.rewind()?;
    command.stdin(text).stdout(Stdio::null()).stderr(words.try_clone()?);
    let status = wait(&mut process::spawn(&mut command)?)?;
    words.rewind()?;
    let mut stderr = Vec::new();
    words.take(MOST_WORDS).read_to_end(&mut stderr)?;
    Ok(Output { status, stdout: Vec::new(), stderr })
}

fn wait(child: &mut Child) -> io::Result<std::process::ExitStatus> {
    let mut silence = Silence::begin(PATIENCE, Some(child.id() as libc::pid_t));
    let mut pause = Duration::from_millis(1);
    let why = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if process::stop::is_asked() {
            break io::ErrorKind::Interrupted;
        }
        if silence.is_over() {
            break io::ErrorKind::TimedOut;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    };
    // The linker that it may have started belongs to its group.
    // SAFETY: a plain system call; the child was not waited for, so its number is its own.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    child.wait()?;
    Err(why.into())
}

/// What a compiler's end means, if it did not end by itself.
pub fn stopped_by(output: &Output) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_memory = ["out of memory", "bad_alloc", "memory exhausted", "Cannot allocate memory"];
    if is_memory.iter().any(|words| said.contains(words)) {
        return Some(format!(
            "needs more than {} MiB of memory; make the text smaller",
            MEMORY >> 20
        ));
    }
    match output.status.signal()? {
        libc::SIGKILL | libc::SIGXCPU => Some(too_long()),
        libc::SIGXFSZ => Some(
            "makes an object of more than 256 MiB, or than `ulimit -f` allows; make the text \
             smaller, or raise the limit"
                .into(),
        ),
        signal => Some(format!("ended with signal {signal}")),
    }
}

pub fn too_long() -> String {
    format!("takes more than {} s; make the text smaller", LONGEST.as_secs())
}
