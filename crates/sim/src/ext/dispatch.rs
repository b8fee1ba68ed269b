// SPDX-License-Identifier: GPL-2.0-only
//! Finding a task for a CPU: `balance_one()` and its loop around `ops.dispatch`.

use super::dsq::NONE;
use super::ext_state::Dispatch;
use crate::core::task::{Class, OpsState, QUEUED};
use crate::core::{Core, TaskId};
use crate::flags::*;

impl Core {
    /// Makes sure that the local queue holds a task or that the previous task keeps running.
    /// Returns false if there is neither.
    #[inline]
    pub(crate) fn balance(&mut self, cpu: u32, previous: TaskId) -> bool {
        if self.machine.cpus[cpu as usize].released {
            self.take_cpu_back(cpu);
        }
        let on_ext = self.machine.task(previous).class == Class::Ext;
        let mut queued = false;
        if on_ext {
            self.update_curr(cpu);
            queued = self.machine.task(previous).scx & QUEUED != 0;
            if queued && self.slice(previous) > 0 && !self.ext.bypass {
                return self.keep(cpu);
            }
        }
        if self.ext.queues.len(cpu) > 0 || self.consume_builtin(cpu) {
            return true;
        }
        if self.ext.has.dispatch && !self.ext.bypass {
            let previous = on_ext.then_some(previous);
            if let Some(found) = self.dispatch_loop(cpu, previous, queued) {
                return found;
            }
        }
        if queued && (self.ext.ops_flags & OPS_ENQ_LAST == 0 || self.ext.bypass) {
            self.ext.events.dispatch_keep_last += 1;
            return self.keep(cpu);
        }
        false
    }

    fn keep(&mut self, cpu: u32) -> bool {
        self.machine.cpu_mut(cpu).keep = true;
        true
    }

    #[inline(always)]
    fn consume_builtin(&mut self, cpu: u32) -> bool {
        let global = self.global_queue(cpu);
        (self.ext.queues.len(global) > 0 || self.ext.bypass) && self.consume_either(cpu, global)
    }

    /// Out of line, because schedulers rarely use these queues.
    #[inline(never)]
    fn consume_either(&mut self, cpu: u32, global: u32) -> bool {
        self.consume(cpu, global, 0) || self.ext.bypass && self.consume(cpu, self.bypass_queue(), 0)
    }

    /// Calls `ops.dispatch` until there is a task, or until it dispatches nothing.
    #[inline]
    fn dispatch_loop(&mut self, cpu: u32, previous: Option<TaskId>, queued: bool) -> Option<bool> {
        for round in 1..=DSP_MAX_LOOPS {
            self.ext.nr_dispatched = 0;
            call!(self, dispatch(cpu as i32, previous));
            self.flush();
            if let Some(previous) = previous
                && queued
                && self.slice(previous) > 0
            {
                return Some(self.keep(cpu));
            }
            if self.ext.queues.len(cpu) > 0 || self.consume_builtin(cpu) {
                return Some(true);
            }
            if self.ext.nr_dispatched == 0 || self.ext.exit.is_some() {
                break;
            }
            if round == DSP_MAX_LOOPS {
                // Other work runs before this CPU tries again.
                self.kick_cpu(cpu as i32, 0);
            }
        }
        None
    }

    /// `flush_dispatch_buf()`.
    #[inline]
    pub(crate) fn flush(&mut self) {
        if !self.ext.buffer.is_empty() {
            self.flush_buffer();
        }
    }

    fn flush_buffer(&mut self) {
        let mut buffer = std::mem::take(&mut self.ext.buffer);
        self.ext.nr_dispatched += buffer.len() as u32;
        for entry in &buffer {
            self.finish(entry);
        }
        buffer.clear();
        self.ext.buffer = buffer;
    }

    /// `finish_dispatch()`. Tasks that the scheduler does not have (any more) are ignored.
    fn finish(&mut self, entry: &Dispatch) {
        let this = self.machine.task(entry.task);
        if this.ops_state != OpsState::Queued || this.qseq != entry.qseq {
            return;
        }
        let queue = self.find_queue(self.machine.this_cpu, entry.dsq_id, entry.task);
        self.trace_taken(entry.task);
        self.dispatch_to(self.machine.this_cpu, queue, entry.task, entry.flags);
    }

