// SPDX-License-Identifier: GPL-2.0-only
//! Waits until the machine is idle, so that neither the kernel's work after boot nor remains of the
//! previous trial disturb a trial.
//!
//! Then it stops the machine at an instruction, so that the host can save it.
//!
//! The host has set a breakpoint of QEMU's debugger at an address where no program has anything. An
//! instruction is put there and executed. A debugger stops a virtual CPU and tells QEMU's other
//! threads in one step, so what QEMU's clock does then never depends on which thread is quicker.
//! That is not so with the stop of a panic device.

use std::thread::sleep;
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, Result};

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
