// SPDX-License-Identifier: GPL-2.0-only
//! Workloads: groups of tasks that play steps, and real programs.
//!
//! These are resolved workloads: every count is a number. The TOML files may hold expressions over
//! their parameters; the crate `spec` replaces them before it deserialises into these types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contestant::Policy;
use crate::tables::{ControlGroup, InterruptLoad, Mutex, Program, TaskSession, UtilClamp};
use crate::tape::Recorded;
use crate::usual::{is_default, usual};

/// A resolved workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The file's stem, e.g. `wake_under_hogs`.
    pub name: String,
    /// One sentence for `fairground list workloads`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The parameters' values in this trial, e.g. `hogs = 24`. Part of the cell's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, i64>,
    /// Tasks are told to stop after this time; without it, the workload ends when its finite tasks
    /// have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// How often the scheduler under test is unloaded and loaded again, spread evenly over
    /// `duration_us`. Not possible in the simulator, nor for a kernel's own scheduler.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reloads: u32,
    /// Groups of tasks that share a weight and limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "group")]
    pub control_groups: Vec<ControlGroup>,
    /// Sessions, which the kernel's autogroup gives equal parts of the CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "session")]
    pub sessions: Vec<TaskSession>,
    /// Interrupts that take time from the CPUs while the workload runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "interrupt")]
    pub interrupts: Vec<InterruptLoad>,
    /// Message queues between tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "channel")]
    pub channels: Vec<Channel>,
    /// Mutexes whose holders get a priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "mutex")]
    pub mutexes: Vec<Mutex>,
    /// The tasks, played by real threads (or by the simulator).
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "task")]
    pub tasks: Vec<TaskGroup>,
    /// What was recorded, if the tasks with the step `tape` play a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recorded>,
    /// A real program that runs together with the tasks; the workload lasts until it ends (it is
    /// stopped at `duration_us` if that comes first). Cannot run in the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// Groups that are also measured together.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "total")]
    pub totals: Vec<Total>,
    /// The headline measures, e.g. `wakeup_latency_ns.p99 fair_waker`. The report opens with these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headline: Vec<String>,
}

impl Workload {
    /// The cell's name: the workload with its parameters, `wake_under_hogs hogs=24`.
    pub fn cell(&self) -> String {
        let mut cell = self.name.clone();
        for (name, value) in &self.parameters {
            cell.push_str(&format!(" {name}={value}"));
        }
        cell
    }
}

/// A group of equal tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskGroup {
    /// The group's name in metrics, and the threads' `comm` (15 bytes are kept).
    pub name: String,
    /// How many tasks; 0 leaves the group out.
    #[serde(default = "usual::<1>")]
    pub count: u32,
    /// How often a task plays its steps; without it, until the workload's duration is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
    /// The task starts this long after the common start.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay_us: u64,
    /// Each task's start is moved by a uniform random time below this, drawn from the trial's seed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter_us: u64,
    /// The policy; without it, that of the contestant, else SCHED_OTHER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// CPUs that the tasks may use; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affinity: Vec<u32>,
    /// Clamps of their utilisation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uclamp: UtilClamp,
    /// The control group that the tasks are in; empty: the workload's own. Forked tasks are in that
    /// of the task that forks them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The session that the tasks are in; empty: none of the workload's. Forked tasks are in that
    /// of the task that forks them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// A template: its tasks start only by `fork` steps.
    #[serde(default, skip_serializing_if = "is_default")]
    pub template: bool,
    /// What a task does, in order.
    pub steps: Vec<Step>,
}

impl TaskGroup {
    /// One task that starts at the common start, anywhere, and plays its steps once.
    pub fn once(name: impl Into<String>, steps: Vec<Step>) -> TaskGroup {
        TaskGroup {
            name: name.into(),
            count: 1,
            repeat: Some(1),
            delay_us: 0,
            jitter_us: 0,
            policy: None,
            affinity: Vec::new(),
            uclamp: UtilClamp::default(),
            group: String::new(),
            session: String::new(),
            template: false,
            steps,
        }
    }
}

