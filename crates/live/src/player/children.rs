// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that tasks make: forked processes, and the threads of tapes.
//!
//! All forked processes are in one process group, whose leader does nothing. So they can be ended
//! together, whatever they do and whichever task forked them.
//!
//! A new task inherits what a scheduler thinks of its maker, and schedulers place it in another way
//! than one that wakes up. A tape therefore creates the same children as the recorded task.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::SeqCst;
use std::{io, ptr};

use crate::player::attributes::{self, Errno, check, errno};
use crate::player::clock::{now_ns, usage};
use crate::player::run_state::{Fault, RunState};
use crate::player::task::{End, Flow, Task};
use crate::player::threads::{GUARD_BYTES, MadeThread, STACK_BYTES};
use crate::reaping;

/// The first argument that makes this program end at once: what `exec` starts.
pub const EXIT_NOW: &str = "--exit-now";

type Play = fn(&mut Task) -> End;

/// Forks processes that play a template's steps once.
pub fn fork(task: &mut Task, group: usize, count: u32, play: Play) -> Flow {
    let run = task.run;
    let counts = run.groups[group].counts();
    for _ in 0..count {
        task.over()?;
        let number = counts.forked.fetch_add(u64::from(run.counting()), SeqCst);
        if let Some(announcer) = run.announcer.get() {
            announcer.next_child(group);
        }
        let start_ns = now_ns();
        // SAFETY: the child does only what is async-signal-safe until it exits.
        match unsafe { libc::fork() } {
            -1 => return Err(task.fail(Fault::Fork, errno())),
            0 => {
                let child = Task::new(run, group, number as u32, start_ns);
                be_child(child, task.group, start_ns, play)
            }
            // Parent and child both do this, because either may run first.
            pid => unsafe { libc::setpgid(pid, run.children.load(SeqCst)) },
        };
    }
    Ok(())
}

fn be_child(mut task: Task, parent: usize, start_ns: u64, play: Play) -> ! {
    let run = task.run;
    // SAFETY: no pointers.
    unsafe { libc::setpgid(0, run.children.load(SeqCst)) };
    attributes::set_comm(&task.tally().comm);
    let end = if prepare(&task, parent).is_ok() { play(&mut task) } else { End::Stopped };
    if end != End::Stopped && run.counting() {
        leave_results(&mut task, start_ns, end);
    }
    exit(0)
}

/// Gives the child its template's attributes where the parent's differ.
pub fn prepare(task: &Task, parent: usize) -> Flow {
    let (plan, parent) = (task.plan(), &task.run.script.groups[parent]);
    if plan.policy != parent.policy {
        attributes::set_policy(0, &plan.policy).map_err(|no| task.fail(Fault::Policy, no))?;
    }
    if let Some(cpus) = &task.tally().cpus {
        attributes::set_affinity(cpus).map_err(|no| task.fail(Fault::Affinity, no))?;
    }
    clamp_own(task)
}

/// Sets the clamps of the task's group, if it has some.
pub fn clamp_own(task: &Task) -> Flow {
    let clamp = &task.plan().uclamp;
    let set = if clamp.is_none() { Ok(()) } else { attributes::set_util_clamp(clamp) };
    set.map_err(|no| task.fail(Fault::Clamp, no))
}

fn leave_results(task: &mut Task, start_ns: u64, end: End) {
    let (tally, now_ns) = (task.tally(), now_ns());
    tally.turnaround.record(now_ns.saturating_sub(start_ns));
    task.finish_timers(now_ns, None);
    let counts = tally.counts();
    counts.ended.fetch_add(u64::from(end == End::Played), SeqCst);
    counts.cpu_ns.fetch_add(task.run.cpu_ns_at_end().unwrap_or(0), SeqCst);
    // The process has one thread.
    for (sum, value) in counts.usage.iter().zip(usage()) {
        sum.fetch_add(value, SeqCst);
    }
}

/// Waits until the task has no children left.
pub fn wait(task: &mut Task) -> Flow {
    loop {
        // Other threads' children are not this task's.
        let flags = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: no status is asked for.
        if unsafe { libc::waitpid(-1, ptr::null_mut(), flags) } < 0 {
            match errno() {
                libc::EINTR => task.over()?,
                _ => return Ok(()),
            }
        }
    }
}

