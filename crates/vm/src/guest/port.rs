// SPDX-License-Identifier: GPL-2.0-only
//! Writing to the debug console's port from user space.

use std::arch::asm;

use crate::channel::PORT;

/// Writes the bytes, all of them, before it returns. Access to the port is asked for and given back
/// each time, because a task that holds it costs the kernel more at every switch.
pub fn write(bytes: &[u8]) {
    allow(true);
    // SAFETY: the kernel let us at the port; the registers describe `bytes`, which is only read,
    // and the calling convention keeps the direction flag clear.
    unsafe {
        asm!(
            "rep outsb",
            in("dx") PORT,
            inout("rsi") bytes.as_ptr() => _,
            inout("rcx") bytes.len() => _,
            options(nostack, readonly),
        );
    }
    allow(false);
}

/// Process 1 is root and no lockdown is in force without secure boot, so this cannot be refused;
/// otherwise the instruction above would end process 1, and the kernel would panic with a message.
fn allow(access: bool) {
    // SAFETY: ioperm changes nothing but this thread's access to one port.
    unsafe { libc::ioperm(libc::c_ulong::from(PORT), 1, libc::c_int::from(access)) };
}
