// SPDX-License-Identifier: GPL-2.0-only
//! SCHED_DEADLINE: constant bandwidth servers, earliest deadline first, over all CPUs.
//!
//! DIVERGES: only tasks reserve bandwidth. The kernel's servers reserve 5 % of a CPU each, which no
//! task reclaims while they are active. A task that exits returns its bandwidth at once, not at its
//! 0-lag time.

use std::collections::BTreeSet;

use model::trace::{Preemption, Queue};
use model::{Policy, PolicyClass};

use super::events::EventKind;
use super::task::{Class, State};
use super::{Core, TaskId};
use crate::flags::ENQ_WAKEUP;

/// The deadline tasks of a CPU in order of deadline, including the running task.
#[derive(Default)]
pub struct DeadlineQueue {
    tasks: BTreeSet<(u64, TaskId)>,
}

impl DeadlineQueue {
    /// The task with the earliest deadline.
    pub fn first(&self) -> Option<TaskId> {
        self.tasks.first().map(|&(_, task)| task)
    }
}

/// One in the fixed-point numbers of bandwidths (`BW_UNIT`).
const ONE: u64 = 1 << 20;
const PERIOD_US: u64 = 1_000_000;
const LEAST_RUNTIME_NS: u64 = 1024;

struct Parameters {
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// `sched_rt_runtime_us` as a share of its period, in units of bandwidth; -1 means no limit.
pub fn limit(rt_runtime_us: i64) -> Option<u64> {
    u64::try_from(rt_runtime_us).ok().map(|us| us * ONE / PERIOD_US)
}

fn parameters(policy: &Policy) -> Parameters {
    let deadline = if policy.deadline_us == 0 { policy.period_us } else { policy.deadline_us };
    let period = if policy.period_us == 0 { deadline } else { policy.period_us };
    Parameters {
        runtime: policy.runtime_us * 1_000,
        deadline: deadline * 1_000,
        period: period * 1_000,
    }
}

/// Whether the kernel would accept the parameters (`__checkparam_dl`).
pub fn is_valid(policy: &Policy) -> bool {
    let Parameters { runtime, deadline, period } = parameters(policy);
    deadline > 0 && runtime >= LEAST_RUNTIME_NS && runtime <= deadline && deadline <= period
}

/// Whether the remaining budget is too large for the time to the deadline at the reserved rate:
/// `dl_entity_overflow()`, with the same reduced precision.
fn overflows(
    left: i64,
    until_deadline: u64,
    Parameters { runtime, deadline, .. }: &Parameters,
) -> bool {
    let left = u128::from((left.max(0) as u64) >> 10) * u128::from(deadline >> 10);
    left > u128::from(until_deadline >> 10) * u128::from(runtime >> 10)
}

impl Core {
    /// The bandwidth that a task reserves; 0 for tasks of other classes.
    pub(crate) fn bandwidth(&self, task: TaskId) -> u64 {
        self.bandwidth_of(&self.task(task).policy)
    }

    fn bandwidth_of(&self, policy: &Policy) -> u64 {
        let Parameters { runtime, period, .. } = parameters(policy);
        match policy.class {
            PolicyClass::Deadline if period > 0 => runtime * ONE / period,
            _ => 0,
        }
    }

    /// Whether the machine has enough unreserved bandwidth for the policy.
    pub(crate) fn admits(&self, policy: &Policy) -> bool {
        let wanted = self.dl_bandwidth + self.bandwidth_of(policy);
        self.dl_limit.is_none_or(|limit| wanted <= limit * u64::from(self.topology.cpus))
    }

    /// The budget that a reclaiming task uses while it runs: `grub_reclaim()`. The budget shrinks
    /// the more slowly the more bandwidth is unreserved, or reserved by inactive tasks.
    pub(crate) fn reclaimed(&self, cpu: u32, task: TaskId, ns: u64) -> u64 {
        let most = self.dl_limit.unwrap_or(ONE);
        let free = most as i64 - (self.dl_bandwidth / u64::from(self.topology.cpus)) as i64;
        let active = most as i64 - self.inactive_bandwidth(cpu) as i64 - free;
        let active = active.max(self.bandwidth(task) as i64) as u64;
        (u128::from(ns) * u128::from(active) / u128::from(most.max(1))) as u64
    }

