// SPDX-License-Identifier: GPL-2.0-only
//! QEMU: its process and its output.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel as queue};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::channel::{self, FrameKind};
use crate::installed;

/// The name of QEMU's executable.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// How the guest's instructions are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor executes them (Linux KVM).
    Kvm,
    /// QEMU translates them. Only TCG can count instructions.
    Tcg,
}

impl Accelerator {
    /// The name in records.
    pub fn word(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

/// The first line of `qemu-system-x86_64 --version`.
pub fn version() -> Result<String> {
    installed::version(PROGRAM).with_context(|| {
        let remedy = process::packages::install("qemu-system-x86");
        format!("`{PROGRAM}` cannot be run; to get it: {remedy}")
    })
}

/// The firmware that runs before the kernel: its instructions count under the virtual clock.
const FIRMWARE: [&str; 2] = ["bios-256k.bin", "linuxboot_dma.bin"];

/// Where the installed QEMU looks for firmware; empty if it does not say.
pub fn firmware_folders() -> Vec<String> {
    let output = process::stop::output(Command::new(PROGRAM).args(["-L", "help"]));
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The start of the SHA-256 of the firmware that QEMU finds here; `unknown` if it does not say
/// where.
pub fn firmware() -> String {
    static FOUND: OnceLock<String> = OnceLock::new();
    let find = || {
        let folders = firmware_folders();
        let read = |name: &&str| {
            folders.iter().find_map(|folder| std::fs::read(Path::new(folder).join(name)).ok())
        };
        let parts: Option<Vec<Vec<u8>>> = FIRMWARE.iter().map(read).collect();
        Some(model::trial::sha256_hex(&parts?.concat())[..16].to_owned())
    };
    FOUND.get_or_init(|| find().unwrap_or_else(|| "unknown".into())).clone()
}

/// SHA-256 of the installed QEMU's executable; `None` if it cannot be read.
pub(crate) fn content() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let read = || Some(model::trial::sha256_hex(&std::fs::read(installed::find(PROGRAM)?).ok()?));
    FOUND.get_or_init(read).as_deref()
}

#[derive(Debug)]
pub enum Output {
    /// A frame, and the time of its arrival.
    Frame(FrameKind, Vec<u8>, Instant),
    /// The stream ended, or a frame was damaged. It is the last output.
    End(Option<String>),
}

/// A running machine. It is killed on drop and when this process dies.
pub struct Qemu {
    child: Child,
    /// The console's last lines.
    console: Arc<Mutex<VecDeque<String>>>,
    console_reader: Option<JoinHandle<()>>,
    /// The guest's frames, in the order in which it wrote them.
    pub output: Receiver<Output>,
}

impl Qemu {
    /// Starts a machine, which inherits these descriptors under their own numbers.
    pub fn start(program: &Path, arguments: &[String], inherited: &[RawFd]) -> Result<Qemu> {
        let mut child = spawn(program, arguments, inherited)?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            bail!("QEMU started without its pipes");
        };
        let (sender, output) = queue();
        let console = Arc::new(Mutex::default());
        let keeper = Arc::clone(&console);
        thread::spawn(move || read_frames(stdout, &sender));
        let console_reader = Some(thread::spawn(move || read_console(stderr, &keeper)));
        Ok(Qemu { child, console, console_reader, output })
    }

    pub fn pid(&self) -> libc::pid_t {
        self.child.id() as libc::pid_t
    }

    /// Kills the machine if it still runs. Its console is complete afterwards.
    pub fn kill(&mut self) {
        self.child.kill().ok();
        self.wait();
    }

    /// Waits for the end of a machine whose output has ended. Its console is complete afterwards.
    pub fn wait(&mut self) -> Option<ExitStatus> {
        let status = self.child.wait().ok();
        if let Some(reader) = self.console_reader.take() {
            reader.join().ok();
        }
        status
    }

    /// The last lines that the kernel or QEMU itself printed.
    pub fn console(&self) -> Vec<String> {
        let console = self.console.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        console.iter().cloned().collect()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A file in memory. The kernel frees it with its last user, so `kill -9` leaves nothing behind.
pub(crate) fn memory_file(name: &CStr, content: &[u8]) -> Result<OwnedFd> {
    let file = memfd_create(name, MFdFlags::MFD_CLOEXEC)
        .with_context(|| format!("making {} in memory", name.to_string_lossy()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(content)
        .with_context(|| format!("writing {} (is memory full?)", name.to_string_lossy()))?;
    Ok(file.into())
}

/// The path of an open file, in this process and in one that inherits it.
pub(crate) fn path_of(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn spawn(program: &Path, arguments: &[String], inherited: &[RawFd]) -> Result<Child> {
    let inherited = inherited.to_vec();
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C must reach only this process, which then stops the machine.
    command.process_group(0);
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls are made, on values that were copied before.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
                || inherited.iter().any(|fd| libc::fcntl(*fd, libc::F_SETFD, 0) != 0)
                || libc::getppid() as u32 != parent
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    process::spawn(&mut command).with_context(|| format!("starting `{}`", program.display()))
}

fn read_frames(stream: impl Read, sender: &Sender<Output>) {
    let mut stream = BufReader::new(stream);
    loop {
        let output = match channel::decode(&mut stream) {
            Ok(Some((kind, payload))) => Output::Frame(kind, payload, Instant::now()),
            Ok(None) => Output::End(None),
            Err(error) => Output::End(Some(error.to_string())),
        };
        let is_end = matches!(output, Output::End(_));
        if sender.send(output).is_err() || is_end {
            return;
        }
    }
}

/// Number of console lines that are kept. A panic with its trace takes about sixty lines.
const CONSOLE_LINES_MAX: usize = 200;

/// What a guest writes without an end of a line is cut here.
const CONSOLE_LINE_BYTES_MAX: u64 = 4096;

fn read_console(stream: impl Read, console: &Mutex<VecDeque<String>>) {
    let (mut stream, mut line) = (BufReader::new(stream), Vec::new());
    while let Ok(1..) = (&mut stream).take(CONSOLE_LINE_BYTES_MAX).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        let mut console = console.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        console.push_back(text);
        if console.len() > CONSOLE_LINES_MAX {
            console.pop_front();
        }
    }
}

/// A panic with its registers and its trace.
const LINES_MAX: usize = 60;

pub fn tail(lines: &[String]) -> String {
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

/// The beginnings of a kernel's report of its own fault. A panic follows it.
const FAULTS: &[&str] = &["BUG: ", "Oops: ", "kernel BUG at "];

/// The panic's own line with the fault that it is of, which is what tables show, then the last
/// lines.
pub fn crash(lines: &[String]) -> String {
    let Some(panic) = lines.iter().rposition(|line| line.contains("Kernel panic")) else {
        let headline = "the virtual machine ended without a word of its kernel";
        return [headline, &tail(lines)].join("\n").trim_end().to_owned();
    };
    let said: Vec<&str> = lines[..=panic].iter().map(|line| strip_time(line)).collect();
    let is_fault = |line: &&str| FAULTS.iter().any(|fault| line.starts_with(fault));
    let fault = said.iter().position(is_fault).map_or(&said[..0], |at| &said[at..]);
    let place = fault.iter().find(|line| line.starts_with("RIP: ") || line.starts_with("pc : "));
    let of: Vec<&str> = fault.iter().take(1).chain(place).copied().collect();
    let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join("; ")) };
    format!("{}{of}\n{}", said[panic], tail(lines)).trim_end().to_owned()
}

/// Whether the kernel died of a breakpoint that it had already removed.
///
/// A kernel switches its own code on and off (static keys; loading a scheduler does): it writes a
/// breakpoint (`int3`), notifies every CPU, writes the rest, and removes the breakpoint. If a CPU
/// executes the breakpoint afterwards, no handler knows it, and the kernel panics. That cannot
/// happen on a processor. QEMU before 8.1 translates code without locking its page, so that with a
/// thread for each CPU a translation made of the breakpoint may outlive it.
pub fn is_stale_code(lines: &[String]) -> bool {
    lines.iter().any(|line| strip_time(line).starts_with("Oops: int3"))
}

/// `[    1.234567] text` → `text`.
fn strip_time(line: &str) -> &str {
    let stamped = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("] "));
    stamped.map_or(line, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_without_an_end_of_a_line_takes_no_more_memory() {
        let console = Mutex::new(VecDeque::new());
        read_console(std::io::repeat(b'x').take(2 << 20), &console);
        let lines = console.into_inner().expect("no panic");
        assert_eq!(lines.len(), CONSOLE_LINES_MAX);
        assert!(lines.iter().all(|line| line.len() as u64 == CONSOLE_LINE_BYTES_MAX));
        let console = Mutex::new(VecDeque::new());
        read_console(&b"one\r\ntwo"[..], &console);
        assert_eq!(console.into_inner().expect("no panic"), ["one", "two"]);
    }

    #[test]
    fn a_dropped_machine_is_gone_and_its_console_was_kept() {
        testing::beyond_cargo_test!("needs QEMU");
        // Without a kernel there is nothing to boot, which QEMU reports on its error stream.
        let arguments = ["-kernel", "/nonexistent", "-display", "none"].map(str::to_owned);
        testing::need!(testing::program(PROGRAM));
        let mut qemu = Qemu::start(Path::new(PROGRAM), &arguments, &[]).expect("QEMU starts");
        assert!(matches!(qemu.output.recv(), Ok(Output::End(None))));
        assert!(!qemu.wait().unwrap().success());
        assert!(qemu.console().join("\n").contains("/nonexistent"), "{:?}", qemu.console());
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_crash_opens_with_the_panics_line() {
        let console =
            lines("[ 1.0] BUG: x\n[    2.500000] Kernel panic - not syncing: y\n[ 2.6] end");
        let text = crash(&console);
        assert!(text.starts_with("Kernel panic - not syncing: y (BUG: x)\n[ 1.0] BUG"), "{text}");
        let mut long = lines("[ 1.0] BUG: x\n[ 1.1] RIP: 0010:f+0x17/0x40\n[ 1.2] RIP: 0033:0x7");
        long.extend((0..LINES_MAX).map(|number| format!("[ 2.0] {number}")));
        long.push("[ 3.0] Kernel panic - not syncing: Fatal exception".into());
        let text = crash(&long);
        let headline = text.lines().next();
        let whole = "Kernel panic - not syncing: Fatal exception (BUG: x; RIP: 0010:f+0x17/0x40)";
        assert_eq!(headline, Some(whole));
    }

    #[test]
    fn a_breakpoint_that_nobody_knows_is_stale_code() {
        let stale = "[  163.998953] Oops: int3: 0000 [#1] SMP NOPTI\n[ 164.0] Kernel panic - x";
        assert!(is_stale_code(&lines(stale)));
        assert!(!is_stale_code(&lines("[ 1.0] Oops: 0000 [#1]\n[ 1.1] RIP: int3_handler")));
    }

    #[test]
    fn a_silent_end_says_so() {
        assert_eq!(crash(&[]), "the virtual machine ended without a word of its kernel");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert!(tail(&many).starts_with("40\n41\n"));
    }
}
