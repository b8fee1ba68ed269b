// SPDX-License-Identifier: GPL-2.0-only
//! From events to tapes: what each task did, with everything that it waited for.
//!
//! A task's time on CPUs, preempted or not, is what it computes. Where it slept, its wake-up says
//! what it waited for: another task, whose tape gets a post at the very point of its own computing;
//! a timer, which is absolute unless the task's sleeps show otherwise ([`crate::naps`]), because a
//! program that is late does not get more time; or a device, which takes as long again. Events are
//! handled in order of time, so each wait follows its post, and the tapes can be played to their
//! ends under every scheduler.

mod letters;
mod part;
mod sleeps;

use std::collections::BTreeMap;

use model::Beat;
use model::tape::Stream;

use crate::event::{Event, Leaves, Reason, Recording, TaskIndex, Waker, What};
use crate::naps::Nap;
use letters::{Letters, Message};
use part::{Early, Part, State};
use sleeps::{is_timer, polls, wait};

/// What the tasks of a recording did, by their places in the recording. Beats name tasks by these
/// places too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scripts {
    /// One for each task; empty for those that are not played.
    pub beats: Vec<Vec<Beat>>,
    /// What was decided on the way.
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

/// Writes the script of each task that `keeps` accepts.
pub fn scripts(recording: &Recording, keeps: impl Fn(TaskIndex) -> bool) -> Scripts {
    let tasks = (0..recording.tasks.len() as u32).map(TaskIndex);
    let mut writer = Writer {
        parts: tasks.map(|task| Part { keeps: keeps(task), ..Part::default() }).collect(),
        cpus: BTreeMap::new(),
        streams: BTreeMap::new(),
        messages: BTreeMap::new(),
        polled: Vec::new(),
        counts: Counts::default(),
    };
    recording.events.iter().for_each(|event| writer.event(event));
    writer.finish(recording.length_ns)
}

struct Writer {
    parts: Vec<Part>,
    /// When each CPU last changed its task, and to which one.
    cpus: BTreeMap<u32, (u64, Option<TaskIndex>)>,
    streams: BTreeMap<u32, Letters>,
    /// By streams.
    messages: BTreeMap<u32, Vec<Message>>,
    /// What has ended sleeps that anything could have ended.
    polled: Vec<Message>,
    counts: Counts,
}

impl Writer {
    fn part(&mut self, task: TaskIndex) -> &mut Part {
        &mut self.parts[task.0 as usize]
    }