/// One thing that a task does. The meaning is the same on every backend.
/// Locks, conditions, barriers and semaphores are created at their first use; a name is valid in
/// the whole workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Use this much CPU time.
    RunUs(u64),
    /// Use a CPU time that varies evenly in a range. It is drawn from the trial's seed, so each
    /// contestant gets the same times. Not in templates.
    RunBetweenUs {
        /// The shortest time.
        least: u64,
        /// The longest time.
        most: u64,
    },
    /// Use the CPU until this much time has passed, waiting in run queues included.
    RunUntilUs(u64),
    /// Sleep for this long from now.
    SleepUs(u64),
    /// Sleep until the task's next release.
    Timer(Timer),
    /// Take a mutex.
    Lock(String),
    /// Release a mutex.
    Unlock(String),
    /// Wait for a condition; the task holds the lock before and after.
    Wait {
        /// The condition's name.
        condition: String,
        /// The mutex that is released while waiting.
        lock: String,
    },
    /// Wake one waiter of a condition.
    Signal(String),
    /// Wake every waiter of a condition.
    Broadcast(String),
    /// rt-app's `sync`: signal a condition and wait for it, in one step, holding the lock.
    Sync {
        /// The condition's name.
        condition: String,
        /// The mutex that is released while waiting.
        lock: String,
    },
    /// Wait until every task whose steps name this barrier has reached it.
    Barrier(String),
    /// Sleep until another task resumes the given name (its own group, if empty).
    Suspend(String),
    /// Wake every task that is suspended under this name.
    Resume(String),
    /// Increment a semaphore.
    SemaphorePost(String),
    /// Decrement a semaphore, waiting while it is zero.
    SemaphoreWait(String),
    /// Write messages to a channel, as hackbench's senders do.
    Send {
        /// The channel's name.
        channel: String,
        /// Bytes of each message.
        bytes: u32,
        /// One message to each of `fan` members of the channel: task *i* writes to members
        /// `⌊i/fan⌋·fan … ⌊i/fan⌋·fan + fan − 1`, so that tasks form groups of `fan`. With `fan` =
        /// 1 task *i* writes to member *i*. Member numbers wrap round at the channel's count.
        #[serde(default = "usual::<1>")]
        fan: u32,
    },
    /// Read one message from the channel's member with the task's own number (modulo its count).
    Receive {
        /// The channel's name.
        channel: String,
        /// Bytes of the message.
        bytes: u32,
    },
    /// Write to the task's own file.
    WriteFile {
        /// How many bytes.
        bytes: u64,
        /// `fdatasync` afterwards.
        #[serde(default)]
        sync: bool,
    },
    /// Read from the task's own file, from its start, wrapping round.
    ReadFile {
        /// How many bytes.
        bytes: u64,
    },
    /// Write to a buffer of the task's own: memory traffic, without a system call.
    WriteMemory {
        /// How many bytes.
        bytes: u64,
        /// The buffer's size, 4 MiB if it is left out. Each piece begins at the buffer's start.
        #[serde(default = "buffer_bytes")]
        buffer: u64,
    },
    /// Write to `/dev/null`: system calls and nothing else.
    WriteNull {
        /// How many bytes.
        bytes: u64,
        /// The most bytes of one system call, 4 MiB if it is left out.
        #[serde(default = "buffer_bytes")]
        buffer: u64,
    },
    /// Start new processes that play a template group's steps once and exit.
    Fork {
        /// The template group's name.
        task: String,
        /// How many.
        #[serde(default = "usual::<1>")]
        count: u32,
    },
    /// Wait until every process that this task has forked has ended.
    WaitChildren,
    /// Wait until all tasks of a group have ended, as `pthread_join` does: once, in a task with
    /// `repeat = 1`.
    Join(String),
    /// Only in a forked task: replace the program by one that exits at once.
    Exec,
    /// End the task now.
    Exit,
    /// `sched_yield`.
    Yield,
    /// Change the task's own nice value.
    Nice(i32),
    /// Change the task's own policy.
    Policy(Policy),
    /// Change the CPUs that the task may use.
    Affinity(Vec<u32>),
    /// Change the clamps of the task's own utilisation: those that are named.
    Uclamp(UtilClamp),
    /// Move the task to a control group; empty: to the workload's own.
    Group(String),
    /// Change the settings of a control group: those that are named.
    SetGroup(ControlGroup),
    /// Make a control group that is absent, with the settings of its table.
    MakeGroup(String),
    /// Remove a control group that a step has made; no task may be in it.
    RemoveGroup(String),
    /// Play the task's own tape: what one task of the workload's recording did. The tapes go to the
    /// tasks of the groups with this step, in order. It is the only step of its group, whose
    /// `repeat` is 1.
    Tape,
    /// Play steps and measure how long they take: `span_ns`. Those that take longer than `us` count
    /// as `timeouts`, and so do those that are unfinished and that old at the end of the trial;
    /// these enter `span_ns` with their age. Not in templates.
    Within {
        /// The limit.
        us: u64,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Show a frame: the time since the task's last one is a `frame_time_ns`. A frame that is
    /// unfinished at the end of the trial counts with its age if it is a stutter already. Not in
    /// templates.
    Frame,
    /// Play steps several times.
    Loop {
        /// How often.
        count: u64,
        /// The steps.
        steps: Vec<Step>,
    },
}

