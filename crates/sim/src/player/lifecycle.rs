// SPDX-License-Identifier: GPL-2.0-only
//! How tasks begin and end: `fork`, `exit`, `wait`.

use model::Policy;
use model::play::{Op, TimerState};

use super::workload_state::{Ending, Flow, Gate, Progress};
use crate::core::memory::{get, put};
use crate::core::task::{NewTask, State};
use crate::core::{Core, TaskId};
use crate::flags::{ENQ_MOVE, PF_EXITING, PF_FORKNOEXEC, WAKE_SYNC};
use crate::measure::recorder::Recorder;

impl Core {
    pub(crate) fn take_pid(&mut self) -> i32 {
        self.workload.next_pid += 1;
        self.workload.next_pid - 1
    }

    fn make(
        &mut self,
        parent: TaskId,
        group: usize,
        pid: i32,
        cpu: u32,
        policy: Policy,
        mask: u32,
    ) -> TaskId {
        // A forked task has its parent's name until it gives itself its own.
        let comm = self.workload.script.groups[self.group_of(parent)].name.clone();
        let new = NewTask {
            pid,
            tgid: pid,
            comm: &comm,
            policy,
            mask,
            parent: Some(parent),
            cpu,
            flags: PF_FORKNOEXEC,
            group: group as u32,
        };
        self.new_task(&new)
    }

    pub(super) fn group_of(&self, task: TaskId) -> usize {
        self.workload.progress[task.0 as usize].group as usize
    }

    pub(super) fn begin(&mut self, task: TaskId, group: usize, number: u32, start_ns: u64) {
        let plan = &self.workload.script.groups[group];
        self.workload.progress[task.0 as usize] = Progress {
            group: group as u32,
            number,
            start_ns,
            timers: vec![TimerState::new(start_ns); plan.timers.len()],
            chance: plan.chance(number),
            ..Progress::default()
        };
        self.workload.live_tasks += 1;
        self.recorder.groups[group].tasks += 1;
    }

    /// The number of the set of CPUs that a group's tasks start on.
    pub(super) fn mask_of_group(&mut self, group: usize) -> u32 {
        self.machine.mask_of(&self.workload.script.groups[group].affinity)
    }

    /// Forks one process after the other. First the time passes that it costs, then the child is
    /// there, so that no other CPU sees it too early. Phases: 1: the next one, 2: it is being made,
    /// 3: woken for the lock.
    pub(crate) fn fork(&mut self, cpu: u32, task: TaskId, group: usize, count: u32) -> Flow {
        let play = &mut self.workload.progress[task.0 as usize];
        let (phase, is_thread) = (play.phase, play.parent.is_none());
        match phase {
            0 => (play.phase, play.left) = (1, u64::from(count)),
            1 if play.left == 0 => return Flow::Next,
            2 => {
                self.fork_one(cpu, task, group);
                if is_thread {
                    self.unlock(cpu, task, self.workload.script.locks.len());
                }
            }
            _ if is_thread
                && !self.acquire(cpu, task, self.workload.script.locks.len(), phase == 3) =>
            {
                self.workload.progress[task.0 as usize].phase = 3;
                return Flow::Sleep(State::Sleeping);
            }
            _ => {
                self.workload.progress[task.0 as usize].phase = 2;
                self.machine.charge(cpu, self.machine.costs.fork_ns);
            }
        }
        Flow::Again
    }

    fn fork_one(&mut self, cpu: u32, task: TaskId, group: usize) {
        let play = &mut self.workload.progress[task.0 as usize];
        play.phase = 1;
        play.left -= 1;
        play.children += 1;
        // The clock was read before the call.
        let start_ns = self.machine.clock(cpu).saturating_sub(self.machine.costs.fork_ns);
        let number = self.workload.objects.forked[group];
        self.workload.objects.forked[group] += 1;
        let pid = self.take_pid();
        let (policy, mask) = (self.machine.task(task).policy, self.machine.task(task).mask);
        let child = self.make(task, group, pid, cpu, policy, mask);
        self.begin(child, group, number, start_ns);
        let play = &mut self.workload.progress[child.0 as usize];
        (play.parent, play.unprepared) = (Some(task), true);
        self.recorder.fork(start_ns, cpu, self.pid(task), pid);
        self.wake_new(child);
    }

