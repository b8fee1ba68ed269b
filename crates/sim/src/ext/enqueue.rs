// SPDX-License-Identifier: GPL-2.0-only
//! Enqueueing a runnable task: `do_enqueue_task()`, direct dispatch, and the kfuncs that insert.
//!
//! DIVERGES: there are no migration-disabled tasks and no offline CPUs.

use compile::native::interface::{ENQ_FLAGS, first_refused, refused};
use model::trace::Preemption;

use super::dsq::Mixed;
use super::ext_state::{Direct, Dispatch};
use crate::core::memory::{get, put};
use crate::core::task::{Class, DEFERRED, IMMEDIATE, OpsState, QUEUED};
use crate::core::{Core, TaskId};
use crate::flags::*;

impl Core {
    /// `select_task_rq_scx()`.
    #[inline]
    pub(crate) fn select_rq_ext(&mut self, task: TaskId, previous: u32, wake_flags: u64) -> u32 {
        if !self.ext.has.select_cpu || self.ext.bypass {
            let picked = self.select_cpu_default(task, previous, wake_flags, None, 0);
            if let Some(cpu) = picked {
                self.refill(task);
                self.direct_to(task, DSQ_LOCAL, 0);
                return cpu;
            }
            return previous;
        }
        let here = self.machine.this_cpu;
        self.ext.direct = Direct::Of(task);
        self.machine.cpu_mut(here).in_select_cpu = true;
        let cpu = call!(self, select_cpu(task, previous as i32, wake_flags));
        self.machine.cpu_mut(here).in_select_cpu = false;
        self.ext.direct = Direct::None;
        let at = self.machine.arena.layout.selected_cpu;
        let this = self.machine.task_mut(task);
        this.selected_cpu = cpu;
        put(this.memory, at, cpu);
        if self.cpu_valid(cpu, "from ops.select_cpu()") { cpu as u32 } else { previous }
    }

    /// The target queue of a direct dispatch; `DSQ_INVALID`: none.
    #[inline]
    fn direct_target(&self, task: TaskId) -> u64 {
        get(self.machine.task(task).memory, self.machine.arena.layout.ddsp_dsq)
    }

    #[inline]
    pub(crate) fn direct_to(&mut self, task: TaskId, dsq_id: u64, flags: u64) {
        let at = self.machine.arena.layout;
        let this = self.machine.task_mut(task);
        put(this.memory, at.ddsp_dsq, dsq_id);
        put(this.memory, at.ddsp_enq_flags, flags);
        this.ddsp_flags = flags;
    }

    /// `do_enqueue_task()`: the cases in the kernel's order.
    #[inline]
    pub(crate) fn do_enqueue(&mut self, cpu: u32, task: TaskId, flags: u64, sticky: i32) {
        if sticky == cpu as i32 {
            return self.dispatch_enqueue(cpu, task, flags);
        }
        self.machine.task_mut(task).scx &= !IMMEDIATE;
        if self.ext.bypass {
            self.refill(task);
            self.ext.events.bypass_dispatch += 1;
            let queue = self.bypass_queue();
            return self.dispatch_enqueue(queue, task, flags);
        }
        if self.direct_target(task) == DSQ_INVALID {
            if self.machine.task(task).exiting && self.ext.ops_flags & OPS_ENQ_EXITING == 0 {
                self.refill(task);
                self.ext.events.enq_skip_exiting += 1;
                return self.dispatch_enqueue(cpu, task, flags);
            }
            if !self.ext.has.enqueue {
                self.refill(task);
                let queue = self.global_queue(self.machine.task(task).cpu);
                return self.dispatch_enqueue(queue, task, flags);
            }
            self.hand_over(cpu, task, flags);
        }
        if self.direct_target(task) != DSQ_INVALID {
            self.direct_dispatch(cpu, task, flags);
        }
    }

    /// Calls `ops.enqueue`. Afterwards the scheduler has the task, unless it dispatched the task
    /// directly.
    #[inline(never)]
    fn hand_over(&mut self, cpu: u32, task: TaskId, flags: u64) {
        self.machine.cpus[cpu as usize].qseq += 1;
        let qseq = self.machine.cpus[cpu as usize].qseq;
        let outer = std::mem::replace(&mut self.ext.direct, Direct::Of(task));
        call!(self, enqueue(task, flags));
        self.ext.direct = outer;
        let is_kept = self.direct_target(task) == DSQ_INVALID;
        let this = self.machine.task_mut(task);
        if is_kept && this.scx & QUEUED != 0 {
            this.qseq = qseq;
            this.ops_state = OpsState::Queued;
            self.take_custody(task);
            self.trace_kept_by_scheduler(task);
        }
    }