    /// The bandwidth of a CPU's sleeping tasks whose 0-lag time has passed: at an even rate their
    /// budgets would be used up by now.
    fn inactive_bandwidth(&self, cpu: u32) -> u64 {
        let now = self.clock(cpu);
        let is_inactive = |&task: &TaskId| {
            let it = self.task(task);
            let Parameters { runtime, period, .. } = parameters(&it.policy);
            let ahead = u128::from(it.dl_runtime.max(0) as u64) * u128::from(period);
            let lag_ends = it.dl_deadline as i64 - (ahead / u128::from(runtime.max(1))) as i64;
            it.state != State::Runnable && it.state != State::Dead && now as i64 >= lag_ends
        };
        let here =
            |&task: &TaskId| self.task(task).class == Class::Deadline && self.task(task).cpu == cpu;
        let tasks = self.all_tasks().filter(here).filter(is_inactive);
        tasks.map(|task| self.bandwidth(task)).sum()
    }

    pub(crate) fn enqueue_deadline(&mut self, cpu: u32, task: TaskId, flags: u64) {
        let now = self.clock(self.this_cpu);
        let this = &mut self.tasks[task.0 as usize];
        let given = parameters(&this.policy);
        if this.dl_throttled {
            return;
        }
        let new = this.dl_deadline == 0;
        let late =
            this.dl_deadline <= now || overflows(this.dl_runtime, this.dl_deadline - now, &given);
        if new || (flags & ENQ_WAKEUP != 0 && late) {
            (this.dl_deadline, this.dl_runtime) = (now + given.deadline, given.runtime as i64);
        }
        let key = (this.dl_deadline, task);
        self.cpu_mut(cpu).deadline.tasks.insert(key);
        self.trace_deadline(cpu, task);
    }

    /// The task's position in the run queue, for the trace.
    #[inline(always)]
    pub(crate) fn trace_deadline(&mut self, cpu: u32, task: TaskId) {
        if self.is_tracing() {
            let tasks = &self.cpus[cpu as usize].deadline.tasks;
            let place = tasks.iter().position(|&(_, other)| other == task);
            self.note_run_queue(Queue::Deadline(cpu), task, place);
        }
    }

    pub(crate) fn dequeue_deadline(&mut self, cpu: u32, task: TaskId) {
        if self.cpus[cpu as usize].curr == task {
            self.update_curr(cpu);
        }
        let key = (self.task(task).dl_deadline, task);
        self.cpu_mut(cpu).deadline.tasks.remove(&key);
    }

    /// Checks the budget at the tick.
    pub(crate) fn tick_deadline(&mut self, cpu: u32) {
        let task = self.cpus[cpu as usize].curr;
        if self.task(task).dl_runtime <= 0 {
            self.throttle(cpu, task);
        }
    }

    /// Throttles the task until its next period.
    fn throttle(&mut self, cpu: u32, task: TaskId) {
        self.dequeue_deadline(cpu, task);
        let this = self.task_mut(task);
        this.dl_throttled = true;
        let given = parameters(&this.policy);
        let next = this.dl_deadline - given.deadline + given.period;
        let time = next.max(self.now);
        self.events.push(time, EventKind::Replenish, task.0, 0);
        self.because(cpu, Preemption::SliceEnd);
        self.resched(cpu);
    }

    /// `sched_yield()`: gives up the rest of the budget.
    pub(crate) fn yield_deadline(&mut self, cpu: u32, task: TaskId) {
        self.update_curr(cpu);
        let this = self.task_mut(task);
        this.dl_runtime = this.dl_runtime.min(0);
        self.throttle(cpu, task);
    }

    pub(crate) fn on_replenish(&mut self, task: TaskId, _generation: u32) {
        let now = self.now;
        let this = self.task_mut(task);
        if !this.dl_throttled || this.class != Class::Deadline {
            return;
        }
        let given = parameters(&this.policy);
        while this.dl_runtime <= 0 {
            this.dl_deadline += given.period;
            this.dl_runtime += given.runtime as i64;
        }
        if this.dl_deadline <= now {
            (this.dl_deadline, this.dl_runtime) = (now + given.deadline, given.runtime as i64);
        }
        this.dl_throttled = false;
        let (cpu, state) = (this.cpu, this.state);
        if state == State::Runnable {
            self.interrupt(cpu, self.costs.timer_ns, |core| {
                core.enqueue_deadline(cpu, task, 0);
                core.wakeup_preempt(cpu, task);
                core.push_deadline(cpu);
            });
        }
    }

