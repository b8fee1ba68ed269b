// SPDX-License-Identifier: GPL-2.0-only
//! Locks, conditions, barriers and semaphores, with the system calls that those of the live player
//! (`crates/live/src/player/futex.rs`) make.
//!
//! A mutex that inherits priorities is the kernel's `rt_mutex` behind `FUTEX_LOCK_PI`: a release
//! makes the first waiter the next holder and wakes it. Until it runs nobody holds the mutex, and
//! only a task with a better priority can take it.
//!
//! DIVERGES: the first waiter sleeps at once. In the kernel it spins while the holder runs on
//! another CPU and nobody else wants its own.
//!
//! DIVERGES: a deadline task lends the best real-time priority instead of its deadline.

use model::play::Op;

use super::objects::{Objects, Waiters};
use super::workload_state::Flow;
use crate::core::task::{Class, State, Task, prio_of};
use crate::core::{Core, TaskId};
use crate::flags::WAKE_SYNC;

/// The phase of a task that sleeps for a lock, or has been woken and has yet to take it.
pub(super) const SLEPT: u8 = 2;

impl Core {
    /// The steps with which tasks wait for each other.
    #[inline(never)]
    pub(super) fn synchronize(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        match op {
            Op::Lock(lock) => self.lock(cpu, task, lock),
            Op::Unlock(lock) => self.unlock(cpu, task, lock),
            Op::Wait { condition, lock, signal } => self.wait(cpu, task, condition, lock, signal),
            Op::Suspend(condition) => match *self.phase(task) {
                0 => self.enqueue_waiter(cpu, task, |objects| &mut objects.conditions[condition]),
                _ => Flow::Next,
            },
            Op::Enlist { condition, signal } => {
                if signal {
                    self.wake_waiters(cpu, 1, |objects| &mut objects.conditions[condition]);
                }
                self.workload.objects.conditions[condition].push_back(task);
                Flow::Next
            }
            Op::Await(condition) => self.await_turn(cpu, task, condition),
            Op::Signal(condition) => {
                self.wake_waiters(cpu, 1, |objects| &mut objects.conditions[condition])
            }
            Op::Broadcast(condition) => {
                self.wake_waiters(cpu, usize::MAX, |objects| &mut objects.conditions[condition])
            }
            Op::Barrier(number) => self.barrier(cpu, task, number),
            Op::Post(number) => self.post(cpu, number),
            Op::Take(number) => self.take(cpu, task, number),
            _ => Flow::Next,
        }
    }

    /// Sleeps in a queue; the system call costs.
    fn enqueue_waiter(
        &mut self,
        cpu: u32,
        task: TaskId,
        queue: impl Fn(&mut Objects) -> &mut Waiters,
    ) -> Flow {
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        *self.phase(task) = 1;
        queue(&mut self.workload.objects).push_back(task);
        Flow::Sleep(State::Sleeping)
    }

    /// Wakes up to `count` tasks. Without sleepers it costs nothing, as with a futex.
    fn wake_waiters(
        &mut self,
        cpu: u32,
        count: usize,
        queue: impl Fn(&mut Objects) -> &mut Waiters,
    ) -> Flow {
        if !queue(&mut self.workload.objects).is_empty() {
            self.call_waiters(cpu, count, queue);
        }
        Flow::Next
    }

    /// The system call that wakes up to `count` tasks, whether there are any or not.
    fn call_waiters(
        &mut self,
        cpu: u32,
        count: usize,
        queue: impl Fn(&mut Objects) -> &mut Waiters,
    ) {
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        for _ in 0..queue(&mut self.workload.objects).len().min(count) {
            let woken = Core::pop_waiter(&self.machine.tasks, queue(&mut self.workload.objects));
            if let Some(task) = woken {
                self.wake(task, 0);
            }
        }
    }

    /// The first of the highest priority: real-time tasks before others, others in order of
    /// arrival.
    fn pop_waiter(tasks: &[Task], waiters: &mut Waiters) -> Option<TaskId> {
        let rank = |&(at, &task): &(usize, &TaskId)| (tasks[task.0 as usize].prio.min(100), at);
        let (at, _) = waiters.iter().enumerate().min_by_key(rank)?;
        waiters.remove(at)
    }

