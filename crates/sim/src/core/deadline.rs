// SPDX-License-Identifier: GPL-2.0-only
//! SCHED_DEADLINE: constant bandwidth servers, earliest deadline first, over all CPUs.
//!
//! DIVERGES: only tasks reserve bandwidth. The kernel's servers reserve 5 % of a CPU each, which no
//! task reclaims while they are active. A task that exits returns its bandwidth at once, not at its
//! 0-lag time. Budgets follow a CPU's `capacity`, and not its frequency.

use std::collections::BTreeSet;

use model::trace::{Preemption, Queue};
use model::{Policy, PolicyClass};

use super::events::EventKind;
use super::kernel::MachineState;
use super::speed::FULL;
use super::task::{Class, State};
use super::{Core, TaskId};
use crate::flags::ENQ_WAKEUP;

impl MachineState {
    /// The bandwidth that a task reserves; 0 for tasks of other classes.
    pub(crate) fn bandwidth(&self, task: TaskId) -> u64 {
        reserved(&self.task(task).policy)
    }

    /// Whether the machine has enough bandwidth for the policy, beside the other tasks
    /// (`sched_dl_overflow()`). A slow CPU has less of it (`dl_bw_capacity()`).
    pub(crate) fn admits(&self, task: TaskId, policy: &Policy) -> bool {
        let (old, new) = (self.bandwidth(task), reserved(policy));
        let capacity: u64 = self.topology.capacity.iter().sum();
        let fits = |limit: u64| self.dl_bandwidth - old + new <= limit * capacity / FULL;
        old == new || self.dl_limit.is_none_or(fits)
    }

    /// The budget that a task uses in some time on a CPU: `dl_scaled_delta_exec()`. A slow CPU uses
    /// it up slowly; reclaiming does not know the CPU's capacity.
    pub(crate) fn used_budget(&self, cpu: u32, task: TaskId, ns: u64) -> u64 {
        if self.task(task).policy.reclaim {
            return self.reclaimed(cpu, task, ns);
        }
        (u128::from(ns) * u128::from(self.topology.capacity[cpu as usize]) / u128::from(FULL))
            as u64
    }

    /// Whether the CPU is fast enough for the task's share of each period
    /// (`dl_task_fits_capacity()`).
    fn fits_capacity(&self, task: TaskId, cpu: u32) -> bool {
        let Reservation { runtime, deadline, .. } = Reservation::new(&self.task(task).policy);
        let capacity = u128::from(self.topology.capacity[cpu as usize]);
        u128::from(deadline) * capacity / u128::from(FULL) >= u128::from(runtime)
    }

    /// The budget that a reclaiming task uses while it runs: `grub_reclaim()`. The budget shrinks
    /// the more slowly the more bandwidth is unreserved, or reserved by inactive tasks.
    fn reclaimed(&self, cpu: u32, task: TaskId, ns: u64) -> u64 {
        let most = self.dl_limit.unwrap_or(WHOLE_CPU);
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
            let sleeper = self.task(task);
            let Reservation { runtime, period, .. } = Reservation::new(&sleeper.policy);
            let ahead = u128::from(sleeper.dl_runtime.max(0) as u64) * u128::from(period);
            let lag_ends = sleeper.dl_deadline as i64 - (ahead / u128::from(runtime.max(1))) as i64;
            sleeper.state != State::Runnable
                && sleeper.state != State::Dead
                && now as i64 >= lag_ends
        };
        let here =
            |&task: &TaskId| self.task(task).class == Class::Deadline && self.task(task).cpu == cpu;
        let tasks = self.all_tasks().filter(here).filter(is_inactive);
        tasks.map(|task| self.bandwidth(task)).sum()
    }

    pub(crate) fn deadline_preempts(&self, cpu: u32, task: TaskId) -> bool {
        let current = self.cpus[cpu as usize].curr;
        self.task(task).dl_deadline < self.task(current).dl_deadline
    }

    /// The earliest deadline on a CPU; later than any deadline if it has no deadline tasks.
    fn cpu_deadline(&self, cpu: u32) -> u64 {
        self.cpus[cpu as usize].deadline.earliest()
    }

    /// The CPU whose earliest deadline is the latest, if the task's is earlier. Among CPUs without
    /// deadline tasks: one that is fast enough, else the fastest (`cpudl_find()`).
    fn find_later(&self, task: TaskId, home: u32) -> Option<u32> {
        let deadline = self.task(task).dl_deadline;
        let allowed = self.cpus_allowed(task).iter();
        let later = allowed.filter(|&cpu| self.cpu_deadline(cpu) > deadline);
        let rank = |&cpu: &u32| {
            let is_free = self.cpu_deadline(cpu) == u64::MAX;
            let lacks = if !is_free || self.fits_capacity(task, cpu) {
                0
            } else {
                u64::MAX - self.topology.capacity[cpu as usize]
            };
            let distance = self.topology.distance(home, cpu);
            (!self.cpu_deadline(cpu), lacks, !self.is_idle(cpu), distance, cpu)
        };
        later.min_by_key(rank)
    }

    pub(crate) fn select_rq_deadline(&mut self, task: TaskId) -> u32 {
        let home = self.task(task).cpu;
        let current = self.task(self.cpus[home as usize].curr);
        let crowded = current.class == Class::Deadline
            && (current.nr_allowed < 2 || current.dl_deadline <= self.task(task).dl_deadline);
        let moves = crowded || !self.fits_capacity(task, home);
        if moves { self.find_later(task, home).unwrap_or(home) } else { home }
    }

    fn waiting_deadline(&self, cpu: u32) -> Option<TaskId> {
        let here = &self.cpus[cpu as usize];
        let mut waiting = here.deadline.iter().filter(|&task| task != here.curr);
        waiting.find(|&task| self.task(task).nr_allowed > 1)
    }
}

