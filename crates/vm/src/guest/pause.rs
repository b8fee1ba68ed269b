// SPDX-License-Identifier: GPL-2.0-only
//! Stops the machine at an instruction, so that the host can save it.
//!
//! The device is `pvpanic`: QEMU stops the machine within the instruction that writes its port.
//!
//! A stopped virtual CPU is an idle one, and QEMU's clock jumps from an idle CPU to the next timer.
//! It does so once, unless the thread that stops the machine is quicker than the thread of the CPU,
//! which happens on a host with too much to do. Then the guest's time is another one from here on.
//! So the guest looks at its clock, and tells the host.

use std::time::{Duration, Instant};

use super::port;

/// The port of `pvpanic`, and the byte that means a panic.
const PORT: u16 = 0x505;
const PANIC: u8 = 1;

/// Longer than two looks at the clock take, and shorter than any interrupt.
const INTERRUPTED: Duration = Duration::from_micros(2);
/// Longer than the longest tick.
const TICK_MAX: Duration = Duration::from_millis(20);
/// The clock jumps to a timer; the next one after a tick is further away than this.
const JUMP_MIN: Duration = Duration::from_micros(20);

/// Stops the machine; returns when it goes on. `false`: its clock did not jump.
pub fn pause() -> bool {
    port::with_access(PORT, 1, || {
        await_tick();
        let before = Instant::now();
        port::write_byte(PORT, PANIC);
        before.elapsed() >= JUMP_MIN
    })
}

/// Computes until the kernel's tick has interrupted it.
fn await_tick() {
    let start = Instant::now();
    let mut last = start;
    loop {
        let now = Instant::now();
        if now - last >= INTERRUPTED || now - start >= TICK_MAX {
            return;
        }
        last = now;
    }
}
