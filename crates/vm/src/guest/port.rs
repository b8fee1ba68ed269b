// SPDX-License-Identifier: GPL-2.0-only
//! Input and output at the machine's ports from user space.

use std::arch::asm;

use crate::channel::PORT;

/// Writes the bytes to the debug console, all of them, before it returns.
pub fn write(bytes: &[u8]) {
    with_access(PORT, 1, || {
        // SAFETY: the kernel let us at the port; the registers describe `bytes`, which is only
        // read, and the calling convention keeps the direction flag clear.
        unsafe {
            asm!(
                "rep outsb",
                in("dx") PORT,
                inout("rsi") bytes.as_ptr() => _,
                inout("rcx") bytes.len() => _,
                options(nostack, readonly),
            );
        }
    });
}

/// Fills `into` with what a port gives, byte by byte. The caller has access to the port.
pub fn read(port: u16, into: &mut [u8]) {
    // SAFETY: the registers describe `into`, which nothing else uses meanwhile.
    unsafe {
        asm!(
            "rep insb",
            in("dx") port,
            inout("rdi") into.as_mut_ptr() => _,
            inout("rcx") into.len() => _,
            options(nostack),
        );
    }
}

/// Writes two bytes to a port, in one instruction. The caller has access to both.
pub fn write_word(port: u16, word: u16) {
    // SAFETY: the instruction uses these registers only.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") word, options(nostack)) };
}

/// Does something with access to some ports. It is asked for and given back each time, because a
/// task that holds it costs the kernel more at every switch.
pub fn with_access<T>(first: u16, count: u16, work: impl FnOnce() -> T) -> T {
    allow(first, count, true);
    let done = work();
    allow(first, count, false);
    done
}

/// Process 1 is root and no lockdown is in force without secure boot, so this cannot be refused;
/// otherwise the instructions above would end process 1, and the kernel would panic with a message.
fn allow(first: u16, count: u16, access: bool) {
    // SAFETY: ioperm changes nothing but this thread's access to these ports.
    unsafe {
        libc::ioperm(
            libc::c_ulong::from(first),
            libc::c_ulong::from(count),
            libc::c_int::from(access),
        )
    };
}
