// SPDX-License-Identifier: GPL-2.0-only
//! QEMU: its arguments, its process and its output.

use std::collections::VecDeque;
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
use model::{Clock, Machine};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::channel::{self, FrameKind, PORT};

/// The name of QEMU's executable.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// How the guest's instructions are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accelerator {
    /// KVM if a probe boot succeeds and the clock is real, else TCG.
    #[default]
    Auto,
    /// The processor executes them (Linux KVM).
    Kvm,
    /// QEMU translates them. Only TCG can count instructions.
    Tcg,
}

impl Accelerator {
    /// The name in records (`auto` never occurs in one) and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Accelerator::Auto => "auto",
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

/// The first line of `qemu-system-x86_64 --version`.
///
/// # Errors
/// QEMU is not installed or does not run.
pub fn version() -> Result<String> {
    let output = Command::new(PROGRAM).arg("--version").output().with_context(|| {
        format!(
            "`{PROGRAM}` cannot be run: install QEMU (Debian and Ubuntu: `apt-get install \
             qemu-system-x86`; Fedora: `qemu-system-x86-core`; Arch: `qemu-system-x86`)"
        )
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The firmware that runs before the kernel: its instructions count under the virtual clock.
const FIRMWARE: [&str; 2] = ["bios-256k.bin", "linuxboot_dma.bin"];

/// The start of the SHA-256 of the firmware that QEMU finds here; `unknown` if it does not say
/// where.
pub fn firmware() -> String {
    static FOUND: OnceLock<String> = OnceLock::new();
    let find = || {
        let output = Command::new(PROGRAM).args(["-L", "help"]).output().ok()?;
        let folders = String::from_utf8_lossy(&output.stdout).into_owned();
        let read = |name: &&str| {
            folders.lines().find_map(|folder| std::fs::read(Path::new(folder).join(name)).ok())
        };
        let parts: Option<Vec<Vec<u8>>> = FIRMWARE.iter().map(read).collect();
        Some(model::trial::sha256_hex(&parts?.concat())[..16].to_owned())
    };
    FOUND.get_or_init(|| find().unwrap_or_else(|| "unknown".into())).clone()
}

/// The kernel's command line, which every record contains.
///
/// Mitigations of processor faults stay at the kernel's defaults: they are part of the cost of a
/// context switch.
pub fn command_line(machine: &Machine) -> String {
    let common = [
        // A panic's text goes to the serial port.
        "console=ttyS0",
        // The kernel prints only panics: printing would take time from the workload.
        "loglevel=1",
        // A panic or an oops ends the boot at once, so the host notices it.
        "panic=-1",
        "oops=panic",
        // The self-tests of the kernel's cryptography would run during the first trials.
        "cryptomgr.notests",
        // Under emulation the clock watchdog would replace a good clock by a slow one.
        "tsc=reliable",
        // Checks and probes of absent hardware would delay the boot.
        "no_timer_check",
        "i8042.noaux",
        "i8042.nokbd",
    ];
    let only = match machine.clock {
        // The same addresses in every boot.
        Clock::Virtual => "nokaslr",
        Clock::Real => "",
    };
    let usual = Machine::default().rt_runtime_us;
    let limit = match machine.rt_runtime_us {
        us if us == usual => String::new(),
        us => format!("sysctl.kernel.sched_rt_runtime_us={us}"),
    };
    let parts = [&common.join(" "), only, &limit];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// All arguments except the initramfs. `accelerator` must not be `Auto`.
pub fn arguments(image: &Path, machine: &Machine, accelerator: Accelerator) -> Vec<String> {
    let mut arguments: Vec<String> = time_arguments(machine.clock, accelerator);
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    add("-smp", processors(machine));
    add("-m", format!("{}M", machine.memory_mib));
    nodes(machine).into_iter().for_each(|(name, value)| add(name, value));
    add("-kernel", image.to_string_lossy().into_owned());
    add("-append", command_line(machine));
    add("-chardev", "file,id=console,path=/dev/stderr".into());
    add("-serial", "chardev:console".into());
    add("-chardev", "file,id=records,path=/dev/stdout".into());
    add("-device", format!("isa-debugcon,iobase={PORT:#x},chardev=records"));
    add("-display", "none".into());
    let switches = ["-nodefaults", "-no-user-config", "-no-reboot"];
    arguments.extend(switches.map(str::to_owned));
    arguments
}

/// Sockets, cores and threads. A socket of QEMU has one last-level cache, so there is one socket
/// per cache. The machine's numbers divide each other.
fn processors(machine: &Machine) -> String {
    let (cpus, sockets, threads) = (machine.cpus.max(1), machine.llcs.max(1), machine.smt.max(1));
    let cores = (cpus / sockets / threads).max(1);
    format!("cpus={cpus},sockets={sockets},cores={cores},threads={threads}")
}

/// Memory and CPUs of each NUMA node; empty for a single node.
fn nodes(machine: &Machine) -> Vec<(&'static str, String)> {
    let count = machine.nodes.max(1);
    if count == 1 {
        return Vec::new();
    }
    let (cpus, share) = (machine.cpus / count, machine.memory_mib / count);
    let node = |node: u32| {
        let first = if node == 0 { machine.memory_mib % count } else { 0 };
        let (from, to) = (node * cpus, (node + 1) * cpus - 1);
        [
            ("-object", format!("memory-backend-ram,id=node{node},size={}M", share + first)),
            ("-numa", format!("node,nodeid={node},memdev=node{node},cpus={from}-{to}")),
        ]
    };
    (0..count).flat_map(node).collect()
}

/// With a virtual clock, one instruction takes one nanosecond, the clock of an idle machine jumps
/// to its next timer, and everything that differs between hosts (date, random instructions) is
/// fixed.
fn time_arguments(clock: Clock, accelerator: Accelerator) -> Vec<String> {
    let arguments: &[&str] = match (clock, accelerator) {
        (Clock::Virtual, _) => &[
            "-accel",
            "tcg",
            "-icount",
            "shift=0,sleep=off",
            "-rtc",
            "base=2026-01-01,clock=vm",
            "-cpu",
            "max,-rdrand,-rdseed",
        ],
        (Clock::Real, Accelerator::Kvm) => &["-accel", "kvm", "-cpu", "host"],
        (Clock::Real, _) => &["-accel", "tcg,thread=multi", "-cpu", "max"],
    };
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

/// Output of a running machine.
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
    console: Arc<Mutex<Console>>,
    console_reader: Option<JoinHandle<()>>,
    /// The guest's frames, in the order in which it wrote them.
    pub output: Receiver<Output>,
    /// When the process was started.
    pub started: Instant,
}

impl Qemu {
    /// Starts a machine.
    ///
    /// # Errors
    /// QEMU is missing or the operating system refuses.
    pub fn start(arguments: &[String], initramfs: &[u8]) -> Result<Qemu> {
        let file = memory_file(initramfs)?;
        let started = Instant::now();
        let mut child = spawn(arguments, &file)?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            bail!("QEMU started without its pipes");
        };
        let (sender, output) = queue();
        let console = Arc::new(Mutex::new(Console::default()));
        let keeper = Arc::clone(&console);
        thread::spawn(move || read_frames(stdout, &sender));
        let console_reader = Some(thread::spawn(move || read_console(stderr, &keeper)));
        Ok(Qemu { child, console, console_reader, output, started })
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
        console.lines.iter().cloned().collect()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A file in memory. The kernel frees it with its last user, so `kill -9` leaves nothing behind.
fn memory_file(content: &[u8]) -> Result<OwnedFd> {
    let file = memfd_create(c"fairground-initramfs", MFdFlags::MFD_CLOEXEC)
        .context("making a file in memory for the initramfs")?;
    let mut file = std::fs::File::from(file);
    file.write_all(content).context("writing the initramfs (is memory full?)")?;
    Ok(file.into())
}

fn spawn(arguments: &[String], initramfs: &OwnedFd) -> Result<Child> {
    let fd: RawFd = initramfs.as_raw_fd();
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("-initrd").arg(format!("/proc/self/fd/{fd}"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C must reach only this process, which then stops the machine.
    command.process_group(0);
    let parent = std::process::id();
    // SAFETY: between fork and exec only system calls are made, on values that were copied before.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
                || libc::fcntl(fd, libc::F_SETFD, 0) != 0
                || libc::getppid() as u32 != parent
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    command.spawn().with_context(|| format!("starting `{PROGRAM}`"))
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

/// The console's last lines.
#[derive(Default)]
struct Console {
    lines: VecDeque<String>,
}

/// Number of console lines that are kept. A panic with its trace takes about sixty lines.
const CONSOLE_LINES_MAX: usize = 200;

fn read_console(stream: impl Read, console: &Mutex<Console>) {
    for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        let mut console = console.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        console.lines.push_back(line);
        if console.lines.len() > CONSOLE_LINES_MAX {
            console.lines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(clock: Clock, cpus: u32) -> Machine {
        Machine { name: "m".into(), cpus, memory_mib: 512, clock, ..Machine::default() }
    }

    fn line(clock: Clock, accelerator: Accelerator) -> String {
        arguments(Path::new("/k/vmlinuz"), &machine(clock, 2), accelerator).join(" ")
    }

    #[test]
    fn the_virtual_clock_counts_instructions_whatever_the_accelerator() {
        for accelerator in [Accelerator::Kvm, Accelerator::Tcg] {
            let line = line(Clock::Virtual, accelerator);
            for part in ["-icount shift=0,sleep=off", "clock=vm", "max,-rdrand,-rdseed", "nokaslr"]
            {
                assert!(line.contains(part), "{part} is missing from {line}");
            }
            assert!(!line.contains("kvm"), "{line}");
        }
    }

    #[test]
    fn the_limit_of_real_time_tasks_is_the_machines() {
        let usual = machine(Clock::Real, 1);
        let unlimited = Machine { rt_runtime_us: -1, ..usual.clone() };
        assert!(!command_line(&usual).contains("sysctl"));
        assert!(command_line(&unlimited).ends_with(" sysctl.kernel.sched_rt_runtime_us=-1"));
    }

    #[test]
    fn the_real_clock_takes_all_cpus() {
        let line = line(Clock::Real, Accelerator::Tcg);
        assert!(line.contains("-accel tcg,thread=multi"), "{line}");
        assert!(line.contains("cpus=2,sockets=1,cores=2,threads=1"), "{line}");
        assert!(!line.contains("icount"), "{line}");
    }

    #[test]
    fn the_machines_shape_is_the_guests() {
        let machine =
            Machine { smt: 2, llcs: 4, nodes: 2, memory_mib: 1023, ..machine(Clock::Real, 16) };
        let line = arguments(Path::new("/k/vmlinuz"), &machine, Accelerator::Tcg).join(" ");
        assert!(line.contains("cpus=16,sockets=4,cores=2,threads=2"), "{line}");
        assert!(line.contains("-object memory-backend-ram,id=node0,size=512M"), "{line}");
        assert!(line.contains("-numa node,nodeid=1,memdev=node1,cpus=8-15"), "{line}");
    }

    #[test]
    fn a_dropped_machine_is_gone_and_its_console_was_kept() {
        // Without a kernel there is nothing to boot, which QEMU reports on its error stream.
        let arguments = ["-kernel", "/nonexistent", "-display", "none"].map(str::to_owned);
        let Ok(mut qemu) = Qemu::start(&arguments, b"") else {
            println!("skipped: no {PROGRAM}");
            return;
        };
        assert!(matches!(qemu.output.recv(), Ok(Output::End(None))));
        assert!(!qemu.wait().unwrap().success());
        assert!(qemu.console().join("\n").contains("/nonexistent"), "{:?}", qemu.console());
    }
}
