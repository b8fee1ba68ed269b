// SPDX-License-Identifier: GPL-2.0-only
//! Threads that tapes make while they are played.
//!
//! A new task inherits what a scheduler thinks of its maker, and schedulers place it in another way
//! than one that wakes up. So whom a recorded task has made, its tape makes again.
//!
//! The stacks are mapped before the common start. Mapping one for each thread, as the standard
//! library does, takes the lock of the process's mappings, and a maker would have to wait for it
//! whenever another task is preempted in a page fault.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};

use play::Script;

use crate::player::attributes::Errno;
use crate::player::memory::Memory;
use crate::player::run_state::{Fault, RunState};
use crate::player::shared_memory::populate;
use crate::player::task::{Flow, Task};
use crate::player::threads::{self, STACK_BYTES};

/// The largest page that the kernels of x86-64 and arm64 have.
const GUARD_BYTES: usize = 64 * 1024;
/// As much of a stack as is used.
const USED_BYTES: usize = 32 * 1024;
/// A stack and what keeps it from growing into the next one.
const PIECE_BYTES: usize = GUARD_BYTES + STACK_BYTES;

/// All threads that are made during a trial.
pub struct Births {
    /// By the tapes' numbers.
    births: Vec<Birth>,
    /// Their stacks.
    _stacks: Memory,
}

/// The thread that plays one tape.
struct Birth {
    /// The number of the tape.
    tape: u32,
    /// The lowest byte of the guard below its stack; null: no tape makes it.
    stack: *mut u8,
    /// Its maker's group.
    maker: AtomicUsize,
    /// The state of its trial, from when it is made.
    run: AtomicPtr<RunState>,
    /// The C library's name of it; 0: it has not been made.
    thread: AtomicU64,
}

// SAFETY: a stack belongs to the one thread that is made with it; all else is atomic.
unsafe impl Send for Births {}
// SAFETY: as above.
unsafe impl Sync for Births {}

impl Births {
    /// Room for all threads that the tapes of a script make.
    pub fn new(script: &Script) -> Result<Births, Errno> {
        let made = script.made.iter().filter(|made| **made).count();
        if made > 0 {
            share_arena();
        }
        let stacks = Memory::map_lazily((made * PIECE_BYTES) as u64)?;
        let mut left = stacks.pieces(PIECE_BYTES);
        let birth = |(tape, made): (u32, &bool)| Birth {
            tape,
            stack: made.then(|| left.next()).flatten().map_or(ptr::null_mut(), guarded),
            maker: AtomicUsize::new(0),
            run: AtomicPtr::new(ptr::null_mut()),
            thread: AtomicU64::new(0),
        };
        let births = (0..).zip(&script.made).map(birth).collect();
        Ok(Births { births, _stacks: stacks })
    }

    /// Waits until all threads that were made have gone. Each has said that it leaves.
    pub fn join(&self) {
        for birth in &self.births {
            let thread = birth.thread.swap(0, SeqCst);
            if thread != 0 {
                // SAFETY: it was made so that it can be joined, and nobody else joins it.
                unsafe { libc::pthread_join(thread as libc::pthread_t, ptr::null_mut()) };
            }
        }
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

/// Makes the thread that plays a tape.
pub fn make(task: &Task, tape: u32) -> Flow {
    let run = task.run;
    let birth = &run.births.births[tape as usize];
    if let Some(announcer) = run.announcer.get() {
        announcer.next_child(run.script.player_of(tape).0);
    }
    birth.maker.store(task.group, SeqCst);
    birth.run.store(ptr::from_ref(run).cast_mut(), SeqCst);
    run.control().alive.fetch_add(1, SeqCst);
    match birth.start() {
        Ok(thread) => birth.thread.store(thread, SeqCst),
        Err(errno) => {
            run.control().alive.fetch_sub(1, SeqCst);
            return Err(task.fail(Fault::Thread, errno));
        }
    }
    Ok(())
}

impl Birth {
    fn start(&self) -> Result<u64, Errno> {
        let mut attributes = MaybeUninit::uninit();
        let mut thread: libc::pthread_t = 0;
        let own = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the stack is this thread's alone, and the birth outlives it: the trial's state
        // is kept until all have been joined.
        let error = unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            let stack = self.stack.add(GUARD_BYTES).cast();
            libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack, STACK_BYTES);
            let error = libc::pthread_create(&mut thread, attributes.as_ptr(), begin, own);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            error
        };
        if error == 0 { Ok(thread as u64) } else { Err(error) }
    }
}

extern "C" fn begin(birth: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has passed a birth that outlives this thread, and its trial's state.
    let (birth, run) = unsafe {
        let birth = &*birth.cast::<Birth>();
        (birth, &*birth.run.load(SeqCst))
    };
    threads::made_main(run, run.script.player_of(birth.tape), birth.maker.load(SeqCst));
    ptr::null_mut()
}
