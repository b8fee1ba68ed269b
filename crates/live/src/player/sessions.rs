// SPDX-License-Identifier: GPL-2.0-only
//! The sessions of a workload. Each is a process of its own, whose threads are the session's tasks.
//!
//! The process is forked before there are threads, and takes three steps, when the main thread says
//! so: it begins the session, starts the threads, and reads their CPU clocks at the end of the
//! trial, which only a thread of the same process can. It is killed with all that its tasks have
//! forked, and dies with the main thread.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use std::{fs, io, mem, ptr, thread};

use crate::player::attributes::{self, Errno, check, errno};
use crate::player::clock::now_ns;
use crate::player::fork_isolation::{self, ForkIsolation};
use crate::player::played::PlayError;
use crate::player::run_state::{RunState, UNKNOWN};
use crate::player::shared_memory::SessionState;
use crate::player::{futex, memory, played, threads};
use crate::program::Held;
use crate::reaping;

/// The steps, in order.
const BEGIN: u32 = 1;
const START_THREADS: u32 = 2;
const READ_CLOCKS: u32 = 3;

/// The interval at which the main thread looks whether a process is still there.
const LOOK_NS: u64 = 100_000_000;

/// How long it waits for the CPU clocks. The process is above the workload, if that is permitted.
const CLOCKS_NS: u64 = 1_000_000_000;

/// The kernel takes one nice value in 100 ms from those who are not root.
const NICE_PAUSE: Duration = Duration::from_millis(50);
const NICE_LOOKS: u32 = 200;

const AUTOGROUP: &str = "/proc/self/autogroup";

/// The processes. Dropping this ends them all.
pub struct Sessions<'a> {
    run: &'a Arc<RunState>,
    processes: Vec<libc::pid_t>,
}

impl<'a> Sessions<'a> {
    /// Forks the processes; each has begun its session. Call it before there are threads. A program
    /// that is in a session has its process.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn start(
        run: &'a Arc<RunState>,
        program: Option<&Held>,
    ) -> Result<Sessions<'a>, PlayError> {
        let mut started = Sessions { run, processes: Vec::new() };
        if run.sessions.is_empty() {
            return Ok(started);
        }
        let _ = fork_isolation::offset();
        for number in 0..run.sessions.len() {
            let pid = fork(run, number, program).map_err(PlayError::system("a session"))?;
            started.processes.push(pid);
            reaping::enter(pid);
        }
        for (number, session) in run.script.sessions.iter().enumerate() {
            let failed = tell(run, number, BEGIN).map_err(PlayError::system("a session"))?;
            if failed != 0 {
                let (name, why) = (&session.name, io::Error::from_raw_os_error(failed));
                return Err(PlayError::Unsupported(format!(
                    "the session `{name}` could not begin: its nice value: {why}; raising it needs \
                     root"
                )));
            }
        }
        memory::lighten_forks();
        Ok(started)
    }

    /// Lets them start the threads of their tasks, one process after the other.
    pub fn start_threads(&self) -> io::Result<()> {
        for number in 0..self.processes.len() {
            match tell(self.run, number, START_THREADS)? {
                0 => {}
                failed => return Err(io::Error::from_raw_os_error(failed)),
            }
        }
        Ok(())
    }
}

impl Drop for Sessions<'_> {
    fn drop(&mut self) {
        for &process in &self.processes {
            loop {
                // SAFETY: no pointers; the group is the session's alone.
                let left = unsafe {
                    libc::kill(-process, libc::SIGKILL);
                    libc::kill(process, libc::SIGKILL);
                    libc::waitpid(process, ptr::null_mut(), libc::__WALL)
                };
                if left >= 0 || errno() != libc::EINTR {
                    break;
                }
            }
            reap_group(process);
            reaping::leave(process);
        }
    }
}

/// Waits for what a session's tasks have forked, which are our children once their parent has gone.
fn reap_group(group: libc::pid_t) {
    loop {
        // SAFETY: no pointers.
        let left = unsafe { libc::waitpid(-group, ptr::null_mut(), libc::__WALL) };
        if left < 0 && errno() != libc::EINTR {
            return;
        }
    }
}

/// The process whose threads are the tasks of a session; none: this one.
pub fn process(run: &RunState, session: Option<usize>) -> libc::pid_t {
    // SAFETY: no arguments.
    session.map_or_else(
        || unsafe { libc::getpid() },
        |number| run.sessions[number].process.load(SeqCst),
    )
}

/// The process of the program that is in a session. It has a process group of its own.
pub fn program(run: &RunState) -> libc::pid_t {
    let session = run.script.program_session.map(|number| &run.sessions[number]);
    let pid = session.map_or(0, |session| session.program.load(SeqCst));
    // SAFETY: no pointers.
    while pid > 0 && ![pid, -1].contains(&unsafe { libc::getpgid(pid) }) {
        thread::sleep(Duration::from_micros(50));
    }
    pid
}

