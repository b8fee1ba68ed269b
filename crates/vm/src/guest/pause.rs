// SPDX-License-Identifier: GPL-2.0-only
//! Stops the machine at an instruction, so that the host can save it.
//!
//! The host has set a breakpoint of QEMU's debugger at an address where no program has anything. An
//! instruction is put there and executed. A debugger stops a virtual CPU and tells QEMU's other
//! threads in one step, so what QEMU's clock does then never depends on which thread is quicker.
//! That is not so with the stop of a panic device.

use std::io;

use anyhow::{Context, Result};

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
