// SPDX-License-Identifier: GPL-2.0-only
//! One thread for each task that starts by itself.
//!
//! Places and stacks of the threads that tapes make.
//!
//! The stacks are mapped before the common start. Mapping one for each thread, as the standard
//! library does, takes the lock of the process's mappings, and a maker would have to wait for it
//! whenever another task is preempted in a page fault.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;
use std::{fs, io, ptr};

use model::play::limits::MAX_TIMERS;
use model::play::{Script, TimerState};

use crate::player::attributes::Errno;
use crate::player::clock::{now_ns, usage};
use crate::player::mapping::Memory;
use crate::player::run_state::{Fault, RunState, TaskSlot, UNKNOWN};
use crate::player::shared_memory::populate;
use crate::player::task::{End, Flow, Task};
use crate::player::{attributes, children, futex, input_output, memory, steps};
use crate::reaping;

/// The threads' timer slack: the smallest that the kernel accepts. Recorded with every trial.
pub const TIMER_SLACK_NS: u64 = 1;

/// More sleeps than a scheduler has levels to climb by sleeping.
const SLEEPS: u32 = 32;

/// The pause between two looks at a thread that is on its way to the gate.
const PAUSE: Duration = Duration::from_micros(50);

/// The pause before the first look: longer than the way to the gate. So the thread falls asleep
/// there while no other one is runnable, and a scheduler of fair shares owes it nothing (EEVDF's
/// lag is 0). A lag of a microsecond decides which of many equal hogs has the first slice.
const WAY_TO_GATE: Duration = Duration::from_micros(500);

/// Starts all threads of a session but those that tapes make, in the order of the groups; each
/// sleeps at the gate.
///
/// A thread that has slept as often as a shell starts them, because tasks inherit what a scheduler
/// thinks of the task that makes them. Ours has computed at real-time priority, for which Project C
/// gives it the worst level of all (`sched_task_renew`) and does not let it climb (`boost_task`).
/// There the new thread would be a real-time one, too.
pub fn start_all(run: &Arc<RunState>, session: Option<usize>) -> io::Result<Vec<JoinHandle<()>>> {
    let shared = run.clone();
    let shell = Builder::new().stack_size(STACK_BYTES).spawn(move || {
        attributes::become_plain();
        (0..SLEEPS).for_each(|_| thread::sleep(Duration::from_millis(1)));
        (gettid(), start_one_by_one(&shared, session))
    })?;
    let panicked = |_| io::Error::other("the thread that starts the tasks panicked");
    let (tid, threads) = shell.join().map_err(panicked)?;
    wait_until_gone(tid);
    threads
}

/// Starts the threads.
///
/// The next one is made when the last one sleeps, so that they have equal pasts under every
/// scheduler and are woken in their order. Made all at once, they reach the gate in an order that
/// the scheduler decides, and the last one is preempted there: under CFS with 32 hogs that decided
/// whether a waker began before the hogs or 60 ms later. The very last one plays no part; its debit
/// as a new task is spent when the others wake up.
fn start_one_by_one(
    run: &Arc<RunState>,
    session: Option<usize>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::with_capacity(run.script.starting_tasks());
    // Those of other sessions are there.
    let before = run.control().ready.load(SeqCst) as usize;
    for (group, number) in run.script.started_by(session) {
        let shared = run.clone();
        let builder = Builder::new().stack_size(STACK_BYTES);
        match builder.spawn(move || thread_main(&shared, group, number)) {
            Ok(thread) => threads.push(thread),
            Err(error) => return Err(error),
        }
        let slot = &run.slots[run.script.groups[group].first_task + number as usize];
        wait_until_asleep(run, slot, before + threads.len());
    }
    let extra = Builder::new().stack_size(STACK_BYTES).spawn(gettid)?;
    if let Ok(tid) = extra.join() {
        wait_until_gone(tid);
    }
    Ok(threads)
}

