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

mod chains;
mod charge;
mod control_groups;
mod idle;
mod longest;
mod queues;
pub(crate) mod timeline;

pub use chains::{Held, Link, Origin};
pub use charge::{Interrupt, Interrupted, Lane, Letters, STRETCH_NS, TaskRow, View, group_letter};
pub use control_groups::{ControlGroups, GroupCause, Limit};
pub use idle::{Episode, IdleWhileWaiting};
pub use queues::{Quantiles, QueueUse};

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
    /// The scheduler's queues, where the trace has decisions.
    pub queues: Vec<QueueUse>,
    /// By group of the workload, then all other tasks under the empty name.
    pub groups: Vec<Spent>,
    /// Every task, in the order of groups.
    pub tasks: Vec<Spent>,
    /// The longest waits of each group, longest first.
    pub waits: Vec<Wait>,
    /// The sleeps that were longest because a task that had to end them waited for a CPU.
    pub held: Vec<Held>,
    /// What interrupts took of CPUs, where the trace has them.
    pub interrupts: Vec<Interrupted>,
    /// The timeline begins here, ns.
    pub lanes_from_ns: u64,
    /// Time that CPUs idled while tasks that may use them waited.
    pub idle: IdleWhileWaiting,
    /// The user of each CPU, in columns of equal length.
    pub lanes: Vec<Lane>,
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
    /// How often it lost its CPU although it could run on.
    pub preemptions: u64,
    /// How often it ran on another CPU than before.
    pub moves: u64,
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
    /// The tasks whose wake-ups led to this one, the first one first.
    pub chain: Vec<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_group: Option<GroupCause>,
    /// What woke the first of them, or the task itself.
    pub origin: Origin,
    /// The CPUs that it may use; empty: all, or nobody knows.
    pub allowed: Vec<u32>,
    /// The CPU that it had before, if another one ran it.
    pub moved_from: Option<u32>,
    /// What interrupts took of the CPU meanwhile, ns.
    pub interrupts_ns: u64,
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
    Left(Option<Preemption>),
    /// It did not end within the wait.
    Open,
}

#[derive(Clone, Debug, Default)]
pub struct About {
    /// CPUs of the machine, if that is known.
    pub cpus: u32,
    /// The end of the trial, if known to be later than the last event.
    pub end_ns: u64,
    /// The CPUs that a group's tasks may use, for groups with an affinity.
    pub affinity: BTreeMap<String, Vec<u32>>,
    pub chosen: Chosen,
    /// Interrupts in order of time.
    pub interrupts: Vec<Interrupt>,
    pub control_groups: ControlGroups,
    /// Tasks have their own names and numbers, not those of groups.
    pub by_comm: bool,
}

/// Which waits are told.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The number of waits told of each group.
    pub of_each: usize,
    /// The number of waits told of all groups together; it replaces `of_each`.
    pub worst: Option<usize>,
    /// Only those of a task: its name, its number, or its group.
    pub task: Option<String>,
    /// Only those at about this time, ns.
    pub at_ns: Option<u64>,
    pub letters: Letters,
}

impl Chosen {
    /// The longest of each group.
    pub fn each(of_each: usize) -> Chosen {
        Chosen { of_each, ..Chosen::default() }
    }

    /// What is around a moment.
    const AROUND_NS: u64 = 100_000_000;

    fn most(&self) -> usize {
        self.worst.unwrap_or(self.of_each)
    }

    /// The beginning and the end of what is looked at.
    fn window(&self, end_ns: u64) -> (u64, u64) {
        self.at_ns.map_or((0, end_ns), |at_ns| {
            let from_ns = at_ns.saturating_sub(Chosen::AROUND_NS).min(end_ns);
            (from_ns, at_ns.saturating_add(Chosen::AROUND_NS).min(end_ns))
        })
    }

