// SPDX-License-Identifier: GPL-2.0-only
//! From events to a recording, whatever they were read from: tasks get places, times begin at 0,
//! wakers are told from interrupts.

use std::collections::BTreeMap;

use model::{Policy, PolicyClass};

use crate::event::{
    Attributes, Event, Leaves, Moment, Named, Recording, Scheduling, Task, TaskIndex, UNNAMED,
    Waker, What,
};

/// The kernel's priority of nice 0, and the first one that is not real-time.
const NICE_0: i32 = 120;
const FAIR: i32 = 100;
/// The highest priority that a workload may have; Fairground itself has the one above.
const PRIORITY_MAX: i32 = 98;

#[derive(Default)]
pub struct Collector<'a> {
    recording: Recording,
    /// Who takes the events; `None`: the recording keeps them.
    to: Option<&'a mut dyn FnMut(Event)>,
    seen: Seen,
    /// When it began and ended, if that is not told by the events.
    span_ns: Option<(u64, u64)>,
    /// The task that has a thread's number now.
    current: BTreeMap<u32, TaskIndex>,
    /// The thread that each CPU runs, where that is known.
    running: BTreeMap<u32, u32>,
    /// Of each task.
    known: Vec<Known>,
    /// Changes of nice values that the next event shows.
    changes: Vec<(TaskIndex, i32)>,
    /// The interrupts that each CPU serves now.
    interrupts: BTreeMap<u32, Vec<(Waker, u64)>>,
    /// Streams in the order of their first messages, by the source's numbers.
    streams: BTreeMap<u32, u32>,
    /// Of how many switches nothing says who left.
    unknown_switches: u64,
    has_waking: bool,
    has_flags: bool,
    has_contexts: bool,
    highest_cpu: u32,
}

/// What is known of all events together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub events: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// Whether an event came after a later one.
    pub unordered: bool,
    has_switches: bool,
    has_wakes: bool,
}

impl Seen {
    fn add(&mut self, event: &Event) {
        if self.events == 0 {
            (self.first_ns, self.last_ns) = (event.at_ns, event.at_ns);
        }
        self.unordered |= event.at_ns < self.last_ns;
        self.first_ns = self.first_ns.min(event.at_ns);
        self.last_ns = self.last_ns.max(event.at_ns);
        self.events += 1;
        self.has_switches |= matches!(event.what, What::Switch { .. });
        self.has_wakes |= matches!(event.what, What::Wake { .. });
    }
}

