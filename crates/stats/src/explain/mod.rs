// SPDX-License-Identifier: GPL-2.0-only
//! Why tasks waited: from a record's trace to the use of time, the tasks that ran instead, the
//! longest waits with the decisions that caused them, and the time that CPUs idled while tasks
//! waited.
//!
//! ```text
//! Trace ──► timeline (states of tasks, use of CPUs) ──► charge, idle, longest ──► Explanation
//! ```
//!
//! It works on the events that every backend has; decisions of the simulator add detail. From
//! its first event to its last a task is running, waiting, sleeping or blocked, so these four sum
//! to its lifetime. A wait is charged to the CPU that the task waited on: the one whose queue it
//! was in, if a decision shows it, else the one that ran it in the end. What that CPU ran
//! meanwhile, idling included, sums to the wait.
//!
//! What is not here: wording for readers.
//!
//! Names of tasks: `hog/1` is the second of group `hog`, `kworker/0:1[200]` a task outside the
//! workload.

use std::collections::BTreeMap;

use model::trace::{Preemption, Queue, TraceTask};
use model::{Record, Trace};
use serde::Serialize;
use timeline::Timeline;

mod charge;
mod idle;
mod lanes;
mod longest;
mod timeline;

pub use idle::{Episode, IdleWhileWaiting};
pub use lanes::{Lane, TaskRow, View, group_letter};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    pub cpus: u32,
    /// The trace reaches from the common start to here, ns.
    pub end_ns: u64,
    /// Switches between tasks, to and from idle ones included.
    pub switches: u64,
    /// Events that could not be kept; not 0 means that every number here is an estimate.
    pub lost: u64,
    /// Whether the trace has decisions: which task was put into which queue, and why a task was
    /// preempted.
    pub decisions: bool,
    /// By group of the workload, then all other tasks under the empty name.
    pub groups: Vec<Spent>,
    /// Every task, in the order of groups.
    pub tasks: Vec<Spent>,
    /// The longest waits of each group, longest first.
    pub waits: Vec<Wait>,
    /// Time that CPUs idled while tasks that may use them waited.
    pub idle: IdleWhileWaiting,
    /// The user of each CPU, in columns of equal length.
    pub lanes: Vec<Lane>,
    /// The length of a column, ns.
    pub column_ns: u64,
    /// A closer look at the longest wait; `None`: no task waited.
    pub longest: Option<View>,
}

/// Where the time of a task went, or of all tasks of a group together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// The task as `group/number`, counted from 0 in order of thread numbers; or the group.
    pub name: String,
    /// The group; empty for tasks outside the workload.
    pub group: String,
    /// The thread number; 0 for groups.
    pub pid: u32,
    pub tasks: u64,
    /// From the first to the last event, ns: the sum of the next four.
    pub lifetime_ns: u64,
    /// On a CPU, kernel work on the task's behalf included.
    pub running_ns: u64,
    /// Runnable, and not running.
    pub waiting_ns: u64,
    /// Asleep: timers, locks, pipes.
    pub sleeping_ns: u64,
    /// In uninterruptible sleep: the disk.
    pub blocked_ns: u64,
    pub waits: u64,
    pub longest_wait_ns: u64,
    /// The use of the CPU during the waits, by group; empty: tasks outside the workload.
    pub instead_ns: BTreeMap<String, u64>,
    /// Time that this CPU idled. With `instead_ns` it sums to `waiting_ns`.
    pub cpu_idle_ns: u64,
    /// Time that this CPU was busy while another one that the task may use idled.
    pub other_idle_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// The task, as in [`Spent::name`].
    pub task: String,
    pub pid: u32,
    pub group: String,
    /// When it became runnable, ns.
    pub from_ns: u64,
    /// When it ran, or the end of the trace, ns.
    pub to_ns: u64,
    /// It was still waiting at the end.
    pub open: bool,
    /// The CPU that ran it, or that it waited on last.
    pub cpu: u32,
    pub began: Began,
    /// The queues that it was put into; empty for traces without decisions.
    pub placed: Vec<Placed>,
    /// The slice that it was given in the end, ns.
    pub slice_ns: Option<u64>,
    /// The turns of tasks that ran instead, in order of time; of many turns the longest, those of
    /// one task joined.
    pub instead: Vec<Turn>,
    /// The number of other tasks that ran instead.
    pub others: u64,
    /// For how long they ran together, ns.
    pub others_ns: u64,
    /// The CPU that it waited on idled, ns. With the turns it sums to the wait.
    pub cpu_idle_ns: u64,
    /// Time that this CPU was busy while another one that the task may use idled, ns.
    pub other_idle_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Began {
    /// A task or an interrupt on this CPU woke it.
    Woken {
        cpu: u32,
    },
    /// It is one of the workload's first tasks.
    Started,
    Forked {
        parent: String,
    },
    Preempted {
        cpu: u32,
        /// The next task; `None`: the idle task.
        by: Option<String>,
        /// Why, if the trace has decisions.
        why: Option<Preemption>,
        /// The preempting task, if there is one.
        cause: Option<String>,
    },
    Yielded {
        cpu: u32,
    },
}

