// SPDX-License-Identifier: GPL-2.0-only
//! From the kernel's events to a recording.
//!
//! CPUs write their events side by side, so they are put into order here. Who ran when the
//! recording began is only told by who stopped, and what a task polled for by who woke it.

use std::collections::{BTreeMap, BTreeSet};

use model::{ControlGroup, Policy, PolicyClass};
use recording::collect::Collector;
use recording::event::{
    Attributes, Leaves, Moment, Named, Recording, Scheduling, SleepsFor, Task, Waker,
};

use super::object::{CPU_WORDS, Kept, RawEvent, TaskFacts, bytes_of, kind, leaves, waker};
use super::reason::{self, Polls};

/// What the events themselves do not tell.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Who recorded, and on which kernel.
    pub source: String,
    pub cpus: u32,
    /// The first instant, on the kernel's monotonic clock.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Events for which there was no room.
    pub lost_events: u64,
    /// The machine's control groups by the numbers of their folders.
    pub control_groups: BTreeMap<u64, ControlGroup>,
}

/// Makes a recording of what the kernel has sent.
pub fn recording(mut kept: Kept, frame: &Frame) -> Recording {
    // The order of equal times is that in which places were reserved.
    kept.events.sort_by_key(|event| event.time_ns);
    kept.events.truncate(kept.events.partition_point(|event| event.time_ns <= frame.end_ns));
    let mut collector = Collector::default().between(frame.start_ns, frame.end_ns);
    collector.cpus(frame.cpus);
    collector.lost(frame.lost_events);
    begins(&mut collector, &kept.events, frame.start_ns);
    let polls = polls(&kept.events);
    for (place, event) in kept.events.iter().enumerate() {
        take(&mut collector, event, (&kept.facts, frame), || polls.reason(place));
    }
    let mut recording = collector.recording(&frame.source);
    recording.control_groups = frame.control_groups.values().cloned().collect();
    recording
}

fn moment(event: &RawEvent) -> Moment<'static> {
    Moment { current: None, cpu: event.cpu.into(), in_interrupt: None, at_ns: event.time_ns }
}

/// Who ran on a CPU before its first switch has run there from the beginning.
fn begins(collector: &mut Collector<'_>, events: &[RawEvent], start_ns: u64) {
    let mut seen = BTreeSet::new();
    let says_who_runs =
        |event: &&RawEvent| [kind::SWITCH, kind::RUNNING].contains(&event.kind.into());
    for event in events.iter().filter(says_who_runs) {
        if seen.insert(event.cpu) && event.task != 0 && !is_from_now_on(event) {
            let (out, next) = (Some(Named::numbered(0)), Named::numbered(event.task));
            let what = Scheduling::Switch { out, leaves: Leaves::Runnable, next };
            collector.event(&Moment { at_ns: start_ns, ..moment(event) }, what);
        }
    }
}

/// A task that runs is recorded from this event on, because it has got the name that was asked for.
fn is_from_now_on(event: &RawEvent) -> bool {
    u32::from(event.kind) == kind::RUNNING && event.detail == 1
}

fn polls(events: &[RawEvent]) -> Polls {
    let mut polls = Polls::default();
    for (place, event) in events.iter().enumerate() {
        match event.kind.into() {
            kind::SWITCH => polls.switch(place, event.task, event.detail, event.other),
            kind::WAKE => {
                let by = match (event.detail & 0xff, event.other) {
                    (waker::TASK, 0) => waker::UNKNOWN,
                    (by, _) => by,
                };
                polls.wake(event.task, by, event.detail);
            }
            _ => {}
        }
    }
    polls
}

