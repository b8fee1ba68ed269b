// SPDX-License-Identifier: GPL-2.0-only
//! From the kernel's events to a recording: in order of time, with tasks instead of numbers.
//!
//! CPUs write their events side by side, so that three things have to be put right: a waker can be
//! faster than the switch of the task that it wakes; a number can belong to one task after another;
//! and who ran when the recording began is only told by who stopped.

use std::collections::HashMap;

use recording::event::{Event, Leaves, Reason, Recording, Task, TaskIndex, Waker, What};

use super::object::{Kept, RawEvent, TaskFacts, kind, leaves, waker};
use super::reason::{self, Sleep};
use super::task_facts::{attributes, difference, name};

/// What the events themselves do not tell.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Who recorded, and on which kernel.
    pub source: String,
    pub cpus: u32,
    /// The first instant, on the kernel's monotonic clock.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Events for which there was no room.
    pub lost_events: u64,
}

/// Makes a recording of what the kernel has sent.
pub fn recording(mut kept: Kept, frame: &Frame) -> Recording {
    // The order of equal times is that in which places were reserved.
    kept.events.sort_by_key(|event| event.time_ns);
    let mut converter = Converter::new(frame);
    for event in kept.events.iter().filter(|event| event.time_ns <= frame.end_ns) {
        converter.take(event, &kept.facts);
    }
    converter.finish(frame)
}

/// What a task does, as far as the events tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// Nothing was seen of it yet.
    #[default]
    Unseen,
    Running,
    /// Runnable, but not running.
    Waiting,
    /// Asleep since the event at this place, for something or for anything.
    Asleep(usize, Sleep),
}

/// The waker, and the reason of a sleep that the wake-up alone does not explain.
type Woken = (Waker, Reason);

/// A wake-up that came before its task had switched away, with its CPU.
type Early = (u32, Woken);

#[derive(Clone, Debug, Default)]
struct Known {
    state: State,
    early: Option<Early>,
    has_facts: bool,
    attributes: recording::event::Attributes,
}

struct Converter {
    start_ns: u64,
    cpus: u32,
    tasks: Vec<Task>,
    known: Vec<Known>,
    events: Vec<Event>,
    /// The task that has a number now.
    numbers: HashMap<u32, TaskIndex>,
    /// Streams in the order of their first messages, by the kernel's numbers.
    streams: HashMap<u32, u32>,
    /// Who runs on each CPU; `None`: nothing was seen of the CPU yet.
    runs: HashMap<u32, Option<TaskIndex>>,
    /// Who ran when the recording began, with the CPU.
    first: Vec<Event>,
}

impl Converter {
    fn new(frame: &Frame) -> Converter {
        Converter {
            start_ns: frame.start_ns,
            cpus: frame.cpus,
            tasks: Vec::new(),
            known: Vec::new(),
            events: Vec::new(),
            numbers: HashMap::new(),
            streams: HashMap::new(),
            runs: HashMap::new(),
            first: Vec::new(),
        }
    }

    fn take(&mut self, event: &RawEvent, facts: &[TaskFacts]) {
        match event.kind.into() {
            kind::SWITCH => self.switch(event),
            kind::WAKE => self.wake(event),
            kind::FORK => self.fork(event),
            kind::EXIT => {
                let task = self.task(event.task);
                self.push(event, What::Exit { task });
            }
            kind::TASK => {
                if let Some(facts) = facts.get(event.other as usize) {
                    self.task_facts(event, facts);
                }
            }
            kind::SENT | kind::TAKEN => {
                let what = self.message(event);
                self.push(event, what);
            }
            kind::RUNNING => {
                let task = Some(self.task(event.task));
                self.begins_with(event, task);
            }
            _ => {}
        }
    }

    /// The task with this number, which may be one that was not seen before.
    fn task(&mut self, tid: u32) -> TaskIndex {
        match self.numbers.get(&tid) {
            Some(task) => *task,
            None => self.new_task(tid),
        }
    }

    fn new_task(&mut self, tid: u32) -> TaskIndex {
        let index = TaskIndex(self.tasks.len() as u32);
        self.tasks.push(Task { tid, ..Task::default() });
        self.known.push(Known::default());
        self.numbers.insert(tid, index);
        index
    }

    fn some_task(&mut self, tid: u32) -> Option<TaskIndex> {
        (tid != 0).then(|| self.task(tid))
    }

    fn known(&mut self, task: TaskIndex) -> &mut Known {
        &mut self.known[task.0 as usize]
    }

    fn push(&mut self, raw: &RawEvent, what: What) {
        let at_ns = raw.time_ns.saturating_sub(self.start_ns);
        self.events.push(Event { at_ns, cpu: raw.cpu.into(), what });
    }

    /// Who ran on a CPU before its first switch has run there from the beginning.
    fn begins_with(&mut self, event: &RawEvent, task: Option<TaskIndex>) {
        let cpu = event.cpu.into();
        if self.runs.contains_key(&cpu) {
            return;
        }
        self.runs.insert(cpu, task);
        if let Some(task) = task {
            self.known(task).state = State::Running;
            let what = What::Switch { out: None, leaves: Leaves::Runnable, next: Some(task) };
            self.first.push(Event { at_ns: 0, cpu, what });
        }
    }

