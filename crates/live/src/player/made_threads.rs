// SPDX-License-Identifier: GPL-2.0-only
//! Threads that tapes make while they are played.
//!
//! A new task inherits what a scheduler thinks of its maker, and schedulers place it in another way
//! than one that wakes up. A tape therefore creates the same children as the recorded task.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::Ordering::SeqCst;

use crate::player::attributes::Errno;
use crate::player::run_state::{Fault, RunState};
use crate::player::stacks::{GUARD_BYTES, MadeThread, STACK_BYTES};
use crate::player::task::{Flow, Task};

/// Waits until all threads that were made have gone. Each has said that it leaves.
pub fn join(run: &RunState) {
    for made in &run.made_threads.threads {
        let thread = made.thread.swap(0, SeqCst);
        if thread != 0 {
            // SAFETY: it was made so that it can be joined, and nobody else joins it.
            unsafe { libc::pthread_join(thread as libc::pthread_t, ptr::null_mut()) };
        }
    }
}

/// Makes the thread that plays a tape.
pub fn make(task: &Task, tape: u32) -> Flow {
    let run = task.run;
    let made = &run.made_threads.threads[tape as usize];
    if let Some(announcer) = run.announcer.get() {
        announcer.next_child(run.script.player_of(tape).0);
    }
    made.maker.store(task.group, SeqCst);
    made.run.store(ptr::from_ref(run).cast_mut().cast(), SeqCst);
    run.control().alive.fetch_add(1, SeqCst);
    match start(made) {
        Ok(thread) => made.thread.store(thread, SeqCst),
        Err(errno) => {
            run.control().alive.fetch_sub(1, SeqCst);
            return Err(task.fail(Fault::Thread, errno));
        }
    }
    Ok(())
}

fn start(made: &MadeThread) -> Result<u64, Errno> {
    let mut attributes = MaybeUninit::uninit();
    let mut thread: libc::pthread_t = 0;
    let own = ptr::from_ref(made).cast_mut().cast();
    // SAFETY: the stack is this thread's alone, and its place outlives it: the trial's state is
    // kept until all have been joined.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let stack = made.stack.add(GUARD_BYTES).cast();
        libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack, STACK_BYTES);
        let error = libc::pthread_create(&mut thread, attributes.as_ptr(), begin, own);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    };
    if error == 0 { Ok(thread as u64) } else { Err(error) }
}

extern "C" fn begin(made: *mut c_void) -> *mut c_void {
    // SAFETY: `start` has passed a place that outlives this thread, and its trial's state.
    let (made, run) = unsafe {
        let made = &*made.cast::<MadeThread>();
        (made, &*made.run.load(SeqCst).cast::<RunState>())
    };
    (run.made_main)(run, run.script.player_of(made.tape), made.maker.load(SeqCst));
    ptr::null_mut()
}
