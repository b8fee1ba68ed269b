// SPDX-License-Identifier: GPL-2.0-only
//! What each step does.

use super::play::Flow;
use super::score::Op;
use super::things::{PIPE_BYTES, Waiters};
use crate::core::events::Kind;
use crate::core::task::State;
use crate::core::{Core, TaskId};
use crate::flags::WAKE_SYNC;

const KIB: u64 = 1024;

impl Core {
    /// Performs the step that the task is at, or goes on with it.
    pub(crate) fn perform(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        match op {
            Op::Run(ns) => {
                self.task_mut(task).work_left = ns;
                Flow::WorkThenNext
            }
            Op::RunUntil(ns) => {
                let until = (self.clock(cpu) + ns).max(1);
                self.task_mut(task).until = until;
                Flow::WorkThenNext
            }
            Op::Sleep(ns) => self.sleep(cpu, task, ns),
            Op::Timer(number) => self.timer(cpu, task, number),
            Op::LoopStart { count, end } => self.loop_start(task, count, end),
            Op::LoopEnd { start } => self.loop_end(task, start),
            Op::Send { channel, bytes, fan } => self.send(cpu, task, channel, bytes, fan),
            Op::Receive { channel, bytes } => self.receive(cpu, task, channel, bytes),
            Op::Write { bytes, sync } => self.write(cpu, task, bytes, sync),
            Op::Read(bytes) => self.copy(cpu, bytes),
            Op::Fork { group, count } => self.fork(cpu, task, group, count),
            Op::WaitChildren => self.wait_children(cpu, task),
            Op::Exec => {
                self.charge(cpu, self.costs.exec_ns);
                Flow::End
            }
            Op::Exit => Flow::End,
            Op::Yield => {
                self.charge(cpu, self.costs.syscall_ns);
                Flow::Yield
            }
            Op::Nice(_) | Op::Policy(_) | Op::Affinity(_) => self.change(cpu, task, op),
            meeting => self.meet(cpu, task, meeting),
        }
    }

    fn phase(&mut self, task: TaskId) -> &mut u8 {
        &mut self.plays[task.0 as usize].phase
    }

    /// The first call starts the sleep, the second one comes after it.
    fn sleep(&mut self, cpu: u32, task: TaskId, ns: u64) -> Flow {
        if *self.phase(task) == 1 {
            return Flow::Next;
        }
        self.charge(cpu, self.costs.syscall_ns);
        let until = self.clock(cpu) + ns;
        self.sleep_until(task, until)
    }

    fn sleep_until(&mut self, task: TaskId, until: u64) -> Flow {
        *self.phase(task) = 1;
        let wakes = self.task(task).wakes;
        self.events.push(until, Kind::Wake, task.0, wakes);
        Flow::Sleep(State::Sleeping)
    }

    fn timer(&mut self, cpu: u32, task: TaskId, number: usize) -> Flow {
        let clock = self.clock(cpu);
        let play = &mut self.plays[task.0 as usize];
        let group = play.group as usize;
        let (plan, tally) =
            (self.score.groups[group].timers[number], &mut self.recorder.groups[group]);
        if play.phase == 0 {
            let release = play.timers[number].arrive(plan, clock, tally);
            if release > clock {
                self.charge(cpu, self.costs.syscall_ns);
                return self.sleep_until(task, release);
            }
        }
        play.timers[number].release(clock, play.steps + 1, tally);
        Flow::Next
    }

    fn loop_start(&mut self, task: TaskId, count: u64, end: usize) -> Flow {
        let play = &mut self.plays[task.0 as usize];
        match count {
            0 => play.at = end,
            _ => play.loops.push(count),
        }
        play.steps = play.steps.wrapping_sub(1);
        Flow::Next
    }