impl Core {
    pub(crate) fn enqueue_deadline(&mut self, cpu: u32, task: TaskId, flags: u64) {
        let now = self.machine.clock(self.machine.this_cpu);
        let this = &mut self.machine.tasks[task.0 as usize];
        let given = Reservation::new(&this.policy);
        if this.dl_throttled {
            return;
        }
        let new = this.dl_deadline == 0;
        let late =
            this.dl_deadline <= now || given.overflows(this.dl_runtime, this.dl_deadline - now);
        if new || (flags & ENQ_WAKEUP != 0 && late) {
            (this.dl_deadline, this.dl_runtime) = (now + given.deadline, given.runtime as i64);
        }
        let deadline = this.dl_deadline;
        self.machine.cpu_mut(cpu).deadline.insert(deadline, task);
        self.trace_deadline(cpu, task);
    }

    /// The task's position in the run queue, for the trace.
    #[inline(always)]
    pub(crate) fn trace_deadline(&mut self, cpu: u32, task: TaskId) {
        if self.is_tracing() {
            let queue = &self.machine.cpus[cpu as usize].deadline;
            let place = queue.iter().position(|queued| queued == task);
            self.note_run_queue(Queue::Deadline(cpu), task, place);
        }
    }

    pub(crate) fn dequeue_deadline(&mut self, cpu: u32, task: TaskId) {
        if self.machine.cpus[cpu as usize].curr == task {
            self.update_curr(cpu);
        }
        let deadline = self.machine.task(task).dl_deadline;
        self.machine.cpu_mut(cpu).deadline.remove(deadline, task);
    }

    /// Checks the budget at the tick.
    pub(crate) fn tick_deadline(&mut self, cpu: u32) {
        let task = self.machine.cpus[cpu as usize].curr;
        if self.machine.task(task).dl_runtime <= 0 {
            self.throttle(cpu, task);
        }
    }

    /// Throttles the task until its next period.
    fn throttle(&mut self, cpu: u32, task: TaskId) {
        self.dequeue_deadline(cpu, task);
        let this = self.machine.task_mut(task);
        this.dl_throttled = true;
        let given = Reservation::new(&this.policy);
        let next = this.dl_deadline - given.deadline + given.period;
        let time = next.max(self.machine.now);
        self.machine.events.push(time, EventKind::Replenish, task.0, 0);
        self.because(cpu, Preemption::SliceEnd);
        self.machine.resched(cpu);
    }

    /// `sched_yield()`: gives up the rest of the budget.
    pub(crate) fn yield_deadline(&mut self, cpu: u32, task: TaskId) {
        self.update_curr(cpu);
        let this = self.machine.task_mut(task);
        this.dl_runtime = this.dl_runtime.min(0);
        self.throttle(cpu, task);
    }

    pub(crate) fn on_replenish(&mut self, task: TaskId, _generation: u32) {
        let now = self.machine.now;
        let this = self.machine.task_mut(task);
        if !this.dl_throttled || this.class != Class::Deadline {
            return;
        }
        let given = Reservation::new(&this.policy);
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
            self.interrupt(cpu, self.machine.costs.timer_ns, |core| {
                core.enqueue_deadline(cpu, task, 0);
                core.wakeup_preempt(cpu, task);
                core.push_deadline(cpu);
            });
        }
    }

    /// Pushes waiting tasks to CPUs with later deadlines.
    pub(crate) fn push_deadline(&mut self, cpu: u32) {
        while let Some(task) = self.machine.waiting_deadline(cpu) {
            if self.machine.curr_class(cpu) != Class::Deadline
                || self.machine.deadline_preempts(cpu, task)
            {
                self.because(cpu, Preemption::MoreImportant { pid: task.0 });
                self.machine.resched(cpu);
                break;
            }
            match self.machine.find_later(task, cpu) {
                Some(target) if target != cpu => self.move_deadline(task, cpu, target),
                _ => break,
            }
        }
    }

    /// Pulls a waiting task whose deadline is earlier than this CPU's earliest.
    pub(crate) fn pull_deadline(&mut self, cpu: u32) {
        for source in (0..self.machine.topology.cpus).filter(|&source| source != cpu) {
            let Some(task) = self.machine.waiting_deadline(source) else { continue };
            let current = self.machine.task(self.machine.cpus[source as usize].curr);
            let stays = current.class != Class::Deadline
                || self.machine.task(task).dl_deadline < current.dl_deadline;
            let wins = self.machine.task(task).dl_deadline < self.machine.cpu_deadline(cpu);
            if wins && !stays && self.machine.allowed(task, cpu) {
                self.move_deadline(task, source, cpu);
            }
        }
    }

    fn move_deadline(&mut self, task: TaskId, from: u32, to: u32) {
        self.dequeue_deadline(from, task);
        self.machine.set_task_cpu(task, to);
        self.enqueue_deadline(to, task, 0);
        if to != self.machine.this_cpu || self.machine.is_idle(to) {
            self.because(to, Preemption::MoreImportant { pid: task.0 });
            self.machine.resched(to);
        }
    }
}

