// SPDX-License-Identifier: GPL-2.0-only
//! The cast: one thread for each task that starts by itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::{Builder, JoinHandle};

use crate::player::attributes;
use crate::player::clock::{now_ns, own_cpu_ns};
use crate::player::futex;
use crate::player::stage::{Fault, Stage, TaskSlot};
use crate::player::task::{End, Flow, Task};
use crate::player::{files, usage};

/// Thousands of tasks shall fit; nothing that they do is deep.
const STACK_BYTES: usize = 128 * 1024;

/// Timers are exact to the nanosecond as far as the kernel can; recorded with every trial.
pub const TIMER_SLACK_NS: u64 = 1;

/// Starts all threads, in the order of the groups; each waits at the gate.
pub fn assemble(stage: &Arc<Stage>) -> io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::with_capacity(stage.score.tasks());
    for (group, plan) in stage.score.groups.iter().enumerate() {
        for number in 0..plan.starts_ns.len() as u32 {
            let shared = stage.clone();
            let builder = Builder::new().stack_size(STACK_BYTES);
            match builder.spawn(move || perform(&shared, group, number)) {
                Ok(thread) => threads.push(thread),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(threads)
}

/// A thread's whole life.
fn perform(stage: &Stage, group: usize, number: u32) {
    let plan = &stage.score.groups[group];
    let slot = &stage.slots[plan.first_task + number as usize];
    let _leave = Leave { stage, slot };
    // SAFETY: no arguments.
    slot.tid.store(unsafe { libc::gettid() } as u32, SeqCst);
    attributes::set_comm(&plan.comm);
    attributes::set_timer_slack(TIMER_SLACK_NS);
    let mut task = Task::new(stage, group, number, 0);
    task.slot = Some(slot);
    let prepared = prepare(&mut task);
    wait_at_gate(stage);
    if prepared.is_ok() {
        act(&mut task, slot);
    }
    // Children see their parent's end; the ones of a task that ended early must not.
    while stage.children.load(SeqCst) != 0 && !stage.stopped() {
        futex::wait(&stage.control().stop, 0);
    }
}

/// Gives the thread its group's attributes and its file.
fn prepare(task: &mut Task) -> Flow {
    let plan = task.plan();
    if plan.policy != Default::default() || attributes::nice() != 0 {
        attributes::set_policy(0, &plan.policy).map_err(|no| task.fail(Fault::Policy, no))?;
    }
    if let Some(cpus) = &plan.affinity {
        attributes::set_affinity(cpus).map_err(|no| task.fail(Fault::Affinity, no))?;
    }
    if plan.has_files() {
        task.file = Some(files::open(task.stage).map_err(|no| task.fail(Fault::File, no))?);
    }
    Ok(())
}

fn wait_at_gate(stage: &Stage) {
    let control = stage.control();
    if control.ready.fetch_add(1, SeqCst) + 1 == stage.score.tasks() as u32 {
        stage.ring();
    }
    while control.gate.load(SeqCst) == 0 {
        futex::wait(&control.gate, 0);
    }
}

/// From the common start to the task's end.
fn act(task: &mut Task, slot: &TaskSlot) {
    let control = task.stage.control();
    let plan = task.plan();
    let delay_ns = plan.starts_ns[task.number as usize];
    let start_ns = control.start_ns.load(SeqCst) + delay_ns;
    task.timers = super::timers::Timers::new(start_ns);
    slot.cpu_before_ns.store(own_cpu_ns(), SeqCst);
    let usage_before = usage::of(libc::RUSAGE_THREAD);
    let delayed = if delay_ns > 0 { task.sleep_until(start_ns) } else { Ok(()) };
    let end = if delayed.is_ok() { task.play() } else { End::Stopped };
    let (now_ns, cpu_ns) = (now_ns(), own_cpu_ns());
    if end == End::Played && task.stage.counting() {
        finish(task, slot, start_ns, now_ns, cpu_ns);
    } else if task.stage.stopped() {
        let end_ns = control.end_ns.load(SeqCst);
        task.timers.stop(&plan.timers, end_ns, task.tally());
    }
    let used = usage::of(libc::RUSAGE_THREAD);
    for (index, place) in slot.usage.iter().enumerate() {
        place.store(used[index].saturating_sub(usage_before[index]), SeqCst);
    }
}

/// The task has ended by itself.
fn finish(task: &mut Task, slot: &TaskSlot, start_ns: u64, now_ns: u64, cpu_ns: u64) {
    let (stage, plan) = (task.stage, task.plan());
    let control = stage.control();
    task.tally().turnaround.record(now_ns.saturating_sub(start_ns));
    let duration_ns = stage.score.duration_ns;
    let end_ns = duration_ns.map(|ns| control.start_ns.load(SeqCst) + ns);
    task.timers.finish(&plan.timers, now_ns, end_ns, task.steps, task.tally());
    slot.cpu_after_ns.store(cpu_ns, SeqCst);
    slot.end_ns.store(now_ns, SeqCst);
    let finite_left = control.finite_left.fetch_sub(u32::from(plan.is_finite()), SeqCst);
    let playing = control.playing.fetch_sub(1, SeqCst);
    if finite_left == 1 || playing == 1 {
        stage.ring();
    }
}

/// Says that the thread has ended, even if it panicked.
struct Leave<'a> {
    stage: &'a Stage,
    slot: &'a TaskSlot,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.slot.gone.store(1, SeqCst);
        if self.stage.control().alive.fetch_sub(1, SeqCst) == 1 {
            futex::wake(&self.stage.control().alive, 1);
        }
    }
}
