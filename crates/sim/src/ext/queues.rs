// SPDX-License-Identifier: GPL-2.0-only
//! The kfuncs about dispatch queues, and the cost of the queues' locks.

use std::collections::BTreeMap;

use super::dsq::NONE;
use crate::core::task::OpsState;
use crate::core::topology::Distance;
use crate::core::{Core, TaskId};
use crate::flags::*;

const EINVAL: i32 = -22;
const EEXIST: i32 = -17;
const ENOENT: i32 = -2;

impl Core {
    /// Takes and releases a lock on the current CPU and charges the cost: waiting for earlier CPUs,
    /// fetching the cache line, and holding the lock.
    fn pass_lock(&mut self, lock: &mut SharedLock) {
        let hold = self.machine.costs.queue_lock_ns;
        if hold == 0 {
            return;
        }
        let (here, clock) = (self.machine.this_cpu, self.machine.clock(self.machine.this_cpu));
        let distance = |last| self.machine.topology.distance(last, here);
        let is_far = lock.last_cpu().is_some_and(|last| distance(last) > Distance::Llc);
        let hold = hold + if is_far { self.machine.costs.queue_remote_ns } else { 0 };
        let released = lock.pass(here, clock, hold);
        self.machine.charge(here, released - clock);
    }

    /// The lock of a queue. Local queues have no lock of their own.
    #[inline]
    pub(crate) fn lock_queue(&mut self, queue: u32) {
        if queue >= self.machine.topology.cpus && self.machine.costs.queue_lock_ns > 0 {
            self.lock_shared(queue);
        }
    }

    #[inline(never)]
    fn lock_shared(&mut self, queue: u32) {
        let mut lock = self.ext.queues.queues[queue as usize].lock;
        self.pass_lock(&mut lock);
        self.ext.queues.queues[queue as usize].lock = lock;
    }

    pub(crate) fn global_queue(&self, cpu: u32) -> u32 {
        self.machine.topology.cpus + self.machine.topology.node_of[cpu as usize]
    }

    /// DIVERGES: one queue for all CPUs; the newest kernels have one per CPU and balance them every
    /// 500 ms. In the simulator, bypass mode only lasts for loading and unloading.
    pub(crate) fn bypass_queue(&self) -> u32 {
        self.machine.topology.cpus + self.machine.topology.nodes.len() as u32
    }

    pub(crate) fn first_user_queue(&self) -> u32 {
        self.bypass_queue() + 1
    }

    #[inline]
    pub(crate) fn user_queue(&self, id: u64) -> Option<u32> {
        self.ext.user_queues.find(id)
    }