    /// `direct_dispatch()`: immediate, except that an insertion into another CPU's local queue is
    /// deferred.
    #[inline(always)]
    fn direct_dispatch(&mut self, cpu: u32, task: TaskId, flags: u64) {
        let wanted = self.direct_target(task);
        let queue = self.find_queue(cpu, wanted, task);
        let cpus = self.machine.topology.cpus;
        let this = self.machine.task_mut(task);
        this.ddsp_flags |= flags;
        if queue < cpus && queue != cpu {
            this.ops_state = OpsState::None;
            this.scx |= DEFERRED;
            self.ext.deferred.push(task);
            return;
        }
        let flags = this.ddsp_flags;
        self.trace_direct(task);
        self.dispatch_enqueue(queue, task, flags | ENQ_CLEAR_OPSS);
    }

    /// Does the deferred direct dispatches to other CPUs, now that no lock is held.
    #[inline]
    pub(crate) fn run_deferred(&mut self) {
        if !self.ext.deferred.is_empty() {
            self.dispatch_deferred();
        }
    }

    #[inline(never)]
    fn dispatch_deferred(&mut self) {
        let mut tasks = std::mem::take(&mut self.ext.deferred);
        for &task in &tasks {
            if self.machine.task(task).scx & DEFERRED == 0 {
                continue;
            }
            self.machine.task_mut(task).scx &= !DEFERRED;
            let (cpu, wanted) = (self.machine.task(task).cpu, self.direct_target(task));
            let queue = self.find_queue(cpu, wanted, task);
            let flags = self.machine.task(task).ddsp_flags;
            self.trace_direct(task);
            self.dispatch_to(cpu, queue, task, flags);
        }
        tasks.clear();
        if self.ext.deferred.is_empty() {
            self.ext.deferred = tasks;
        }
    }

    /// `dispatch_enqueue()`: inserts the task into a queue.
    #[inline(never)]
    pub(crate) fn dispatch_enqueue(&mut self, queue: u32, task: TaskId, flags: u64) {
        let mut queue = queue;
        let id = self.ext.queues.queues[queue as usize].id;
        if id == DSQ_INVALID {
            self.refuse_queue("attempting to dispatch to a destroyed dsq");
            queue = self.global_queue(self.machine.task(task).cpu);
        }
        let builtin = queue < self.first_user_queue();
        let mut flags = flags;
        if builtin && flags & ENQ_DSQ_PRIQ != 0 {
            self.refuse_queue("cannot use vtime ordering for built-in DSQs");
            flags &= !ENQ_DSQ_PRIQ;
        }
        self.lock_queue(queue);
        let done = if flags & ENQ_DSQ_PRIQ != 0 {
            let key = self.dsq_vtime(task);
            self.ext.queues.insert_ordered(queue, task.0, key)
        } else {
            self.ext.queues.insert(queue, task.0, flags & ENQ_AT_HEAD != 0)
        };
        self.direct_to(task, DSQ_INVALID, 0);
        if flags & ENQ_CLEAR_OPSS != 0 {
            self.machine.task_mut(task).ops_state = OpsState::None;
        }
        if let Err(mixed) = done {
            return self.refuse_mixture(id, task, mixed);
        }
        self.publish_queue(task, queue);
        self.trace_enqueued(queue, task, flags & ENQ_DSQ_PRIQ != 0);
        if queue < self.machine.topology.cpus {
            self.after_local(queue, task, flags);
        } else if builtin {
            self.leave_custody(task, 0);
        } else {
            self.take_custody(task);
        }
    }

    #[cold]
    fn refuse_queue(&mut self, why: &str) {
        self.error(why.into());
    }

    #[cold]
    fn refuse_mixture(&mut self, id: u64, task: TaskId, mixed: Mixed) {
        let kind = if mixed == Mixed::HasFifo { "FIFO" } else { "PRIQ" };
        self.error(format!("DSQ ID 0x{id:016x} already had {kind}-enqueued tasks"));
        let queue = self.global_queue(self.machine.task(task).cpu);
        self.dispatch_enqueue(queue, task, 0);
    }

    /// `local_dsq_post_enq()`: reschedules the CPU if the insertion demands it.
    #[inline(always)]
    pub(crate) fn after_local(&mut self, cpu: u32, task: TaskId, flags: u64) {
        if (flags & ENQ_IMMED) | u64::from(self.machine.task(task).scx & IMMEDIATE) != 0 {
            self.joined_at_once(cpu, task, flags);
        }
        self.leave_custody(task, 0);
        let here = &self.machine.cpus[cpu as usize];
        if here.in_balance {
            return;
        }
        let (current, class) = (here.curr, self.machine.curr_class(cpu));
        let preempt = flags & (ENQ_PREEMPT | ENQ_PREEMPT_LAZY) != 0;
        let preempt = preempt && current != task && class == Class::Ext;
        if preempt {
            self.set_slice(current, 0);
            self.because(cpu, Preemption::Inserted { pid: task.0 });
            if flags & ENQ_PREEMPT_LAZY != 0 {
                return self.machine.resched_lazy(cpu);
            }
        }
        if preempt || class == Class::Idle {
            self.machine.resched(cpu);
        }
    }
}