    /// Inserts a task from the dispatch path; for another CPU's local queue, the task migrates
    /// (`dispatch_to_local_dsq`).
    pub(crate) fn dispatch_to(&mut self, here: u32, queue: u32, task: TaskId, flags: u64) {
        let flags = flags | ENQ_CLEAR_OPSS;
        let source = self.machine.task(task).cpu;
        if queue >= self.machine.topology.cpus || (source == queue && here == queue) {
            return self.dispatch_enqueue(queue, task, flags);
        }
        if source != queue && !self.may_move(task, queue, true) {
            let global = self.global_queue(source);
            return self.dispatch_enqueue(global, task, flags);
        }
        if source == queue {
            self.dispatch_enqueue(queue, task, flags);
        } else {
            self.machine.task_mut(task).ops_state = OpsState::None;
            self.direct_to(task, DSQ_INVALID, 0);
            self.move_remote(task, queue, flags);
        }
        if self.machine.curr_class(queue) == Class::Idle {
            self.machine.resched(queue);
        }
    }

    /// `task_can_run_on_remote_rq()`.
    fn may_move(&mut self, task: TaskId, cpu: u32, enforce: bool) -> bool {
        let allowed = self.machine.allowed(task, cpu);
        if !allowed && enforce {
            let name = self.name(task);
            self.error(format!("SCX_DSQ_LOCAL[_ON] target CPU {cpu} not allowed for {name}"));
        }
        allowed
    }

    /// Moves a task from its run queue to another CPU's run queue and local queue
    /// (`move_remote_task_to_local_dsq`).
    pub(crate) fn move_remote(&mut self, task: TaskId, cpu: u32, flags: u64) {
        // This marks a migration, for which `ops.dequeue` is not called.
        self.machine.task_mut(task).sticky_cpu = cpu as i32;
        let from = self.machine.task(task).cpu;
        self.dequeue_ext(from, task, ENQ_MIGRATING);
        self.machine.set_task_cpu(task, cpu);
        self.machine.cpu_mut(cpu).extra_enq_flags = flags & !(ENQ_CLEAR_OPSS | ENQ_DSQ_PRIQ);
        self.enqueue_ext(cpu, task, ENQ_MIGRATING);
        self.machine.cpu_mut(cpu).extra_enq_flags = 0;
    }

    /// `consume_dispatch_q()`: moves the first task of a queue that may run on the CPU to the CPU's
    /// local queue.
    #[inline]
    pub(crate) fn consume(&mut self, cpu: u32, queue: u32, flags: u64) -> bool {
        self.ext.queues.len(queue) > 0 && self.consume_first(cpu, queue, flags)
    }

    fn consume_first(&mut self, cpu: u32, queue: u32, flags: u64) -> bool {
        self.lock_queue(queue);
        let mut at = self.ext.queues.first(queue);
        while at != NONE {
            let task = TaskId(at);
            let is_here = self.machine.task(task).cpu == cpu;
            if is_here || self.may_move(task, cpu, false) {
                self.ext.queues.queues[queue as usize].is_taken_from = true;
                self.trace_taken(task);
                self.take_out(task);
                match is_here {
                    true => self.move_here(cpu, task, flags),
                    false => self.move_remote(task, cpu, flags),
                }
                return true;
            }
            at = self.ext.queues.next(at);
        }
        false
    }

    /// `move_local_task_to_local_dsq()`; the task is in no queue.
    pub(crate) fn move_here(&mut self, cpu: u32, task: TaskId, flags: u64) {
        let head = flags & ENQ_AT_HEAD != 0;
        // Local queues are never ordered by virtual time.
        let _ = self.ext.queues.insert(cpu, task.0, head);
        self.publish_queue(task, cpu);
        self.trace_enqueued(cpu, task, false);
        self.after_local(cpu, task, flags);
    }

    /// `scx_bpf_dsq_move_to_local()`. False if the queue has no task for this CPU.
    #[inline]
    pub fn dsq_move_to_local(&mut self, dsq_id: u64, enq_flags: u64) -> bool {
        let Some(enq_flags) = self.vet(DSQ_LOCAL, enq_flags) else { return false };
        self.flush();
        self.charge_look();
        let Some(queue) = self.user_queue(dsq_id) else {
            self.refuse_source(dsq_id);
            return false;
        };
        let moved = self.consume(self.machine.this_cpu, queue, enq_flags);
        self.ext.nr_dispatched += u32::from(moved);
        moved
    }

    #[cold]
    fn refuse_source(&mut self, dsq_id: u64) {
        self.error(format!("invalid DSQ ID 0x{dsq_id:016x}"));
    }

    /// `scx_bpf_dispatch_nr_slots()`.
    pub fn dispatch_nr_slots(&self) -> u32 {
        self.ext.max_batch.saturating_sub(self.ext.buffer.len() as u32)
    }

    /// `scx_bpf_dispatch_cancel()`.
    pub fn dispatch_cancel(&mut self) {
        if self.ext.buffer.pop().is_none() {
            self.error("dispatch buffer underflow".into());
        }
    }
}