    fn switch(&mut self, event: &RawEvent) {
        let (out, next) = (self.some_task(event.task), self.some_task(event.other));
        self.begins_with(event, out);
        self.repair_switch(event, out);
        let place = self.events.len();
        let (leaves, state) = left(event.detail, place);
        if let Some(next) = next {
            self.repair_sleep(event, next);
        }
        self.runs.insert(event.cpu.into(), next);
        self.push(event, What::Switch { out, leaves, next });
        if let Some(out) = out {
            self.stops(event, out, state);
        }
        if let Some(next) = next {
            self.known(next).state = State::Running;
        }
    }

    fn stops(&mut self, event: &RawEvent, out: TaskIndex, state: State) {
        let known = self.known(out);
        known.state = state;
        let early = known.early.take();
        match (state, early) {
            (State::Asleep(..), Some((cpu, by))) => self.woken(out, by, |converter, what| {
                converter.push(event, what);
                // The waker's CPU, at the time of the switch.
                if let Some(last) = converter.events.last_mut() {
                    last.cpu = cpu;
                }
            }),
            (State::Unseen, _) => {
                self.numbers.remove(&event.task);
            }
            _ => {}
        }
    }

    /// After events were lost, a CPU may switch from another task than it switched to.
    fn repair_switch(&mut self, event: &RawEvent, out: Option<TaskIndex>) {
        let runs = self.runs.get(&event.cpu.into()).copied().flatten();
        if runs == out {
            return;
        }
        self.push(event, What::Switch { out: runs, leaves: Leaves::Runnable, next: out });
        if let Some(runs) = runs {
            self.known(runs).state = State::Waiting;
        }
    }

    /// After events were lost, a task may run that nobody has woken.
    fn repair_sleep(&mut self, event: &RawEvent, next: TaskIndex) {
        if matches!(self.known(next).state, State::Asleep(..)) {
            let by = (Waker::Unknown, reason::decided(Waker::Unknown, 0));
            self.woken(next, by, |converter, what| converter.push(event, what));
        }
    }

    fn wake(&mut self, event: &RawEvent) {
        let task = self.task(event.task);
        let waker = match (event.detail & 0xff, event.other) {
            (waker::TASK, 0) => Waker::Unknown,
            (waker::TASK, other) => Waker::Task(self.task(other)),
            (waker::TIMER, _) => Waker::Timer,
            _ => Waker::Interrupt,
        };
        let by = (waker, reason::decided(waker, event.detail));
        match self.known(task).state {
            State::Running => self.known(task).early = Some((event.cpu.into(), by)),
            State::Waiting => {}
            State::Unseen | State::Asleep(..) => {
                self.woken(task, by, |converter, what| converter.push(event, what));
            }
        }
    }

    fn woken(
        &mut self,
        task: TaskIndex,
        (waker, decided): Woken,
        push: impl FnOnce(&mut Converter, What),
    ) {
        if let State::Asleep(place, Sleep::ForAny) = self.known(task).state
            && let What::Switch { leaves, .. } = &mut self.events[place].what
        {
            *leaves = Leaves::Sleeps(decided);
        }
        self.known(task).state = State::Waiting;
        push(self, What::Wake { task, waker });
    }

    fn fork(&mut self, event: &RawEvent) {
        let parent = self.some_task(event.task);
        let child = self.new_task(event.other);
        self.known(child).state = State::Waiting;
        let what = match parent {
            Some(parent) => What::Fork { parent, child },
            None => What::Wake { task: child, waker: Waker::Unknown },
        };
        self.push(event, what);
    }

    fn message(&mut self, event: &RawEvent) -> What {
        let (task, bytes) = (self.task(event.task), event.detail);
        let next = self.streams.len() as u32;
        let stream = *self.streams.entry(event.other).or_insert(next);
        match event.kind.into() {
            kind::SENT => What::Send { task, stream, bytes },
            _ => What::Take { task, stream, bytes },
        }
    }

    fn task_facts(&mut self, event: &RawEvent, facts: &TaskFacts) {
        let index = self.task(event.task);
        let now = attributes(facts, self.cpus);
        let task = &mut self.tasks[index.0 as usize];
        task.name = name(facts);
        task.kernel = Some(facts.kernel != 0);
        let known = &mut self.known[index.0 as usize];
        if !known.has_facts {
            task.attributes = now.clone();
        }
        let changed = known.has_facts.then(|| difference(&known.attributes, &now)).flatten();
        (known.has_facts, known.attributes) = (true, now);
        if let Some(to) = changed {
            self.push(event, What::Changed { task: index, to: Box::new(to) });
        }
    }

    fn finish(mut self, frame: &Frame) -> Recording {
        self.first.append(&mut self.events);
        Recording {
            source: frame.source.clone(),
            cpus: frame.cpus,
            length_ns: frame.end_ns.saturating_sub(frame.start_ns),
            tasks: self.tasks,
            events: self.first,
            lost_events: frame.lost_events,
            untold: Vec::new(),
        }
    }
}

/// Why a task leaves its CPU, and what it does from then on. What a task sleeps for that anything
/// can end is decided when it is woken.
fn left(detail: u32, place: usize) -> (Leaves, State) {
    match detail & 0xff {
        leaves::RUNNABLE => (Leaves::Runnable, State::Waiting),
        leaves::ENDED => (Leaves::Ended, State::Unseen),
        leaves::YIELDING => (Leaves::Yields, State::Waiting),
        _ => {
            let sleep = reason::sleep(detail);
            let reason = match sleep {
                Sleep::For(reason) => reason,
                Sleep::ForAny => reason::decided(Waker::Unknown, 0),
            };
            (Leaves::Sleeps(reason), State::Asleep(place, sleep))
        }
    }
}

#[cfg(test)]
mod tests;
