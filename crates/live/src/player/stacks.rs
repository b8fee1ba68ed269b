// SPDX-License-Identifier: GPL-2.0-only
//! Places and stacks of the threads that tapes make.
//!
//! The stacks are mapped before the common start. Mapping one for each thread, as the standard
//! library does, takes the lock of the process's mappings, and a maker would have to wait for it
//! whenever another task is preempted in a page fault.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use model::play::Script;

use crate::player::attributes::Errno;
use crate::player::mapping::Memory;
use crate::player::shared_memory::populate;

/// Small, so that thousands of tasks fit; nothing that they do is deep.
pub const STACK_BYTES: usize = 128 * 1024;
/// The largest page that the kernels of x86-64 and arm64 have.
pub const GUARD_BYTES: usize = 64 * 1024;
/// As much of a stack as is used.
const USED_BYTES: usize = 32 * 1024;
/// A stack and what keeps it from growing into the next one.
const PIECE_BYTES: usize = GUARD_BYTES + STACK_BYTES;

/// All threads that are made during a trial.
pub struct MadeThreads {
    /// By the tapes' numbers.
    pub threads: Vec<MadeThread>,
    _stacks: Memory,
}

pub struct MadeThread {
    pub tape: u32,
    /// The lowest byte of the guard below its stack; null: no tape makes it.
    pub stack: *mut u8,
    /// Its maker's group.
    pub maker: AtomicUsize,
    /// The state of its trial, from when it is made.
    pub run: AtomicPtr<c_void>,
    /// The C library's name of it; 0: it has not been made.
    pub thread: AtomicU64,
}

// SAFETY: a stack belongs to the one thread that is made with it; all else is atomic.
unsafe impl Send for MadeThreads {}
// SAFETY: as above.
unsafe impl Sync for MadeThreads {}

impl MadeThreads {
    /// Room for all threads that the tapes of a script make.
    pub fn new(script: &Script) -> Result<MadeThreads, Errno> {
        let made = script.made.iter().filter(|made| **made).count();
        if made > 0 {
            share_arena();
        }
        let stacks = Memory::map_lazily((made * PIECE_BYTES) as u64)?;
        let mut left = stacks.pieces(PIECE_BYTES);
        let thread = |(tape, made): (u32, &bool)| MadeThread {
            tape,
            stack: made.then(|| left.next()).flatten().map_or(ptr::null_mut(), guarded),
            maker: AtomicUsize::new(0),
            run: AtomicPtr::new(ptr::null_mut()),
            thread: AtomicU64::new(0),
        };
        let threads = (0..).zip(&script.made).map(thread).collect();
        Ok(MadeThreads { threads, _stacks: stacks })
    }
}

/// Keeps the allocator from mapping a region for each thread that makes another one.
fn share_arena() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A stack that cannot grow into the next one. The pages of its upper end are there.
fn guarded(stack: *mut u8) -> *mut u8 {
    // SAFETY: the ranges are ours, and nothing uses them yet. Without a guard it works as well.
    unsafe {
        libc::mprotect(stack.cast(), GUARD_BYTES, libc::PROT_NONE);
        populate(stack.add(PIECE_BYTES - USED_BYTES), USED_BYTES);
    }
    stack
}