/// `polled` is what a task sleeps for that anything can end.
fn take(
    collector: &mut Collector<'_>,
    event: &RawEvent,
    (facts, frame): (&[TaskFacts], &Frame),
    polled: impl Fn() -> SleepsFor,
) {
    let (task, other) = (Named::numbered(event.task), Named::numbered(event.other));
    let what = match u32::from(event.kind) & 0xff {
        kind::SWITCH => {
            let leaves = match event.detail & 0xff {
                leaves::RUNNABLE => Leaves::Runnable,
                leaves::ENDED => Leaves::Ended,
                leaves::YIELDING => Leaves::Yields,
                _ => Leaves::Sleeps(match reason::sleep(event.detail) {
                    SleepsFor::Any => polled(),
                    sleeps_for => sleeps_for,
                }),
            };
            Scheduling::Switch { out: Some(task), leaves, next: other }
        }
        kind::WAKE => {
            let by = match event.detail & 0xff {
                waker::TASK => Waker::Task(other),
                waker::TIMER => Waker::Timer,
                _ => Waker::Interrupt,
            };
            Scheduling::Waking(task, Some(by))
        }
        kind::FORK => Scheduling::Fork { parent: Some(task), child: other },
        kind::EXIT => Scheduling::Exit(task),
        kind::RUNNING if is_from_now_on(event) => {
            let out = Some(Named::numbered(0));
            Scheduling::Switch { out, leaves: Leaves::Runnable, next: task }
        }
        kind::SENT => {
            let slots = 1_u32.checked_shl((event.kind >> 8).into()).unwrap_or(0) >> 1;
            let (stream, bytes) = (event.other, event.detail);
            Scheduling::Send { task, stream, bytes, room: bytes_of(slots) }
        }
        kind::TAKEN => Scheduling::Take { task, stream: event.other, bytes: event.detail },
        kind::TASK => {
            if let Some(facts) = facts.get(event.other as usize) {
                let attributes = attributes(facts, frame.cpus);
                let group = frame.control_groups.get(&facts.group);
                let control_group = group.map_or_else(String::new, |group| group.name.clone());
                let (name, kernel) = (name(&facts.comm), Some(facts.kernel != 0));
                let facts = Task { name, kernel, control_group, attributes, ..Task::default() };
                collector.facts(&moment(event), event.task, facts);
            }
            return;
        }
        _ => return,
    };
    collector.event(&moment(event), what);
    if u32::from(event.kind) == kind::FORK && event.task == 0 {
        // The child of nobody that is recorded.
        collector.event(&moment(event), Scheduling::Waking(other, Some(Waker::Unknown)));
    }
}

/// Nice 0.
const DEFAULT_PRIO: i32 = 120;

/// The kernel's numbers of the policies (`sched(7)`); sched_ext's, 7, is the scheduler's choice and
/// counts as what it replaces.
fn class(policy: u32) -> Option<PolicyClass> {
    Some(match policy {
        0 | 7 => PolicyClass::Other,
        1 => PolicyClass::Fifo,
        2 => PolicyClass::Rr,
        3 => PolicyClass::Batch,
        5 => PolicyClass::Idle,
        6 => PolicyClass::Deadline,
        _ => return None,
    })
}

/// What a scheduler is told of a task on a machine with `cpus` CPUs.
pub fn attributes(facts: &TaskFacts, cpus: u32) -> Attributes {
    let nice = facts.static_prio - DEFAULT_PRIO;
    Attributes {
        nice: Some(nice),
        policy: class(facts.policy).map(|class| policy(class, facts)),
        affinity: affinity(facts, cpus),
    }
}

fn policy(class: PolicyClass, facts: &TaskFacts) -> Policy {
    let bare = Policy { class, ..Policy::default() };
    match class {
        PolicyClass::Fifo | PolicyClass::Rr => Policy { priority: facts.rt_priority, ..bare },
        PolicyClass::Deadline => Policy {
            runtime_us: facts.dl_runtime_ns / 1_000,
            deadline_us: facts.dl_deadline_ns / 1_000,
            period_us: facts.dl_period_ns / 1_000,
            ..bare
        },
        PolicyClass::Other | PolicyClass::Batch => {
            Policy { nice: facts.static_prio - DEFAULT_PRIO, ..bare }
        }
        PolicyClass::Idle => bare,
    }
}

/// Empty: all. `None` on machines with more CPUs than facts have bits.
fn affinity(facts: &TaskFacts, cpus: u32) -> Option<Vec<u32>> {
    if cpus as usize > CPU_WORDS * 64 {
        return None;
    }
    let may = |cpu: &u32| facts.cpus[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    let allowed: Vec<u32> = (0..cpus).filter(may).collect();
    Some(if allowed.len() == cpus as usize { Vec::new() } else { allowed })
}

/// A thread's name, as the kernel keeps it.
pub fn name(comm: &[u8; 16]) -> String {
    let end = comm.iter().position(|&byte| byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}

#[cfg(test)]
mod tests;