    /// As in the live player: a task that has slept for the lock does not know whether others still
    /// do, so its release is a system call too.
    fn lock(&mut self, cpu: u32, task: TaskId, lock: usize) -> Flow {
        if self.workload.objects.locks[lock].inherits {
            return self.lock_inheriting(cpu, task, lock);
        }
        let slept = *self.phase(task) == SLEPT;
        if self.acquire(cpu, task, lock, slept) {
            return Flow::Next;
        }
        *self.phase(task) = SLEPT;
        Flow::Sleep(State::Sleeping)
    }

    /// Takes a lock, or goes to its waiters: then the task has to sleep.
    pub(super) fn acquire(&mut self, cpu: u32, task: TaskId, lock: usize, slept: bool) -> bool {
        let here = &mut self.workload.objects.locks[lock];
        if !here.taken {
            (here.taken, here.wanted) = (true, slept);
            return true;
        }
        here.wanted = true;
        here.waiters.push_back(task);
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        false
    }

    pub(super) fn unlock(&mut self, cpu: u32, task: TaskId, lock: usize) -> Flow {
        let here = &mut self.workload.objects.locks[lock];
        if here.inherits {
            return self.unlock_inheriting(cpu, task, lock);
        }
        here.taken = false;
        if std::mem::take(&mut here.wanted) {
            self.call_waiters(cpu, 1, |objects| &mut objects.locks[lock].waiters);
        }
        Flow::Next
    }

    pub(super) fn post(&mut self, cpu: u32, number: usize) -> Flow {
        let here = &mut self.workload.objects.semaphores[number];
        here.value += 1;
        if here.receives {
            here.receives = false;
            self.machine.charge(cpu, self.machine.costs.syscall_ns + self.machine.costs.write_ns);
            if let Some(task) = self.workload.objects.semaphores[number].waiters.pop_front() {
                self.wake(task, WAKE_SYNC);
            }
        } else if here.announced > 0 {
            self.call_waiters(cpu, 1, |objects| &mut objects.semaphores[number].waiters);
        }
        Flow::Next
    }

    /// Phase 1: woken.
    pub(super) fn take(&mut self, cpu: u32, task: TaskId, number: usize) -> Flow {
        let slept = std::mem::take(self.phase(task)) == 1;
        let here = &mut self.workload.objects.semaphores[number];
        here.announced -= u32::from(slept);
        if here.value > 0 {
            here.value -= 1;
            return Flow::Next;
        }
        here.announced += 1;
        self.enqueue_waiter(cpu, task, |objects| &mut objects.semaphores[number].waiters)
    }

    /// Phase 0: give the lock away and sleep. From phase 1 on: woken, take the lock again.
    fn wait(
        &mut self,
        cpu: u32,
        task: TaskId,
        condition: usize,
        lock: usize,
        signal: bool,
    ) -> Flow {
        if *self.phase(task) > 0 {
            return self.lock(cpu, task, lock);
        }
        if signal {
            self.wake_waiters(cpu, 1, |objects| &mut objects.conditions[condition]);
        }
        self.unlock(cpu, task, lock);
        self.enqueue_waiter(cpu, task, |objects| &mut objects.conditions[condition])
    }

    /// A task that has been woken is not among the waiters any more.
    fn await_turn(&mut self, cpu: u32, task: TaskId, condition: usize) -> Flow {
        if !self.workload.objects.conditions[condition].contains(&task) {
            return Flow::Next;
        }
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        Flow::Sleep(State::Sleeping)
    }

    fn barrier(&mut self, cpu: u32, task: TaskId, number: usize) -> Flow {
        if *self.phase(task) == 1 {
            return Flow::Next;
        }
        let barrier = &mut self.workload.objects.barriers[number];
        barrier.arrived += 1;
        if barrier.arrived < self.workload.script.barriers[number] {
            return self.enqueue_waiter(cpu, task, |objects| &mut objects.barriers[number].waiters);
        }
        barrier.arrived = 0;
        self.wake_waiters(cpu, usize::MAX, |objects| &mut objects.barriers[number].waiters)
    }
}

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
        let sleeper = self.first_waiter(lock).filter(|&first| self.sleeps(first));
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
