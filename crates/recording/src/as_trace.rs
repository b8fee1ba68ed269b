// SPDX-License-Identifier: GPL-2.0-only
//! A recording in the form of a trial's trace: what [`crate::traced`] reads, for recordings of
//! every source.

use std::collections::{BTreeMap, BTreeSet};

use model::trace::{Trace, TraceEvent, TraceTask, What as Told, WokenBy};

use crate::event::{Leaves, Recording, SleepsFor, TaskIndex, Waker, What};
use crate::groups;

/// A trace, and what has no place in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AsTrace {
    pub trace: Trace,
    /// The CPUs of groups that may not use all.
    pub affinity: BTreeMap<String, Vec<u32>>,
    /// Interrupts: the CPU, the beginning and the end, ns.
    pub interrupts: Vec<(u32, u64, u64)>,
}

/// Numbers for tasks whose own one another task had before: above all that kernels give.
const AGAIN: u32 = 1 << 30;

/// All of a recording. Its groups are those of like tasks.
pub fn as_trace(recording: &Recording) -> AsTrace {
    let mut taken = BTreeSet::from([0]);
    let own = (0..recording.tasks.len() as u32).map(TaskIndex);
    let number = |task: TaskIndex| {
        let tid = recording.tasks[task.0 as usize].tid;
        if taken.insert(tid) { tid } else { AGAIN + task.0 }
    };
    let numbers: Vec<u32> = own.clone().map(number).collect();
    let mut done = AsTrace::default();
    for group in groups::groups(recording, own, |_| String::new()) {
        for task in group.tasks {
            let comm = recording.tasks[task.0 as usize].name.clone();
            let pid = numbers[task.0 as usize];
            done.trace.tasks.push(TraceTask { pid, comm, group: group.name.clone() });
        }
        if !group.affinity.is_empty() {
            done.affinity.insert(group.name, group.affinity);
        }
    }
    done.trace.lost = recording.lost_events;
    let mut last_cpus = vec![None; numbers.len()];
    for event in &recording.events {
        let (time_ns, cpu) = (event.at_ns, event.cpu);
        if let What::Interrupted { ns } = event.what {
            done.interrupts.push((cpu, time_ns.saturating_sub(ns), time_ns));
        }
        if let What::Switch { next: Some(next), .. } = event.what {
            last_cpus[next.0 as usize] = Some(cpu);
        }
        let last = |task: TaskIndex| last_cpus[task.0 as usize].unwrap_or(cpu);
        if let Some(what) = told(&event.what, &numbers, last) {
            done.trace.events.push(TraceEvent { time_ns, cpu, what });
        }
    }
    done
}

fn told(what: &What, numbers: &[u32], last_cpu: impl Fn(TaskIndex) -> u32) -> Option<Told> {
    const PRIO: u32 = 120;
    let pid = |task: TaskIndex| numbers[task.0 as usize];
    Some(match *what {
        What::Switch { out, leaves, next } => {
            let (state, reason) = match leaves {
                Leaves::Runnable => ("R", None),
                Leaves::Yields => ("R", Some(SleepsFor::Yield)),
                Leaves::Sleeps(SleepsFor::Disk) => ("D", Some(SleepsFor::Disk)),
                Leaves::Sleeps(reason) => ("S", Some(reason)),
                Leaves::Ended => ("X", None),
            };
            Told::Switch {
                prev: out.map_or(0, pid),
                prev_prio: PRIO,
                prev_state: state.into(),
                next: next.map_or(0, pid),
                next_prio: PRIO,
                reason,
            }
        }
        What::Wake { task, waker } => {
            let by = match waker {
                Waker::Task(by) => Some(WokenBy::Task(pid(by))),
                Waker::Timer => Some(WokenBy::Timer),
                Waker::Interrupt => Some(WokenBy::Device),
                Waker::Unknown => None,
            };
            let interrupt = !matches!(waker, Waker::Task(_));
            Told::Waking { pid: pid(task), prio: PRIO, target: last_cpu(task), interrupt, by }
        }
        What::Fork { parent, child } => Told::Fork { parent: pid(parent), child: pid(child) },
        What::Exit { task } => Told::Exit { pid: pid(task) },
        _ => return None,
    })
}
