// SPDX-License-Identifier: GPL-2.0-only
//! Threads that tapes make while they are played.
//!
//! A new task inherits what a scheduler thinks of its maker, and schedulers place it in another way
//! than one that wakes up. A tape therefore creates the same children as the recorded task.

use std::sync::atomic::Ordering::SeqCst;
use std::thread::Builder;

use crate::player::run_state::{Fault, RunState, STACK_BYTES};
use crate::player::task::{Flow, Task};

/// Waits until all threads that were made have gone. Each has said that it leaves.
pub fn join(run: &RunState) {
    for thread in &run.made_threads {
        let thread = thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // A panic would be a defect of Fairground; its task has no results.
            let _ = thread.join();
        }
    }
}

/// Makes the thread that plays a tape.
pub fn make(task: &Task, tape: u32) -> Flow {
    let (run, maker) = (task.run, task.group);
    let player = run.script.player_of(tape);
    if let Some(announcer) = run.announcer.get() {
        announcer.next_child(player.0);
    }
    run.control().alive.fetch_add(1, SeqCst);
    let builder = Builder::new().stack_size(STACK_BYTES);
    // SAFETY: the trial's state is kept until all threads have been joined.
    let made = unsafe { builder.spawn_unchecked(move || (run.made_main)(run, player, maker)) };
    match made {
        Ok(thread) => {
            if let Ok(mut place) = run.made_threads[tape as usize].lock() {
                *place = Some(thread);
            }
            Ok(())
        }
        Err(error) => {
            run.control().alive.fetch_sub(1, SeqCst);
            Err(task.fail(Fault::Thread, error.raw_os_error().unwrap_or(libc::EAGAIN)))
        }
    }
}