    /// `find_dsq_for_dispatch()`. For a wrong number the task goes to the global queue.
    #[inline]
    pub(crate) fn find_queue(&mut self, cpu: u32, id: u64, task: TaskId) -> u32 {
        if id == DSQ_LOCAL {
            return cpu;
        }
        let global = self.global_queue(self.machine.task(task).cpu);
        if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let target = (id & DSQ_LOCAL_CPU_MASK) as i32;
            let valid = self.cpu_valid(target, "in SCX_DSQ_LOCAL_ON dispatch verdict");
            return if valid { target as u32 } else { global };
        }
        if id == DSQ_GLOBAL {
            return global;
        }
        self.user_queue(id).unwrap_or_else(|| {
            self.refuse_id(id);
            global
        })
    }

    #[cold]
    fn refuse_id(&mut self, id: u64) {
        self.error(format!("non-existent DSQ 0x{id:x}"));
    }

    /// Any queue that a kfunc may name.
    fn queue_to_ask(&self, id: u64) -> Option<u32> {
        if id == DSQ_LOCAL {
            Some(self.machine.this_cpu)
        } else if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let cpu = (id & DSQ_LOCAL_CPU_MASK) as u32;
            (cpu < self.machine.topology.cpus).then_some(cpu)
        } else if id == DSQ_GLOBAL {
            Some(self.global_queue(self.machine.this_cpu))
        } else {
            self.user_queue(id)
        }
    }

    /// `scx_bpf_create_dsq()`: 0, or a negative error number.
    pub fn create_dsq(&mut self, id: u64, _node: i32) -> i32 {
        if id & DSQ_FLAG_BUILTIN != 0 {
            return EINVAL;
        }
        if self.user_queue(id).is_some() {
            return EEXIST;
        }
        let queue = self.ext.queues.add_queue(id);
        self.ext.user_queues.add(id, queue);
        0
    }

    /// `scx_bpf_destroy_dsq()`. A queue that still holds tasks is an error.
    pub fn destroy_dsq(&mut self, id: u64) {
        let Some(queue) = self.user_queue(id) else { return };
        let left = self.ext.queues.len(queue);
        if left > 0 {
            self.error(format!("attempting to destroy in-use dsq 0x{id:016x} (nr={left})"));
            return;
        }
        self.ext.user_queues.remove(id);
        self.ext.queues.queues[queue as usize].id = DSQ_INVALID;
    }

    /// `scx_bpf_dsq_nr_queued()`: the number of tasks, or a negative error number.
    pub fn dsq_nr_queued(&self, id: u64) -> i32 {
        self.queue_to_ask(id).map_or(ENOENT, |queue| self.ext.queues.len(queue) as i32)
    }

    /// `scx_bpf_dsq_peek()`: the first task without taking it.
    pub fn dsq_peek(&mut self, id: u64) -> Option<TaskId> {
        let queue = self.user_queue(id)?;
        let first = self.ext.queues.first(queue);
        (first != NONE).then_some(TaskId(first))
    }

    /// `bpf_iter_scx_dsq_new()`: an iterator over the tasks that are in a user queue now.
    ///
    /// # Errors
    /// The kernel's negative error number.
    pub fn dsq_iter_new(&mut self, id: u64, flags: u64) -> Result<u32, i32> {
        if flags & !DSQ_ITER_REV != 0 {
            return Err(EINVAL);
        }
        let queue = self.user_queue(id).ok_or(ENOENT)?;
        self.lock_queue(queue);
        Ok(self.ext.queues.open_cursor(queue, flags & DSQ_ITER_REV != 0))
    }

    /// `bpf_iter_scx_dsq_next()`.
    pub fn dsq_iter_next(&mut self, iterator: u32) -> Option<TaskId> {
        self.machine.charge(self.machine.this_cpu, self.machine.costs.scan_ns);
        let next = self.ext.queues.advance(iterator);
        (next != NONE).then_some(TaskId(next))
    }

    /// `bpf_iter_scx_dsq_destroy()`.
    pub fn dsq_iter_destroy(&mut self, iterator: u32) {
        self.ext.queues.close_cursor(iterator);
    }

    /// `scx_bpf_dsq_move()` and, with a virtual time, `scx_bpf_dsq_move_vtime()`: moves a task that
    /// an iterator returned. `slice` is the value of `scx_bpf_dsq_move_set_slice()`. False if the
    /// task has left the queue.
    pub fn dsq_move(
        &mut self,
        iterator: u32,
        task: TaskId,
        dsq_id: u64,
        enq_flags: u64,
        slice: Option<u64>,
        vtime: Option<u64>,
    ) -> bool {
        let Some(enq_flags) = self.vet(dsq_id, enq_flags) else { return false };
        if !self.ext.queues.cursor_sees(iterator, task.0) {
            return false;
        }
        let here = self.machine.this_cpu;
        let queue = self.find_queue(here, dsq_id, task);
        if let Some(slice) = slice {
            self.set_slice(task, slice);
        }
        if let Some(vtime) = vtime {
            self.set_dsq_vtime(task, vtime);
        }
        let source = self.ext.queues.queue_of(task.0);
        self.ext.queues.queues[source as usize].is_taken_from = true;
        self.trace_taken(task);
        self.take_out(task);
        self.take_custody(task);
        self.machine.task_mut(task).ops_state = OpsState::Queued;
        let ordered = if vtime.is_some() { ENQ_DSQ_PRIQ } else { 0 };
        self.dispatch_to(here, queue, task, enq_flags | ordered);
        self.ext.nr_dispatched += 1;
        true
    }
}

/// A lock that CPUs contend for, in order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedLock {
    free_at: u64,
    last_cpu: Option<u32>,
}

impl SharedLock {
    /// The CPU whose cache has the lock; `None` before the first CPU takes it.
    pub(super) fn last_cpu(&self) -> Option<u32> {
        self.last_cpu
    }

    /// A CPU waits for earlier ones, holds the lock and releases it. Returns the time of the
    /// release.
    pub(super) fn pass(&mut self, cpu: u32, now_ns: u64, hold_ns: u64) -> u64 {
        self.free_at = self.free_at.max(now_ns) + hold_ns;
        self.last_cpu = Some(cpu);
        self.free_at
    }
}

/// Numbers below this are found in a table, others in a map.
const TABLE: u64 = 1 << 16;

/// From a scheduler's number of a queue to the queue's index.
#[derive(Default)]
pub struct UserQueues {
    table: Vec<u32>,
    map: BTreeMap<u64, u32>,
}

impl UserQueues {
    /// The queue with this number, if the scheduler has created it.
    pub fn find(&self, id: u64) -> Option<u32> {
        let found = match id {
            0..TABLE => self.table.get(id as usize).copied(),
            _ => self.map.get(&id).copied(),
        };
        found.filter(|&queue| queue != NONE)
    }

    pub fn add(&mut self, id: u64, queue: u32) {
        if id < TABLE {
            let size = self.table.len().max(id as usize + 1);
            self.table.resize(size, NONE);
            self.table[id as usize] = queue;
        } else {
            self.map.insert(id, queue);
        }
    }

    /// Frees the number of a queue that exists.
    pub fn remove(&mut self, id: u64) {
        match id {
            0..TABLE => self.table[id as usize] = NONE,
            _ => drop(self.map.remove(&id)),
        }
    }
}