/// The deadline tasks of a CPU in order of deadline, including the running task.
#[derive(Default)]
pub struct DeadlineQueue {
    tasks: BTreeSet<(u64, TaskId)>,
}

impl DeadlineQueue {
    pub fn first(&self) -> Option<TaskId> {
        self.iter().next()
    }

    /// The earliest deadline; later than any deadline if the queue is empty.
    pub(super) fn earliest(&self) -> u64 {
        self.tasks.first().map_or(u64::MAX, |&(deadline, _)| deadline)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> {
        self.tasks.iter().map(|&(_, task)| task)
    }

    pub(super) fn insert(&mut self, deadline: u64, task: TaskId) {
        self.tasks.insert((deadline, task));
    }

    pub(super) fn remove(&mut self, deadline: u64, task: TaskId) {
        self.tasks.remove(&(deadline, task));
    }
}

/// The whole of a CPU in the fixed-point numbers of bandwidths (`BW_UNIT`).
pub const WHOLE_CPU: u64 = 1 << 20;
const PERIOD_US: u64 = 1_000_000;
const LEAST_RUNTIME_NS: u64 = 1024;

/// What a deadline task reserves, ns.
pub struct Reservation {
    /// CPU time in each period.
    pub runtime: u64,
    /// The time from a release to its deadline.
    pub deadline: u64,
    /// The time from a release to the next.
    pub period: u64,
}

impl Reservation {
    /// The parameters of a policy; a parameter that is 0 follows from the others.
    pub fn new(policy: &Policy) -> Reservation {
        let deadline = if policy.deadline_us == 0 { policy.period_us } else { policy.deadline_us };
        let period = if policy.period_us == 0 { deadline } else { policy.period_us };
        Reservation {
            runtime: policy.runtime_us * 1_000,
            deadline: deadline * 1_000,
            period: period * 1_000,
        }
    }

    /// Whether the kernel would accept the parameters (`__checkparam_dl`).
    pub fn is_valid(&self) -> bool {
        let Reservation { runtime, deadline, period } = *self;
        deadline > 0 && runtime >= LEAST_RUNTIME_NS && runtime <= deadline && deadline <= period
    }

    /// Whether the remaining budget is too large for the time to the deadline at the reserved rate:
    /// `dl_entity_overflow()`, with the same reduced precision.
    pub fn overflows(&self, left: i64, until_deadline: u64) -> bool {
        let left = u128::from((left.max(0) as u64) >> 10) * u128::from(self.deadline >> 10);
        left > u128::from(until_deadline >> 10) * u128::from(self.runtime >> 10)
    }
}

/// `sched_rt_runtime_us` as a share of its period, in units of bandwidth; -1 means no limit.
pub fn limit(rt_runtime_us: i64) -> Option<u64> {
    u64::try_from(rt_runtime_us).ok().map(|us| us * WHOLE_CPU / PERIOD_US)
}

/// The bandwidth that a policy reserves; 0 for policies of other classes.
pub fn reserved(policy: &Policy) -> u64 {
    let Reservation { runtime, period, .. } = Reservation::new(policy);
    match policy.class {
        PolicyClass::Deadline if period > 0 => runtime * WHOLE_CPU / period,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_wake_up_rule_is_that_of_the_cbs() {
        let given = Reservation { runtime: 4 * MS, deadline: 8 * MS, period: 8 * MS };
        assert!(given.overflows(2 * MS as i64, 3 * MS));
        assert!(!given.overflows(2 * MS as i64, 5 * MS));
    }

    #[test]
    fn parameters_are_checked() {
        let is_valid = |runtime_us, deadline_us, period_us| {
            let policy = Policy { runtime_us, deadline_us, period_us, ..Policy::default() };
            Reservation::new(&policy).is_valid()
        };
        assert!(is_valid(10, 0, 100));
        assert!(!is_valid(1, 0, 100) && !is_valid(50, 20, 100));
        assert!(!is_valid(50, 200, 100));
    }
}
