// SPDX-License-Identifier: GPL-2.0-only
//! Tasks: the part of their state that scheduling uses often.

use model::{Policy, PolicyClass};

/// A task's number inside the simulator. Idle tasks come first: the idle task of CPU *n* is number
/// *n*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

pub const NO_TASK: u32 = u32::MAX;

/// The scheduling classes, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Deadline,
    /// SCHED_FIFO, SCHED_RR.
    Rt,
    /// All other policies, while a sched_ext scheduler is loaded.
    Ext,
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Created, not yet woken.
    New,
    /// Running or waiting to run.
    Runnable,
    Sleeping,
    DiskSleep,
    Dead,
}

/// `p->scx.ops_state` without its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpsState {
    /// The scheduler does not have the task.
    None,
    /// The scheduler has the task and decides about its queue.
    Queued,
}

/// `SCX_TASK_QUEUED`: on the CPU's run queue.
pub const QUEUED: u8 = 1;
/// `SCX_TASK_IN_CUSTODY`: `ops.dequeue` is due when it leaves the scheduler.
pub const IN_CUSTODY: u8 = 2;
/// The task has run, so its waiting time starts again at the next enqueue.
pub const RESET_RUNNABLE_AT: u8 = 4;
/// Directly dispatched to another CPU's local queue, but not moved there yet.
pub const DEFERRED: u8 = 8;
/// `ops.enable` was called.
pub const ENABLED: u8 = 16;
/// On the watchdog's list.
pub const WATCHED: u8 = 32;
/// `SCX_TASK_IMMED`: inserted with `SCX_ENQ_IMMED`, until it is enqueued afresh.
pub const IMMEDIATE: u8 = 64;

/// A task. All fields that a context switch uses fit into two cache lines.
pub struct Task {
    /// Its `struct task_struct`, which the scheduler sees.
    pub memory: *mut u8,
    /// The CPU of its run queue, or of its last one.
    pub cpu: u32,
    pub state: State,
    pub class: Class,
    /// Flags: [`QUEUED`] and those after it.
    pub scx: u8,
    pub ops_state: OpsState,
    /// [`Cpu::qseq`](super::cpu::Cpu::qseq) at its last hand-over to the scheduler.
    pub qseq: u64,
    /// Enqueue flags of the direct dispatch.
    pub ddsp_flags: u64,
    /// The CPU whose local queue it must join; -1: any.
    pub sticky_cpu: i32,
    /// The result of `select_cpu`.
    pub selected_cpu: i32,
    pub watch_next: u32,
    pub watch_previous: u32,
    /// Time since which it is runnable without having run.
    pub runnable_at: u64,
    /// Time up to which its CPU time is counted.
    pub exec_start: u64,
    /// CPU time so far, ns.
    pub cpu_ns: u64,
    /// Remaining work of the current step, ns at full speed.
    pub work_left: u64,
    /// `run_until`: the step ends at this time, even if the task does not run. 0: the step is work.
    pub until: u64,
    /// Counts sleeps, so that outdated timers are recognised.
    pub wakes: u32,
    /// Its allowed CPUs: an index into `Core::masks`.
    pub mask: u32,
    pub nr_allowed: u32,
    /// `p->prio`: 0 … 98 real-time, 100 … 139 others, −1 deadline. A mutex can lend one that is
    /// better than the policy's.
    pub prio: i32,
    pub policy: Policy,
    /// Remaining quantum of SCHED_RR, ticks.
    pub rr_ticks: u32,
    /// SCHED_DEADLINE: the remaining budget, ns.
    pub dl_runtime: i64,
    /// SCHED_DEADLINE: the absolute deadline.
    pub dl_deadline: u64,
    /// SCHED_DEADLINE: throttled because its budget is used up.
    pub dl_throttled: bool,
    pub exiting: bool,
    /// Index of its group in the workload; `u32::MAX`: none.
    pub group: u32,
    pub control_group: u32,
    /// The number of its session; 0: none of the workload's.
    pub session: u32,
    /// The CPUs that it has asked for: an index into `Core::masks`.
    pub asked_mask: u32,
}

/// `p->se.load.weight`: the weight in the resolution of 64-bit kernels.
pub fn load_weight(policy: &Policy) -> u64 {
    u64::from(policy.weight()) << 10
}

pub fn class_of(policy: &Policy) -> Class {
    class_at(prio_of(policy))
}

/// The class of a `p->prio` (`__setscheduler_class`).
pub fn class_at(prio: i32) -> Class {
    match prio {
        ..0 => Class::Deadline,
        0..100 => Class::Rt,
        _ => Class::Ext,
    }
}