    pub(crate) fn deadline_preempts(&self, cpu: u32, task: TaskId) -> bool {
        let current = self.cpus[cpu as usize].curr;
        self.task(task).dl_deadline < self.task(current).dl_deadline
    }

    /// The earliest deadline on a CPU; later than any deadline if it has no deadline tasks.
    fn cpu_deadline(&self, cpu: u32) -> u64 {
        let first = self.cpus[cpu as usize].deadline.tasks.first();
        first.map_or(u64::MAX, |&(deadline, _)| deadline)
    }

    /// The CPU whose earliest deadline is the latest, if the task's is earlier.
    fn find_later(&self, task: TaskId, home: u32) -> Option<u32> {
        let deadline = self.task(task).dl_deadline;
        let allowed = self.cpus_allowed(task).iter();
        let later = allowed.filter(|&cpu| self.cpu_deadline(cpu) > deadline);
        let rank = |&cpu: &u32| {
            let distance = self.topology.distance(home, cpu);
            (!self.cpu_deadline(cpu), !self.is_idle(cpu), distance, cpu)
        };
        later.min_by_key(rank)
    }

    pub(crate) fn select_rq_deadline(&mut self, task: TaskId) -> u32 {
        let home = self.task(task).cpu;
        let current = self.task(self.cpus[home as usize].curr);
        let crowded = current.class == Class::Deadline
            && (current.nr_allowed < 2 || current.dl_deadline <= self.task(task).dl_deadline);
        if crowded { self.find_later(task, home).unwrap_or(home) } else { home }
    }

    fn waiting_deadline(&self, cpu: u32) -> Option<TaskId> {
        let here = &self.cpus[cpu as usize];
        let waiting = here.deadline.tasks.iter().map(|&(_, task)| task);
        waiting.filter(|&task| task != here.curr).find(|&task| self.task(task).nr_allowed > 1)
    }

    /// Pushes waiting tasks to CPUs with later deadlines.
    pub(crate) fn push_deadline(&mut self, cpu: u32) {
        while let Some(task) = self.waiting_deadline(cpu) {
            if self.curr_class(cpu) != Class::Deadline || self.deadline_preempts(cpu, task) {
                self.because(cpu, Preemption::MoreImportant { pid: task.0 });
                self.resched(cpu);
                break;
            }
            match self.find_later(task, cpu) {
                Some(target) if target != cpu => self.move_deadline(task, cpu, target),
                _ => break,
            }
        }
    }

    /// Pulls a waiting task whose deadline is earlier than this CPU's earliest.
    pub(crate) fn pull_deadline(&mut self, cpu: u32) {
        for source in (0..self.topology.cpus).filter(|&source| source != cpu) {
            let Some(task) = self.waiting_deadline(source) else { continue };
            let current = self.task(self.cpus[source as usize].curr);
            let stays = current.class != Class::Deadline
                || self.task(task).dl_deadline < current.dl_deadline;
            let wins = self.task(task).dl_deadline < self.cpu_deadline(cpu);
            if wins && !stays && self.allowed(task, cpu) {
                self.move_deadline(task, source, cpu);
            }
        }
    }

    fn move_deadline(&mut self, task: TaskId, from: u32, to: u32) {
        self.dequeue_deadline(from, task);
        self.set_task_cpu(task, to);
        self.enqueue_deadline(to, task, 0);
        if to != self.this_cpu || self.is_idle(to) {
            self.because(to, Preemption::MoreImportant { pid: task.0 });
            self.resched(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_wake_up_rule_is_that_of_the_cbs() {
        let given = Parameters { runtime: 4 * MS, deadline: 8 * MS, period: 8 * MS };
        assert!(overflows(2 * MS as i64, 3 * MS, &given));
        assert!(!overflows(2 * MS as i64, 5 * MS, &given));
    }

    #[test]
    fn parameters_are_checked() {
        let policy = |runtime_us, deadline_us, period_us| Policy {
            class: PolicyClass::Deadline,
            runtime_us,
            deadline_us,
            period_us,
            ..Policy::default()
        };
        assert!(is_valid(&policy(10, 0, 100)));
        assert!(!is_valid(&policy(1, 0, 100)) && !is_valid(&policy(50, 20, 100)));
        assert!(!is_valid(&policy(50, 200, 100)));
    }
}
