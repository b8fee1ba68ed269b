// SPDX-License-Identifier: GPL-2.0-only
//! Registers of the code that a signal has interrupted.

use std::ffi::c_void;

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "x86_64")]
pub fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the system gave it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    (registers[libc::REG_RIP as usize] as u64, registers[libc::REG_RSP as usize] as u64)
}

/// Instruction and stack pointer of the interrupted code.
#[cfg(target_arch = "aarch64")]
pub fn machine(context: *mut c_void) -> (u64, u64) {
    // SAFETY: the system gave it.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    (machine.pc, machine.sp)
}

/// The third argument of the interrupted system call.
#[cfg(target_arch = "x86_64")]
pub fn third_argument(context: *mut c_void) -> u64 {
    // SAFETY: the system gave it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RDX as usize] as u64
}

/// The third argument of the interrupted system call.
#[cfg(target_arch = "aarch64")]
pub fn third_argument(context: *mut c_void) -> u64 {
    // SAFETY: the system gave it.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.regs[2] }
}

/// Gives the interrupted system call its result.
#[cfg(target_arch = "x86_64")]
pub fn set_result(context: *mut c_void, result: i64) {
    // SAFETY: the system gave it, and takes the registers from there.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RAX as usize] = result;
}

/// Gives the interrupted system call its result.
#[cfg(target_arch = "aarch64")]
pub fn set_result(context: *mut c_void, result: i64) {
    // SAFETY: the system gave it, and takes the registers from there.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.regs[0] = result as u64 };
}
