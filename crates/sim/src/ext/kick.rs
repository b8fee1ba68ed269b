// SPDX-License-Identifier: GPL-2.0-only
//! Kicks, and the small kfuncs about CPUs and tasks.

use model::trace::Preemption;

use super::ext_state::Direct;
use super::reenqueue::{LOCAL_OF, QUEUE};
use crate::core::memory::put;
use crate::core::task::{Class, State};
use crate::core::{BOOTED_NS, Core, TaskId};
use crate::flags::*;

impl Core {
    /// `scx_bpf_kick_cpu()`: takes effect after the current operation.
    ///
    /// DIVERGES: `SCX_KICK_WAIT` does not wait; nothing here runs between the kick and its effect.
    pub fn kick_cpu(&mut self, cpu: i32, flags: u64) {
        self.charge_look();
        if !self.cpu_valid(cpu, "") || self.ext.bypass {
            return;
        }
        if flags & !(KICK_IDLE | KICK_PREEMPT | KICK_WAIT | KICK_PREEMPT_LAZY) != 0 {
            return self.lacks(&format!("the flags {flags:#x} of scx_bpf_kick_cpu()"));
        }
        let cpu = cpu as u32;
        if flags & KICK_PREEMPT_LAZY != 0 && flags & !KICK_PREEMPT_LAZY != 0 {
            return self.error("PREEMPT_LAZY cannot be used with other kicks".into());
        }
        if flags & KICK_IDLE != 0 {
            if flags & (KICK_PREEMPT | KICK_WAIT) != 0 {
                self.error("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".into());
                return;
            }
            if !self.is_locked(cpu) && self.passes_by_itself(cpu) {
                return;
            }
        }
        let here = self.machine.this_cpu;
        self.machine.cpu_mut(here).kicks.push((cpu, flags));
    }

    /// The CPU whose run queue the running callback has locked (`scx_bpf_locked_rq`); -1, and an
    /// error, if there is none.
    pub fn locked_cpu(&mut self) -> i32 {
        let here = self.machine.this_cpu;
        let cpu = match self.ext.direct {
            Direct::Of(task) => self.machine.task(task).cpu,
            _ => here,
        };
        if self.is_locked(cpu) {
            return cpu as i32;
        }
        self.error("accessing rq without holding rq lock".into());
        -1
    }

    /// Whether the running callback holds the lock of the CPU's run queue: all callbacks except
    /// `select_cpu` hold their task's.
    fn is_locked(&self, cpu: u32) -> bool {
        match self.ext.direct {
            _ if self.machine.cpus[self.machine.this_cpu as usize].in_select_cpu => false,
            Direct::Of(task) => self.machine.task(task).cpu == cpu,
            _ => self.machine.this_cpu == cpu,
        }
    }

    /// Whether an idle kick is unnecessary: a busy CPU passes through sched_ext before it becomes
    /// idle (`can_skip_idle_kick`).
    fn passes_by_itself(&self, cpu: u32) -> bool {
        !self.machine.is_idle(cpu) && !self.machine.cpus[cpu as usize].in_balance
    }

    /// `kick_cpus_irq_workfn()`.
    #[inline]
    pub(crate) fn run_kicks(&mut self, here: u32) {
        let cpu = &self.machine.cpus[here as usize];
        if cpu.reenqueue != 0 || !cpu.kicks.is_empty() {
            self.do_irq_work(here);
        }
    }

    #[inline(never)]
    fn do_irq_work(&mut self, here: u32) {
        self.reenqueue_pending(here);
        if self.machine.cpus[here as usize].kicks.is_empty() {
            return;
        }
        self.machine.charge(here, self.machine.costs.kick_ns);
        let mut kicks = std::mem::take(&mut self.machine.cpu_mut(here).kicks);
        for &(cpu, flags) in &kicks {
            self.kick_one(here, cpu, flags);
        }
        kicks.clear();
        if self.machine.cpus[here as usize].kicks.is_empty() {
            self.machine.cpu_mut(here).kicks = kicks;
        }
    }

