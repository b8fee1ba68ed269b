// SPDX-License-Identifier: GPL-2.0-only
//! The work of an init: programs find what they expect, the machine is idle before a trial, so that
//! neither the kernel's work after boot nor remains of the previous trial disturb it, and it stops
//! at an instruction, so that the host can save it.
//!
//! The host has set a breakpoint of QEMU's debugger at an address where no program has anything. An
//! instruction is put there and executed. A debugger stops a virtual CPU and tells QEMU's other
//! threads in one step, so what QEMU's clock does then never depends on which thread is quicker.
//! That is not so with the stop of a panic device.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, sethostname};
use sha2::{Digest, Sha256};

/// Type, place, and whether a trial is impossible without it.
const MOUNTS: &[(&str, &str, bool)] = &[
    ("proc", "/proc", true),
    ("sysfs", "/sys", true),
    ("devtmpfs", "/dev", true),
    ("tmpfs", "/dev/shm", true),
    ("devpts", "/dev/pts", false),
    ("tmpfs", "/tmp", true),
    ("tmpfs", "/run", true),
    ("bpf", "/sys/fs/bpf", false),
    ("debugfs", "/sys/kernel/debug", false),
    ("tracefs", "/sys/kernel/tracing", false),
];

fn has_entries(folder: &str) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// File systems, environment, limits, loopback.
pub fn make_usable(path: &str) -> Result<()> {
    for (kind, place, is_needed) in MOUNTS {
        // Folders in sysfs cannot be made; they are there when the kernel has the file system.
        fs::create_dir_all(place).ok();
        if *kind == "tmpfs" && has_entries(place) {
            // A packed program lies there, which an empty file system would hide.
            continue;
        }
        let mounted = mount(Some(*kind), *place, Some(*kind), MsFlags::empty(), None::<&str>);
        if *is_needed {
            mounted.with_context(|| format!("mounting {place} in the guest"))?;
        }
    }
    for (target, link) in [("/proc/self/fd", "/dev/fd"), ("/proc/self/fd/1", "/dev/stdout")] {
        symlink(target, link).ok();
    }
    sethostname("fairground")?;
    // SAFETY: process 1 has one thread here.
    unsafe {
        std::env::set_var("PATH", path);
        std::env::set_var("HOME", "/root");
    }
    std::env::set_current_dir("/tmp")?;
    raise_limits();
    raise_loopback();
    Ok(())
}

/// Workloads of hundreds of tasks with pipes need more than the default limits; a refusal is not
/// fatal.
fn raise_limits() {
    const FILES_MAX: u64 = 1 << 20;
    setrlimit(Resource::RLIMIT_NOFILE, FILES_MAX, FILES_MAX).ok();
    for resource in [Resource::RLIMIT_NPROC, Resource::RLIMIT_MEMLOCK, Resource::RLIMIT_CORE] {
        let limit = if resource == Resource::RLIMIT_CORE { 0 } else { RLIM_INFINITY };
        setrlimit(resource, limit, limit).ok();
    }
}

/// Programs use sockets on 127.0.0.1.
fn raise_loopback() {
    // SAFETY: plain system calls on a socket and a request that live here; ifreq is plain data
    // whose all-zero value is valid, and the name stays shorter than its field.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
        libc::close(socket);
    }
}

const RANDOM_NUMBERS: &str = "/dev/urandom";
/// `RNDADDENTROPY` and `RNDRESEEDCRNG` of the kernel's `linux/random.h`.
const ADD_ENTROPY: libc::Ioctl = 0x4008_5203_u32 as libc::Ioctl;
const RESEED: libc::Ioctl = 0x5207;

/// The kernel's `struct rand_pool_info` with room for a hash.
#[repr(C)]
struct Entropy {
    bits: libc::c_int,
    bytes: libc::c_int,
    seed: [u8; 32],
}

/// Makes the kernel's random numbers (addresses of programs, seeds of hash maps) follow from the
/// orders, too. Every boot under a virtual clock goes on from the same state of the kernel, with
/// the same random numbers in store. Boots are to differ as they do on a real machine, and a boot
/// that is repeated must not.
pub fn seed_random_numbers(orders: &[u8]) -> Result<()> {
    let seed: [u8; 32] = Sha256::digest(orders).into();
    let entropy = Entropy { bits: 256, bytes: 32, seed };
    let device = File::options().write(true).open(RANDOM_NUMBERS).context(RANDOM_NUMBERS)?;
    // SAFETY: the first request reads a struct that lives here and has this form; the second one
    // has no argument.
    let refused = unsafe {
        libc::ioctl(device.as_raw_fd(), ADD_ENTROPY, &entropy) != 0
            || libc::ioctl(device.as_raw_fd(), RESEED) != 0
    };
    if refused {
        return Err(io::Error::last_os_error()).context("the kernel's random numbers");
    }
    Ok(())
}