    fn fits(&self, timeline: &Timeline, task: usize, (from_ns, to_ns): (u64, u64)) -> bool {
        let task = &timeline.tasks[task];
        let is_named = |wanted: &String| {
            let comm = task.name.rsplit_once('[').map_or("", |(comm, _)| comm);
            [comm, &task.name, &timeline.groups[task.group]].contains(&wanted.as_str())
                || *wanted == task.pid.to_string()
        };
        let (begin_ns, end_ns) = self.window(u64::MAX);
        // Tasks outside the workload are told only if they are named.
        let is_asked = match &self.task {
            Some(wanted) => is_named(wanted),
            None => task.group + 1 < timeline.groups.len(),
        };
        is_asked && from_ns <= end_ns && to_ns >= begin_ns
    }
}

/// Explains the trace of a record; `None` if it has none.
pub fn explain(record: &Record, chosen: &Chosen) -> Option<Explanation> {
    let trace = record.trace.as_ref().filter(|trace| !trace.events.is_empty())?;
    let workload = &record.trial.workload;
    let pinned = workload.tasks.iter().filter(|group| !group.affinity.is_empty());
    let whole = if record.outcome.is_ok() { workload.duration_us } else { None };
    let cpus = record.provenance.cpus.max(record.trial.machine.cpus);
    let about = About {
        cpus,
        end_ns: whole.unwrap_or(0).saturating_mul(1_000),
        affinity: pinned.map(|group| (group.name.clone(), group.affinity.clone())).collect(),
        chosen: chosen.clone(),
        interrupts: Vec::new(),
        control_groups: ControlGroups::of(record, cpus),
        by_comm: false,
    };
    Some(explain_trace(trace, &about))
}

pub fn explain_trace(trace: &Trace, about: &About) -> Explanation {
    let timeline = Timeline::new(&trace.tasks, &trace.events, about);
    let idle = idle::Idle::new(&timeline);
    let tasks = charge::tasks(&timeline, &idle);
    let teller = longest::Teller::new(trace, &timeline, &idle, about);
    let waits = longest::longest(&teller, &about.chosen);
    let window = about.chosen.window(timeline.end_ns);
    let letters = about.chosen.letters;
    Explanation {
        cpus: timeline.stretches.len() as u32,
        end_ns: timeline.end_ns,
        switches: timeline.switches,
        lost: trace.lost,
        decisions: trace.events.iter().any(|event| event.what.is_decision()),
        groups: charge::groups(&timeline, &tasks),
        longest: waits.first().map(|wait| charge::view(&timeline, wait, letters.row)),
        held: teller.chains.held(&about.chosen, |wait| teller.tell(wait)),
        interrupts: charge::interrupted(&timeline, &about.interrupts),
        queues: queues::queues(&trace.events, timeline.end_ns),
        waits,
        idle: idle.while_waiting(&timeline),
        lanes_from_ns: window.0,
        column_ns: charge::column_ns(window, letters.lane),
        lanes: charge::lanes(&timeline, window, letters.lane),
        tasks,
    }
}

#[cfg(test)]
mod tests;

/// A task by its name, how long it was in each state, and how often it changed it.
#[derive(Clone, Debug, Default)]
pub struct TaskTimes {
    pub pid: u32,
    pub name: String,
    pub group: usize,
    /// How often it left a CPU.
    pub switches: u64,
    /// How often it became runnable: woken, or new.
    pub wakeups: u64,
    /// How often it lost a CPU although it could run on.
    pub preemptions: u64,
    /// How often it ran on another CPU than before.
    pub moves: u64,
    pub running_ns: u64,
    pub waiting_ns: u64,
    pub sleeping_ns: u64,
    pub blocked_ns: u64,
}

/// The tasks by group and thread number, with their names, and the groups; tasks outside the
/// workload are last.
pub fn named(known: &[TraceTask], by_comm: bool) -> (Vec<TaskTimes>, Vec<String>) {
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
            group if group.is_empty() || by_comm => format!("{}[{}]", task.comm, task.pid),
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
