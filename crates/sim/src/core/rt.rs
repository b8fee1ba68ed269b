// SPDX-License-Identifier: GPL-2.0-only
//! SCHED_FIFO and SCHED_RR: one list per priority on each CPU, and pushing and pulling between CPUs
//! so that the highest N tasks run on N CPUs.
//!
//! DIVERGES: real-time throttling and real-time groups are missing. Instead of throttling, kernels
//! 7.x have the fair and ext servers, unless built with `CONFIG_RT_GROUP_SCHED`.

use std::collections::{BTreeMap, VecDeque};

use model::trace::{Preemption, Queue};

use super::kernel::MachineState;
use super::task::Class;
use super::{Core, TaskId};

/// The priority of a CPU without real-time and deadline tasks, on the scale of `p->prio`.
const NORMAL: i32 = 100;
/// The priority of a CPU with a deadline task: above every real-time priority.
const DEADLINE: i32 = -1;

/// The priority of an idle CPU, on the scale of `p->prio`.
const IDLE_PRIO: i32 = 140;

/// The real-time tasks of a CPU, including the running task.
#[derive(Default)]
pub struct RtQueue {
    /// One list per `p->prio`, 0 is the highest. Empty lists keep their memory.
    lists: BTreeMap<i32, VecDeque<TaskId>>,
    len: u32,
}

impl RtQueue {
    pub(super) fn insert(&mut self, prio: i32, task: TaskId, head: bool) {
        let list = self.lists.entry(prio).or_default();
        if head {
            list.push_front(task);
        } else {
            list.push_back(task);
        }
        self.len += 1;
    }

    pub(super) fn remove(&mut self, prio: i32, task: TaskId) {
        let Some(list) = self.lists.get_mut(&prio) else { return };
        if let Some(at) = list.iter().position(|&queued| queued == task) {
            list.remove(at);
            self.len -= 1;
        }
    }

    /// The first task of the highest priority.
    pub fn first(&self) -> Option<TaskId> {
        self.iter().next()
    }

    /// Number of waiting and running tasks.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The highest priority of the CPU's waiting and running tasks; that of an idle CPU if there
    /// are none.
    pub(super) fn best(&self) -> i32 {
        let mut lists = self.lists.iter().filter(|(_, list)| !list.is_empty());
        lists.next().map_or(IDLE_PRIO, |(&prio, _)| prio)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = TaskId> {
        self.lists.values().flatten().copied()
    }

    /// Moves the task to the tail of its list; false if it is alone there.
    pub fn rotate(&mut self, task: TaskId, prio: i32) -> bool {
        if self.lists.get(&prio).is_none_or(|list| list.len() < 2) {
            return false;
        }
        self.remove(prio, task);
        self.insert(prio, task, false);
        true
    }
}

impl MachineState {
    /// A CPU's priority as `cpupri` has it: a higher number is a lower priority.
    fn cpu_prio(&self, cpu: u32) -> i32 {
        let here = &self.cpus[cpu as usize];
        if here.deadline.first().is_some() {
            DEADLINE
        } else if here.rt.len() > 0 {
            here.rt.best()
        } else if here.nr_ext > 0 {
            NORMAL
        } else {
            IDLE_PRIO
        }
    }

    /// The CPU with the lowest priority below the task's: its own CPU first, then the nearest.
    fn find_lowest(&self, task: TaskId, home: u32) -> Option<u32> {
        let prio = self.task(task).prio;
        let candidates = self.cpus_allowed(task).iter().map(|cpu| (self.cpu_prio(cpu), cpu));
        let prey = candidates.filter(|&(level, _)| level > prio);
        let near = |cpu| (self.topology.distance(home, cpu), cpu != self.this_cpu, cpu);
        prey.min_by_key(|&(level, cpu)| (-level, near(cpu))).map(|(_, cpu)| cpu)
    }

    /// The task stays on its CPU, unless a real-time task that cannot migrate would have to wait.
    pub(crate) fn select_rq_rt(&mut self, task: TaskId) -> u32 {
        let home = self.task(task).cpu;
        let current = self.task(self.cpus[home as usize].curr);
        let crowded = current.class <= Class::Rt
            && (current.nr_allowed < 2 || current.prio <= self.task(task).prio);
        let test = crowded || !self.allowed(task, home);
        if test { self.find_lowest(task, home).unwrap_or(home) } else { home }
    }

    /// The waiting task of highest priority that may leave the CPU.
    fn pushable(&self, cpu: u32) -> Option<TaskId> {
        let here = &self.cpus[cpu as usize];
        here.rt.iter().find(|&task| task != here.curr && self.task(task).nr_allowed > 1)
    }

