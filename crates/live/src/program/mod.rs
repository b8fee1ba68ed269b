// SPDX-License-Identifier: GPL-2.0-only
//! Real programs as workloads: found, held at the common start, observed, stopped, and waited for.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::{Duration, Instant};

use model::{Policy, Program};
use process::installed::find;
use process::{Pipe, pipe};

use crate::player::attributes::{self, check, errno};
use crate::player::clock::{Usage, now_ns, usage_of};
use crate::reaping;

#[cfg(test)]
mod tests;

/// The bytes that a program may print between two reads of its pipes.
const PIPE_BYTES: i32 = 1 << 20;

/// How long a program may take to end after SIGINT: a sched_ext scheduler has to give all tasks
/// back.
const GRACE: Duration = Duration::from_secs(3);

/// The interval at which the output of an unmeasured program is read, milliseconds.
const LOOK_MS: i32 = 100;

/// The time limit for a program to print its version.
const VERSION_GRACE: Duration = Duration::from_secs(10);

pub struct Running {
    pid: libc::pid_t,
    gate: Option<OwnedFd>,
    handle: OwnedFd,
    stdout: Capture,
    stderr: Capture,
    start_ns: u64,
    end: Option<(i32, Usage, u64)>,
    stopped: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Finished {
    pub stdout: String,
    pub stderr: String,
    /// Its exit code, or minus the signal that ended it.
    pub code: i32,
    pub stopped: bool,
    /// From its release to its end, nanoseconds.
    pub run_ns: u64,
    /// Its own usage and that of the children that it waited for.
    pub usage: Usage,
}

/// Why a workload's program cannot run here, with the packages to install; `None` if nothing is
/// missing.
pub fn missing(program: &Program) -> Option<String> {
    let (name, package) = program.needed().find(|(name, _)| find(name).is_none())?;
    let package = if package.is_empty() { name } else { package };
    let remedy = process::packages::install(package);
    Some(format!("`{name}` is not installed here; to get it: {remedy}"))
}

/// The first line that `PROGRAM --version` prints; `None` if it does not have that option.
pub fn version(name: &str) -> Option<String> {
    let command = [name.to_owned(), "--version".to_owned()];
    let mut running = Running::hold(&command, &Policy::default(), None).ok()?;
    running.release();
    let patience = Instant::now() + VERSION_GRACE;
    while !running.poll() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(2));
    }
    let finished = running.finish();
    let first = finished.stdout.lines().next().map(str::trim).filter(|line| !line.is_empty())?;
    (finished.code == 0).then(|| first.to_owned())
}

/// A program without a process, and its pipes.
pub struct Held {
    image: Image,
    policy: Policy,
    gate: Pipe,
    stdout: Pipe,
    stderr: Pipe,
}

impl Held {
    /// A program that will work in `folder`, or in the current one.
    pub fn new(command: &[String], policy: &Policy, folder: Option<&Path>) -> io::Result<Held> {
        let name = command.first().map_or("", String::as_str);
        let absent = || io::Error::other(format!("`{name}` is not installed here"));
        // A relative path starts at the current folder, not at the program's.
        let path = std::path::absolute(find(name).ok_or_else(absent)?)?;
        let image = Image::new(&path, command, folder)?;
        let (gate, stdout, stderr) = (pipe()?, pipe()?, pipe()?);
        Ok(Held { image, policy: *policy, gate, stdout, stderr })
    }

    /// In a new process: waits for [`Running::release`], then becomes the program. Does only what
    /// is async-signal-safe.
    pub fn become_it(&self) -> ! {
        become_program(&self.image, &self.policy, &self.gate, &self.stdout, &self.stderr)
    }

    /// In a process that has nothing to do with it: the program begins when nobody has its gate.
    pub fn leave(&self) {
        for pipe in [&self.gate, &self.stdout, &self.stderr] {
            // SAFETY: descriptors of this process, which it does not use.
            unsafe { libc::close(pipe.write.as_raw_fd()) };
        }
    }
}

