// SPDX-License-Identifier: GPL-2.0-only
//! The main loop: handles one event after another on its CPU, and after each the work that is due
//! at the end of an interrupt.
//!
//! Accounting of CPU time (`update_curr()`) and the scheduler tick.

use model::PolicyClass;
use model::trace::Preemption;

use super::events::{Event, EventKind};
use super::memory::{get, put};
use super::task::Class;
use super::{Core, TaskId};
use crate::flags::SLICE_INF;

/// The memory of this many tasks fits in the cache of a processor.
const CACHED_TASKS: usize = 256;

impl Core {
    /// Runs until the workload is over, the scheduler exits, or no event is left.
    pub(crate) fn run(&mut self) {
        while !self.workload.is_over() && self.ext.exit().is_none() && self.run_one() {}
    }

    /// Handles the next event; `false`: there is none.
    #[inline]
    pub(crate) fn run_one(&mut self) -> bool {
        let Some(event) = self.machine.events.pop() else { return false };
        self.machine.now = event.time;
        if self.machine.tasks.len() > CACHED_TASKS {
            self.fetch_next();
        }
        self.handle(event);
        true
    }

    /// Prefetches memory for the next two events. With thousands of tasks most of what an event
    /// needs is not in the cache. The task or CPU of the next event is loaded already, so the
    /// memory that depends on it is fetched; for the event after it, its task or CPU is fetched.
    #[inline]
    fn fetch_next(&self) {
        let Some(next) = self.machine.events.first() else { return };
        match next.kind {
            EventKind::Wake => {
                let task = &self.machine.tasks[next.index as usize];
                fetch(&self.machine.stats[next.index as usize]);
                fetch(self.workload.progress(TaskId(next.index)));
                fetch(&self.machine.cpus[task.cpu as usize]);
                fetch_at(task.memory);
            }
            EventKind::Work | EventKind::Resched => {
                let current = self.machine.cpus[next.index as usize].curr.0 as usize;
                fetch(&self.machine.tasks[current]);
                fetch(&self.machine.stats[current]);
                fetch(self.workload.progress(TaskId(current as u32)));
            }
            _ => {}
        }
        let Some(soon) = self.machine.events.soon() else { return };
        match soon.kind {
            EventKind::Wake => fetch(&self.machine.tasks[soon.index as usize]),
            EventKind::Work | EventKind::Resched => fetch(&self.machine.cpus[soon.index as usize]),
            _ => {}
        }
    }

    #[inline(always)]
    pub(crate) fn handle(&mut self, event: Event) {
        match event.kind {
            EventKind::Work => self.on_work(event),
            EventKind::Tick => self.on_tick(event.index),
            EventKind::Resched => self.on_resched(event.index),
            EventKind::Wake => self.on_wake(TaskId(event.index), event.generation),
            EventKind::SchedulerTimer => self.on_scheduler_timer(event.index, event.generation),
            EventKind::Watchdog => self.on_watchdog(),
            EventKind::Replenish => self.on_replenish(TaskId(event.index), event.generation),
            EventKind::Server => self.on_server(event.index, event.generation),
            EventKind::Interrupt => self.on_interrupt(event.index),
            EventKind::Offline => self.on_offline(event.index),
            EventKind::End => self.on_end(event.generation > 0),
        }
    }

    /// Runs code in interrupt context on a CPU, and then the work that is due at its end.
    #[inline]
    pub(crate) fn interrupt(&mut self, cpu: u32, cost_ns: u64, what: impl FnOnce(&mut Core)) {
        self.machine.this_cpu = cpu;
        let idle = if self.machine.is_idle(cpu) { self.machine.costs.idle_exit_ns } else { 0 };
        self.machine.charge(cpu, idle + cost_ns);
        what(self);
        self.settle(cpu);
        self.machine.arm_work(cpu);
    }

    /// Does the work that waits for the end of the current operation: kicks, deferred moves,
    /// rescheduling.
    pub(crate) fn settle(&mut self, cpu: u32) {
        loop {
            self.run_deferred();
            self.run_kicks(cpu);
            if self.machine.cpus[cpu as usize].need_resched == 0 || self.ext.exit().is_some() {
                break;
            }
            if !self.machine.cpus[cpu as usize].waits_to_schedule && self.others_act_before(cpu) {
                self.machine.cpu_mut(cpu).waits_to_schedule = true;
                self.machine.events.push(self.machine.clock(cpu), EventKind::Resched, cpu, 0);
                break;
            }
            self.schedule(cpu, None);
        }
    }

    /// Whether something happens before the kernel's present work on this CPU comes to
    /// `schedule()`. Then that time passes first: otherwise the CPU would choose its next task
    /// before another one has taken what was woken for it.
    ///
    /// DIVERGES: a CPU of a machine with more than 64 chooses at once. There something always
    /// happens meanwhile, and a trial would take half as long again.
    #[inline]
    pub(crate) fn others_act_before(&self, cpu: u32) -> bool {
        let clock = self.machine.clock(cpu);
        (2..=64).contains(&self.machine.topology.cpus)
            && clock > self.machine.now
            && self.machine.events.first().is_some_and(|event| event.time < clock)
            && self.races.is_none()
    }