    /// A forked task takes over those attributes of its template that its parent lacks.
    pub(crate) fn prepare(&mut self, task: TaskId) -> Flow {
        let cpu = self.machine.this_cpu;
        let play = &mut self.workload.progress[task.0 as usize];
        play.unprepared = false;
        self.machine.charge(cpu, self.machine.costs.process_start_ns);
        let number = self.group_of(task);
        let group = &self.workload.script.groups[number];
        let (policy, is_bound) = (group.policy, !group.affinity.is_empty());
        self.machine.set_comm(task, &group.name);
        let play = &self.workload.progress[task.0 as usize];
        let parent = play.parent.map_or(policy, |parent| {
            let group = self.workload.progress[parent.0 as usize].group;
            self.workload.script.groups[group as usize].policy
        });
        if policy != parent && !self.set_policy(task, policy) {
            self.refuse_policy(task);
        }
        if is_bound {
            let mask = self.mask_of_group(number);
            self.machine.charge(cpu, self.machine.costs.syscall_ns);
            self.ask_for_cpus(task, mask);
        }
        Flow::Again
    }

    /// `sched_setaffinity` of the current task: it may have to leave this CPU immediately, so the
    /// step counts as done before.
    pub(crate) fn change_affinity(&mut self, task: TaskId, mask: u32) {
        self.step_is_done(task);
        self.ask_for_cpus(task, mask);
    }

    pub(super) fn step_is_done(&mut self, task: TaskId) {
        let play = &mut self.workload.progress[task.0 as usize];
        play.at += 1;
        play.phase = 0;
        play.steps += 1;
    }

    pub(crate) fn wait_children(&mut self, cpu: u32, task: TaskId) -> Flow {
        let play = &mut self.workload.progress[task.0 as usize];
        let ended = std::mem::take(&mut play.zombies);
        play.phase = u8::from(play.children > 0);
        let waits = play.children > 0;
        self.machine.charge(cpu, self.machine.costs.syscall_ns * u64::from(ended + 1));
        if waits { Flow::Sleep(State::Sleeping) } else { Flow::Next }
    }

    /// The current task has played all its steps: its turn-around ends, and then it tidies up.
    fn begin_end(&mut self, cpu: u32, task: TaskId) {
        let clock = self.machine.clock(cpu);
        self.count_end(task, clock);
        if let Some(semaphore) = self.workload.script.groups[self.group_of(task)].joined {
            self.post(cpu, semaphore);
        }
        let play = &self.workload.progress[task.0 as usize];
        let costs = &self.machine.costs;
        let end = match play.parent {
            Some(_) => costs.process_end_ns,
            // The end of a recorded task is on its tape; the thread that plays it sleeps.
            None if self.workload.script.groups[play.group as usize].has_tape() => costs.syscall_ns,
            None => costs.exit_ns,
        };
        let finished = self.workload.live_finite == 0 && self.workload.script.duration_ns.is_none();
        if self.workload.live_tasks == 0 || (finished && self.recorder.last_end.is_some()) {
            self.machine.charge(cpu, self.machine.costs.syscall_ns);
            self.call_main();
        } else {
            self.machine.charge(cpu, end);
        }
    }

    /// The begin of `do_exit`.
    fn tidy_up(&mut self, task: TaskId) {
        self.machine.task_mut(task).exiting = true;
        let (block, at) = (self.machine.task(task).memory, self.machine.arena.layout.flags);
        put(block, at, get::<u32>(block, at) | PF_EXITING);
    }

    /// An end in parts, between which others may take the CPU.
    pub(crate) fn go_on_ending(&mut self, cpu: u32, task: TaskId) {
        let next = match self.workload.progress[task.0 as usize].ending {
            Ending::No => {
                self.begin_end(cpu, task);
                Ending::TidyUp
            }
            Ending::TidyUp => {
                self.tidy_up(task);
                Ending::LeaveGroup
            }
            Ending::LeaveGroup => {
                self.leave_autogroup(cpu, task);
                self.recorder.exit(self.machine.clock(cpu), cpu, self.pid(task));
                Ending::TellParent
            }
            Ending::TellParent | Ending::Leave => {
                self.tell_parent(task);
                Ending::Leave
            }
        };
        self.workload.progress[task.0 as usize].ending = next;
    }

