// SPDX-License-Identifier: GPL-2.0-only
//! From the trace of a trial to a recording: what the workload's tasks did until its end.
//!
//! A trace knows who made each task runnable, as the recorder of live machines does.

use std::collections::{BTreeMap, BTreeSet};

use model::play::PROGRAM;
use model::trace::{SleepsFor, What, WokenBy};
use model::{Trace, TraceEvent, Workload};

use crate::collect::Collector;
use crate::event::{
    Leaves, Moment, Named, Recording, Scheduling, TaskIndex, TracerCosts, UNNAMED, Waker,
};
use crate::groups;

/// What the events of a trace take where instructions are the clock, with the other probes of a
/// trial: what programs take with all of these and without. A task that yields has only switches,
/// hackbench under `rr` hardly anything but messages, and two processes with pipes all three.
pub const COUNTED_TRACER: TracerCosts =
    TracerCosts { switch_ns: 1_000, wake_ns: 1_740, message_ns: 1_945 };

/// What a switch that the task had not asked for takes there: what a task computes more that is
/// preempted by the one that it wakes.
pub const COUNTED_PREEMPTION_NS: u64 = 2_300;

/// A trace as a recording, and whose it is.
#[derive(Clone, Debug)]
pub struct Traced {
    /// All that it tells, other tasks included.
    pub recording: Recording,
    /// The numbers of the workload's threads: those that the probes knew, and what they forked.
    pub threads: BTreeSet<u32>,
}

pub fn threads(trace: &Trace) -> BTreeSet<u32> {
    let known = trace.tasks.iter().filter(|task| !task.group.is_empty());
    inherited(trace, known.map(|task| (task.pid, ())).collect()).into_keys().collect()
}

/// What is known of tasks holds for what they fork, too.
fn inherited<T: Copy>(trace: &Trace, mut known: BTreeMap<u32, T>) -> BTreeMap<u32, T> {
    for event in &trace.events {
        if let What::Fork { parent, child } = event.what
            && let Some(own) = known.get(&parent).copied()
        {
            known.entry(child).or_insert(own);
        }
    }
    known
}

/// When the program of a workload ended, nanoseconds after the common start: its first process
/// left, whatever it has reported of its own work. `None`: the trace has no program's end.
pub fn end_of_program(trace: &Trace, group: &str) -> Option<u64> {
    let known = trace.tasks.iter().filter(|task| task.group == group);
    let mut first: BTreeSet<u32> = known.map(|task| task.pid).collect();
    for event in &trace.events {
        if let What::Fork { child, .. } = event.what {
            first.remove(&child);
        }
    }
    let ends =
        |event: &&TraceEvent| matches!(event.what, What::Exit { pid } if first.contains(&pid));
    trace.events.iter().rev().find(ends).map(|event| event.time_ns)
}

/// Reads a trace up to the end of its workload, so many nanoseconds after the common start.
/// `source` says what made it, `cpus` how many the machine has.
///
/// # Errors
/// When nothing ran.
pub fn read(trace: &Trace, until_ns: u64, source: &str, cpus: u32) -> Result<Traced, String> {
    let names = trace.tasks.iter().map(|task| (task.pid, task.comm.as_str())).collect();
    let mut collector = Collector::new(true);
    collector.cpus(cpus);
    collector.lost(trace.lost);
    for event in trace.events.iter().take_while(|event| event.time_ns <= until_ns) {
        let (cpu, at_ns) = (event.cpu, event.time_ns);
        let moment = Moment { current: None, cpu, in_interrupt: None, at_ns };
        collector.event(&moment, scheduling(&event.what, &names));
    }
    let (recording, _) = collector.finish(source)?;
    Ok(Traced { recording, threads: threads(trace) })
}

impl Traced {
    /// Puts the threads into the control groups in which the workload's tasks and its program
    /// start, with what they forked there.
    pub fn start_in_groups(&mut self, trace: &Trace, workload: &Workload) {
        let of_program = workload.program.iter().map(|program| (PROGRAM, &program.group));
        let of_tasks = workload.tasks.iter().map(|task| (task.name.as_str(), &task.group));
        let started: BTreeMap<&str, &String> = of_program.chain(of_tasks).collect();
        let known = trace
            .tasks
            .iter()
            .filter_map(|task| started.get(task.group.as_str()).map(|&group| (task.pid, group)));
        let groups: BTreeMap<u32, &String> = inherited(trace, known.collect());
        for task in &mut self.recording.tasks {
            task.control_group = groups.get(&task.tid).map_or_else(String::new, |&g| g.clone());
        }
        self.recording.control_groups = workload.control_groups.clone();
    }

