// SPDX-License-Identifier: GPL-2.0-only
//! What a workload does to the machine: each operation of its tasks, and its interrupts, which take
//! time from whatever a CPU does.

use model::play::{Op, TimerPlan};

use super::workload_state::{Flow, WorkloadState};
use crate::core::events::EventKind;
use crate::core::memory::put;
use crate::core::task::State;
use crate::core::{Core, TaskId};

pub(super) const KIB: u64 = 1024;
const PAGE: u64 = 4 * KIB;
/// Bytes that the player reads or writes in one system call.
const FILE_PIECE: u64 = 16 * KIB;
/// The length of a new file; reads of more begin at its start again.
const FILE_BYTES: u64 = 64 * KIB;

impl Core {
    /// Performs the task's current operation, or continues it.
    pub(crate) fn perform(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        match op {
            Op::Run(ns) => {
                self.machine.task_mut(task).work_left = ns + self.machine.costs.step_ns;
                Flow::WorkThenNext
            }
            Op::RunBetween { least_ns, most_ns } => {
                let chance = &mut self.workload.progress[task.0 as usize].chance;
                let ns = chance.between(least_ns, most_ns);
                self.machine.task_mut(task).work_left = ns + self.machine.costs.step_ns;
                Flow::WorkThenNext
            }
            Op::RunUntil(ns) => {
                let until = (self.machine.clock(cpu) + ns).max(1);
                self.machine.task_mut(task).until = until;
                Flow::WorkThenNext
            }
            Op::Sleep(ns) => self.sleep(cpu, task, ns),
            Op::Timer { number, period_ns } => self.timer(cpu, task, number, period_ns),
            Op::LoopStart { count, end } => self.loop_start(task, count, end),
            Op::LoopEnd { start } => self.loop_end(task, start),
            Op::SpanStart { limit_ns, .. } => self.span_start(cpu, task, limit_ns),
            Op::SpanEnd => self.span_end(cpu, task),
            Op::Send { channel, bytes, fan } => self.send(cpu, task, channel, bytes, fan),
            Op::Receive { channel, bytes } => self.receive(cpu, task, channel, bytes),
            Op::Write { bytes, sync } => self.write(cpu, task, bytes, sync),
            Op::Read(bytes) => {
                self.file_cost(cpu, bytes);
                self.touch(cpu, task, bytes, bytes.min(FILE_PIECE));
                Flow::Next
            }
            Op::Fill { bytes, .. } => {
                let costs = &self.machine.costs;
                let work_ns = costs.step_ns + costs.fill_kib_ns * bytes / KIB;
                self.machine.task_mut(task).work_left = work_ns;
                Flow::WorkThenNext
            }
            Op::Discard { bytes, buffer } => {
                let call_ns = self.machine.costs.syscall_ns + self.machine.costs.write_ns;
                self.machine.charge(cpu, bytes.div_ceil(buffer) * call_ns);
                Flow::Next
            }
            Op::Fork { group, count } => self.fork(cpu, task, group, count),
            Op::WaitChildren => self.wait_children(cpu, task),
            Op::Exec => {
                // The program that is replaced has played its steps.
                let group = self.workload.progress[task.0 as usize].group;
                self.recorder.groups[group as usize].rounds += 1;
                self.machine.charge(cpu, self.machine.costs.exec_ns);
                Flow::End
            }
            Op::Frame => self.frame(cpu, task),
            Op::Exit => self.exit_spans(cpu, task),
            Op::Tape => self.tape(cpu, task),
            Op::Yield => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns);
                Flow::Yield
            }
            Op::Uclamp(_) => {
                self.machine.charge(cpu, self.machine.costs.syscall_ns);
                Flow::Next
            }
            Op::Nice(_) | Op::Policy(_) | Op::Affinity(_) => self.change(cpu, task, op),
            Op::Group(group) => self.change_group(cpu, task, group),
            Op::SetGroup(_) | Op::MakeGroup(_) | Op::RemoveGroup(_) => {
                self.change_groups(cpu, task, op)
            }
            op => self.synchronize(cpu, task, op),
        }
    }

    pub(super) fn phase(&mut self, task: TaskId) -> &mut u8 {
        &mut self.workload.progress[task.0 as usize].phase
    }

    /// The first call starts the sleep, the second one comes after it.
    #[inline]
    pub(super) fn sleep(&mut self, cpu: u32, task: TaskId, ns: u64) -> Flow {
        if *self.phase(task) == 1 {
            return Flow::Next;
        }
        let until = self.machine.clock(cpu) + ns;
        self.sleep_for_timer(cpu, task, until)
    }

    /// The clock has been read before the call, so the call does not move the release.
    #[inline]
    pub(crate) fn sleep_for_timer(&mut self, cpu: u32, task: TaskId, until: u64) -> Flow {
        self.machine.charge(cpu, self.machine.costs.syscall_ns + self.machine.costs.timer_set_ns);
        self.sleep_until(task, until)
    }

    #[inline]
    fn sleep_until(&mut self, task: TaskId, until: u64) -> Flow {
        *self.phase(task) = 1;
        let wakes = self.machine.task(task).wakes;
        // The system calls may have taken longer than the sleep: then it ends immediately.
        let until = until.max(self.machine.clock(self.machine.this_cpu));
        self.machine.events.push(until, EventKind::Wake, task.0, wakes);
        Flow::Sleep(State::Sleeping)
    }

    fn timer(&mut self, cpu: u32, task: TaskId, number: usize, period_ns: u64) -> Flow {
        let clock = self.machine.clock(cpu);
        let play = &mut self.workload.progress[task.0 as usize];
        let group = play.group as usize;
        let job_ns = self.machine.costs.job_ns;
        let plan = TimerPlan { period_ns, ..self.workload.script.groups[group].timers[number] };
        let tally = &mut self.recorder.groups[group];
        if play.phase == 0 {
            let own = play.timers[number].last_ns();
            let shared = plan.shared.map(|shared| &mut self.workload.objects.releases[shared]);
            let last = shared.as_ref().and_then(|last| **last).unwrap_or(own);
            let release = play.timers[number].arrive(plan, last, clock, Some(&mut *tally));
            if let Some(shared) = shared {
                *shared = Some(release);
            }
            if release > clock {
                return self.sleep_for_timer(cpu, task, release);
            }
        }
        play.timers[number].release(clock, play.steps + 1, Some(tally));
        self.machine.charge(cpu, job_ns);
        Flow::Next
    }

    fn frame(&mut self, cpu: u32, task: TaskId) -> Flow {
        let clock = self.machine.clock(cpu);
        let play = &mut self.workload.progress[task.0 as usize];
        play.frames.show(clock, &mut self.recorder.groups[play.group as usize]);
        self.machine.charge(cpu, self.machine.costs.job_ns);
        Flow::Next
    }

    fn loop_start(&mut self, task: TaskId, count: u64, end: usize) -> Flow {
        let play = &mut self.workload.progress[task.0 as usize];
        match count {
            0 => play.at = end,
            _ => play.loops.push(count),
        }
        play.steps = play.steps.wrapping_sub(1);
        Flow::Next
    }

    fn loop_end(&mut self, task: TaskId, start: usize) -> Flow {
        let play = &mut self.workload.progress[task.0 as usize];
        play.steps = play.steps.wrapping_sub(1);
        if let Some(left) = play.loops.last_mut() {
            *left -= 1;
            if *left > 0 {
                play.at = start;
            } else {
                play.loops.pop();
            }
        }
        Flow::Next
    }

    /// The page cache: the player moves pieces of 16 KiB.
    fn file_cost(&mut self, cpu: u32, bytes: u64) {
        let calls = bytes.div_ceil(FILE_PIECE)
            * (self.machine.costs.syscall_ns + self.machine.costs.file_ns);
        self.machine.charge(cpu, calls + self.machine.costs.file_kib_ns * bytes / KIB);
    }

    /// Pages come at their first touch. The player's reads and writes begin at the file's start;
    /// what it writes is in its program.
    fn touch(&mut self, cpu: u32, task: TaskId, file: u64, buffer: u64) {
        let touched = &mut self.workload.progress[task.0 as usize].touched;
        let new = |more: u64, before: &mut u64| {
            let pages = more.div_ceil(PAGE).saturating_sub(before.div_ceil(PAGE));
            *before = more.max(*before);
            pages
        };
        let pages = new(file.min(FILE_BYTES), &mut touched.0) + new(buffer, &mut touched.1);
        self.machine.charge(cpu, self.machine.costs.touch_ns * pages);
    }

    /// With `sync` the task waits until the disk has served everybody before it, and then it.
    fn write(&mut self, cpu: u32, task: TaskId, bytes: u64, sync: bool) -> Flow {
        let at = self.machine.arena.layout.in_iowait;
        if *self.phase(task) == 1 {
            put(self.machine.task(task).memory, at, 0u32);
            return Flow::Next;
        }
        self.file_cost(cpu, bytes);
        self.touch(cpu, task, bytes, 0);
        if !sync {
            return Flow::Next;
        }
        let service = self.machine.costs.disk_access_ns
            + self.machine.costs.disk_kib_ns * bytes.div_ceil(KIB);
        let done = self.workload.objects.disk_free_at.max(self.machine.clock(cpu)) + service;
        self.workload.objects.disk_free_at = done;
        self.sleep_until(task, done);
        put(self.machine.task(task).memory, at, 1u32);
        Flow::Sleep(State::DiskSleep)
    }

    pub(super) fn change(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        self.machine.charge(cpu, self.machine.costs.syscall_ns);
        let old = self.machine.task(task).policy;
        let done = match op {
            Op::Nice(nice) => self.set_policy(task, model::Policy { nice, ..old }),
            Op::Policy(index) => self.set_policy(task, self.workload.script.policies[index]),
            Op::Affinity(list) => {
                let mask = self.machine.mask_of(&self.workload.script.affinities[list]);
                // Moving away takes the task off this CPU, so the step counts as done before.
                self.change_affinity(task, mask);
                return Flow::Again;
            }
            _ => true,
        };
        if !done {
            self.refuse_policy(task);
        }
        Flow::Next
    }
}

impl WorkloadState {
    pub(crate) fn interrupted_cpu(&self, number: u32) -> Option<u32> {
        self.script.interrupts.get(number as usize).map(|source| source.cpu)
    }
}

impl Core {
    /// From the common start on, each source interrupts its CPU at a phase of its own.
    pub(super) fn begin_interrupts(&mut self, start_ns: u64) {
        let mut phases = self.workload.interrupt_phases;
        for number in 0..self.workload.script.interrupts.len() {
            let every_ns = self.workload.script.interrupts[number].every_ns;
            let first_ns = start_ns + phases.below(every_ns);
            self.machine.events.push(first_ns, EventKind::Interrupt, number as u32, 0);
        }
    }

    /// A task that is interrupted is charged for it, as by kernels that do not account for the time
    /// of interrupts (`CONFIG_IRQ_TIME_ACCOUNTING`).
    pub(crate) fn on_interrupt(&mut self, number: u32) {
        let source = self.workload.script.interrupts[number as usize];
        let next_ns = self.machine.now + source.every_ns;
        self.machine.events.push(next_ns, EventKind::Interrupt, number, 0);
        let cost_ns = self.machine.costs.timer_ns + source.length_ns;
        self.interrupt(source.cpu, cost_ns, |_| ());
    }
}