    #[inline]
    fn on_work(&mut self, event: Event) {
        let cpu = event.index;
        let here = &mut self.machine.cpus[cpu as usize];
        if here.armed_at == event.time {
            here.armed_at = u64::MAX;
        }
        if here.done_at > self.machine.now {
            if here.done_at != u64::MAX {
                self.machine.arm_work(cpu);
            }
            return;
        }
        self.machine.this_cpu = cpu;
        self.play(cpu);
        self.settle(cpu);
        self.machine.arm_work(cpu);
    }

    /// Handles the interrupt that another CPU sent. The work may have been done already.
    fn on_resched(&mut self, cpu: u32) {
        let here = &self.machine.cpus[cpu as usize];
        if here.need_resched == 0 {
            return;
        }
        if !here.waits_to_schedule {
            return self.interrupt(cpu, 0, |_| ());
        }
        self.machine.this_cpu = cpu;
        self.settle(cpu);
        self.machine.arm_work(cpu);
    }

    #[inline]
    fn on_wake(&mut self, task: TaskId, generation: u32) {
        let sleeper = self.machine.task(task);
        if generation == sleeper.wakes && self.sleeps(task) {
            // High-resolution timers expire on the CPU that they were started on.
            let cpu = sleeper.cpu;
            self.interrupt(cpu, self.machine.costs.timer_ns, |core| {
                core.prefetch(task);
                core.machine.in_timer = true;
                core.wake(task, 0);
                core.machine.in_timer = false;
            });
        }
    }
}

/// Prefetches a value, at most its first two cache lines.
#[inline]
fn fetch<T>(value: &T) {
    fetch_at(std::ptr::from_ref(value).cast());
}

#[inline]
fn fetch_at(start: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching is a hint and never faults.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(start.cast());
            _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(64).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = start;
}

/// `RR_TIMESLICE`, ns.
const RR_QUANTUM_NS: u64 = 100_000_000;

impl Core {
    /// Charges the current task with the time since the last call.
    pub(crate) fn update_curr(&mut self, cpu: u32) {
        let here = &self.machine.cpus[cpu as usize];
        let id = here.curr;
        if id.0 == cpu {
            return;
        }
        let clock = self.machine.now.max(here.free_at);
        let task = &mut self.machine.tasks[id.0 as usize];
        let delta = clock.saturating_sub(task.exec_start);
        if delta == 0 {
            return;
        }
        task.exec_start = clock;
        task.cpu_ns += delta;
        put(task.memory, self.machine.arena.layout.sum_exec_runtime, task.cpu_ns);
        match task.class {
            Class::Ext => {
                let at = self.machine.arena.layout.slice;
                let slice: u64 = get(task.memory, at);
                if slice != SLICE_INF {
                    put(task.memory, at, slice.saturating_sub(delta));
                }
                if self.machine.nr_real_time > 0 {
                    self.serve(cpu, delta);
                }
            }
            Class::Deadline => {
                let used = self.machine.used_budget(cpu, id, delta);
                self.machine.task_mut(id).dl_runtime -= used as i64;
            }
            Class::Rt | Class::Idle => {}
        }
    }

    pub(crate) fn on_tick(&mut self, cpu: u32) {
        self.machine.cpus[cpu as usize].tick_armed = false;
        if self.machine.is_idle(cpu) {
            // An idle CPU has no tick.
            return;
        }
        self.interrupt(cpu, self.machine.costs.tick_ns, |core| core.tick(cpu));
        if !self.machine.is_idle(cpu) && !self.machine.cpus[cpu as usize].tick_armed {
            self.machine.cpus[cpu as usize].tick_armed = true;
            self.machine.events.push(
                self.machine.now + self.machine.tick_ns,
                EventKind::Tick,
                cpu,
                0,
            );
        }
    }

    fn tick(&mut self, cpu: u32) {
        self.update_curr(cpu);
        let task = self.machine.cpus[cpu as usize].curr;
        let (block, at) = (self.machine.task(task).memory, self.machine.arena.layout.utime);
        put(block, at, get::<u64>(block, at) + self.machine.tick_ns);
        match self.machine.task(task).class {
            Class::Ext => self.tick_ext(cpu, task),
            Class::Rt => self.tick_rt(cpu),
            Class::Deadline => self.tick_deadline(cpu),
            Class::Idle => {}
        }
    }

    /// SCHED_RR counts its quantum in ticks; SCHED_FIFO has none.
    fn tick_rt(&mut self, cpu: u32) {
        let quantum = (RR_QUANTUM_NS / self.machine.tick_ns).max(1) as u32;
        let id = self.machine.cpus[cpu as usize].curr;
        let task = self.machine.task_mut(id);
        if task.policy.class != PolicyClass::Rr {
            return;
        }
        if task.rr_ticks == 0 {
            task.rr_ticks = quantum;
        }
        task.rr_ticks -= 1;
        if task.rr_ticks > 0 {
            return;
        }
        task.rr_ticks = quantum;
        let prio = task.prio;
        if self.machine.cpus[cpu as usize].rt.rotate(id, prio) {
            self.because(cpu, Preemption::SliceEnd);
            self.machine.resched(cpu);
        }
    }
}