/// The kfuncs that insert.
impl Core {
    /// `scx_bpf_dsq_insert()`. False if it was refused, with an error.
    #[inline]
    pub fn dsq_insert(&mut self, task: TaskId, dsq_id: u64, slice: u64, enq_flags: u64) -> bool {
        let Some(enq_flags) = self.vet(dsq_id, enq_flags) else { return false };
        self.give_slice(task, slice);
        self.commit(task, dsq_id, enq_flags)
    }

    /// `scx_bpf_dsq_insert_vtime()`.
    pub fn dsq_insert_vtime(
        &mut self,
        task: TaskId,
        dsq_id: u64,
        slice: u64,
        vtime: u64,
        enq_flags: u64,
    ) -> bool {
        let Some(enq_flags) = self.vet(dsq_id, enq_flags) else { return false };
        self.give_slice(task, slice);
        self.set_dsq_vtime(task, vtime);
        self.commit(task, dsq_id, enq_flags | ENQ_DSQ_PRIQ)
    }

    /// The flags with which a task may be inserted into this queue (`scx_vet_enq_flags`).
    #[inline]
    pub(crate) fn vet(&mut self, dsq_id: u64, enq_flags: u64) -> Option<u64> {
        const UNUSUAL: u64 =
            ENQ_INTERNAL_MASK | refused(ENQ_FLAGS) | ENQ_IMMED | ENQ_RESCUE | ENQ_PREEMPT_LAZY;
        let is_usual = enq_flags & UNUSUAL == 0 && self.ext.ops_flags & OPS_ALWAYS_ENQ_IMMED == 0;
        if is_usual { Some(enq_flags) } else { self.vet_unusual(dsq_id, enq_flags) }
    }

    /// `SCX_ENQ_RESCUE` makes no difference for a scheduler that has all CPUs, as the root has.
    #[cold]
    fn vet_unusual(&mut self, dsq_id: u64, enq_flags: u64) -> Option<u64> {
        let is_local = dsq_id == DSQ_LOCAL || dsq_id & DSQ_LOCAL_ON == DSQ_LOCAL_ON;
        let has = |flag: u64| enq_flags & flag == flag;
        if let Some(lacking) = first_refused(ENQ_FLAGS, enq_flags) {
            self.lacks(lacking);
        } else if enq_flags & ENQ_INTERNAL_MASK != 0 || has(ENQ_PREEMPT | ENQ_PREEMPT_LAZY) {
            self.error(format!("invalid enq_flags 0x{enq_flags:x}"));
        } else if has(ENQ_IMMED) && !is_local {
            self.error(format!("SCX_ENQ_IMMED on a non-local DSQ 0x{dsq_id:x}"));
        } else if has(ENQ_RESCUE) && !is_local {
            self.error(format!("SCX_ENQ_RESCUE on a non-local DSQ 0x{dsq_id:x}"));
        } else {
            let always = is_local && self.ext.ops_flags & OPS_ALWAYS_ENQ_IMMED != 0;
            return Some(enq_flags & !ENQ_RESCUE | if always { ENQ_IMMED } else { 0 });
        }
        None
    }

    /// Sets the slice; 0 keeps the remaining slice, but at least 1 ns.
    #[inline]
    fn give_slice(&mut self, task: TaskId, slice: u64) {
        let slice = if slice == 0 { self.slice(task).max(1) } else { slice };
        self.set_slice(task, slice);
    }

    #[inline]
    fn commit(&mut self, task: TaskId, dsq_id: u64, enq_flags: u64) -> bool {
        if dsq_id != DSQ_LOCAL {
            self.suspect(dsq_id);
        }
        self.charge_look();
        if self.ext.direct == Direct::Of(task) {
            self.direct_to(task, dsq_id, enq_flags);
            self.ext.direct = Direct::Done;
            return true;
        }
        let in_dispatch = self.machine.cpus[self.machine.this_cpu as usize].in_balance
            && self.ext.direct == Direct::None;
        if !in_dispatch || self.ext.buffer.len() >= self.ext.max_batch as usize {
            self.refuse_insertion(task, in_dispatch);
            return false;
        }
        let qseq = self.machine.task(task).qseq;
        self.ext.buffer.push(Dispatch { task, qseq, dsq_id, flags: enq_flags });
        true
    }

    #[cold]
    fn refuse_insertion(&mut self, task: TaskId, in_dispatch: bool) {
        self.error(match self.ext.direct {
            Direct::Of(expected) => {
                let (want, got) = (self.name(expected), self.name(task));
                format!("scheduling for {want} but trying to direct-dispatch {got}")
            }
            Direct::Done => format!("{} already direct-dispatched", self.name(task)),
            Direct::None if in_dispatch => "dispatch buffer overflow".into(),
            Direct::None => "tasks can be inserted only in select_cpu, enqueue and dispatch".into(),
        });
    }

    /// A task in error messages, as the kernel writes it.
    pub(crate) fn name(&self, task: TaskId) -> String {
        format!("{}[{}]", self.comm(task), self.pid(task))
    }
}