impl Step {
    /// The steps that this step plays; none if it plays no others.
    pub fn inner(&self) -> &[Step] {
        match self {
            Step::Loop { steps, .. } | Step::Within { steps, .. } => steps,
            _ => &[],
        }
    }

    /// The mutex that this step takes.
    pub fn mutex(&self) -> Option<&str> {
        match self {
            Step::Lock(lock) | Step::Wait { lock, .. } | Step::Sync { lock, .. } => Some(lock),
            _ => None,
        }
    }
}

/// How many of these tasks use a barrier: the number that must reach it.
pub fn barrier_users(tasks: &[&TaskGroup], barrier: &str) -> u32 {
    fn names(steps: &[Step], barrier: &str) -> bool {
        steps.iter().any(|step| match step {
            Step::Barrier(name) => name == barrier,
            other => names(other.inner(), barrier),
        })
    }
    tasks.iter().filter(|group| names(&group.steps, barrier)).map(|group| group.count).sum()
}

/// A task's periodic release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// The period, from the last release to this one. A job that has not come back to its timer one
    /// period after its release has missed its deadline.
    pub period_us: u64,
    /// Absolute releases form a fixed grid from the task's start, so that lateness is never
    /// forgiven (no coordinated omission). A job that comes back late to a relative timer is
    /// followed by the next one at once, and later releases count from there, as rt-app does it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub relative: bool,
    /// Releases that have wholly passed are skipped and counted as missed, as by a video player
    /// that drops frames. Otherwise they are caught up one after another.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skip: bool,
    /// One timer for all tasks that name it, instead of one for each: the next task that comes gets
    /// the next release.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared: bool,
    /// Steps with the same name in the same task share one timer, each with its own period; empty:
    /// the task's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A message channel with several members, which are pipes or sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Its name in `send` and `receive`.
    pub name: String,
    /// How many members.
    pub count: u32,
    /// Its members are stream sockets of the Unix domain (`socketpair`) instead of pipes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub socket: bool,
}

/// Task groups that are also measured together under one name: four networks' servers as `servers`.
/// Their numbers are added up, their distributions pooled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// The name of the total in metrics.
    pub name: String,
    /// The groups' names.
    pub groups: Vec<String>,
}

/// rt-app's `mem_buffer_size`.
fn buffer_bytes() -> u64 {
    4 << 20
}
