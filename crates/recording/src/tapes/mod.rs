// SPDX-License-Identifier: GPL-2.0-only
//! From events to tapes: what each task did, with everything that it waited for.
//!
//! A task's time on CPUs, less what the tracer and preemptions took, is what it computes. Where it
//! slept, its wake-up says what it waited for: another task, whose tape gets a post at the very
//! point of its own computing; a timer, which is relative if the system call is `nanosleep`, and
//! else absolute unless the task's sleeps show otherwise (`are_relative`), because a late task does
//! not get more time; or a device, which takes as long again. Events are handled in order of time,
//! so each wait follows its post, and the tapes can be played to their ends under every scheduler.

mod messages;
mod spins;
mod task;

use std::collections::{BTreeMap, BTreeSet};

use model::TapeOp;
use model::tape::{Reader, Stream};

use crate::event::{Event, Leaves, Recording, SleepsFor, TaskIndex, TracerCosts, Waker, What};
use messages::{Delivery, Queue, Size};
use spins::{is_timer, polls, wait};
use task::{EarlyWake, State, TaskWriter, TimerSleep};

/// What the tasks of a recording did, by their places in the recording. Operations name tasks by
/// these places too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// One for each task; empty for those that are not played.
    pub tapes: Vec<Vec<TapeOp>>,
    /// The tasks that could have gone on for longer.
    pub lasting: BTreeSet<TaskIndex>,
    pub counts: Counts,
}

/// How sleeps were understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times that a CPU changed its task.
    pub switches: u64,
    /// Sleeps that another task ended.
    pub waits: u64,
    /// Sleeps that a timer ended.
    pub timers: u64,
    /// Sleeps that a device ended, or a task that is not played.
    pub delays: u64,
    /// Sleeps without a wake-up: its event is missing.
    pub unexplained: u64,
    /// Switches that are missing: a CPU leaves another task than it had got.
    pub missing: u64,
}

/// Writes the tape of each task that `keeps` accepts.
pub fn write(recording: &Recording, keeps: impl Fn(TaskIndex) -> bool) -> Written {
    let mut writer = Writer::new(recording.tasks.len(), keeps);
    (writer.tracer, writer.preemption_ns) = (recording.tracer, recording.preemption_ns);
    recording.events.iter().for_each(|event| writer.event(event));
    writer.finish(recording.length_ns)
}

/// Writes tapes while events come, in order of time.
#[derive(Default)]
pub struct Writer {
    tasks: Vec<TaskWriter>,
    /// When each CPU last changed its task, and to which one.
    cpus: BTreeMap<u32, (u64, Option<TaskIndex>)>,
    /// What is in each stream.
    queues: BTreeMap<u32, Queue>,
    /// Messages that arrived, by stream.
    deliveries: BTreeMap<u32, Vec<Delivery>>,
    /// Deliveries that ended a poll, which any of several events could have ended.
    polled: Vec<Delivery>,
    /// Tasks that have yielded and not looked again.
    yielded: BTreeSet<TaskIndex>,
    counts: Counts,
    /// What the tracer took for an event.
    tracer: TracerCosts,
    /// What the kernel took for each switch that a task had not asked for.
    preemption_ns: u64,
    /// What the operations will have as text, about.
    bytes: usize,
}

impl Writer {
    /// For so many tasks, of which those are played that `keeps` accepts.
    pub fn new(tasks: usize, keeps: impl Fn(TaskIndex) -> bool) -> Writer {
        let keeps = (0..tasks as u32).map(|task| keeps(TaskIndex(task)));
        let tasks = keeps.map(|keeps| TaskWriter { keeps, ..TaskWriter::default() }).collect();
        Writer { tasks, ..Writer::default() }
    }