    /// The names of the groups of like tasks, by the numbers of the workload's threads. They are
    /// those of the groups of its replay.
    pub fn groups(&self) -> BTreeMap<u32, String> {
        let tasks = &self.recording.tasks;
        let own = (0..tasks.len() as u32).map(TaskIndex);
        let own = own.filter(|task| self.threads.contains(&tasks[task.0 as usize].tid));
        let groups = groups::groups(&self.recording, own, |_| String::new());
        let named = groups.iter().flat_map(|group| {
            group.tasks.iter().map(|task| (tasks[task.0 as usize].tid, group.name.clone()))
        });
        named.collect()
    }
}

/// What an event of a trace says.
fn scheduling<'a>(what: &What, names: &BTreeMap<u32, &'a str>) -> Scheduling<'a> {
    let named = |tid: u32, prio: Option<u32>| {
        let comm = names.get(&tid).copied().unwrap_or(UNNAMED);
        Named { comm, tid, prio: prio.map(|prio| prio as i32) }
    };
    match *what {
        What::Switch { prev, prev_prio, ref prev_state, next, next_prio, reason: sleeps_for } => {
            let in_state = Leaves::in_state(prev_state.chars().next().unwrap_or('R'));
            let leaves = match (sleeps_for, in_state) {
                (Some(SleepsFor::Yield), _) => Leaves::Yields,
                (Some(sleeps_for), Leaves::Sleeps(_)) => Leaves::Sleeps(sleeps_for),
                (_, in_state) => in_state,
            };
            let out = Some(named(prev, Some(prev_prio)));
            Scheduling::Switch { out, leaves, next: named(next, Some(next_prio)) }
        }
        What::Waking { pid, prio, interrupt, by, .. } => {
            let by = match by {
                Some(WokenBy::Task(waker)) => Some(Waker::Task(named(waker, None))),
                Some(WokenBy::Device) => Some(Waker::Interrupt),
                Some(WokenBy::Timer) => Some(Waker::Timer),
                None => interrupt.then_some(Waker::Timer),
            };
            Scheduling::Waking(named(pid, Some(prio)), by)
        }
        What::Fork { parent, child } => {
            Scheduling::Fork { parent: Some(named(parent, None)), child: named(child, None) }
        }
        What::Exit { pid } => Scheduling::Exit(named(pid, None)),
        What::Send { pid, stream, bytes, room } => {
            Scheduling::Send { task: named(pid, None), stream, bytes, room }
        }
        What::Take { pid, stream, bytes } => {
            Scheduling::Take { task: named(pid, None), stream, bytes }
        }
        _ => Scheduling::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::What as Seen;
    use model::trace::TraceTask;
    use model::{ControlGroup, Program};

    fn trace(events: &[(u64, What)]) -> Trace {
        let task = |pid, comm: &str, group: &str| TraceTask {
            pid,
            comm: comm.into(),
            group: group.into(),
        };
        let event = |(time_ns, what): &(u64, What)| TraceEvent {
            time_ns: *time_ns,
            cpu: 0,
            what: what.clone(),
        };
        Trace {
            tasks: vec![
                task(1, "make", "program"),
                task(2, "cc1", ""),
                task(3, "cc1", ""),
                task(9, "sshd", ""),
            ],
            events: events.iter().map(event).collect(),
            lost: 0,
        }
    }

    fn switch(prev: u32, state: &str, next: u32) -> What {
        let prev_state = state.to_owned();
        What::Switch { prev, prev_prio: 120, prev_state, next, next_prio: 125, reason: None }
    }

    fn waking(pid: u32, by: WokenBy) -> What {
        What::Waking { pid, prio: 120, target: 0, interrupt: false, by: Some(by) }
    }

    #[test]
    fn what_the_program_forked_belongs_to_it() {
        let events = [
            (10, What::Fork { parent: 1, child: 2 }),
            (20, What::Fork { parent: 2, child: 3 }),
            (30, switch(1, "S", 3)),
        ];
        let traced = read(&trace(&events), 100, "a test", 2).expect("something ran");
        assert_eq!(traced.threads, [1, 2, 3].into());
        assert_eq!(traced.recording.cpus, 2);
        let groups = traced.groups();
        assert_eq!(groups[&1], "make");
        assert_eq!((groups[&2].as_str(), groups.get(&9)), ("cc", None), "without its number");
    }

    #[test]
    fn threads_start_in_the_groups_of_the_workload() {
        let group = |name: &str| ControlGroup { name: name.into(), ..ControlGroup::default() };
        let workload = Workload {
            control_groups: vec![group("a"), group("b")],
            program: Some(Program { group: "a".into(), ..Program::default() }),
            ..Workload::default()
        };
        let events = [
            (10, What::Fork { parent: 1, child: 2 }),
            (20, What::Fork { parent: 2, child: 3 }),
            (30, switch(1, "S", 3)),
            (40, switch(3, "S", 9)),
        ];
        let trace = trace(&events);
        let mut traced = read(&trace, 100, "a test", 2).expect("something ran");
        traced.start_in_groups(&trace, &workload);
        let mut groups: Vec<(u32, &str)> =
            traced.recording.tasks.iter().map(|task| (task.tid, &*task.control_group)).collect();
        groups.sort_unstable();
        assert_eq!(groups, [(1, "a"), (2, "a"), (3, "a"), (9, "")]);
        assert_eq!(traced.recording.control_groups, workload.control_groups);
    }

    #[test]
    fn yields_and_messages_are_those_of_the_trace() {
        let mut yields = switch(1, "R", 2);
        if let What::Switch { reason, .. } = &mut yields {
            *reason = Some(SleepsFor::Yield);
        }
        let events = [
            (0, yields),
            (5, What::Send { pid: 2, stream: 4, bytes: 6, room: 7 }),
            (7, What::Take { pid: 3, stream: 4, bytes: 6 }),
            (9, switch(2, "R", 0)),
        ];
        let traced = read(&trace(&events), 100, "a test", 1).expect("something ran");
        let seen: Vec<&Seen> = traced.recording.events.iter().map(|event| &event.what).collect();
        assert!(matches!(seen[0], Seen::Switch { leaves: Leaves::Yields, .. }), "{seen:?}");
        assert!(matches!(seen[1], Seen::Send { stream: 0, bytes: 6, room: 7, .. }), "{seen:?}");
        assert!(matches!(seen[2], Seen::Take { stream: 0, bytes: 6, .. }), "{seen:?}");
    }

    #[test]
    fn a_task_has_the_nice_value_that_it_began_with_until_it_changes() {
        let of = |at_ns, prev_prio, next_prio| {
            let (prev_state, reason) = ("R".to_owned(), None);
            (at_ns, What::Switch { prev: 2, prev_prio, prev_state, next: 3, next_prio, reason })
        };
        // 49 is a priority that it has borrowed.
        let events = [of(10, 120, 125), of(20, 49, 125), of(30, 112, 125), of(40, 112, 130)];
        let recording = read(&trace(&events), 100, "a test", 1).expect("something ran").recording;
        let began = recording.tasks.iter().map(|task| task.attributes.nice);
        assert_eq!(began.collect::<Vec<_>>(), [Some(0), Some(5)]);
        let changes = recording.events.iter().filter_map(|event| match &event.what {
            Seen::Changed { task, to } => Some((event.at_ns, task.0, to.nice)),
            _ => None,
        });
        assert_eq!(changes.collect::<Vec<_>>(), [(20, 0, Some(-8)), (30, 1, Some(10))]);
    }

    #[test]
    fn a_program_ends_with_its_first_process() {
        let events = [
            (10, What::Fork { parent: 1, child: 2 }),
            (20, What::Exit { pid: 2 }),
            (30, What::Exit { pid: 1 }),
            (40, What::Exit { pid: 9 }),
        ];
        assert_eq!(end_of_program(&trace(&events), "program"), Some(30));
        assert_eq!(end_of_program(&trace(&events[..2]), "program"), None);
    }

    #[test]
    fn wakers_are_those_of_the_trace() {
        let events = [
            (0, switch(0, "R", 9)),
            (10, waking(1, WokenBy::Task(3))),
            (20, waking(2, WokenBy::Timer)),
            (30, waking(3, WokenBy::Device)),
            (200, switch(9, "S", 1)),
        ];
        let traced = read(&trace(&events), 100, "a test", 1).expect("something ran");
        let seen = traced.recording.events.iter().filter_map(|event| match event.what {
            Seen::Wake { waker, .. } => Some(waker),
            _ => None,
        });
        let seen: Vec<Waker> = seen.collect();
        assert!(matches!(seen[..], [Waker::Task(_), Waker::Timer, Waker::Interrupt]), "{seen:?}");
        assert_eq!(traced.recording.length_ns, 30, "what came later is not the workload's");
    }
}