/// `p->prio` of a policy.
pub fn prio_of(policy: &Policy) -> i32 {
    match policy.class {
        PolicyClass::Deadline => -1,
        PolicyClass::Fifo | PolicyClass::Rr => 99 - policy.priority as i32,
        _ => 120 + policy.nice.clamp(-20, 19),
    }
}

/// The policy of tasks that ask for sched_ext, as in `p->policy`.
pub const SCHED_EXT: u32 = 7;

/// The kernel's number of a policy, as in `p->policy`.
pub fn policy_number(class: PolicyClass) -> u32 {
    match class {
        PolicyClass::Other => 0,
        PolicyClass::Fifo => 1,
        PolicyClass::Rr => 2,
        PolicyClass::Batch => 3,
        PolicyClass::Idle => 5,
        PolicyClass::Deadline => 6,
    }
}

pub struct NewTask<'a> {
    /// Thread number (`pid`).
    pub pid: i32,
    /// Process number (`tgid`).
    pub tgid: i32,
    /// Its name; 15 bytes are kept.
    pub comm: &'a str,
    pub policy: Policy,
    /// Its allowed CPUs: an index into `Core::masks`.
    pub mask: u32,
    pub parent: Option<TaskId>,
    pub cpu: u32,
    /// `PF_*`.
    pub flags: u32,
    /// Index of its group; `u32::MAX`: none.
    pub group: u32,
}

impl Task {
    /// A task that is not woken yet, with its block of memory.
    pub fn new(memory: *mut u8) -> Task {
        Task {
            memory,
            cpu: 0,
            state: State::New,
            class: Class::Idle,
            scx: RESET_RUNNABLE_AT,
            ops_state: OpsState::None,
            qseq: 0,
            ddsp_flags: 0,
            sticky_cpu: -1,
            selected_cpu: -1,
            watch_next: NO_TASK,
            watch_previous: NO_TASK,
            runnable_at: 0,
            exec_start: 0,
            cpu_ns: 0,
            work_left: 0,
            until: 0,
            wakes: 0,
            mask: 0,
            nr_allowed: 1,
            prio: 140,
            policy: Policy::default(),
            rr_ticks: 0,
            dl_runtime: 0,
            dl_deadline: 0,
            dl_throttled: false,
            exiting: false,
            group: u32::MAX,
            control_group: 0,
            session: 0,
            asked_mask: 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// CPU time of its own work, ns.
    pub user_ns: u64,
    /// CPU time between switches, ns. It includes kernel work before and after the task's own work,
    /// which the time that the scheduler sees ([`Task::cpu_ns`]) does not.
    pub ran_ns: u64,
    pub runs_since: u64,
    /// Time of its wake-up; `u64::MAX`: no wake-up is in progress.
    pub waking_at: u64,
    /// Time since which it waits for a CPU.
    pub runnable_at: u64,
    /// The longest wait for a CPU, ns.
    pub longest_wait: u64,
    pub last_cpu: u32,
    /// Switches away because it blocked.
    pub voluntary: u32,
    /// Switches away while it was runnable.
    pub involuntary: u32,
    /// Number of times that it started to run on another CPU than before.
    pub migrations: u32,
}

impl Default for Stat {
    fn default() -> Stat {
        Stat {
            user_ns: 0,
            ran_ns: 0,
            runs_since: 0,
            waking_at: u64::MAX,
            runnable_at: 0,
            longest_wait: 0,
            last_cpu: u32::MAX,
            voluntary: 0,
            involuntary: 0,
            migrations: 0,
        }
    }
}

impl Stat {
    /// Begins to count at this time.
    pub fn restart(&mut self, now_ns: u64) {
        *self = Stat { last_cpu: self.last_cpu, runs_since: now_ns, ..Stat::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_kernels() {
        let weight = |nice| Policy { nice, ..Policy::default() }.cgroup_weight();
        assert_eq!([-20, 0, 19].map(weight), [8668, 100, 1]);
        assert_eq!(Policy { class: PolicyClass::Idle, ..Policy::default() }.cgroup_weight(), 1);
    }

    #[test]
    fn priorities_are_the_kernels() {
        let fifo = Policy { class: PolicyClass::Fifo, priority: 99, ..Policy::default() };
        assert_eq!((prio_of(&fifo), prio_of(&Policy::default())), (0, 120));
        assert!(class_of(&fifo) < class_of(&Policy::default()));
    }
}
