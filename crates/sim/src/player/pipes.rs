// SPDX-License-Identifier: GPL-2.0-only
//! Messages through pipes, as `pipe_write` and `pipe_read` move them. Both hold `pipe->mutex` while
//! they copy. A task that loses its CPU then keeps it, and whoever else needs the pipe sleeps.
//!
//! DIVERGES: tasks on two CPUs that are in one pipe at the same time do not spin for its mutex.

use super::objects::{Pipe, PipeMutex, Waiters};
use super::steps::KIB;
use super::workload_state::{Flow, UnderMutex};
use crate::core::task::State;
use crate::core::{Core, TaskId};
use crate::flags::WAKE_SYNC;

/// How far a task is with a message. A new one:
const NEW: u8 = 0;
/// It is about to make the system call.
pub(super) const CALL: u8 = 1;
/// It has slept in the call until there were bytes, or room.
const SLEPT: u8 = 2;
/// It has spent the time of the call, or of what is left of it after a sleep.
const IN_CALL: u8 = 3;
const BACK_IN_CALL: u8 = 4;

impl Core {
    /// One message to each of `fan` members, one pipe after the other.
    pub(super) fn send(
        &mut self,
        cpu: u32,
        task: TaskId,
        channel: usize,
        bytes: u64,
        fan: u32,
    ) -> Flow {
        if self.has_sockets(channel) {
            return self.send_by_socket(cpu, task, channel, bytes, fan);
        }
        let pipe = self.written_member(task, channel, bytes, fan);
        let left = self.workload.progress[task.0 as usize].left;
        let (moved, pages) = self.workload.objects.pipes[pipe].room_for(left);
        let copy_ns = self.copy_ns(moved) + self.machine.costs.page_ns * pages;
        if let Err(flow) = self.enter_pipe(cpu, task, pipe, self.machine.costs.write_ns, copy_ns) {
            return flow;
        }
        let play = &mut self.workload.progress[task.0 as usize];
        let slept = play.phase == BACK_IN_CALL;
        let here = &mut self.workload.objects.pipes[pipe];
        let was_empty = here.is_empty();
        let moved = here.write(play.left);
        play.left -= moved;
        let whole = play.left == 0;
        let room = !here.is_full();
        if !whole {
            play.phase = SLEPT;
            here.writers.push_back(task);
        } else {
            (play.phase, play.member, play.left) = (CALL, play.member + 1, bytes);
        }
        let done = play.member >= fan;
        self.leave_pipe(pipe);
        if was_empty && moved > 0 {
            self.wake_first(pipe, |pipe| &mut pipe.readers);
        }
        if slept && whole && room {
            self.wake_first(pipe, |pipe| &mut pipe.writers);
        }
        match (whole, done) {
            (false, _) => Flow::Sleep(State::Sleeping),
            (true, true) => Flow::Next,
            (true, false) => Flow::Again,
        }
    }

    /// Reads until the message is whole. The kernel gives what there is, and a call sleeps only
    /// while there is nothing.
    pub(super) fn receive(&mut self, cpu: u32, task: TaskId, channel: usize, bytes: u64) -> Flow {
        if self.has_sockets(channel) {
            return self.receive_by_socket(cpu, task, channel, bytes);
        }
        let pipe = self.read_member(task, channel, bytes);
        let left = self.workload.progress[task.0 as usize].left;
        let holds = self.workload.objects.pipes[pipe].holds(left);
        let copy_ns = self.copy_ns(holds);
        if let Err(flow) = self.enter_pipe(cpu, task, pipe, self.machine.costs.read_ns, copy_ns) {
            return flow;
        }
        let play = &mut self.workload.progress[task.0 as usize];
        let slept = play.phase == BACK_IN_CALL;
        let here = &mut self.workload.objects.pipes[pipe];
        let (moved, was_full) = here.read(play.left);
        play.left -= moved;
        let (whole, more) = (play.left == 0, !here.is_empty());
        let sleeps = moved == 0 && !whole;
        play.phase = if sleeps { SLEPT } else { CALL };
        if sleeps {
            here.readers.push_back(task);
        }
        self.leave_pipe(pipe);
        if sleeps {
            return Flow::Sleep(State::Sleeping);
        }
        if was_full {
            self.wake_first(pipe, |pipe| &mut pipe.writers);
        }
        if slept && more {
            self.wake_first(pipe, |pipe| &mut pipe.readers);
        }
        if whole { Flow::Next } else { Flow::Again }
    }