impl Running {
    /// Forks a program's process, which waits for [`Running::release`] before `execve`. It works in
    /// `folder`, or in the current one.
    pub fn hold(command: &[String], policy: &Policy, folder: Option<&Path>) -> io::Result<Running> {
        let held = Held::new(command, policy, folder)?;
        // SAFETY: the child does only what is async-signal-safe.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            held.become_it();
        }
        check(i64::from(pid)).map_err(io::Error::from_raw_os_error)?;
        // SAFETY: no pointers; the child does the same, so that neither can be too late.
        unsafe { libc::setpgid(pid, pid) };
        Running::of(held, pid)
    }

    /// The program that a child of this process will become, which has a process group of its own.
    pub fn of(held: Held, pid: libc::pid_t) -> io::Result<Running> {
        reaping::enter(pid);
        Ok(Running {
            pid,
            gate: Some(held.gate.write),
            handle: open_handle(pid)?,
            stdout: Capture::new(held.stdout)?,
            stderr: Capture::new(held.stderr)?,
            start_ns: 0,
            end: None,
            stopped: false,
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    pub fn release(&mut self) {
        self.start_ns = now_ns();
        // Closing the pipe is the signal.
        self.gate = None;
    }

    /// A descriptor that becomes readable when it ends.
    pub fn handle(&self) -> RawFd {
        self.handle.as_raw_fd()
    }

    /// Reads its output, so that it does not block on the pipe; true when it has ended.
    pub fn poll(&mut self) -> bool {
        self.reap(libc::WNOHANG);
        self.stdout.drain();
        self.stderr.drain();
        self.end.is_some()
    }

    /// Sleeps until it has ended, or for a moment because its pipes must be emptied; false when the
    /// trial must stop.
    pub fn wait(&self) -> bool {
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut entries = [entry(self.handle()), entry(reaping::alarm())];
        // SAFETY: two valid entries.
        unsafe { libc::poll(entries.as_mut_ptr(), 2, LOOK_MS) };
        entries[1].revents == 0
    }

    /// Its output so far, standard output first.
    pub fn output(&self) -> String {
        self.stdout.text() + &self.stderr.text()
    }

    /// Ends it with everything that it has started: first by SIGINT, then by SIGKILL.
    pub fn stop(&mut self) {
        if !self.poll() {
            self.stopped = true;
            self.signal(libc::SIGINT);
            let patience = Instant::now() + GRACE;
            while !self.poll() && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        self.signal(libc::SIGKILL);
        self.reap(0);
        self.poll();
    }

    /// Stops it if it still runs, and returns its result.
    pub fn finish(mut self) -> Finished {
        self.stop();
        let (status, usage, end_ns) = self.end.unwrap_or_default();
        let code = if libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status)
        } else {
            -libc::WTERMSIG(status)
        };
        Finished {
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            code,
            stopped: self.stopped,
            run_ns: end_ns.saturating_sub(self.start_ns),
            usage,
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: no pointers; the process group is the program's own.
        unsafe { libc::kill(-self.pid, signal) };
    }

    fn reap(&mut self, flags: i32) {
        while self.end.is_none() {
            let mut status = 0;
            // SAFETY: zeros are a valid rusage; both are ours to fill.
            let (pid, usage) = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                (libc::wait4(self.pid, &mut status, flags, &mut usage), usage)
            };
            match pid {
                -1 if errno() == libc::EINTR => {}
                1.. => self.end = Some((status, usage_of(&usage), now_ns())),
                _ => return,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.reap(0);
        reaping::leave(self.pid);
    }
}

/// A program, its arguments and its environment in the kernel's form.
struct Image {
    path: CString,
    folder: Option<CString>,
    _strings: Vec<CString>,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Image {
    fn new(path: &Path, command: &[String], folder: Option<&Path>) -> io::Result<Image> {
        let bytes = |path: &Path| CString::new(path.as_os_str().as_bytes());
        let arguments = strings(command.iter().map(|argument| OsStr::new(argument).to_owned()))?;
        let plain = std::env::vars_os().filter(|(name, _)| !name.as_bytes().starts_with(b"LC_"));
        // Numbers have decimal points, whatever the user's locale.
        let variables = plain.chain([("LC_ALL".into(), "C".into())]).map(|(name, value)| {
            let mut variable = name;
            variable.push("=");
            variable.push(value);
            variable
        });
        let environment = strings(variables)?;
        Ok(Image {
            path: bytes(path)?,
            folder: folder.map(bytes).transpose()?,
            arguments: pointers(&arguments),
            environment: pointers(&environment),
            _strings: arguments.into_iter().chain(environment).collect(),
        })
    }
}

fn strings(texts: impl Iterator<Item = std::ffi::OsString>) -> io::Result<Vec<CString>> {
    texts.map(|text| Ok(CString::new(text.as_bytes())?)).collect()
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

fn become_program(image: &Image, policy: &Policy, gate: &Pipe, out: &Pipe, err: &Pipe) -> ! {
    // SAFETY: only system calls with valid pointers, and the end of this process.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        libc::dup2(nothing, 0);
        libc::dup2(out.write.as_raw_fd(), 1);
        libc::dup2(err.write.as_raw_fd(), 2);
        libc::close(gate.write.as_raw_fd());
        let folder = image.folder.as_ref();
        if folder.is_some_and(|folder| libc::chdir(folder.as_ptr()) != 0) {
            say(c"the kernel refused the program's folder\n");
            libc::_exit(127);
        }
        if attributes::set_policy(0, policy).is_err() {
            say(c"the kernel refused the program's scheduling policy\n");
        }
        let mut byte = 0u8;
        while libc::read(gate.read.as_raw_fd(), (&raw mut byte).cast(), 1) < 0 {}
        let (arguments, environment) = (image.arguments.as_ptr(), image.environment.as_ptr());
        libc::execve(image.path.as_ptr(), arguments, environment);
        say(c"the kernel could not execute the program\n");
        libc::_exit(127)
    }
}

fn say(text: &std::ffi::CStr) {
    // SAFETY: a valid string; its end is left out.
    unsafe { libc::write(2, text.as_ptr().cast(), text.to_bytes().len()) };
}

fn open_handle(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor is new and ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        check(fd).map_err(io::Error::from_raw_os_error)?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

struct Capture {
    pipe: File,
    bytes: Vec<u8>,
}

impl Capture {
    fn new(pipe: Pipe) -> io::Result<Capture> {
        let fd = pipe.read.as_raw_fd();
        // SAFETY: no pointers. Without the larger size it also works, only with more waiting.
        unsafe {
            libc::fcntl(fd, libc::F_SETPIPE_SZ, PIPE_BYTES);
            check(i64::from(libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK)))
                .map_err(io::Error::from_raw_os_error)?;
        }
        Ok(Capture { pipe: File::from(pipe.read), bytes: Vec::new() })
    }

    fn drain(&mut self) {
        // "Would block" is the normal end here, and what was read before it is kept.
        let _ = self.pipe.read_to_end(&mut self.bytes);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
