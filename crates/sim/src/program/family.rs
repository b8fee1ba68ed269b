// SPDX-License-Identifier: GPL-2.0-only
//! How tasks begin and end: the start of the workload, `fork`, `exit`, `wait`.

use model::Policy;

use super::play::{Flow, Play};
use super::score::Op;
use super::timers::TimerState;
use crate::core::events::Kind;
use crate::core::mask::CpuMask;
use crate::core::memory::{get, put};
use crate::core::task::{NewTask, State};
use crate::core::{Core, TaskId};
use crate::flags::{PF_EXITING, PF_FORKNOEXEC, WAKE_SYNC};

impl Core {
    /// Makes the program's main task, which waits for the others all the time.
    pub(crate) fn add_main(&mut self) -> TaskId {
        let pid = self.take_pid();
        let new = NewTask {
            pid,
            tgid: pid,
            comm: "fairground",
            policy: Policy::default(),
            mask: 0,
            parent: None,
            cpu: 0,
            flags: 0,
            group: u32::MAX,
        };
        let main = self.new_task(&new);
        self.task_mut(main).state = State::Sleeping;
        main
    }

    /// Makes every task that starts by itself, and lets it sleep until its start.
    ///
    /// DIVERGES: real threads have run a little before the common start (to set their own
    /// attributes); these begin spread over their CPUs, one after the other.
    pub(crate) fn cast(&mut self, main: TaskId) {
        for group in 0..self.score.groups.len() {
            for number in 0..self.score.groups[group].starts_ns.len() {
                self.cast_one(main, group, number);
            }
        }
        // Without a duration the trial's time limit holds for virtual time, as it does on a real
        // kernel.
        match self.score.duration_ns {
            Some(end) => self.events.push(end, Kind::End, 0, 0),
            None => self.events.push(self.time_limit_ns, Kind::End, 0, 1),
        }
    }

    fn cast_one(&mut self, main: TaskId, group: usize, number: usize) {
        let start_ns = self.score.groups[group].starts_ns[number];
        let mask = self.mask_of(&self.score.groups[group].affinity.clone());
        let allowed = &self.masks[mask as usize];
        let place = self.live_tasks % allowed.count().max(1);
        let cpu = allowed.iter().nth(place as usize).unwrap_or(0);
        let pid = self.take_pid();
        let tgid = self.pid(main);
        let policy = self.score.groups[group].policy;
        let task = self.make(main, group, (pid, tgid), cpu, Policy::default(), 0);
        self.task_mut(task).state = State::Sleeping;
        if policy != Policy::default() && !self.set_policy(task, policy) {
            self.refuse(task, "the kernel's admission control refuses its deadline policy");
        }
        if mask != 0 {
            self.set_affinity(task, mask);
        }
        self.begin(task, group, number as u32, start_ns);
        self.live_finite += u32::from(self.score.groups[group].finite);
        self.events.push(start_ns, Kind::Wake, task.0, 0);
    }

    fn take_pid(&mut self) -> i32 {
        self.next_pid += 1;
        self.next_pid - 1
    }

    fn make(
        &mut self,
        parent: TaskId,
        group: usize,
        (pid, tgid): (i32, i32),
        cpu: u32,
        policy: Policy,
        mask: u32,
    ) -> TaskId {
        let comm = self.score.groups[group].name.clone();
        let new = NewTask {
            pid,
            tgid,
            comm: &comm,
            policy,
            mask,
            parent: Some(parent),
            cpu,
            flags: if pid == tgid { PF_FORKNOEXEC } else { 0 },
            group: group as u32,
        };
        self.new_task(&new)
    }

    fn begin(&mut self, task: TaskId, group: usize, number: u32, start_ns: u64) {
        let timers = self.score.groups[group].timers.len();
        self.plays[task.0 as usize] = Play {
            group: group as u32,
            number,
            start_ns,
            timers: vec![TimerState::new(start_ns); timers],
            ..Play::default()
        };
        self.live_tasks += 1;
        self.recorder.groups[group].tasks += 1;
    }

    /// The number of a set of CPUs; an empty list means all.
    pub(crate) fn mask_of(&mut self, cpus: &[u32]) -> u32 {
        match cpus {
            [] => 0,
            _ => self.intern(CpuMask::of(self.topology.cpus, cpus.iter().copied())),
        }
    }

    /// Forks one process after the other. First the time passes that it costs, then the child is
    /// there, so that no other CPU sees it too early.
    pub(crate) fn fork(&mut self, cpu: u32, task: TaskId, group: usize, count: u32) -> Flow {
        let play = &mut self.plays[task.0 as usize];
        match play.phase {
            0 => (play.phase, play.left) = (1, u64::from(count)),
            1 if play.left == 0 => return Flow::Next,
            1 => {
                play.phase = 2;
                self.charge(cpu, self.costs.fork_ns);
            }
            _ => self.fork_one(cpu, task, group),
        }
        Flow::Again
    }