    /// With `CONFIG_SCHED_AUTOGROUP` every task leaves its session's group when it ends
    /// (`sched_autogroup_exit_task`), which is a change like any other.
    fn leave_autogroup(&mut self, cpu: u32, task: TaskId) {
        let scope = self.begin_change(task, ENQ_MOVE);
        let group = self.machine.task(task).control_group;
        self.machine.write_group(task, group);
        self.end_change(task, scope);
        self.machine.resched(cpu);
    }

    fn tell_parent(&mut self, task: TaskId) {
        let Some(parent) = self.workload.progress[task.0 as usize].parent else { return };
        let play = &mut self.workload.progress[parent.0 as usize];
        (play.children, play.zombies) = (play.children - 1, play.zombies + 1);
        let group = &self.workload.script.groups[play.group as usize];
        if play.phase == 1 && group.ops.get(play.at) == Some(&Op::WaitChildren) {
            self.wake(parent, WAKE_SYNC);
        }
    }

    /// The last switch away.
    pub(crate) fn end_task(&mut self, cpu: u32) {
        self.schedule(cpu, Some(State::Dead));
    }

    fn count_end(&mut self, task: TaskId, clock: u64) {
        let common_end_ns = self.workload.end_ns();
        let play = &mut self.workload.progress[task.0 as usize];
        let group = &self.workload.script.groups[play.group as usize];
        let tally = &mut self.recorder.groups[play.group as usize];
        let forked = play.parent.is_some();
        let end = if forked { None } else { common_end_ns };
        for (timer, &plan) in play.timers.iter_mut().zip(&group.timers) {
            timer.finish(plan, clock, end, play.steps, tally);
        }
        if group.finite || forked {
            tally.turnaround.record(clock.saturating_sub(play.start_ns));
        }
        self.workload.live_tasks -= 1;
        if group.finite {
            self.workload.live_finite -= 1;
            self.recorder.last_end = Some(clock);
        }
    }

    pub(crate) fn refuse_policy(&mut self, task: TaskId) {
        let group = &self.workload.script.groups[self.group_of(task)].name;
        let text = format!(
            "a task of `{group}` could not go on: its policy: EBUSY; SCHED_DEADLINE admits no more \
             than the CPUs have time for"
        );
        self.recorder.refusal.get_or_insert(text);
        self.workload.over = true;
    }
}

impl Core {
    /// If the scheduler may have forgotten tasks, lets the workload's tasks end until those have
    /// run, or the watchdog ejects the scheduler. The measurement does not change. On a real kernel
    /// each task must get a CPU once more to end, and the watchdog ejects a scheduler that never
    /// gives one to a waiting task, however short the workload was. Here virtual time passes until
    /// then.
    pub(crate) fn outlast(&mut self) {
        let is_complete = self.workload.over && !self.workload.timed_out;
        if !is_complete || self.ext.exit().is_some() || self.recorder.refusal.is_some() {
            return;
        }
        let forgotten = self.perhaps_forgotten();
        if forgotten.is_empty() {
            return;
        }
        let nobody = Recorder::new(self.workload.groups().len(), false);
        let recorder = std::mem::replace(&mut self.recorder, nobody);
        let (stats, end) = (self.machine.stats.clone(), self.machine.now);
        self.end_all();
        self.run_until_served(forgotten);
        (self.recorder, self.machine.stats) = (recorder, stats);
        (self.machine.now, self.workload.over) = (end, true);
    }

    /// From now on each task of the workload ends as soon as it has a CPU; the main task sleeps.
    fn end_all(&mut self) {
        let main = self.workload.main;
        for task in self.machine.all_tasks().filter(|&task| task != main) {
            let this = self.machine.task_mut(task);
            (this.work_left, this.until) = (0, 0);
            let progress = &mut self.workload.progress[task.0 as usize];
            (progress.ending, progress.gate) = (Ending::Leave, Gate::Passed);
            progress.unprepared = false;
        }
        self.workload.over = false;
        for cpu in 0..self.machine.topology.cpus {
            self.machine.this_cpu = cpu;
            if self.machine.curr(cpu) == main {
                self.schedule(cpu, Some(State::Sleeping));
                self.machine.leave_real_time(main);
            } else {
                self.machine.resume(cpu);
            }
            self.settle(cpu);
            self.machine.arm_work(cpu);
        }
    }
}
