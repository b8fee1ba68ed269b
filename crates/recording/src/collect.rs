// SPDX-License-Identifier: GPL-2.0-only
//! From events to a recording, whatever they were read from: tasks get places, times begin at 0,
//! wakers are told from interrupts.

use std::collections::BTreeMap;

use model::{Policy, PolicyClass};

use crate::event::{Attributes, Event, Leaves, Reason, Recording, Task, TaskIndex, Waker, What};

/// The kernel's priority of nice 0, and the first one that is not real-time.
const NICE_0: i32 = 120;
const FAIR: i32 = 100;
/// The highest priority that a workload may have; Fairground itself has the one above.
const PRIORITY_MAX: i32 = 98;

/// What a trace prints for a name that it does not know.
pub const UNNAMED: &str = "<...>";

/// When and where an event was seen, and what ran there.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment<'a> {
    /// The name of the task that ran; [`UNNAMED`] if the trace does not tell.
    pub comm: &'a str,
    /// Its thread's number; 0 is the idle task.
    pub tid: u32,
    pub cpu: u32,
    /// Whether the event came from an interrupt; `None` where the trace has no flags.
    pub in_interrupt: Option<bool>,
    /// Nanoseconds on the trace's clock.
    pub at_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    pub comm: &'a str,
    /// Its thread's number; 0 is the idle task.
    pub tid: u32,
    /// The kernel's priority: 100 … 139 are nice −20 … 19, smaller ones are real-time.
    pub prio: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling<'a> {
    Switch {
        out: Named<'a>,
        leaves: Leaves,
        next: Named<'a>,
    },
    /// A task has put bytes into a stream.
    Send {
        task: Named<'a>,
        stream: u32,
        bytes: u32,
    },
    /// A task has taken bytes out of a stream.
    Take {
        task: Named<'a>,
        stream: u32,
        bytes: u32,
    },
    /// `sched_waking`: seen on the waker's CPU.
    Waking(Named<'a>),
    /// `sched_wakeup`: where the task becomes runnable, perhaps not the waker's CPU.
    Wakeup(Named<'a>),
    Fork {
        parent: Named<'a>,
        child: Named<'a>,
    },
    Exit(Named<'a>),
    /// An interrupt's work begins.
    Enter(Context),
    Leave,
    /// An event that says nothing here.
    Other,
}

/// Whose work an interrupt does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    Timer,
    Device,
}

pub struct Collector<'a> {
    recording: Recording,
    /// Who takes the events; `None`: the recording keeps them.
    to: Option<&'a mut dyn FnMut(Event)>,
    seen: Seen,
    /// The task that has a thread's number now.
    current: BTreeMap<u32, TaskIndex>,
    /// The priorities of each task.
    prios: Vec<Prios>,
    /// Changes of nice values that the next event shows.
    changes: Vec<(TaskIndex, i32)>,
    /// The interrupts that each CPU serves now.
    interrupts: BTreeMap<u32, Vec<Context>>,
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
        Collector {
            recording: Recording::default(),
            to: None,
            seen: Seen::default(),
            current: BTreeMap::new(),
            prios: Vec::new(),
            changes: Vec::new(),
            interrupts: BTreeMap::new(),
            has_waking,
            has_flags: false,
            has_contexts: false,
            highest_cpu: 0,
        }
    }

    /// The same without a list: each event goes there, with its time on the trace's clock.
    pub fn handing_on(self, to: &'a mut dyn FnMut(Event)) -> Collector<'a> {
        Collector { to: Some(to), ..self }
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
        match event {
            Scheduling::Switch { out, leaves, next } => self.switch(moment, (out, leaves), next),
            Scheduling::Send { task, stream, bytes } => {
                if let Some(task) = self.task(task) {
                    self.push(moment, What::Send { task, stream, bytes });
                }
            }
            Scheduling::Take { task, stream, bytes } => {
                if let Some(task) = self.task(task) {
                    self.push(moment, What::Take { task, stream, bytes });
                }
            }
            Scheduling::Waking(woken) => self.wake(moment, woken),
            Scheduling::Wakeup(woken) if !self.has_waking => self.wake(moment, woken),
            Scheduling::Fork { parent, child } => {
                let parent = self.task(parent);
                let child = self.fresh(child);
                if let Some(parent) = parent {
                    self.push(moment, What::Fork { parent, child });
                }
            }
            Scheduling::Exit(task) => {
                if let Some(task) = self.task(task) {
                    self.push(moment, What::Exit { task });
                }
            }
            Scheduling::Enter(context) => {
                self.has_contexts = true;
                self.interrupts.entry(moment.cpu).or_default().push(context);
            }
            Scheduling::Leave => {
                self.interrupts.entry(moment.cpu).or_default().pop();
            }
            Scheduling::Wakeup(_) | Scheduling::Other => {}
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

    fn switch(&mut self, moment: &Moment<'_>, (out, leaves): (Named<'_>, Leaves), next: Named<'_>) {
        let tid = out.tid;
        let (out, next) = (self.task(out), self.task(next));
        self.push(moment, What::Switch { out, leaves, next });
        if leaves == Leaves::Ended {
            self.current.remove(&tid);
        }
    }

    fn wake(&mut self, moment: &Moment<'_>, woken: Named<'_>) {
        let current = Named { comm: moment.comm, tid: moment.tid, prio: None };
        let current = self.task(current);
        let Some(task) = self.task(woken) else { return };
        let stack = self.interrupts.get(&moment.cpu);
        let waker = match (stack.and_then(|stack| stack.last()), current) {
            (Some(Context::Timer), _) => Waker::Timer,
            (Some(Context::Device), _) => Waker::Interrupt,
            (None, Some(waker)) if moment.in_interrupt != Some(true) => Waker::Task(waker),
            _ => Waker::Unknown,
        };
        self.push(moment, What::Wake { task, waker });
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
            && self.prios[index.0 as usize].change(prio)
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
        self.prios.push(Prios { first: named.prio, last: named.prio });
        self.current.insert(named.tid, index);
        index
    }

    /// The recording of that source, or why there is none.
    pub fn finish(mut self, source: &str) -> Result<(Recording, Seen), String> {
        let (mut recording, seen) = (std::mem::take(&mut self.recording), self.seen);
        if !seen.has_switches {
            return Err(
                "there is no sched_switch in it: nothing tells what ran; trace the events \
                        of the subsystem 'sched'"
                    .into(),
            );
        }
        recording.events.sort_by_key(|event| event.at_ns);
        recording.events.iter_mut().for_each(|event| event.at_ns -= seen.first_ns);
        recording.length_ns = seen.last_ns - seen.first_ns;
        recording.cpus = recording.cpus.max(self.highest_cpu.saturating_add(1));
        for (task, prio) in recording.tasks.iter_mut().zip(&self.prios) {
            task.kernel = is_kernels(task).then_some(true);
            let policy = prio.first.map(policy_of);
            task.attributes.nice = policy.map(|policy| policy.nice);
            task.attributes.policy = policy;
        }
        self.add_unstated(&mut recording);
        recording.source = source.into();
        Ok((recording, seen))
    }

    fn add_unstated(&self, recording: &mut Recording) {
        let has_wakes = self.seen.has_wakes;
        let mut say = |text: &str| recording.untold.push(text.into());
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
    }
}

/// The kernel's priorities at which a task was seen. A real-time one of a task that also has a nice
/// value is borrowed.
#[derive(Clone, Copy, Debug)]
struct Prios {
    first: Option<i32>,
    last: Option<i32>,
}

impl Prios {
    /// Sees one more; whether it is another nice value than the last one.
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

impl Leaves {
    /// Of a task in a state that the kernel prints as this letter. Where the source tells no more,
    /// an uninterruptible sleep is for a disk.
    pub fn in_state(state: char) -> Leaves {
        match state {
            'R' => Leaves::Runnable,
            'X' | 'Z' | 'x' => Leaves::Ended,
            'D' => Leaves::Sleeps(Reason::Disk),
            _ => Leaves::Sleeps(Reason::Unknown),
        }
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
    const BEGINNINGS: [&str; 17] = [
        "kworker/",
        "ksoftirqd/",
        "migration/",
        "rcu_",
        "rcuop/",
        "rcuog/",
        "rcuos/",
        "rcub/",
        "cpuhp/",
        "irq/",
        "idle_inject/",
        "jbd2/",
        "kcompactd",
        "kdamond",
        "kswapd",
        "khugepaged",
        "kthreadd",
    ];
    BEGINNINGS.iter().any(|beginning| task.name.starts_with(beginning))
}