    fn fork_one(&mut self, cpu: u32, task: TaskId, group: usize) {
        let play = &mut self.plays[task.0 as usize];
        play.phase = 1;
        play.left -= 1;
        play.children += 1;
        let start_ns = self.clock(cpu);
        let number = self.things.forked[group];
        self.things.forked[group] += 1;
        let pid = self.take_pid();
        let (policy, mask) = (self.task(task).policy, self.task(task).mask);
        let child = self.make(task, group, (pid, pid), cpu, policy, mask);
        self.begin(child, group, number, start_ns);
        let play = &mut self.plays[child.0 as usize];
        (play.parent, play.unprepared) = (Some(task), true);
        self.recorder.fork(start_ns, cpu, self.pid(task), pid);
        self.wake_new(child);
    }

    /// A forked task gives itself its template's attributes, as far as its parent's differ.
    pub(crate) fn prepare(&mut self, task: TaskId) -> Flow {
        let cpu = self.this_cpu;
        let play = &mut self.plays[task.0 as usize];
        play.unprepared = false;
        let group = &self.score.groups[play.group as usize];
        let (policy, affinity) = (group.policy, group.affinity.clone());
        let parent = play.parent.map_or(policy, |parent| {
            let group = self.plays[parent.0 as usize].group;
            self.score.groups[group as usize].policy
        });
        if policy != parent && !self.set_policy(task, policy) {
            self.refuse(task, "the kernel's admission control refuses its deadline policy");
        }
        if !affinity.is_empty() {
            let mask = self.mask_of(&affinity);
            self.charge(cpu, self.costs.syscall_ns);
            self.set_affinity(task, mask);
        }
        Flow::Again
    }

    /// `sched_setaffinity` of the current task: it may have to leave this CPU at once, so the step
    /// counts as done before.
    pub(crate) fn change_affinity(&mut self, task: TaskId, mask: u32) {
        let play = &mut self.plays[task.0 as usize];
        play.at += 1;
        play.phase = 0;
        play.steps += 1;
        self.set_affinity(task, mask);
    }

    pub(crate) fn wait_children(&mut self, cpu: u32, task: TaskId) -> Flow {
        let play = &mut self.plays[task.0 as usize];
        let ended = std::mem::take(&mut play.zombies);
        play.phase = u8::from(play.children > 0);
        let waits = play.children > 0;
        self.charge(cpu, self.costs.syscall_ns * u64::from(ended + 1));
        if waits { Flow::Sleep(State::Sleeping) } else { Flow::Next }
    }

    /// The current task has played all its steps: its turn-around ends, and then it tidies up.
    pub(crate) fn begin_end(&mut self, cpu: u32, task: TaskId) {
        let clock = self.clock(cpu);
        self.count_end(task, clock);
        self.charge(cpu, self.costs.exit_ns);
        self.plays[task.0 as usize].ending = true;
    }

    /// `do_exit`.
    pub(crate) fn end_task(&mut self, cpu: u32, task: TaskId) {
        let clock = self.clock(cpu);
        self.task_mut(task).exiting = true;
        let (block, at) = (self.task(task).memory, self.arena.layout.flags);
        put(block, at, get::<u32>(block, at) | PF_EXITING);
        self.recorder.exit(clock, cpu, self.pid(task));
        if let Some(parent) = self.plays[task.0 as usize].parent {
            let play = &mut self.plays[parent.0 as usize];
            (play.children, play.zombies) = (play.children - 1, play.zombies + 1);
            let group = &self.score.groups[play.group as usize];
            if play.phase == 1 && group.ops.get(play.at) == Some(&Op::WaitChildren) {
                self.wake(parent, WAKE_SYNC);
            }
        }
        self.schedule(cpu, Some(State::Dead));
        let finished = self.live_finite == 0 && self.score.duration_ns.is_none();
        self.over |= self.live_tasks == 0 || (finished && self.recorder.last_end.is_some());
    }

    fn count_end(&mut self, task: TaskId, clock: u64) {
        let play = &mut self.plays[task.0 as usize];
        let group = &self.score.groups[play.group as usize];
        let tally = &mut self.recorder.groups[play.group as usize];
        let forked = play.parent.is_some();
        let end = if forked { None } else { self.score.duration_ns };
        for (timer, &plan) in play.timers.iter_mut().zip(&group.timers) {
            timer.finish(plan, clock, end, play.steps, tally);
        }
        if group.finite || forked {
            tally.turnaround.record(clock.saturating_sub(play.start_ns));
        }
        self.live_tasks -= 1;
        if group.finite {
            self.live_finite -= 1;
            self.recorder.last_end = Some(clock);
        }
    }

    /// The workload asks for something that the kernel refuses.
    pub(crate) fn refuse(&mut self, task: TaskId, why: &str) {
        let text = format!("{}: {why}", self.name(task));
        self.recorder.refusal.get_or_insert(text);
        self.over = true;
    }
}