/// Reads the CPU clocks of all tasks that are in a session and have not ended.
pub fn sample_cpu_times(run: &RunState) {
    for (number, state) in run.sessions.iter().enumerate() {
        played::playing(run, Some(number))
            .for_each(|slot| slot.cpu_after_ns.store(UNKNOWN, SeqCst));
        state.order.store(READ_CLOCKS, SeqCst);
        futex::wake(&state.order, 1);
    }
    let until_ns = now_ns() + CLOCKS_NS;
    for state in run.sessions.iter() {
        while !has_done(state, READ_CLOCKS) && now_ns() < until_ns {
            await_step(state);
        }
    }
}

/// Tells a process to take a step, and waits until it has; `errno` of what failed. If the trial is
/// to end, the wait ends, too.
fn tell(run: &RunState, number: usize, step: u32) -> io::Result<Errno> {
    let state = &run.sessions[number];
    state.order.store(step, SeqCst);
    futex::wake(&state.order, 1);
    while !has_done(state, step) {
        if reaping::is_interrupted() {
            return Ok(0);
        }
        if has_ended(state.process.load(SeqCst)) {
            return Err(io::Error::other("its process has ended"));
        }
        await_step(state);
    }
    Ok(state.failed.load(SeqCst))
}

fn has_done(state: &SessionState, step: u32) -> bool {
    state.done.load(SeqCst) >= step
}

fn await_step(state: &SessionState) {
    let done = state.done.load(SeqCst);
    futex::wait_until(&state.done, done, now_ns() + LOOK_NS);
}

/// Whether a child has ended; it is not waited for.
fn has_ended(process: libc::pid_t) -> bool {
    // SAFETY: zeros are a valid siginfo, and it is ours to fill.
    unsafe {
        let mut found: libc::siginfo_t = mem::zeroed();
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, process as libc::id_t, &mut found, how) != 0
            || found.si_pid() != 0
    }
}

fn fork(run: &Arc<RunState>, number: usize, program: Option<&Held>) -> io::Result<libc::pid_t> {
    // SAFETY: no arguments.
    let parent = unsafe { libc::getpid() };
    // SAFETY: it runs in a copy of this thread alone, which has no locks.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let _ = process::caught(|| be_session(run, number, program, parent));
        // SAFETY: leaves without running anything that belongs to the parent.
        unsafe { libc::_exit(1) };
    }
    check(i64::from(pid)).map_err(io::Error::from_raw_os_error)?;
    run.sessions[number].process.store(pid, SeqCst);
    Ok(pid)
}

/// The whole life of a session's process, which somebody ends.
fn be_session(
    run: &Arc<RunState>,
    number: usize,
    program: Option<&Held>,
    parent: libc::pid_t,
) -> ! {
    let state = &run.sessions[number];
    // SAFETY: no pointers.
    let process = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
        libc::setsid();
        libc::getpid()
    };
    // As the main thread, it must not wait for what a scheduler under test does not run.
    let _ = attributes::rise_above();
    let begun = set_nice(run.script.sessions[number].nice);
    if run.script.forks() {
        // The session's process group is its own, and no process can leave its session.
        run.children.store(process, SeqCst);
    }
    if let Some(held) = program {
        if run.script.program_session == Some(number) {
            state.program.store(fork_sibling(held), SeqCst);
        }
        held.leave();
    }
    memory::lighten_forks();
    answer(state, BEGIN, begun);
    let _isolation = ForkIsolation::begin();
    await_order(state, START_THREADS);
    let threads = threads::start_all(run, Some(number));
    played::note_cpu_times(run, Some(number));
    let failed = threads.as_ref().err().map(|error| error.raw_os_error().unwrap_or(libc::EAGAIN));
    answer(state, START_THREADS, failed.map_or(Ok(()), Err));
    await_order(state, READ_CLOCKS);
    played::sample_cpu_times(run, Some(number));
    answer(state, READ_CLOCKS, Ok(()));
    loop {
        // SAFETY: no arguments.
        unsafe { libc::pause() };
    }
}

fn await_order(state: &SessionState, step: u32) {
    loop {
        let order = state.order.load(SeqCst);
        if order >= step {
            return;
        }
        futex::wait(&state.order, order);
    }
}

fn answer(state: &SessionState, step: u32, result: Result<(), Errno>) {
    state.failed.store(result.err().unwrap_or(0), SeqCst);
    state.done.store(step, SeqCst);
    futex::wake(&state.done, 1);
}

/// Gives the session of this process a nice value. A kernel without `CONFIG_SCHED_AUTOGROUP` has no
/// such file.
fn set_nice(nice: i32) -> Result<(), Errno> {
    if nice == 0 || !fs::exists(AUTOGROUP).unwrap_or(false) {
        return Ok(());
    }
    for _ in 0..NICE_LOOKS {
        match fs::write(AUTOGROUP, nice.to_string()) {
            Ok(()) => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => thread::sleep(NICE_PAUSE),
            Err(error) => return Err(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
    Err(libc::EAGAIN)
}

/// Forks the process of a program, in this session and as a child of the main thread's process, so
/// that this can wait for it. Its number; -1: the kernel has refused it.
fn fork_sibling(held: &Held) -> libc::pid_t {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as for `fork`, the child has a copy of the stack, and does only what is
    // async-signal-safe.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid == 0 {
        held.become_it();
    }
    pid as libc::pid_t
}