    fn loop_end(&mut self, task: TaskId, start: usize) -> Flow {
        let play = &mut self.plays[task.0 as usize];
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

    /// The steps with which tasks wait for each other.
    fn meet(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        match op {
            Op::Lock(lock) => self.lock(cpu, task, lock),
            Op::Unlock(lock) => self.unlock(cpu, lock),
            Op::Wait { condition, lock, signal } => self.wait(cpu, task, condition, lock, signal),
            Op::Suspend(condition) => match *self.phase(task) {
                0 => self.enqueue_waiter(cpu, task, |things| &mut things.conditions[condition]),
                _ => Flow::Next,
            },
            Op::Signal(condition) => {
                self.wake_waiters(cpu, 1, |things| &mut things.conditions[condition])
            }
            Op::Broadcast(condition) => {
                self.wake_waiters(cpu, usize::MAX, |things| &mut things.conditions[condition])
            }
            Op::Barrier(number) => self.barrier(cpu, task, number),
            Op::Post(number) => {
                self.things.semaphores[number].value += 1;
                self.wake_waiters(cpu, 1, |things| &mut things.semaphores[number].waiters)
            }
            Op::Take(number) if self.things.semaphores[number].value > 0 => {
                self.things.semaphores[number].value -= 1;
                Flow::Next
            }
            Op::Take(number) => {
                self.enqueue_waiter(cpu, task, |things| &mut things.semaphores[number].waiters)
            }
            _ => Flow::Next,
        }
    }

    /// Sleeps in a queue; the system call costs.
    fn enqueue_waiter(
        &mut self,
        cpu: u32,
        task: TaskId,
        queue: impl Fn(&mut super::things::Things) -> &mut Waiters,
    ) -> Flow {
        self.charge(cpu, self.costs.syscall_ns);
        *self.phase(task) = 1;
        queue(&mut self.things).push_back(task);
        Flow::Sleep(State::Sleeping)
    }

    /// Wakes up to so many. Without sleepers it costs nothing, as with a futex.
    fn wake_waiters(
        &mut self,
        cpu: u32,
        count: usize,
        queue: impl Fn(&mut super::things::Things) -> &mut Waiters,
    ) -> Flow {
        let waiting = queue(&mut self.things).len().min(count);
        if waiting > 0 {
            self.charge(cpu, self.costs.syscall_ns);
        }
        for _ in 0..waiting {
            let woken = Core::pop_waiter(&self.tasks, queue(&mut self.things));
            if let Some(task) = woken {
                self.wake(task, 0);
            }
        }
        Flow::Next
    }

    /// The first of the highest priority: real-time tasks before others, others in order of
    /// arrival.
    fn pop_waiter(tasks: &[crate::core::task::Task], waiters: &mut Waiters) -> Option<TaskId> {
        let rank = |&(at, &task): &(usize, &TaskId)| (tasks[task.0 as usize].prio.min(100), at);
        let (at, _) = waiters.iter().enumerate().min_by_key(rank)?;
        waiters.remove(at)
    }

    fn lock(&mut self, cpu: u32, task: TaskId, lock: usize) -> Flow {
        if !self.things.locks[lock].taken {
            self.things.locks[lock].taken = true;
            return Flow::Next;
        }
        self.charge(cpu, self.costs.syscall_ns);
        self.things.locks[lock].waiters.push_back(task);
        Flow::Sleep(State::Sleeping)
    }

    fn unlock(&mut self, cpu: u32, lock: usize) -> Flow {
        self.things.locks[lock].taken = false;
        self.wake_waiters(cpu, 1, |things| &mut things.locks[lock].waiters)
    }

    /// Phase 0: give the lock away and sleep. Phase 1: woken, take the lock again.
    fn wait(
        &mut self,
        cpu: u32,
        task: TaskId,
        condition: usize,
        lock: usize,
        signal: bool,
    ) -> Flow {
        if *self.phase(task) == 1 {
            return self.lock(cpu, task, lock);
        }
        if signal {
            self.wake_waiters(cpu, 1, |things| &mut things.conditions[condition]);
        }
        self.unlock(cpu, lock);
        self.enqueue_waiter(cpu, task, |things| &mut things.conditions[condition])
    }

    fn barrier(&mut self, cpu: u32, task: TaskId, number: usize) -> Flow {
        if *self.phase(task) == 1 {
            return Flow::Next;
        }
        let barrier = &mut self.things.barriers[number];
        barrier.arrived += 1;
        if barrier.arrived < self.score.barriers[number] {
            return self.enqueue_waiter(cpu, task, |things| &mut things.barriers[number].waiters);
        }
        barrier.arrived = 0;
        self.wake_waiters(cpu, usize::MAX, |things| &mut things.barriers[number].waiters)
    }

    /// One message to each of `fan` members, one pipe after the other.
    fn send(&mut self, cpu: u32, task: TaskId, channel: usize, bytes: u64, fan: u32) -> Flow {
        let (first, count) = self.score.channels[channel];
        let play = &mut self.plays[task.0 as usize];
        if play.phase == 0 {
            (play.phase, play.member, play.left) = (1, 0, bytes);
        }
        let group = u64::from(play.number / fan) * u64::from(fan) + u64::from(play.member);
        let pipe = first + (group % u64::from(count)) as usize;
        let room = PIPE_BYTES - self.things.pipes[pipe].bytes;
        // Writes of up to a page are not split.
        if room == 0 || (room < play.left && play.left <= 4096) {
            self.charge(cpu, self.costs.syscall_ns);
            self.things.pipes[pipe].writers.push_back(task);
            return Flow::Sleep(State::Sleeping);
        }
        let moved = play.left.min(room);
        play.left -= moved;
        if play.left == 0 {
            (play.member, play.left) = (play.member + 1, bytes);
        }
        let done = play.member >= fan;
        let was_empty = self.things.pipes[pipe].bytes == 0;
        self.things.pipes[pipe].bytes += moved;
        self.transfer_cost(cpu, moved);
        if was_empty && let Some(reader) = self.things.pipes[pipe].readers.pop_front() {
            self.wake(reader, WAKE_SYNC);
        }
        // A writer that leaves room passes the wake-up on.
        if PIPE_BYTES - self.things.pipes[pipe].bytes >= 4096
            && let Some(writer) = self.things.pipes[pipe].writers.pop_front()
        {
            self.wake(writer, WAKE_SYNC);
        }
        if done { Flow::Next } else { Flow::Again }
    }

    fn receive(&mut self, cpu: u32, task: TaskId, channel: usize, bytes: u64) -> Flow {
        let (first, count) = self.score.channels[channel];
        let play = &mut self.plays[task.0 as usize];
        if play.phase == 0 {
            (play.phase, play.left) = (1, bytes);
        }
        let pipe = first + (play.number % count) as usize;
        let here = &mut self.things.pipes[pipe];
        if here.bytes == 0 && play.left > 0 {
            here.readers.push_back(task);
            self.charge(cpu, self.costs.syscall_ns);
            return Flow::Sleep(State::Sleeping);
        }
        let moved = play.left.min(here.bytes);
        play.left -= moved;
        let (done, was_full) = (play.left == 0, PIPE_BYTES - here.bytes < 4096);
        here.bytes -= moved;
        self.transfer_cost(cpu, moved);
        if was_full && let Some(writer) = self.things.pipes[pipe].writers.pop_front() {
            self.wake(writer, WAKE_SYNC);
        }
        // A reader that leaves bytes behind passes the wake-up on.
        if self.things.pipes[pipe].bytes > 0
            && let Some(reader) = self.things.pipes[pipe].readers.pop_front()
        {
            self.wake(reader, WAKE_SYNC);
        }
        if done { Flow::Next } else { Flow::Again }
    }

    fn transfer_cost(&mut self, cpu: u32, bytes: u64) {
        let copy = self.costs.copy_kib_ns * bytes / KIB;
        self.charge(cpu, self.costs.syscall_ns + copy);
    }

    /// The page cache: only copying costs.
    fn copy(&mut self, cpu: u32, bytes: u64) -> Flow {
        self.transfer_cost(cpu, bytes);
        Flow::Next
    }

    /// With `sync` the task waits until the disk has served everybody before it, and then it.
    fn write(&mut self, cpu: u32, task: TaskId, bytes: u64, sync: bool) -> Flow {
        if *self.phase(task) == 1 {
            return Flow::Next;
        }
        self.transfer_cost(cpu, bytes);
        if !sync {
            return Flow::Next;
        }
        let service = self.costs.disk_access_ns + self.costs.disk_kib_ns * bytes.div_ceil(KIB);
        let done = self.things.disk_free_at.max(self.clock(cpu)) + service;
        self.things.disk_free_at = done;
        self.sleep_until(task, done);
        Flow::Sleep(State::DiskSleep)
    }

    /// The steps with which a task changes itself.
    fn change(&mut self, cpu: u32, task: TaskId, op: Op) -> Flow {
        self.charge(cpu, self.costs.syscall_ns);
        let old = self.task(task).policy;
        let done = match op {
            Op::Nice(nice) => self.set_policy(task, model::Policy { nice, ..old }),
            Op::Policy(policy) => self.set_policy(task, policy),
            Op::Affinity(list) => {
                let cpus = self.score.affinities[list].clone();
                let mask = self.mask_of(&cpus);
                // Moving away takes the task off this CPU, so the step counts as done before.
                self.change_affinity(task, mask);
                return Flow::Again;
            }
            _ => true,
        };
        if !done {
            self.refuse(task, "the kernel's admission control refuses its deadline policy");
        }
        Flow::Next
    }
}