    fn kick_one(&mut self, from: u32, cpu: u32, flags: u64) {
        match flags {
            LOCAL_OF => return self.reenqueue_pending(cpu),
            QUEUE => return self.reenqueue_queue(cpu),
            _ => {}
        }
        let class = self.machine.curr_class(cpu);
        if flags & KICK_IDLE != 0 {
            if class == Class::Idle {
                self.machine.resched(cpu);
            }
            return;
        }
        if class < Class::Ext {
            return;
        }
        if flags & (KICK_PREEMPT | KICK_PREEMPT_LAZY) != 0 && class == Class::Ext {
            let current = self.machine.cpus[cpu as usize].curr;
            self.set_slice(current, 0);
        }
        self.because(cpu, Preemption::Kick { from });
        if flags & KICK_PREEMPT_LAZY != 0 {
            self.machine.resched_lazy(cpu);
        } else {
            self.machine.resched(cpu);
        }
    }

    /// `scx_bpf_now()` and `bpf_ktime_get_ns()`: ns on the current CPU. It starts well above zero,
    /// as on a machine that was booted some time ago.
    pub fn now(&self) -> u64 {
        BOOTED_NS + self.machine.clock(self.machine.this_cpu)
    }

    /// `bpf_get_smp_processor_id()`.
    pub fn this_cpu(&self) -> u32 {
        self.machine.this_cpu
    }

    /// `bpf_get_current_task()`.
    pub fn current(&self) -> TaskId {
        self.machine.cpus[self.machine.this_cpu as usize].curr
    }

    /// `scx_bpf_nr_cpu_ids()`.
    pub fn nr_cpu_ids(&self) -> u32 {
        self.machine.topology.cpus
    }

    /// The machine's shape.
    pub fn topology(&self) -> &crate::core::topology::Topology {
        &self.machine.topology
    }

    /// `scx_bpf_task_cpu()`.
    pub fn task_cpu(&self, task: TaskId) -> i32 {
        self.machine.task(task).cpu as i32
    }

    /// `scx_bpf_task_running()`.
    pub fn task_running(&self, task: TaskId) -> bool {
        self.machine.cpus[self.machine.task(task).cpu as usize].curr == task
    }

    /// `scx_bpf_cpu_curr()`: the running task of a CPU, possibly the idle task; `None` for a wrong
    /// number.
    pub fn cpu_curr(&self, cpu: i32) -> Option<TaskId> {
        self.machine.cpus.get(cpu as usize).map(|cpu| cpu.curr)
    }

    /// `scx_bpf_task_set_slice()`.
    #[inline]
    pub fn task_set_slice(&mut self, task: TaskId, slice: u64) -> bool {
        self.charge_look();
        self.set_slice(task, slice);
        true
    }

    /// `scx_bpf_task_set_lazy_resched()`.
    pub fn task_set_lazy_resched(&mut self, task: TaskId, lazy: bool) -> bool {
        let at = self.machine.arena.layout.lazy_resched;
        put(self.machine.task(task).memory, at, u8::from(lazy));
        true
    }

    /// The living task with this `p->scx.tid` (`scx_bpf_tid_to_task`).
    pub fn tid_to_task(&mut self, tid: u64) -> Option<TaskId> {
        if self.ext.ops_flags & OPS_TID_TO_TASK == 0 {
            self.error("scx_bpf_tid_to_task() without SCX_OPS_TID_TO_TASK".into());
            return None;
        }
        let all = self.machine.topology.cpus.into()..self.machine.tasks.len() as u64;
        let number = tid.checked_sub(1).filter(|number| all.contains(number))?;
        let task = TaskId(number as u32);
        (self.machine.task(task).state != State::Dead).then_some(task)
    }

    /// `struct scx_event_stats` (`scx_bpf_events`).
    pub fn event_counts(&self) -> [i64; 13] {
        let counts = &self.ext.events;
        [
            counts.select_cpu_fallback,
            0,
            counts.dispatch_keep_last,
            counts.enq_skip_exiting,
            0,
            counts.reenq_immed,
            0,
            counts.refill_slice_dfl,
            0,
            0,
            0,
            counts.bypass_dispatch,
            counts.bypass_activate,
        ]
    }

    /// `scx_bpf_task_set_dsq_vtime()`.
    #[inline]
    pub fn task_set_dsq_vtime(&mut self, task: TaskId, vtime: u64) -> bool {
        self.charge_look();
        self.set_dsq_vtime(task, vtime);
        true
    }

    /// The task with this thread number, if it lives (`bpf_task_from_pid`).
    pub fn task_from_pid(&self, pid: i32) -> Option<TaskId> {
        let alive = |&task: &TaskId| self.machine.task(task).state != State::Dead;
        self.machine.all_tasks().filter(alive).find(|&task| self.pid(task) == pid)
    }
}