    /// How many bytes the tapes will have as text, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn task(&mut self, task: TaskIndex) -> &mut TaskWriter {
        &mut self.tasks[task.0 as usize]
    }

    /// Takes the next event; times are those since the start of the recording.
    pub fn event(&mut self, event: &Event) {
        let at_ns = event.at_ns;
        match event.what {
            What::Switch { out, leaves, next } => {
                self.counts.switches += 1;
                let before = self.cpus.insert(event.cpu, (at_ns, next));
                if let Some((since_ns, had)) = before.filter(|(_, had)| *had != out) {
                    self.missing_switch(event.cpu, had, out, since_ns);
                }
                if let Some(out) = out {
                    self.leave(out, leaves, at_ns);
                }
                if let Some(next) = next {
                    self.begin(next, event.cpu, at_ns);
                    self.pay_tracer(next, self.tracer.switch_ns);
                }
            }
            What::Wake { task, waker } => {
                self.wake(task, waker, at_ns);
                if let Waker::Task(by) = waker {
                    self.pay_tracer(by, self.tracer.wake_ns);
                }
            }
            What::Fork { parent, child } => {
                self.fork(parent, child, at_ns);
                self.pay_tracer(parent, self.tracer.wake_ns);
            }
            What::Send { task, stream, bytes, room } => {
                self.send(task, (stream, bytes.into(), room.into()), at_ns);
                self.pay_tracer(task, self.tracer.message_ns);
            }
            What::Take { task, stream, bytes } => {
                self.take(task, (stream, bytes.into()), at_ns);
                self.pay_tracer(task, self.tracer.message_ns);
            }
            What::Changed { task, ref to } => self.change(task, to.nice, at_ns),
            What::Exit { .. } | What::Interrupted { .. } => {}
        }
    }

    /// The tracer's work for an event comes after the event's time, and is none of the task's own.
    fn pay_tracer(&mut self, task: TaskIndex, event_ns: u64) {
        self.task(task).not_work_ns += event_ns;
    }

    /// A new task begins with a wait for its maker. One that was seen before, by a mistake of the
    /// trace, is only woken.
    fn fork(&mut self, parent: TaskIndex, child: TaskIndex, at_ns: u64) {
        let is_new = matches!(self.task(child).state, State::Unseen);
        self.task(child).made_ns = if is_new { at_ns } else { 0 };
        self.task(child).state = State::Asleep { since_ns: 0, reason: SleepsFor::Unknown };
        self.end_sleep(child, Waker::Task(parent), at_ns);
        if let Some(Delivery { by, post, .. }) = self.task(child).woken.take_if(|_| is_new) {
            self.task(by).ops[post] = TapeOp::Fork(child.0);
        }
    }

    /// A CPU leaves another task than it had got. The first one is taken for one that slept at
    /// once, the other one for the one that ran.
    fn missing_switch(
        &mut self,
        cpu: u32,
        had: Option<TaskIndex>,
        out: Option<TaskIndex>,
        since_ns: u64,
    ) {
        self.counts.missing += 1;
        if let Some(had) = had {
            let writer = self.task(had);
            if matches!(writer.state, State::Running { cpu: its, .. } if its == cpu) {
                writer.state = State::Asleep { since_ns, reason: SleepsFor::Unknown };
            }
        }
        if let Some(out) = out {
            self.begin(out, cpu, since_ns);
        }
    }

    /// A task leaves its CPU. One that no event has named had it from the beginning.
    fn leave(&mut self, task: TaskIndex, leaves: Leaves, at_ns: u64) {
        let preemption_ns = if leaves == Leaves::Runnable { self.preemption_ns } else { 0 };
        let writer = self.task(task);
        writer.not_work_ns += preemption_ns;
        writer.ran_ns += match writer.state {
            State::Running { since_ns, .. } => at_ns - since_ns,
            State::Unseen => at_ns,
            _ => 0,
        };
        // A task that is preempted has not taken yet what it was woken for.
        writer.woken.take_if(|_| leaves != Leaves::Runnable);
        writer.state = match leaves {
            Leaves::Runnable | Leaves::Yields => State::Runnable,
            Leaves::Sleeps(reason) => State::Asleep { since_ns: at_ns, reason },
            Leaves::Ended => {
                writer.ended_ns = Some(at_ns);
                State::Ended
            }
        };
        if leaves == Leaves::Yields {
            self.flush(task);
            self.keep(task, TapeOp::Yield);
            self.note_yield(task, at_ns);
        }
    }

    fn change(&mut self, task: TaskIndex, nice: Option<i32>, at_ns: u64) {
        if let Some(nice) = nice {
            self.pause(task, at_ns);
            self.keep(task, TapeOp::Nice(nice));
        }
    }

    fn keep(&mut self, task: TaskIndex, op: TapeOp) {
        if self.task(task).keeps {
            self.push(task, op);
        }
    }

    fn push(&mut self, task: TaskIndex, op: TapeOp) {
        self.bytes += op.text_bytes();
        self.task(task).ops.push(op);
    }

    fn begin(&mut self, task: TaskIndex, cpu: u32, at_ns: u64) {
        if let State::Asleep { .. } = self.task(task).state {
            match self.task(task).early {
                Some(early) => self.accept(task, early),
                None => {
                    self.counts.unexplained += 1;
                    self.end_sleep(task, Waker::Unknown, at_ns);
                }
            }
        }
        let writer = self.task(task);
        writer.early = None;
        writer.state = State::Running { since_ns: at_ns, cpu };
        self.note_look(task, at_ns);
    }

    fn wake(&mut self, task: TaskIndex, waker: Waker, at_ns: u64) {
        match self.task(task).state {
            State::Unseen => {
                self.task(task).state = State::Asleep { since_ns: 0, reason: SleepsFor::Unknown };
                self.end_sleep(task, waker, at_ns);
            }
            State::Asleep { .. } => self.end_sleep(task, waker, at_ns),
            State::Running { .. } => {
                let post = self.played_waker(task, waker).map(|by| self.post(by, task, at_ns));
                if let (Some(place), Waker::Task(by)) = (post, waker) {
                    self.task(by).doubtful.push(place);
                }
                self.task(task).early = Some(EarlyWake { waker, at_ns, post });
            }
            State::Runnable | State::Ended => {}
        }
    }

    /// The wake-up that came before its switch has ended this sleep.
    fn accept(&mut self, task: TaskIndex, early: EarlyWake) {
        match (early.post, early.waker) {
            (Some(place), Waker::Task(by)) => {
                let doubtful = &mut self.task(by).doubtful;
                // It is one of the last.
                if let Some(at) = doubtful.iter().rposition(|known| *known == place) {
                    doubtful.remove(at);
                }
                self.flush(task);
                let writer = self.task(task);
                let reason = match writer.state {
                    State::Asleep { reason, .. } => reason,
                    _ => SleepsFor::Unknown,
                };
                self.push(task, wait(by, reason));
                let wait = self.task(task).ops.len() - 1;
                let size = Size::default();
                let delivery = Delivery { by, post: place, to: task, wait, reason, size };
                self.task(task).woken = Some(delivery);
                self.note_poll(delivery);
                self.counts.waits += 1;
            }
            _ => self.end_sleep(task, early.waker, early.at_ns),
        }
    }

    fn played_waker(&self, task: TaskIndex, waker: Waker) -> Option<TaskIndex> {
        match waker {
            Waker::Task(by) if by != task && self.tasks[by.0 as usize].keeps => Some(by),
            _ => None,
        }
    }

    fn end_sleep(&mut self, task: TaskIndex, waker: Waker, at_ns: u64) {
        let by = self.played_waker(task, waker);
        let by_kept = by.filter(|_| self.task(task).keeps);
        let post = by_kept.map(|by| (by, self.post(by, task, at_ns)));
        self.flush(task);
        let writer = self.task(task);
        let State::Asleep { since_ns, reason } = writer.state else { return };
        let place = writer.ops.len();
        let delivery = post.map(|(by, post)| Delivery {
            by,
            post,
            to: task,
            wait: place,
            reason,
            size: Size::default(),
        });
        writer.woken = delivery;
        writer.state = State::Runnable;
        let (op, count) = match by {
            Some(by) => (wait(by, reason), &mut self.counts.waits),
            None if reason == SleepsFor::Nap => {
                (TapeOp::Sleep(at_ns.saturating_sub(since_ns)), &mut self.counts.timers)
            }
            None if is_timer(waker, reason) => {
                writer.timer_sleeps.push(TimerSleep { place, since_ns, until_ns: at_ns });
                (TapeOp::Until(at_ns), &mut self.counts.timers)
            }
            None => (TapeOp::Sleep(at_ns.saturating_sub(since_ns)), &mut self.counts.delays),
        };
        if self.tasks[task.0 as usize].keeps {
            *count += 1;
            self.push(task, op);
        }
        if let Some(delivery) = delivery {
            self.note_poll(delivery);
        }
    }

    fn note_poll(&mut self, delivery: Delivery) {
        if polls(delivery.reason) {
            self.polled.push(delivery);
        }
    }

    /// What a task that runs has computed so far is on its tape.
    fn pause(&mut self, task: TaskIndex, at_ns: u64) {
        let writer = self.task(task);
        if let State::Running { since_ns, cpu } = writer.state {
            writer.ran_ns += at_ns - since_ns;
            writer.state = State::Running { since_ns: at_ns, cpu };
        }
        self.flush(task);
    }

    /// Puts a post where `by` is in its computing, and returns its place.
    fn post(&mut self, by: TaskIndex, woken: TaskIndex, at_ns: u64) -> usize {
        self.pause(by, at_ns);
        self.push(by, TapeOp::Post(woken.0, Stream::NONE, Reader::Asleep));
        self.task(by).ops.len() - 1
    }

    fn flush(&mut self, task: TaskIndex) {
        let writer = self.task(task);
        let not_work_ns = writer.not_work_ns.min(writer.ran_ns);
        writer.not_work_ns -= not_work_ns;
        let ran_ns = std::mem::take(&mut writer.ran_ns) - not_work_ns;
        if ran_ns > 0 {
            self.keep(task, TapeOp::Run(ran_ns));
        }
    }

    /// The tapes, where the recording ends then.
    pub fn finish(mut self, end_ns: u64) -> Written {
        for index in 0..self.tasks.len() {
            let task = TaskIndex(index as u32);
            let writer = self.task(task);
            if let State::Running { since_ns, .. } = writer.state {
                writer.ran_ns += end_ns.saturating_sub(since_ns);
            }
            self.flush(task);
        }
        self.tasks.iter_mut().for_each(TaskWriter::relative_timers);
        self.number_streams();
        self.find_spins();
        let present = task::present(&self.tasks, end_ns);
        let is_asleep = |writer: &TaskWriter| matches!(writer.state, State::Asleep { .. });
        let asleep: Vec<bool> = self.tasks.iter().map(is_asleep).collect();
        let keeps: Vec<bool> = self.tasks.iter().map(|writer| writer.keeps).collect();
        let tapes: Vec<Vec<TapeOp>> =
            self.tasks.into_iter().map(|writer| writer.tape(&keeps)).collect();
        let lasting = task::lasting(present, &tapes, &asleep);
        Written { tapes, lasting, counts: self.counts }
    }
}

#[cfg(test)]
mod tests;
