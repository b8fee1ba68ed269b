// SPDX-License-Identifier: GPL-2.0-only
//! Mutexes that inherit priorities: the kernel's `rt_mutex` behind `FUTEX_LOCK_PI`.
//!
//! A release makes the first waiter the next holder and wakes it. Until it runs nobody holds the
//! mutex, and only a task with a better priority can take it.
//!
//! DIVERGES: the first waiter sleeps at once. In the kernel it spins while the holder runs on
//! another CPU and nobody else wants its own.
//!
//! DIVERGES: a deadline task lends the best real-time priority instead of its deadline.

use super::progress::Flow;
use super::synchronization::SLEPT;
use crate::core::task::{Class, State, prio_of};
use crate::core::{Core, TaskId};

/// `DEFAULT_PRIO`: to a mutex all tasks below real-time ones are alike.
const ALIKE: i32 = 120;
const BEST_REAL_TIME: i32 = 0;

impl Core {
    pub(super) fn lock_inheriting(&mut self, cpu: u32, task: TaskId, lock: usize) -> Flow {
        let slept = *self.phase(task) == SLEPT;
        let (first, rank) = (self.first_waiter(lock), self.rank(task));
        let wins = first.is_none_or(|first| first == task || rank < self.rank(first));
        let here = &mut self.workload.objects.locks[lock];
        let takes = here.holder.is_none() && wins;
        if !slept && (!takes || first.is_some()) {
            self.machine.charge(cpu, self.machine.costs.syscall_ns);
        }
        if takes {
            (here.holder, here.wanted) = (Some(task), first.is_some());
            here.waiters.retain(|&waiter| waiter != task);
            return Flow::Next;
        }
        if !slept {
            here.wanted = true;
            here.waiters.push_back(task);
            *self.phase(task) = SLEPT;
            self.lend(lock);
        }
        Flow::Sleep(State::Sleeping)
    }

    /// The holder gives its priority back before it wakes the next one.
    pub(super) fn unlock_inheriting(&mut self, cpu: u32, task: TaskId, lock: usize) -> Flow {
        let here = &mut self.workload.objects.locks[lock];
        if here.holder != Some(task) {
            return Flow::Next;
        }
        here.holder = None;
        if std::mem::take(&mut here.wanted) {
            self.machine.charge(cpu, self.machine.costs.syscall_ns);
            self.adjust(task);
            self.wake_first_waiter(lock);
        }
        Flow::Next
    }

    /// The best priority that others lend to a task; `i32::MAX`: none.
    pub(crate) fn lent_prio(&self, task: TaskId) -> i32 {
        let locks = self.workload.objects.locks.iter().enumerate();
        let held = locks.filter(|(_, lock)| lock.holder == Some(task));
        let lenders = held.filter_map(|(lock, _)| self.first_waiter(lock));
        let best = lenders.min_by_key(|&lender| self.rank(lender));
        best.map_or(i32::MAX, |lender| self.machine.task(lender).prio.max(BEST_REAL_TIME))
    }

    /// A mutex has a new waiter: its holder inherits, and if that one waits, too, so does the next.
    fn lend(&mut self, mut lock: usize) {
        while let Some(holder) = self.workload.objects.locks[lock].holder {
            let rank = self.rank(holder);
            self.adjust(holder);
            let waits_for = self.waits_for(holder).filter(|_| self.rank(holder) != rank);
            let Some(next) = waits_for else { return };
            // It goes behind those that it equals now.
            let waiters = &mut self.workload.objects.locks[next].waiters;
            waiters.retain(|&waiter| waiter != holder);
            waiters.push_back(holder);
            lock = next;
        }
        // Another one may be first now.
        self.wake_first_waiter(lock);
    }

    /// Gives a task the better one of its own priority and the lent one (`rt_mutex_adjust_prio`).
    fn adjust(&mut self, task: TaskId) {
        let this = self.machine.task(task);
        let (own, now) = (prio_of(&this.policy), this.prio);
        let prio = self.lent_prio(task).min(own);
        if prio != now {
            self.set_prio(task, prio);
        }
    }

    fn wake_first_waiter(&mut self, lock: usize) {
        let first = self.first_waiter(lock);
        let sleeper = first.filter(|&first| self.machine.task(first).state == State::Sleeping);
        if let Some(sleeper) = sleeper {
            self.wake(sleeper, 0);
        }
    }

    fn first_waiter(&self, lock: usize) -> Option<TaskId> {
        let waiters = self.workload.objects.locks[lock].waiters.iter().copied();
        waiters.min_by_key(|&waiter| self.rank(waiter))
    }

    /// A task's place among waiters: the least is first (`rt_mutex_waiter_less`).
    fn rank(&self, task: TaskId) -> (i32, u64) {
        let this = self.machine.task(task);
        match this.class {
            Class::Deadline => (this.prio, this.dl_deadline),
            Class::Rt => (this.prio, 0),
            Class::Ext | Class::Idle => (ALIKE, 0),
        }
    }

    /// The inheriting mutex that a task waits for.
    fn waits_for(&self, task: TaskId) -> Option<usize> {
        let locks = &self.workload.objects.locks;
        locks.iter().position(|lock| lock.inherits && lock.waiters.contains(&task))
    }
}