    fn event(&mut self, event: &Event) {
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
                }
            }
            What::Wake { task, waker } => self.wake(task, waker, at_ns),
            What::Fork { parent, child } => self.fork(parent, child, at_ns),
            What::Send { task, stream, bytes } => self.send(task, (stream, bytes.into()), at_ns),
            What::Take { task, stream, bytes } => self.take(task, (stream, bytes.into()), at_ns),
            What::Changed { task, ref to } => self.change(task, to.nice, at_ns),
            What::Exit { .. } => {}
        }
    }

    /// A new task begins with a wait for its maker. One that was seen before, by a mistake of the
    /// trace, is only woken.
    fn fork(&mut self, parent: TaskIndex, child: TaskIndex, at_ns: u64) {
        let is_new = matches!(self.part(child).state, State::Unseen);
        self.part(child).state = State::Asleep { since_ns: 0, reason: Reason::Unknown };
        self.end_sleep(child, Waker::Task(parent), at_ns);
        if let Some(Message { by, post, .. }) = self.part(child).woken.take_if(|_| is_new) {
            self.part(by).beats[post] = Beat::Fork(child.0);
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
            let part = self.part(had);
            if matches!(part.state, State::Running { cpu: its, .. } if its == cpu) {
                part.state = State::Asleep { since_ns, reason: Reason::Unknown };
            }
        }
        if let Some(out) = out {
            self.begin(out, cpu, since_ns);
        }
    }

    /// A task leaves its CPU. One that no event has named had it from the beginning.
    fn leave(&mut self, task: TaskIndex, leaves: Leaves, at_ns: u64) {
        let part = self.part(task);
        part.ran_ns += match part.state {
            State::Running { since_ns, .. } => at_ns - since_ns,
            State::Unseen => at_ns,
            _ => 0,
        };
        // A task that is preempted has not taken yet what it was woken for.
        part.woken.take_if(|_| leaves != Leaves::Runnable);
        part.state = match leaves {
            Leaves::Runnable | Leaves::Yields => State::Runnable,
            Leaves::Sleeps(reason) => State::Asleep { since_ns: at_ns, reason },
            Leaves::Ended => State::Ended,
        };
        if leaves == Leaves::Yields {
            self.flush(task);
            self.keep(task, Beat::Yield);
        }
    }

    fn change(&mut self, task: TaskIndex, nice: Option<i32>, at_ns: u64) {
        if let Some(nice) = nice {
            self.pause(task, at_ns);
            self.keep(task, Beat::Nice(nice));
        }
    }

    fn keep(&mut self, task: TaskIndex, beat: Beat) {
        let part = self.part(task);
        if part.keeps {
            part.beats.push(beat);
        }
    }

    fn begin(&mut self, task: TaskIndex, cpu: u32, at_ns: u64) {
        if let State::Asleep { .. } = self.part(task).state {
            match self.part(task).early {
                Some(early) => self.accept(task, early),
                None => {
                    self.counts.unexplained += 1;
                    self.end_sleep(task, Waker::Unknown, at_ns);
                }
            }
        }
        let part = self.part(task);
        part.early = None;
        part.state = State::Running { since_ns: at_ns, cpu };
    }

    fn wake(&mut self, task: TaskIndex, waker: Waker, at_ns: u64) {
        match self.part(task).state {
            State::Unseen => {
                self.part(task).state = State::Asleep { since_ns: 0, reason: Reason::Unknown };
                self.end_sleep(task, waker, at_ns);
            }
            State::Asleep { .. } => self.end_sleep(task, waker, at_ns),
            State::Running { .. } => {
                let post = self.played_waker(task, waker).map(|by| self.post(by, task, at_ns));
                if let (Some(place), Waker::Task(by)) = (post, waker) {
                    self.part(by).doubtful.push(place);
                }
                self.part(task).early = Some(Early { waker, at_ns, post });
            }
            State::Runnable | State::Ended => {}
        }
    }

    /// The wake-up that came before its switch has ended this sleep.
    fn accept(&mut self, task: TaskIndex, early: Early) {
        match (early.post, early.waker) {
            (Some(place), Waker::Task(by)) => {
                let doubtful = &mut self.part(by).doubtful;
                // It is one of the last.
                if let Some(at) = doubtful.iter().rposition(|known| *known == place) {
                    doubtful.remove(at);
                }
                self.flush(task);
                let part = self.part(task);
                let reason = match part.state {
                    State::Asleep { reason, .. } => reason,
                    _ => Reason::Unknown,
                };
                part.beats.push(wait(by, reason));
                let beat = part.beats.len() - 1;
                let is_polled = polls(reason);
                let message = Message { by, post: place, to: task, beat, is_polled };
                part.woken = Some(message);
                self.note_poll(message);
                self.counts.waits += 1;
            }
            _ => self.end_sleep(task, early.waker, early.at_ns),
        }
    }

    /// The task that wakes another one, if it is played.
    fn played_waker(&self, task: TaskIndex, waker: Waker) -> Option<TaskIndex> {
        match waker {
            Waker::Task(by) if by != task && self.parts[by.0 as usize].keeps => Some(by),
            _ => None,
        }
    }

    fn end_sleep(&mut self, task: TaskIndex, waker: Waker, at_ns: u64) {
        let by = self.played_waker(task, waker);
        let by_kept = by.filter(|_| self.part(task).keeps);
        let post = by_kept.map(|by| (by, self.post(by, task, at_ns)));
        self.flush(task);
        let part = self.part(task);
        let State::Asleep { since_ns, reason } = part.state else { return };
        let beat = part.beats.len();
        let is_polled = polls(reason);
        let message = post.map(|(by, post)| Message { by, post, to: task, beat, is_polled });
        part.woken = message;
        part.state = State::Runnable;
        let (beat, count) = match by {
            Some(by) => (wait(by, reason), &mut self.counts.waits),
            None if is_timer(waker, reason) => {
                let place = part.beats.len();
                part.naps.push(Nap { place, since_ns, until_ns: at_ns });
                (Beat::Until(at_ns), &mut self.counts.timers)
            }
            None => (Beat::Sleep(at_ns.saturating_sub(since_ns)), &mut self.counts.delays),
        };
        if self.parts[task.0 as usize].keeps {
            *count += 1;
            self.parts[task.0 as usize].beats.push(beat);
        }
        message.iter().for_each(|message| self.note_poll(*message));
    }

    fn note_poll(&mut self, message: Message) {
        if message.is_polled {
            self.polled.push(message);
        }
    }

    /// What a task that runs has computed so far is on its tape.
    fn pause(&mut self, task: TaskIndex, at_ns: u64) {
        let part = self.part(task);
        if let State::Running { since_ns, cpu } = part.state {
            part.ran_ns += at_ns - since_ns;
            part.state = State::Running { since_ns: at_ns, cpu };
        }
        self.flush(task);
    }

    /// Puts a post where `by` is in its computing, and returns its place.
    fn post(&mut self, by: TaskIndex, woken: TaskIndex, at_ns: u64) -> usize {
        self.pause(by, at_ns);
        let part = self.part(by);
        part.beats.push(Beat::Post(woken.0, Stream::NONE));
        part.beats.len() - 1
    }

    fn flush(&mut self, task: TaskIndex) {
        let part = self.part(task);
        let ran_ns = std::mem::take(&mut part.ran_ns);
        if ran_ns > 0 && part.keeps {
            part.beats.push(Beat::Run(ran_ns));
        }
    }

    fn finish(mut self, end_ns: u64) -> Scripts {
        for index in 0..self.parts.len() {
            let task = TaskIndex(index as u32);
            let part = self.part(task);
            if let State::Running { since_ns, .. } = part.state {
                part.ran_ns += end_ns.saturating_sub(since_ns);
            }
            self.flush(task);
        }
        self.parts.iter_mut().for_each(Part::relative_naps);
        self.number_streams();
        let keeps: Vec<bool> = self.parts.iter().map(|part| part.keeps).collect();
        let beats = self.parts.into_iter().map(|part| part.certain(&keeps)).collect();
        Scripts { beats, counts: self.counts }
    }
}

#[cfg(test)]
mod tests;