    /// Spends the time of a call that moves bytes, the copying under the pipe's mutex, and takes
    /// the mutex. A call that slept has paid its way in already. The error is what the task does
    /// instead: other things have their turn first, or it sleeps until the mutex is free.
    fn enter_pipe(
        &mut self,
        cpu: u32,
        task: TaskId,
        pipe: usize,
        kind_ns: u64,
        copy_ns: u64,
    ) -> Result<(), Flow> {
        let phase = self.phase(task);
        if matches!(*phase, CALL | SLEPT) {
            let is_new = *phase == CALL;
            *phase = if is_new { IN_CALL } else { BACK_IN_CALL };
            let way_in_ns = if is_new { self.machine.costs.syscall_ns + kind_ns } else { 0 };
            self.machine.charge(cpu, way_in_ns);
            let from_ns = self.machine.clock(cpu);
            self.machine.charge(cpu, copy_ns);
            if self.machine.events.first().is_some_and(|event| event.time < self.machine.clock(cpu))
            {
                self.workload.progress[task.0 as usize].under = Some(UnderMutex { pipe, from_ns });
                return Err(Flow::Again);
            }
        }
        self.workload.progress[task.0 as usize].under = None;
        if self.workload.objects.pipes[pipe].mutex.take(task) {
            return Ok(());
        }
        Err(Flow::Sleep(State::DiskSleep))
    }

    /// Gives the mutex back, to the first that waits if it has waited twice
    /// (`__mutex_unlock_slowpath`).
    fn leave_pipe(&mut self, pipe: usize) {
        if let Some(first) = self.workload.objects.pipes[pipe].mutex.give_back() {
            self.wake(first, 0);
        }
    }

    /// A task loses its CPU: a mutex that it holds then stays with it.
    pub(crate) fn keep_mutex(&mut self, task: TaskId) {
        let Some(under) = self.workload.progress[task.0 as usize].under else { return };
        if under.from_ns <= self.machine.now {
            self.workload.objects.pipes[under.pipe].mutex.keep(task);
        }
    }

    fn wake_first(&mut self, pipe: usize, queue: impl Fn(&mut Pipe) -> &mut Waiters) {
        if let Some(first) = queue(&mut self.workload.objects.pipes[pipe]).pop_front() {
            self.wake(first, WAKE_SYNC);
        }
    }

    /// The number of the pipe or socket that a task writes its message to, or the next of `fan`.
    pub(super) fn written_member(
        &mut self,
        task: TaskId,
        channel: usize,
        bytes: u64,
        fan: u32,
    ) -> usize {
        let play = &mut self.workload.progress[task.0 as usize];
        if play.phase == NEW {
            (play.phase, play.member, play.left) = (CALL, 0, bytes);
        }
        let member = u64::from(play.number / fan) * u64::from(fan) + u64::from(play.member);
        self.workload.script.channels[channel].pipe_of(member)
    }

    /// The number of the pipe or socket that a task reads its message from.
    pub(super) fn read_member(&mut self, task: TaskId, channel: usize, bytes: u64) -> usize {
        let play = &mut self.workload.progress[task.0 as usize];
        if play.phase == NEW {
            (play.phase, play.left) = (CALL, bytes);
        }
        self.workload.script.channels[channel].pipe_of(u64::from(play.number))
    }

    fn has_sockets(&self, channel: usize) -> bool {
        self.workload.script.channels[channel].sockets
    }

    pub(super) fn copy_ns(&self, bytes: u64) -> u64 {
        self.machine.costs.copy_kib_ns * bytes / KIB
    }
}

impl PipeMutex {
    /// Whether the task has it now; else it waits. A free one goes to whoever comes, and to the
    /// first that waits if it has been woken in vain (`MUTEX_FLAG_HANDOFF`).
    fn take(&mut self, task: TaskId) -> bool {
        let waits = self.waiters.contains(&task);
        match self.holder {
            Some(holder) if holder != task => {
                self.handoff |= waits;
                if !waits {
                    self.waiters.push_back(task);
                }
                false
            }
            _ => {
                if waits {
                    self.waiters.retain(|waiter| *waiter != task);
                    self.handoff = false;
                }
                true
            }
        }
    }

    /// A task that loses its CPU keeps it, if nobody else has.
    fn keep(&mut self, task: TaskId) {
        self.holder.get_or_insert(task);
    }

    /// The task to wake, which has it already if it has waited in vain.
    fn give_back(&mut self) -> Option<TaskId> {
        let first = self.waiters.front().copied();
        self.holder = first.filter(|_| self.handoff);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_mutex_goes_to_whoever_comes_until_one_has_waited_in_vain() {
        let [owner, first, thief] = [1, 2, 3].map(TaskId);
        let mut mutex = PipeMutex::default();
        assert!(mutex.take(owner));
        mutex.keep(owner);
        assert!(!mutex.take(first) && mutex.take(owner));
        assert_eq!(mutex.give_back(), Some(first));
        // Before the woken one runs, another task takes it and is preempted in turn.
        assert!(mutex.take(thief));
        mutex.keep(thief);
        assert!(!mutex.take(first) && mutex.take(thief));
        assert_eq!(mutex.give_back(), Some(first));
        assert!(!mutex.take(thief) && mutex.take(first));
        assert_eq!(mutex.give_back(), Some(thief));
    }
}