impl<'a> Collector<'a> {
    pub fn new(has_waking: bool) -> Collector<'a> {
        Collector { has_waking, ..Collector::default() }
    }

    /// The same without a list, if there is somebody to take each event, with its time on the
    /// trace's clock.
    pub fn handing_on(self, to: Option<&'a mut dyn FnMut(Event)>) -> Collector<'a> {
        Collector { to, ..self }
    }

    /// The same for a recording from one instant to another, whatever was seen.
    pub fn between(self, start_ns: u64, end_ns: u64) -> Collector<'a> {
        Collector { span_ns: Some((start_ns, end_ns)), ..self }
    }

    pub fn lost(&mut self, events: u64) {
        self.recording.lost_events = self.recording.lost_events.saturating_add(events);
    }

    pub fn cpus(&mut self, cpus: u32) {
        self.recording.cpus = self.recording.cpus.max(cpus);
    }

    pub fn event(&mut self, moment: &Moment<'_>, event: Scheduling<'_>) {
        self.highest_cpu = self.highest_cpu.max(moment.cpu);
        // Where no line shows an interrupt, flags are not those of the kernel.
        self.has_flags |= moment.in_interrupt == Some(true);
        if let Some(current) = moment.current {
            self.running.insert(moment.cpu, current.tid);
        }
        match event {
            Scheduling::Switch { out, leaves, next } => self.switch(moment, (out, leaves), next),
            Scheduling::Send { task, stream, bytes, room } => {
                let stream = self.stream(stream);
                self.by_task(moment, task, |task| What::Send { task, stream, bytes, room });
            }
            Scheduling::Take { task, stream, bytes } => {
                let stream = self.stream(stream);
                self.by_task(moment, task, |task| What::Take { task, stream, bytes });
            }
            Scheduling::Waking(woken, by) => {
                self.has_contexts |= by.is_some();
                self.wake(moment, woken, by);
            }
            Scheduling::Wakeup(woken) if !self.has_waking => {
                self.wake(moment, woken, None);
            }
            Scheduling::Fork { parent, child } => {
                let parent = parent.or_else(|| self.current(moment));
                let parent = parent.and_then(|parent| self.task(parent));
                let child = self.fresh(child);
                if let Some(parent) = parent {
                    let tasks = &mut self.recording.tasks;
                    let group = tasks[parent.0 as usize].control_group.clone();
                    tasks[child.0 as usize].control_group = group;
                    self.push(moment, What::Fork { parent, child });
                }
            }
            Scheduling::Attach(task, path) => {
                if let Some(task) = self.task(task) {
                    path.clone_into(&mut self.recording.tasks[task.0 as usize].control_group);
                }
            }
            Scheduling::Exit(task) => self.by_task(moment, task, |task| What::Exit { task }),
            Scheduling::Enter(context) => {
                self.has_contexts = true;
                let here = self.interrupts.entry(moment.cpu).or_default();
                here.push((context, moment.at_ns));
            }
            Scheduling::Leave => {
                let here = self.interrupts.entry(moment.cpu).or_default();
                // One that interrupts another one is part of that.
                if let (Some((_, from_ns)), true) = (here.pop(), here.is_empty()) {
                    let ns = moment.at_ns.saturating_sub(from_ns);
                    self.push(moment, What::Interrupted { ns });
                }
            }
            Scheduling::Lost => {
                self.running.remove(&moment.cpu);
            }
            Scheduling::Wakeup(_) | Scheduling::Other => {}
        }
    }

    /// What the kernel says of a task: at first what it began with, later what has changed.
    pub fn facts(&mut self, moment: &Moment<'_>, tid: u32, facts: Task) {
        let Some(task) = self.task(Named::numbered(tid)) else { return };
        let (own, known) =
            (&mut self.recording.tasks[task.0 as usize], &mut self.known[task.0 as usize]);
        let Some(before) = known.told.replace(facts.attributes.clone()) else {
            *own = Task { tid, ..facts };
            return;
        };
        (own.name, own.control_group) = (facts.name, facts.control_group);
        if let Some(to) = facts.attributes.changed_from(&before) {
            self.push(moment, What::Changed { task, to: Box::new(to) });
        }
    }

    fn by_task(&mut self, moment: &Moment<'_>, task: Named<'_>, what: impl Fn(TaskIndex) -> What) {
        if let Some(task) = self.task(task) {
            self.push(moment, what(task));
        }
    }

    fn push(&mut self, moment: &Moment<'_>, what: What) {
        for (task, prio) in std::mem::take(&mut self.changes) {
            let to = Attributes { nice: Some(policy_of(prio).nice), ..Attributes::default() };
            let what = What::Changed { task, to: Box::new(to) };
            self.take(Event { at_ns: moment.at_ns, cpu: moment.cpu, what });
        }
        self.take(Event { at_ns: moment.at_ns, cpu: moment.cpu, what });
    }

    fn take(&mut self, event: Event) {
        self.seen.add(&event);
        match &mut self.to {
            Some(to) => to(event),
            None => self.recording.events.push(event),
        }
    }

    /// The task at work on the CPU, if that is known.
    fn current<'m>(&self, moment: &Moment<'m>) -> Option<Named<'m>> {
        let known = || self.running.get(&moment.cpu).map(|tid| Named::numbered(*tid));
        moment.current.or_else(known)
    }

    fn switch(
        &mut self,
        moment: &Moment<'_>,
        (out, leaves): (Option<Named<'_>>, Leaves),
        next: Named<'_>,
    ) {
        let known = out.or_else(|| self.current(moment));
        self.unknown_switches += u64::from(known.is_none());
        // An unknown task looks like the idle one, which never sleeps.
        let (out, leaves) =
            known.map_or((Named::numbered(0), Leaves::Runnable), |known| (known, leaves));
        self.running.insert(moment.cpu, next.tid);
        let tid = out.tid;
        let (out, next) = (self.task(out), self.task(next));
        self.push(moment, What::Switch { out, leaves, next });
        if leaves == Leaves::Ended {
            self.current.remove(&tid);
        }
    }

    fn wake(&mut self, moment: &Moment<'_>, woken: Named<'_>, by: Option<Waker<Named<'_>>>) {
        let waker = match by {
            None => self.current_waker(moment),
            Some(Waker::Task(task)) => self.task(task).map_or(Waker::Unknown, Waker::Task),
            Some(Waker::Timer) => Waker::Timer,
            Some(Waker::Interrupt) => Waker::Interrupt,
            Some(Waker::Unknown) => Waker::Unknown,
        };
        self.by_task(moment, woken, |task| What::Wake { task, waker });
    }

    /// The waker of a task on a CPU: the interrupt being served, else the running task.
    fn current_waker(&mut self, moment: &Moment<'_>) -> Waker {
        // It is seen even if an interrupt hit it.
        let current = self.current(moment).and_then(|current| self.task(current));
        let stack = self.interrupts.get(&moment.cpu);
        match (stack.and_then(|stack| stack.last()), current) {
            (Some((interrupt, _)), _) => *interrupt,
            (None, Some(task)) if moment.in_interrupt != Some(true) => Waker::Task(task),
            _ => Waker::Unknown,
        }
    }

    fn stream(&mut self, number: u32) -> u32 {
        let next = self.streams.len() as u32;
        *self.streams.entry(number).or_insert(next)
    }

    /// The task of that number now; `None`: the idle task.
    fn task(&mut self, named: Named<'_>) -> Option<TaskIndex> {
        if named.tid == 0 {
            return None;
        }
        let index = match self.current.get(&named.tid) {
            Some(index) => *index,
            None => self.fresh(named),
        };
        let task = &mut self.recording.tasks[index.0 as usize];
        if task.name != named.comm && named.comm != UNNAMED {
            named.comm.clone_into(&mut task.name);
        }
        if let Some(prio) = named.prio
            && self.known[index.0 as usize].change(prio)
        {
            self.changes.push((index, prio));
        }
        Some(index)
    }

    /// A new task, also if another one had its number before.
    fn fresh(&mut self, named: Named<'_>) -> TaskIndex {
        let index = TaskIndex(self.recording.tasks.len() as u32);
        let name = named.comm.to_owned();
        self.recording.tasks.push(Task { tid: named.tid, name, ..Task::default() });
        self.known.push(Known { first: named.prio, last: named.prio, told: None });
        self.current.insert(named.tid, index);
        index
    }

    /// The recording of that source, or why there is none.
    pub fn finish(mut self, source: &str) -> Result<(Recording, Seen), String> {
        if !self.seen.has_switches {
            return Err(
                "there is no sched_switch in it: nothing tells what ran; trace the events \
                        of the subsystem 'sched'"
                    .into(),
            );
        }
        self.add_unstated();
        let seen = self.seen;
        Ok((self.recording(source), seen))
    }

    /// What was seen, even if that is nothing, of a source that tells all.
    pub fn recording(self, source: &str) -> Recording {
        let Collector { mut recording, seen, .. } = self;
        let (first_ns, last_ns) = self.span_ns.unwrap_or((seen.first_ns, seen.last_ns));
        if seen.unordered {
            recording.events.sort_by_key(|event| event.at_ns);
        }
        for event in &mut recording.events {
            event.at_ns = event.at_ns.saturating_sub(first_ns);
        }
        recording.length_ns = last_ns - first_ns;
        recording.cpus = recording.cpus.max(self.highest_cpu.saturating_add(1));
        for (task, known) in recording.tasks.iter_mut().zip(&self.known) {
            task.kernel = task.kernel.or_else(|| is_kernels(task).then_some(true));
            if let Some(policy) = known.first.map(policy_of) {
                task.attributes.nice = Some(policy.nice);
                task.attributes.policy = Some(policy);
            }
        }
        recording.source = source.into();
        recording
    }

    fn add_unstated(&mut self) {
        let has_wakes = self.seen.has_wakes;
        let has_groups = self.recording.tasks.iter().any(|task| !task.control_group.is_empty());
        let has_settings = !self.recording.control_groups.is_empty();
        let mut say = |text: &str| self.recording.untold.push(text.into());
        if has_groups && !has_settings {
            say("the trace tells which control groups tasks were moved to, and no weights and \
                 quotas: all groups have the usual weight; `fairground record` keeps them");
        }
        if !has_wakes {
            say("no wake-up is in the trace, so no task waits for another one: a sleep ends when \
                 its task runs again; trace sched_waking too");
        } else if !self.has_waking {
            say(
                "who woke whom is read from sched_wakeup, which other CPUs may have handled; trace \
                 sched_waking too",
            );
        }
        if has_wakes && !self.has_flags && !self.has_contexts {
            say(
                "an interrupt that hits a running task looks like that task: its wake-ups count as \
                 the task's",
            );
        }
        if !self.has_contexts {
            say("timers and devices look alike: a sleep that an interrupt ends counts as a \
                 timer's, an uninterruptible one as a device's");
        }
        say("policies are known by their priorities only: SCHED_RR looks like SCHED_FIFO, \
             SCHED_BATCH like SCHED_OTHER; affinities are not told");
        if self.unknown_switches > 0 {
            say(&format!("which tasks ran before {} of the switches", self.unknown_switches));
        }
    }
}

