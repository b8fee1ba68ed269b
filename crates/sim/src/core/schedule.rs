// SPDX-License-Identifier: GPL-2.0-only
//! `__schedule()`: picks the next task of a CPU and switches to it.

use super::kernel::MachineState;
use super::task::{Class, State};
use super::topology::Distance;
use super::{BOOTED_NS, Core, TaskId};
use crate::core::memory::{get, put};
use crate::flags::{DEQ_NOCLOCK, DEQ_SLEEP, DEQ_SPECIAL};

impl MachineState {
    /// The task waits for a CPU from now on (`sched_info_enqueue`).
    #[inline]
    pub(crate) fn queued_at(&mut self, task: TaskId, clock: u64) {
        put(self.task(task).memory, self.arena.layout.last_queued, BOOTED_NS + clock);
    }

    /// The task gets a CPU (`sched_info_arrive`).
    #[inline]
    fn arrived_at(&mut self, task: TaskId, clock: u64) {
        let (block, at) = (self.task(task).memory, &self.arena.layout);
        let now = BOOTED_NS + clock;
        let waited = match get(block, at.last_queued) {
            0u64 => 0,
            since => now.saturating_sub(since),
        };
        put(block, at.run_delay, get::<u64>(block, at.run_delay) + waited);
        put(block, at.pcount, get::<u64>(block, at.pcount) + 1);
        put(block, at.last_arrival, now);
        put(block, at.last_queued, 0u64);
    }

    fn refill_ns(&self, from: u32, to: u32) -> u64 {
        match self.topology.distance(from, to) {
            Distance::Same => 0,
            Distance::Smt => self.costs.refill_smt_ns,
            Distance::Llc => self.costs.refill_llc_ns,
            Distance::Node => self.costs.refill_node_ns,
            Distance::Remote => self.costs.refill_remote_ns,
        }
    }
}

impl Core {
    /// Chooses the next task of a CPU. With `end`, the current task stops being runnable and gets
    /// this state.
    pub(crate) fn schedule(&mut self, cpu: u32, end: Option<State>) {
        self.machine.pause(cpu);
        self.machine.charge(cpu, self.machine.costs.schedule_ns);
        let here = self.machine.cpu_mut(cpu);
        (here.need_resched, here.waits_to_schedule) = (0, false);
        let previous = here.curr;
        if let Some(state) = end {
            self.machine.set_state(previous, state);
            let dead = if state == State::Dead { DEQ_SPECIAL } else { 0 };
            self.deactivate(previous, DEQ_SLEEP | DEQ_NOCLOCK | dead);
        }
        let next = self.pick_next(cpu, previous);
        let goes = next != previous && previous.0 != cpu && end.is_none();
        self.trace_choice(cpu, next, goes.then_some(previous));
        if goes {
            self.keep_mutex(previous);
        }
        if next != previous {
            self.put_previous(cpu, previous, next);
            self.set_next(cpu, next);
            self.event_switch(previous, next);
            self.switch(cpu, previous, next);
        } else if next.0 == cpu {
            let stopped = std::mem::take(&mut self.machine.cpu_mut(cpu).stopper);
            self.update_idle(cpu, true, stopped);
        }
        self.machine.resume(cpu);
        if self.machine.nr_real_time > 0 {
            self.after_switch(cpu, next);
        }
        if end == Some(State::Dead) {
            self.bury(previous);
        }
    }

    #[inline]
    fn pick_next(&mut self, cpu: u32, previous: TaskId) -> TaskId {
        if self.machine.nr_real_time > 0
            && let Some(next) = self.pick_real_time(cpu, previous)
        {
            return next;
        }
        self.pick_ext(cpu, previous).unwrap_or(TaskId(cpu))
    }

    /// Picks from the classes above sched_ext, and from the deadline server of sched_ext.
    #[inline(never)]
    fn pick_real_time(&mut self, cpu: u32, previous: TaskId) -> Option<TaskId> {
        let was = self.machine.task(previous).class;
        if was <= Class::Rt {
            self.update_curr(cpu);
            self.pull_deadline(cpu);
            self.pull_rt(cpu);
        }
        if let Some(next) = self.machine.cpus[cpu as usize].deadline.first() {
            return Some(next);
        }
        if self.machine.cpus[cpu as usize].server.active
            && let Some(next) = self.pick_ext(cpu, previous)
        {
            return Some(next);
        }
        self.machine.cpus[cpu as usize].rt.first()
    }