/// Replaces the program of this process by this same program, which then exits at once.
pub fn exec(task: &Task) -> End {
    let counts = task.tally().counts();
    counts.ended.fetch_add(u64::from(task.run.counting()), SeqCst);
    let arguments = [c"fairground".as_ptr(), c"--exit-now".as_ptr(), ptr::null()];
    let environment = [ptr::null()];
    // SAFETY: all are valid C strings in arrays that end with null.
    unsafe { libc::execve(c"/proc/self/exe".as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    task.fail(Fault::Exec, errno())
}

fn exit(code: i32) -> ! {
    // SAFETY: leaves without running anything that belongs to the parent.
    unsafe { libc::_exit(code) }
}

/// Ends the process when its first argument is [`EXIT_NOW`]. This happens before `main`, so that
/// `exec` costs no more than starting a program, and every program that contains this crate can be
/// the one that is started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[used]
#[unsafe(link_section = ".init_array")]
static EXIT_IF_ASKED: extern "C" fn(i32, *const *const libc::c_char, *const *const libc::c_char) =
    exit_if_asked;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
extern "C" fn exit_if_asked(
    count: i32,
    arguments: *const *const libc::c_char,
    _: *const *const libc::c_char,
) {
    // SAFETY: the C library passes the program's own arguments; the second exists when `count` says
    // so.
    let asked =
        count > 1 && unsafe { libc::strcmp(*arguments.add(1), c"--exit-now".as_ptr()) } == 0;
    if asked {
        exit(0);
    }
}

/// The leader of the forked processes' group. Dropping it ends them all.
pub struct ProcessGroup(libc::pid_t);

impl ProcessGroup {
    /// Starts it. Call it before there are threads.
    pub fn start(run: &RunState) -> io::Result<ProcessGroup> {
        // SAFETY: no pointers. Processes whose parent ended come to us, to be waited for.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        // SAFETY: the child only waits for its end.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            wait_for_end();
        }
        check(i64::from(pid)).map_err(io::Error::from_raw_os_error)?;
        // SAFETY: no pointers.
        unsafe { libc::setpgid(pid, pid) };
        run.children.store(pid, SeqCst);
        reaping::enter(pid);
        Ok(ProcessGroup(pid))
    }
}

fn wait_for_end() -> ! {
    // SAFETY: no pointers; it lives as long as the thread that plays.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        loop {
            libc::pause();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        loop {
            // SAFETY: no pointers; the group is ours alone.
            let left = unsafe {
                libc::kill(-self.0, libc::SIGKILL);
                libc::waitpid(-self.0, ptr::null_mut(), libc::__WALL)
            };
            if left < 0 && errno() != libc::EINTR {
                break;
            }
        }
        reaping::leave(self.0);
    }
}

/// Waits until all threads that were made have gone. Each has said that it leaves.
pub fn join_threads(run: &RunState) {
    for made in &run.made_threads.threads {
        let thread = made.thread.swap(0, SeqCst);
        if thread != 0 {
            // SAFETY: it was made so that it can be joined, and nobody else joins it.
            unsafe { libc::pthread_join(thread as libc::pthread_t, ptr::null_mut()) };
        }
    }
}

pub fn make_thread(task: &Task, tape: u32) -> Flow {
    let run = task.run;
    let made = &run.made_threads.threads[tape as usize];
    if let Some(announcer) = run.announcer.get() {
        announcer.next_child(run.script.player_of(tape).0);
    }
    made.maker.store(task.group, SeqCst);
    made.run.store(ptr::from_ref(run).cast_mut().cast(), SeqCst);
    run.control().alive.fetch_add(1, SeqCst);
    match start_thread(made) {
        Ok(thread) => made.thread.store(thread, SeqCst),
        Err(errno) => {
            run.control().alive.fetch_sub(1, SeqCst);
            return Err(task.fail(Fault::Thread, errno));
        }
    }
    Ok(())
}

fn start_thread(made: &MadeThread) -> Result<u64, Errno> {
    let mut attributes = MaybeUninit::uninit();
    let mut thread: libc::pthread_t = 0;
    let own = ptr::from_ref(made).cast_mut().cast();
    // SAFETY: the stack is this thread's alone, and its place outlives it: the trial's state is
    // kept until all have been joined.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let stack = made.stack.add(GUARD_BYTES).cast();
        libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack, STACK_BYTES);
        let error = libc::pthread_create(&mut thread, attributes.as_ptr(), begin_thread, own);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    };
    if error == 0 { Ok(thread as u64) } else { Err(error) }
}

extern "C" fn begin_thread(made: *mut c_void) -> *mut c_void {
    // SAFETY: `start_thread` has passed a place that outlives this thread, and its trial's state.
    let (made, run) = unsafe {
        let made = &*made.cast::<MadeThread>();
        (made, &*made.run.load(SeqCst).cast::<RunState>())
    };
    (run.made_main)(run, run.script.player_of(made.tape), made.maker.load(SeqCst));
    ptr::null_mut()
}