    /// A task has joined a class above sched_ext.
    pub(crate) fn join_real_time(&mut self, task: TaskId) {
        self.nr_real_time += 1;
        self.task_mut(task).rr_ticks = 0;
        self.dl_bandwidth += self.bandwidth(task);
        for cpu in 0..self.topology.cpus {
            self.start_server(cpu);
        }
    }

    /// A task has left the classes above sched_ext.
    pub(crate) fn leave_real_time(&mut self, task: TaskId) {
        self.nr_real_time -= 1;
        self.dl_bandwidth -= self.bandwidth(task);
        self.task_mut(task).dl_throttled = false;
    }
}

impl Core {
    pub(crate) fn enqueue_rt(&mut self, cpu: u32, task: TaskId, head: bool) {
        let prio = self.machine.task(task).prio;
        self.machine.cpu_mut(cpu).rt.insert(prio, task, head);
        self.trace_rt(cpu, task);
    }

    /// The task's position in the run queue, for the trace.
    #[inline(always)]
    pub(crate) fn trace_rt(&mut self, cpu: u32, task: TaskId) {
        if self.is_tracing() {
            let place = self.machine.cpus[cpu as usize].rt.iter().position(|queued| queued == task);
            self.note_run_queue(Queue::RealTime(cpu), task, place);
        }
    }

    pub(crate) fn dequeue_rt(&mut self, cpu: u32, task: TaskId) {
        if self.machine.cpus[cpu as usize].curr == task {
            self.update_curr(cpu);
        }
        let prio = self.machine.task(task).prio;
        self.machine.cpu_mut(cpu).rt.remove(prio, task);
    }

    /// A higher priority preempts. At equal priority, a task that cannot migrate preempts one that
    /// can.
    pub(crate) fn rt_preempts(&mut self, cpu: u32, task: TaskId) -> bool {
        let current = self.machine.cpus[cpu as usize].curr;
        let (running, waking) = (self.machine.task(current), self.machine.task(task));
        if waking.prio != running.prio || waking.nr_allowed > 1 || running.nr_allowed == 1 {
            return waking.prio < running.prio;
        }
        if self.machine.find_lowest(current, cpu).is_none() {
            return false;
        }
        let prio = self.machine.task(task).prio;
        let queue = &mut self.machine.cpu_mut(cpu).rt;
        queue.remove(prio, task);
        queue.insert(prio, task, true);
        true
    }

    /// Pushes waiting tasks to CPUs of lower priority (`push_rt_tasks`).
    pub(crate) fn push_rt(&mut self, cpu: u32) {
        while self.machine.cpus[cpu as usize].rt.len() > 1
            || self.machine.curr_class(cpu) == Class::Deadline
        {
            let Some(task) = self.machine.pushable(cpu) else { break };
            let current = self.machine.cpus[cpu as usize].curr;
            if self.machine.task(task).prio < self.machine.task(current).prio {
                self.because(cpu, Preemption::MoreImportant { pid: task.0 });
                self.machine.resched(cpu);
                break;
            }
            match self.machine.find_lowest(task, cpu) {
                Some(target) if target != cpu => self.move_rt(task, cpu, target),
                _ => break,
            }
        }
    }

    /// Pulls waiting tasks with a higher priority than this CPU's (`pull_rt_task`).
    pub(crate) fn pull_rt(&mut self, cpu: u32) {
        for source in 0..self.machine.topology.cpus {
            if source == cpu || self.machine.cpus[source as usize].rt.len() < 2 {
                continue;
            }
            let Some(task) = self.machine.pushable(source) else { continue };
            let current = self.machine.task(self.machine.cpus[source as usize].curr);
            let wins = self.machine.task(task).prio
                < self.machine.cpus[cpu as usize].rt.best().min(NORMAL);
            let stays = current.class == Class::Rt && self.machine.task(task).prio < current.prio;
            if wins && !stays && self.machine.allowed(task, cpu) {
                self.move_rt(task, source, cpu);
            }
        }
    }

    fn move_rt(&mut self, task: TaskId, from: u32, to: u32) {
        self.dequeue_rt(from, task);
        self.machine.set_task_cpu(task, to);
        self.enqueue_rt(to, task, false);
        if to != self.machine.this_cpu || self.machine.cpus[to as usize].curr.0 == to {
            self.because(to, Preemption::MoreImportant { pid: task.0 });
            self.machine.resched(to);
        }
    }

    /// After a switch: pushes waiting tasks to other CPUs.
    pub(crate) fn after_switch(&mut self, cpu: u32, next: TaskId) {
        if self.machine.task(next).class <= Class::Rt {
            self.push_deadline(cpu);
            self.push_rt(cpu);
        }
    }
}