/// A decision about a waiting task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    pub at_ns: u64,
    pub cpu: u32,
    pub queue: Queue,
    /// The queue that it was taken from, if it was in one.
    pub from: Option<Queue>,
    /// Its virtual time, if the queue is ordered by it.
    pub vtime: Option<u64>,
    /// How many tasks were before it.
    pub ahead: Option<u32>,
    /// It was dispatched at once.
    pub direct: bool,
}

/// A task's time on the CPU while another one waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turn {
    pub task: String,
    pub group: String,
    /// For how long, ns.
    pub ns: u64,
    pub turns: u64,
    /// How often it was chosen anew without leaving the CPU; 0 for traces without decisions.
    pub renewed: u64,
    /// How the last turn ended.
    pub ended: Ended,
}

/// How a turn on a CPU ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The task went to sleep.
    Slept,
    /// It entered uninterruptible sleep.
    Blocked,
    Exited,
    /// It was preempted, or yielded.
    Left(Option<Preemption>),
    /// It did not end within the wait.
    Open,
}

/// Inputs besides the trace.
#[derive(Clone, Debug)]
pub struct About {
    /// CPUs of the machine, if that is known.
    pub cpus: u32,
    /// The end of the trial, if known to be later than the last event.
    pub end_ns: u64,
    /// The CPUs that a group's tasks may use, for groups with an affinity.
    pub affinity: BTreeMap<String, Vec<u32>>,
    /// How many waits of each group to show.
    pub waits: usize,
}

/// Explains the trace of a record; `None` if it has none. `waits`: how many of each group.
pub fn explain(record: &Record, waits: usize) -> Option<Explanation> {
    let trace = record.trace.as_ref().filter(|trace| !trace.events.is_empty())?;
    let workload = &record.trial.workload;
    let pinned = workload.tasks.iter().filter(|group| !group.affinity.is_empty());
    let whole = if record.outcome.is_ok() { workload.duration_us } else { None };
    let about = About {
        cpus: record.provenance.cpus.max(record.trial.machine.cpus),
        end_ns: whole.unwrap_or(0).saturating_mul(1_000),
        affinity: pinned.map(|group| (group.name.clone(), group.affinity.clone())).collect(),
        waits,
    };
    Some(explain_trace(trace, &about))
}

pub fn explain_trace(trace: &Trace, about: &About) -> Explanation {
    let timeline = Timeline::from_trace(trace, about);
    let charges = charge::charges(&timeline);
    let idle = idle::Idle::new(&timeline);
    let tasks = charge::tasks(&timeline, &charges, &idle);
    let waits = longest::longest(trace, &timeline, &idle, about.waits);
    Explanation {
        cpus: timeline.stretches.len() as u32,
        end_ns: timeline.end_ns,
        switches: timeline.switches,
        lost: trace.lost,
        decisions: trace.events.iter().any(|event| event.what.is_decision()),
        groups: charge::groups(&timeline, &tasks),
        longest: waits.first().map(|wait| lanes::view(&timeline, wait)),
        waits,
        idle: idle.while_waiting(&timeline),
        column_ns: lanes::column_ns(&timeline),
        lanes: lanes::lanes(&timeline),
        tasks,
    }
}

#[cfg(test)]
mod tests;

/// A task by its name, and how long it was in each state.
#[derive(Clone, Debug, Default)]
pub struct TaskTimes {
    pub pid: u32,
    pub name: String,
    pub group: usize,
    pub running_ns: u64,
    pub waiting_ns: u64,
    pub sleeping_ns: u64,
    pub blocked_ns: u64,
}

/// The tasks by group and thread number, with their names, and the groups; tasks outside the
/// workload are last.
pub fn named(known: &[TraceTask]) -> (Vec<TaskTimes>, Vec<String>) {
    let mut tasks: Vec<&TraceTask> = known.iter().filter(|task| task.pid != 0).collect();
    tasks.sort_by_key(|task| (task.group.is_empty(), &task.group, task.pid));
    let mut groups: Vec<String> = Vec::new();
    let mut numbers: Vec<u32> = Vec::new();
    let mut past = Vec::new();
    for task in tasks {
        if groups.last() != Some(&task.group) {
            groups.push(task.group.clone());
            numbers.push(0);
        }
        let number = &mut numbers[groups.len() - 1];
        let name = match task.group.as_str() {
            "" => format!("{}[{}]", task.comm, task.pid),
            group => format!("{group}/{number}"),
        };
        *number += 1;
        past.push(TaskTimes {
            pid: task.pid,
            name,
            group: groups.len() - 1,
            ..TaskTimes::default()
        });
    }
    if groups.last().is_none_or(|last| !last.is_empty()) {
        groups.push(String::new());
    }
    (past, groups)
}