/// What is known of a task: the kernel's priorities at which it was seen (a real-time one of a task
/// that also has a nice value is borrowed), or what the kernel itself said last.
#[derive(Clone, Debug)]
struct Known {
    first: Option<i32>,
    last: Option<i32>,
    told: Option<Attributes>,
}

impl Known {
    /// Sees one more priority; whether it is another nice value than the last one.
    fn change(&mut self, prio: i32) -> bool {
        if self.first.is_none_or(|first| first < FAIR) {
            self.first = self.first.max(Some(prio));
        }
        if prio < FAIR {
            return false;
        }
        let last = self.last.replace(prio);
        last.is_some_and(|last| last >= FAIR && last != prio)
    }
}

fn policy_of(prio: i32) -> Policy {
    match prio {
        FAIR.. => Policy { nice: (prio - NICE_0).min(19), ..Policy::default() },
        _ => {
            let priority = (FAIR - 1 - prio).clamp(1, PRIORITY_MAX) as u32;
            Policy { class: PolicyClass::Fifo, priority, ..Policy::default() }
        }
    }
}

/// Names that the kernel gives to its own threads.
fn is_kernels(task: &Task) -> bool {
    const BEGINNINGS: &str = "kworker/ ksoftirqd/ migration/ rcu_ rcuop/ rcuog/ rcuos/ rcub/ \
                              cpuhp/ irq/ idle_inject/ jbd2/ kcompactd kdamond kswapd khugepaged \
                              kthreadd";
    BEGINNINGS.split(' ').any(|beginning| task.name.starts_with(beginning))
}