/// Ends processes that a trial left behind and reaps them, for at most a second.
pub fn kill_everything_else() {
    // To process 1, "all processes" are all but itself.
    kill(Pid::from_raw(-1), Signal::SIGKILL).ok();
    for _ in 0..1000 {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => sleep(Duration::from_millis(1)),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// A reboot: QEMU is told to end at one, and it is the kernel's shortest way out.
pub fn power_off() -> ! {
    // An error means that this is not process 1; then there is nothing to power off.
    nix::sys::reboot::reboot(nix::sys::reboot::RebootMode::RB_AUTOBOOT).ok();
    loop {
        sleep(Duration::from_secs(1));
    }
}

const WINDOW: Duration = Duration::from_millis(50);
/// /proc/stat counts in steps of 10 ms: one step in 50 ms may be this very loop.
const BUSY_TICKS_MAX: u64 = 1;
const IDLE_WINDOWS: u32 = 2;
/// Five seconds; a machine that is not idle by then stays busy.
const WINDOWS_MAX: u32 = 100;

const CLOCK_FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Three seconds; the kernel takes one.
const CLOCK_WINDOWS_MAX: u32 = 60;

/// Waits for the kernel's final clock. It starts with a rough calibration of the processor's
/// counter and changes over to the refined one about a second later, with all CPUs stopped for the
/// change.
pub fn await_clock() {
    for _ in 0..CLOCK_WINDOWS_MAX {
        let clock = fs::read_to_string(CLOCK_FILE).unwrap_or_default();
        if clock.trim() != "tsc-early" {
            return;
        }
        sleep(WINDOW);
    }
}

/// Returns after two idle windows of 50 ms in a row, or after five seconds.
pub fn wait() {
    let mut before = busy_ticks();
    let mut idle_windows = 0;
    for _ in 0..WINDOWS_MAX {
        sleep(WINDOW);
        let after = busy_ticks();
        let is_idle = after.saturating_sub(before) <= BUSY_TICKS_MAX;
        idle_windows = if is_idle { idle_windows + 1 } else { 0 };
        if idle_windows == IDLE_WINDOWS {
            return;
        }
        before = after;
    }
}

fn busy_ticks() -> u64 {
    parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// The sum of all CPUs' ticks except idle, waiting for I/O, and guests (which user time contains).
fn parse(stat: &str) -> u64 {
    const IDLE_AND_IOWAIT: [usize; 2] = [3, 4];
    const BEFORE_GUEST: usize = 8;
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks = fields.take(BEFORE_GUEST).enumerate();
    let busy = ticks.filter(|(index, _)| !IDLE_AND_IOWAIT.contains(index));
    busy.filter_map(|(_, ticks)| ticks.parse::<u64>().ok()).sum()
}

/// Between a program and its libraries, far from both.
pub const ADDRESS: usize = 0x1000_0000_0000;
const PAGE: usize = 4096;
/// The instruction that returns to the caller.
const RETURN: u8 = 0xc3;

/// Stops the machine; returns when it goes on.
pub fn pause() -> Result<()> {
    let place = ADDRESS as *mut libc::c_void;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: the page is new and nobody else knows of it; what is called is a function that
    // returns at once.
    unsafe {
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        if libc::mmap(place, PAGE, writable, flags, -1, 0) != place {
            return Err(io::Error::last_os_error()).context("the place of the stop is taken");
        }
        place.cast::<u8>().write(RETURN);
        if libc::mprotect(place, PAGE, libc::PROT_READ | libc::PROT_EXEC) != 0 {
            return Err(io::Error::last_os_error()).context("the place of the stop");
        }
        let stop: extern "C" fn() = std::mem::transmute(place);
        stop();
        libc::munmap(place, PAGE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_guest_ticks_do_not_count() {
        assert_eq!(parse("cpu  1 2 4 100 200 8 16 32 400 500\ncpu0 9 9 9\n"), 63);
        assert_eq!(parse(""), 0);
    }
}
