// SPDX-License-Identifier: GPL-2.0-only
//! Stacks on which code can be left in the middle and continued.

use std::ffi::c_void;

/// Enough for a callback and the engine below and above it, bytes.
const BYTES: usize = 512 << 10;

/// What runs on a stack when that is entered for the first time; it never returns.
pub type Entry = extern "C" fn(*mut c_void) -> !;

/// A stack, and where its code was left.
pub struct Stack {
    /// In words, so that the alignment is known. Its pages are used when they are touched.
    memory: Vec<u64>,
    left_at: usize,
}

impl Stack {
    /// The stack of the code that is running.
    pub fn running() -> Stack {
        Stack { memory: Vec::new(), left_at: 0 }
    }

    /// A stack whose code begins with `entry`, which gets `argument`.
    pub fn new(entry: Entry, argument: *mut c_void) -> Stack {
        // As `switch` leaves a stack: r15, r14, r13, r12, rbx, rbp and the address to return to.
        const WORDS: usize = 7;
        // A fault's report reads beyond what is used.
        const MARGIN: usize = 512;
        let mut memory = vec![0_u64; BYTES / 8];
        let top = memory.len() - MARGIN;
        let aligned = top - top % 2 - (memory.as_ptr() as usize / 8) % 2;
        memory[aligned - WORDS + 2] = entry as *const () as u64;
        memory[aligned - WORDS + 3] = argument as u64;
        memory[aligned - 1] = begin as *const () as u64;
        let left_at = memory.as_ptr() as usize + 8 * (aligned - WORDS);
        Stack { memory, left_at }
    }

    /// Leaves the code that runs on `from` and continues that of `to`. Returns when another switch
    /// continues `from`. `state` is what the codes share: all of it may have changed then.
    ///
    /// # Safety
    /// `from` must be the running code's stack, and `to` one whose code was left.
    pub unsafe fn switch(from: *mut Stack, to: *mut Stack, state: *mut c_void) {
        // SAFETY: the caller's.
        unsafe {
            debug_assert!((*to).left_at != 0 && (*to).memory.len() != 1);
            switch(&raw mut (*from).left_at, (*to).left_at, state);
        }
    }
}

/// Saves the registers that a function must keep on the stack and exchanges the stacks.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(from: *mut usize, to: usize, state: *mut c_void) {
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Calls the entry (in r13) with its argument (in r12).
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    std::arch::naked_asm!("mov rdi, r12", "call r13", "ud2")
}

/// Nothing comes here: [`super::ARE_POSSIBLE`].
#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn switch(_from: *mut usize, _to: usize, _state: *mut c_void) {}

#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn begin() {}
