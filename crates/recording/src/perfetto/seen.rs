// SPDX-License-Identifier: GPL-2.0-only
//! The events of all CPUs, which are brought into the order of time and collected.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Fault;
use super::wire::Field;
use crate::collect::{Collector, Context, Moment, Named, Scheduling, UNNAMED};
use crate::event::Recording;

/// The most names of threads.
const NAMES: usize = 1 << 20;

/// An event of the trace.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at_ns: u64,
    pub cpu: u32,
    /// The thread that ran; `None` if the event does not say.
    pub tid: Option<u32>,
    pub in_interrupt: Option<bool>,
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Who leaves is known in the long form only.
    Switch {
        out: Option<Thread>,
        state: u64,
        next: Thread,
    },
    Waking(Thread),
    Wakeup(Thread),
    Fork {
        parent: Thread,
        child: Thread,
    },
    /// The same seen from its child: `task_newtask`.
    NewTask(Thread),
    Exit(Thread),
    Enter(Context),
    Leave,
    /// Events of this CPU are missing here.
    Gap,
}

/// A thread in an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread {
    /// A place in [`Names`].
    pub name: u32,
    pub tid: u32,
    pub prio: Option<i32>,
}

/// Each name once.
#[derive(Debug)]
pub struct Names<'a> {
    list: Vec<Cow<'a, str>>,
    places: BTreeMap<Cow<'a, str>, u32>,
}

impl Default for Names<'_> {
    /// The first is that of a thread of which no name is known.
    fn default() -> Self {
        Names { list: vec![UNNAMED.into()], places: BTreeMap::from([(UNNAMED.into(), 0)]) }
    }
}

impl<'a> Names<'a> {
    /// The place of the name in that field.
    pub fn place(&mut self, field: &Field<'a>) -> Result<u32, Fault> {
        let name = field.name()?;
        if self.list.len() > NAMES {
            return Err(Fault::at(field.at, format!("more than {NAMES} names of threads")));
        }
        let next = self.list.len() as u32;
        let place = *self.places.entry(name.clone()).or_insert(next);
        if place == next {
            self.list.push(name);
        }
        Ok(place)
    }

    fn named(&self, thread: Thread) -> Named<'_> {
        Named { comm: &self.list[thread.name as usize], tid: thread.tid, prio: thread.prio }
    }
}

/// What is known of processes besides events.
#[derive(Debug, Default)]
pub struct Processes<'a> {
    /// The process of a thread.
    pub of: BTreeMap<u32, u32>,
    /// The name of a thread.
    pub names: BTreeMap<u32, Cow<'a, str>>,
}

/// Brings events into the order of time and hands them over.
struct Feeder<'a> {
    names: &'a Names<'a>,
    processes: &'a Processes<'a>,
    collector: Collector,
    /// The thread that runs on each CPU, where that is known.
    running: BTreeMap<u32, u32>,
    has_forks: bool,
    /// Switches of which nothing says who left.
    unknown: u64,
}

/// Makes a recording of a trace's events.
pub fn recording(
    mut events: Vec<Seen>,
    names: &Names<'_>,
    processes: &Processes<'_>,
    (cpus, lost): (u32, u64),
) -> Result<Recording, Fault> {
    events.sort_by_key(|event| event.at_ns);
    let has = |is: fn(&Kind) -> bool| events.iter().any(|event| is(&event.kind));
    let mut feeder = Feeder {
        names,
        processes,
        collector: Collector::new(has(|kind| matches!(kind, Kind::Waking(_)))),
        running: BTreeMap::new(),
        has_forks: has(|kind| matches!(kind, Kind::Fork { .. })),
        unknown: 0,
    };
    feeder.collector.cpus(cpus);
    feeder.collector.lost(lost);
    events.iter().for_each(|event| feeder.event(event));
    let unknown = feeder.unknown;
    let finished = feeder.collector.finish("a trace of Perfetto");
    let mut recording = finished.map_err(|message| Fault { offset: None, message })?;
    for task in recording.tasks.iter_mut().filter(|task| task.name == UNNAMED) {
        if let Some(name) = processes.names.get(&task.tid) {
            task.name = name.to_string();
        }
    }
    if unknown > 0 {
        recording.untold.push(format!("which tasks ran before {unknown} of the switches"));
    }
    Ok(recording)
}

impl Feeder<'_> {
    fn event(&mut self, seen: &Seen) {
        if let Some(tid) = seen.tid {
            self.running.insert(seen.cpu, tid);
        }
        let event = match seen.kind {
            Kind::Gap => {
                self.running.remove(&seen.cpu);
                return;
            }
            Kind::Switch { out, state, next } => return self.switch(seen, out, state, next),
            Kind::Waking(thread) => Scheduling::Waking(self.names.named(thread)),
            Kind::Wakeup(thread) => Scheduling::Wakeup(self.names.named(thread)),
            Kind::Fork { parent, child } => {
                let parent = self.names.named(parent);
                Scheduling::Fork { parent, child: self.names.named(child) }
            }
            Kind::NewTask(_) if self.has_forks => return,
            Kind::NewTask(child) => {
                let parent = Thread { tid: self.tid(seen), ..Thread::default() };
                let parent = self.names.named(parent);
                Scheduling::Fork { parent, child: self.names.named(child) }
            }
            Kind::Exit(thread) => Scheduling::Exit(self.names.named(thread)),
            Kind::Enter(context) => Scheduling::Enter(context),
            Kind::Leave => Scheduling::Leave,
        };
        let tid = self.tid(seen);
        self.collector.event(&self.moment(seen, tid), event);
    }

    fn switch(&mut self, seen: &Seen, out: Option<Thread>, state: u64, next: Thread) {
        let before = self.running.insert(seen.cpu, next.tid);
        let out = out.or_else(|| before.map(|tid| Thread { tid, ..Thread::default() }));
        // An unknown task looks like the idle one, which never sleeps.
        let state = if out.is_some() { letter(state) } else { 'R' };
        self.unknown += u64::from(out.is_none());
        let out = out.unwrap_or_default();
        let (tid, out) = (out.tid, self.names.named(out));
        let event = Scheduling::Switch { out, state, next: self.names.named(next) };
        self.collector.event(&self.moment(seen, tid), event);
    }

    /// The thread that runs there; 0 if it is not known.
    fn tid(&self, seen: &Seen) -> u32 {
        self.running.get(&seen.cpu).copied().unwrap_or(0)
    }

    fn moment(&self, seen: &Seen, tid: u32) -> Moment<'static> {
        Moment {
            comm: UNNAMED,
            tid,
            process: self.processes.of.get(&tid).copied(),
            cpu: seen.cpu,
            in_interrupt: seen.in_interrupt,
            at_ns: seen.at_ns,
        }
    }
}

/// The first letter of the state in which a task leaves, as the kernel prints it. Higher bits are
/// about tasks that could run on.
fn letter(state: u64) -> char {
    let letters = ['S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'];
    if state & 0xff == 0 { 'R' } else { letters[state.trailing_zeros() as usize] }
}