    #[inline]
    pub(crate) fn put_previous(&mut self, cpu: u32, previous: TaskId, next: TaskId) {
        let class = self.machine.task(previous).class;
        match class {
            Class::Ext => {
                self.put_previous_ext(cpu, previous, Some(next));
                if self.machine.nr_real_time > 0 {
                    self.leave_to(cpu, next);
                }
            }
            Class::Idle if std::mem::take(&mut self.machine.cpu_mut(cpu).stopper) => {}
            Class::Idle => self.update_idle(cpu, false, true),
            Class::Rt => {
                self.update_curr(cpu);
                self.trace_rt(cpu, previous);
            }
            Class::Deadline => {
                self.update_curr(cpu);
                self.trace_deadline(cpu, previous);
            }
        }
    }

    #[inline]
    pub(crate) fn set_next(&mut self, cpu: u32, next: TaskId) {
        let (clock, at) = (self.machine.clock(cpu), self.machine.arena.layout.exec_start);
        let this = self.machine.task_mut(next);
        this.exec_start = clock;
        put(this.memory, at, clock);
        match this.class {
            Class::Ext => self.set_next_ext(next),
            Class::Idle => self.update_idle(cpu, true, true),
            Class::Rt | Class::Deadline => {}
        }
    }

    /// `context_switch()`, with its cost and its measurement.
    #[inline]
    fn switch(&mut self, cpu: u32, previous: TaskId, next: TaskId) {
        let clock = self.machine.clock(cpu);
        self.count_off(cpu, previous, clock);
        let moved = self.count_on(cpu, next, clock);
        self.record_switch(clock, cpu, previous, next);
        let here = &mut self.machine.cpus[cpu as usize];
        here.curr = next;
        here.switches = here.switches.wrapping_add(1);
        if previous.0 == cpu || next.0 == cpu {
            self.machine.busy_changes(cpu, previous.0 == cpu, clock);
        }
        self.machine.charge(cpu, self.machine.costs.context_switch_ns + moved);
        let at = self.machine.arena.layout.on_cpu;
        put(self.machine.task(previous).memory, at, 0i32);
        put(self.machine.task(next).memory, at, 1i32);
    }

    #[inline]
    fn record_switch(&mut self, clock: u64, cpu: u32, from: TaskId, to: TaskId) {
        self.recorder.switches += 1;
        if let Some(trace) = &mut self.recorder.trace {
            let (left, came) = (self.machine.task(from), self.machine.task(to));
            trace.switch(clock, cpu, (from, left), (to, came), !self.machine.yielding);
        }
    }

    /// The stopper thread takes the CPU from its task.
    pub(crate) fn leave_for_stopper(&mut self, cpu: u32, task: TaskId, clock: u64) {
        self.count_off(cpu, task, clock);
        let idle = TaskId(cpu);
        self.record_switch(clock, cpu, task, idle);
        let here = self.machine.cpu_mut(cpu);
        (here.curr, here.stopper) = (idle, true);
        here.switches = here.switches.wrapping_add(1);
        self.machine.busy_changes(cpu, false, clock);
        self.machine.charge(cpu, self.machine.costs.context_switch_ns);
    }

    /// The previous task leaves the CPU.
    #[inline(always)]
    fn count_off(&mut self, cpu: u32, previous: TaskId, clock: u64) {
        if previous.0 == cpu {
            return;
        }
        let task = &self.machine.tasks[previous.0 as usize];
        let stat = &mut self.machine.stats[previous.0 as usize];
        stat.ran_ns += clock.saturating_sub(stat.runs_since);
        self.recorder.ran(task.group, stat.runs_since, clock);
        let at = if task.state == State::Runnable {
            stat.involuntary += 1;
            stat.runnable_at = clock;
            put(task.memory, self.machine.arena.layout.last_queued, BOOTED_NS + clock);
            self.machine.arena.layout.nivcsw
        } else {
            stat.voluntary += 1;
            self.machine.arena.layout.nvcsw
        };
        put(task.memory, at, get::<u64>(task.memory, at) + 1);
    }

    /// The next task starts to run. Returns the cost of fetching its memory from another CPU's
    /// cache, ns.
    #[inline]
    fn count_on(&mut self, cpu: u32, next: TaskId, clock: u64) -> u64 {
        if next.0 == cpu {
            return 0;
        }
        self.machine.arrived_at(next, clock);
        let group = self.machine.task(next).group;
        let stat = &mut self.machine.stats[next.0 as usize];
        stat.runs_since = clock;
        self.recorder.delay(group, stat.runnable_at, clock, &mut stat.longest_wait);
        if stat.waking_at != u64::MAX {
            self.recorder.wakeup(group, clock.saturating_sub(stat.waking_at));
            stat.waking_at = u64::MAX;
        }
        if stat.last_cpu == cpu {
            return 0;
        }
        let from = std::mem::replace(&mut stat.last_cpu, cpu);
        if from == u32::MAX {
            return 0;
        }
        stat.migrations += 1;
        self.machine.refill_ns(from, cpu)
    }
}
