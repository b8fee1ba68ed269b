// SPDX-License-Identifier: GPL-2.0-only
//! A recording as a trace, which is written as the kernel's own text for tools that read it.
//!
//! That text has no place for why a task sleeps or for its policy and affinity, and does not tell
//! timers from devices.

use model::trace::{TraceEvent, TraceTask, What as Traced};
use model::{Policy, PolicyClass, Trace};

use crate::event::{Attributes, Leaves, Reason, Recording, TaskIndex, Waker, What};

/// The kernel's priority of nice 0, and the one above the highest real-time priority.
const NICE_0: i32 = 120;
const REAL_TIME: i32 = 99;

/// The events that the kernel's text has.
pub fn trace(recording: &Recording) -> Trace {
    let tasks = &recording.tasks;
    let mut prios: Vec<i32> = tasks.iter().map(|task| priority(&task.attributes, NICE_0)).collect();
    let tid = |task: TaskIndex| tasks[task.0 as usize].tid;
    let mut events = Vec::new();
    for event in &recording.events {
        if let What::Changed { task, to } = &event.what {
            let prio = &mut prios[task.0 as usize];
            *prio = priority(to, *prio);
        }
        let numbers = |task: Option<TaskIndex>| {
            task.map_or((0, NICE_0 as u32), |task| {
                (tid(task), prios[task.0 as usize].max(0) as u32)
            })
        };
        let what = match event.what {
            What::Switch { out, leaves, next } => {
                let ((prev, prev_prio), (next, next_prio)) = (numbers(out), numbers(next));
                let prev_state = state(leaves).to_owned();
                Traced::Switch { prev, prev_prio, prev_state, next, next_prio, reason: None }
            }
            What::Wake { task, waker } => {
                let (pid, prio) = numbers(Some(task));
                let interrupt = matches!(waker, Waker::Timer | Waker::Interrupt);
                Traced::Waking { pid, prio, target: event.cpu, interrupt, by: None }
            }
            What::Fork { parent, child } => Traced::Fork { parent: tid(parent), child: tid(child) },
            What::Exit { task } => Traced::Exit { pid: tid(task) },
            What::Changed { .. } | What::Send { .. } | What::Take { .. } => continue,
        };
        events.push(TraceEvent { time_ns: event.at_ns, cpu: event.cpu, what });
    }
    let named = tasks.iter().map(|task| TraceTask {
        pid: task.tid,
        comm: task.name.clone(),
        group: String::new(),
    });
    Trace { tasks: named.collect(), events, lost: recording.lost_events }
}

/// The kernel's priority of a task; what attributes do not tell stays as it was.
fn priority(attributes: &Attributes, before: i32) -> i32 {
    match (attributes.policy, attributes.nice) {
        (Some(Policy { class: PolicyClass::Fifo | PolicyClass::Rr, priority, .. }), _) => {
            REAL_TIME - priority as i32
        }
        (Some(Policy { class: PolicyClass::Deadline, .. }), _) => -1,
        (Some(policy), nice) => NICE_0 + nice.unwrap_or(policy.nice),
        (None, Some(nice)) => NICE_0 + nice,
        (None, None) => before,
    }
}

fn state(leaves: Leaves) -> &'static str {
    match leaves {
        Leaves::Runnable | Leaves::Yields => "R",
        Leaves::Sleeps(Reason::Disk) => "D",
        Leaves::Sleeps(_) => "S",
        Leaves::Ended => "X",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Task};

    #[test]
    fn tasks_have_the_kernels_numbers_states_and_priorities() {
        let (a, b) = (TaskIndex(0), TaskIndex(1));
        let task = |tid, name: &str| Task { tid, name: name.into(), ..Task::default() };
        let mut tasks = vec![task(7, "a"), task(8, "b")];
        let fifo = Policy { class: PolicyClass::Fifo, priority: 40, ..Policy::default() };
        tasks[1].attributes.policy = Some(fifo);
        let leaves = Leaves::Sleeps(Reason::Pipe);
        let nicer = Attributes { nice: Some(5), ..Attributes::default() };
        let whats = [
            What::Wake { task: b, waker: Waker::Task(a) },
            What::Wake { task: b, waker: Waker::Timer },
            What::Changed { task: a, to: nicer },
            What::Switch { out: Some(a), leaves, next: Some(b) },
            What::Fork { parent: a, child: b },
        ];
        let events = (1..).zip(whats).map(|(at_ns, what)| Event { at_ns, cpu: 1, what }).collect();
        let trace = trace(&Recording { tasks, events, lost_events: 3, ..Recording::default() });
        let waking =
            |interrupt| Traced::Waking { pid: 8, prio: 59, target: 1, interrupt, by: None };
        let switch = Traced::Switch {
            prev: 7,
            prev_prio: 125,
            prev_state: "S".into(),
            next: 8,
            next_prio: 59,
            reason: None,
        };
        let expected = [
            (1, waking(false)),
            (2, waking(true)),
            (4, switch),
            (5, Traced::Fork { parent: 7, child: 8 }),
        ];
        let seen: Vec<_> =
            trace.events.into_iter().map(|event| (event.time_ns, event.what)).collect();
        assert_eq!(seen, expected);
        assert_eq!((trace.tasks[1].comm.as_str(), trace.lost), ("b", 3));
    }
}