fn gettid() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::gettid() as u32 }
}

/// Waits until the kernel, too, is done with a thread that has been joined, if that is soon.
fn wait_until_gone(tid: u32) {
    const LOOKS: u32 = 1_000;
    for _ in 0..LOOKS {
        if thread_state(tid).is_none() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Waits until a thread sleeps at the gate, as the last one of so many.
fn wait_until_asleep(run: &RunState, slot: &TaskSlot, threads: usize) {
    thread::sleep(WAY_TO_GATE);
    loop {
        let is_there = run.control().ready.load(SeqCst) as usize >= threads;
        let sleeps = || thread_state(slot.tid.load(SeqCst)).is_none_or(|state| state == 'S');
        if reaping::is_interrupted() || (is_there && sleeps()) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// A thread's state as proc(5) has it, a letter; `None` if there is no such thread to be seen.
fn thread_state(tid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/self/task/{tid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The whole life of a thread that is there from the start.
fn thread_main(run: &RunState, group: usize, number: u32) {
    let leave = Leave::when_done(run, group, number);
    attributes::set_comm(&run.groups[group].comm);
    attributes::set_timer_slack(TIMER_SLACK_NS);
    let mut task = Task::new(run, group, number, 0);
    task.slot = Some(leave.slot);
    let prepared = prepare(&mut task);
    match run.script.first_wait(group, number) {
        Some(semaphore) => wait_at_semaphore(run, semaphore),
        None => wait_at_gate(run),
    }
    play_and_stay(&mut task, prepared);
}

/// The whole life of a thread that a tape of this group makes. It has inherited its maker's name
/// and attributes.
pub fn made_main(run: &RunState, (group, number): (usize, u32), maker: usize) {
    let leave = Leave::when_done(run, group, number);
    if group != maker {
        attributes::set_comm(&run.groups[group].comm);
    }
    // It is large: it is made where it stays.
    let mut task = Task::new(run, group, number, 0);
    task.slot = Some(leave.slot);
    let prepared = children::prepare(&task, maker).and_then(|()| free_from(&task, maker));
    let prepared = prepared.and_then(|()| join_group(&task));
    play_and_stay(&mut task, prepared);
}

fn join_group(task: &Task) -> Flow {
    let joined = match task.plan().control_group {
        None => Ok(()),
        group => task.run.group_files.join(group),
    };
    joined.map_err(|no| task.fail(Fault::Group, no))
}

/// A task that may run everywhere does not stay where its maker had to.
fn free_from(task: &Task, maker: usize) -> Flow {
    let is_bound = |group: usize| task.run.groups[group].cpus.is_some();
    if is_bound(task.group) || !is_bound(maker) {
        return Ok(());
    }
    attributes::set_affinity(&attributes::every_cpu()).map_err(|no| task.fail(Fault::Affinity, no))
}

fn play_and_stay(task: &mut Task, prepared: Flow) {
    let (run, has_tape) = (task.run, task.plan().has_tape());
    if let (Ok(()), Some(slot)) = (prepared, task.slot) {
        play_from_start(task, slot);
    }
    // Children see their parent's end; those of a task that ended early must not. A thread's end
    // costs CPU time, which a recorded task has used on its tape.
    while (run.children.load(SeqCst) != 0 || has_tape) && !run.stopped() {
        futex::wait(&run.control().stop, 0);
    }
}

/// Gives the thread its group's attributes, its file and its memory.
fn prepare(task: &mut Task) -> Flow {
    let plan = task.plan();
    let is_right = plan.policy == Default::default() && attributes::is_plain();
    if !is_right || attributes::ask_for_ext() {
        attributes::set_policy(0, &plan.policy).map_err(|no| task.fail(Fault::Policy, no))?;
    }
    if let Some(cpus) = &task.tally().cpus {
        attributes::set_affinity(cpus).map_err(|no| task.fail(Fault::Affinity, no))?;
    }
    children::clamp_own(task)?;
    join_group(task)?;
    if plan.has_files() {
        task.file = Some(input_output::open(task.run).map_err(|no| task.fail(Fault::File, no))?);
    }
    memory::prepare(task)
}

fn wait_at_gate(run: &RunState) {
    let control = run.control();
    control.ready.fetch_add(1, SeqCst);
    while control.gate.load(SeqCst) == 0 {
        futex::wait(&control.gate, 0);
    }
}

/// The tape begins with a wait, which lasts beyond the common start.
fn wait_at_semaphore(run: &RunState, semaphore: usize) {
    run.control().ready.fetch_add(1, SeqCst);
    // A trial that is over has ended the wait; the task notices it.
    let _ = run.semaphores[semaphore].wait(&run.control().stop);
}

/// From the common start to the task's end.
fn play_from_start(task: &mut Task, slot: &TaskSlot) {
    let control = task.run.control();
    let plan = task.plan();
    let delay_ns = plan.starts_ns[task.number as usize];
    let start_ns = control.start_ns.load(SeqCst) + delay_ns;
    task.timers = [TimerState::new(start_ns); MAX_TIMERS];
    let usage_before = usage();
    // Kernels disagree whether a sleep until a time that has passed is one.
    let is_early = delay_ns > 0 && now_ns() < start_ns;
    let delayed = if is_early { task.sleep_until(start_ns) } else { Ok(()) };
    let end = if delayed.is_ok() { steps::play(task) } else { End::Stopped };
    let (end_ns, cpu_ns) = (now_ns(), task.run.cpu_ns_at_end());
    if end != End::Stopped && task.run.counting() {
        finish(task, slot, start_ns, end_ns, cpu_ns);
    } else if task.run.stopped() {
        let end_ns = control.end_ns.load(SeqCst);
        task.stop_clocks(start_ns, end_ns);
    }
    if let Some(semaphore) = plan.joined.filter(|_| end != End::Stopped) {
        task.run.semaphores[semaphore].post();
    }
    let used = usage();
    for (index, place) in slot.usage.iter().enumerate() {
        place.store(used[index].saturating_sub(usage_before[index]), SeqCst);
    }
}

/// The task has ended by itself.
fn finish(task: &mut Task, slot: &TaskSlot, start_ns: u64, now_ns: u64, cpu_ns: Option<u64>) {
    let (run, plan) = (task.run, task.plan());
    let control = run.control();
    task.tally().turnaround.record(now_ns.saturating_sub(start_ns));
    let duration_ns = run.script.duration_ns;
    let end_ns = duration_ns.map(|ns| control.start_ns.load(SeqCst) + ns);
    task.finish_timers(now_ns, end_ns);
    slot.cpu_after_ns.store(cpu_ns.unwrap_or(UNKNOWN), SeqCst);
    slot.end_ns.store(now_ns, SeqCst);
    let finite_left = control.finite_left.fetch_sub(u32::from(plan.finite), SeqCst);
    let playing = control.playing.fetch_sub(1, SeqCst);
    if finite_left == 1 || playing == 1 {
        run.ring();
    }
}

/// Says that the thread has ended, even if it panicked.
struct Leave<'a> {
    run: &'a RunState,
    slot: &'a TaskSlot,
}

impl<'a> Leave<'a> {
    /// The calling thread plays this task.
    fn when_done(run: &'a RunState, group: usize, number: u32) -> Leave<'a> {
        let slot = &run.slots[run.script.groups[group].first_task + number as usize];
        slot.tid.store(gettid(), SeqCst);
        Leave { run, slot }
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.slot.gone.store(1, SeqCst);
        if self.run.control().alive.fetch_sub(1, SeqCst) == 1 {
            futex::wake(&self.run.control().alive, 1);
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_looks_at_itself_runs() {
        assert_eq!(thread_state(gettid()), Some('R'));
        assert_eq!(thread_state(0), None);
    }
}
