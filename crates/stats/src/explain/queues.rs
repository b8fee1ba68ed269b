// SPDX-License-Identifier: GPL-2.0-only
//! How many tasks were in each dispatch queue over time, and how long they waited there: from the
//! decisions of a trace.

use std::collections::BTreeMap;

use model::trace::{Queue, TraceEvent, What};
use serde::Serialize;

/// Intervals of the depth over time.
const INTERVALS: usize = 24;

/// A queue of the scheduler: a dispatch queue, or its own memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueUse {
    pub queue: Queue,
    /// How often a task was put into it.
    pub insertions: u64,
    /// The number of tasks in it, by time.
    pub depth: Quantiles,
    /// From a task's insertion until it was taken out, or until the end, ns.
    pub wait_ns: Quantiles,
    /// The mean depth in equal intervals.
    pub depth_over_time: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quantiles {
    pub min: u64,
    pub median: u64,
    pub p99: u64,
    pub max: u64,
}

impl Quantiles {
    /// Of values with their weights, in ascending order.
    fn of(weighted: &BTreeMap<u64, u64>) -> Quantiles {
        let whole: u64 = weighted.values().sum();
        let at = |part: u64, of: u64| {
            let mut left = (u128::from(whole) * u128::from(part)).div_ceil(u128::from(of)) as u64;
            let found = weighted.iter().find(|(_, weight)| {
                let is_here = left <= **weight;
                left = left.saturating_sub(**weight);
                is_here
            });
            found.map_or(0, |(value, _)| *value)
        };
        let ends = weighted.first_key_value().zip(weighted.last_key_value());
        let (min, max) = ends.map_or((0, 0), |((min, _), (max, _))| (*min, *max));
        Quantiles { min, median: at(1, 2), p99: at(99, 100), max }
    }
}

/// A queue while the events are read.
#[derive(Default)]
struct Tally {
    insertions: u64,
    depth: u64,
    /// The greatest depth, however short.
    deepest: u64,
    since_ns: u64,
    /// For how long it had each depth.
    ns_by_depth: BTreeMap<u64, u64>,
    waits: BTreeMap<u64, u64>,
    /// Depth times ns, by interval.
    integrals: [u64; INTERVALS],
}

impl Tally {
    fn change(&mut self, at_ns: u64, depth: u64, interval_ns: u64) {
        let mut from_ns = self.since_ns;
        if at_ns > from_ns {
            *self.ns_by_depth.entry(self.depth).or_default() += at_ns - from_ns;
        }
        while from_ns < at_ns && self.depth > 0 {
            let interval = from_ns / interval_ns;
            let end_ns = at_ns.min((interval + 1) * interval_ns);
            self.integrals[interval as usize] += self.depth * (end_ns - from_ns);
            from_ns = end_ns;
        }
        (self.depth, self.since_ns) = (depth, at_ns.max(self.since_ns));
        self.deepest = self.deepest.max(depth);
    }
}

struct Reader {
    end_ns: u64,
    interval_ns: u64,
    queues: BTreeMap<Place, Tally>,
    /// Where each task is, and since when.
    tasks: BTreeMap<u32, (Place, u64)>,
}

/// Queues in the order in which they are told: those that the scheduler made come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Shared(u64),
    Scheduler,
    Global(u32),
    Local(u32),
}

impl Place {
    fn of(queue: Queue) -> Option<Place> {
        match queue {
            Queue::Shared(id) => Some(Place::Shared(id)),
            Queue::Scheduler => Some(Place::Scheduler),
            Queue::Global(node) => Some(Place::Global(node)),
            Queue::Local(cpu) => Some(Place::Local(cpu)),
            Queue::Bypass | Queue::RealTime(_) | Queue::Deadline(_) => None,
        }
    }

    fn queue(self) -> Queue {
        match self {
            Place::Shared(id) => Queue::Shared(id),
            Place::Scheduler => Queue::Scheduler,
            Place::Global(node) => Queue::Global(node),
            Place::Local(cpu) => Queue::Local(cpu),
        }
    }
}

impl Reader {
    fn take(&mut self, task: u32, at_ns: u64) {
        let Some((place, since_ns)) = self.tasks.remove(&task) else { return };
        let tally = self.queues.entry(place).or_default();
        tally.change(at_ns, tally.depth.saturating_sub(1), self.interval_ns);
        *tally.waits.entry(at_ns.saturating_sub(since_ns)).or_default() += 1;
    }

    fn put(&mut self, task: u32, queue: Queue, at_ns: u64) {
        self.take(task, at_ns);
        let Some(place) = Place::of(queue) else { return };
        let tally = self.queues.entry(place).or_default();
        tally.insertions += 1;
        tally.change(at_ns, tally.depth + 1, self.interval_ns);
        self.tasks.insert(task, (place, at_ns));
    }

    fn close(mut self) -> Vec<QueueUse> {
        let left: Vec<u32> = self.tasks.keys().copied().collect();
        left.into_iter().for_each(|task| self.take(task, self.end_ns));
        let used = |(place, mut tally): (Place, Tally)| {
            tally.change(self.end_ns, 0, self.interval_ns);
            let mean = |sum: u64| sum as f64 / self.interval_ns as f64;
            QueueUse {
                queue: place.queue(),
                insertions: tally.insertions,
                depth: Quantiles { max: tally.deepest, ..Quantiles::of(&tally.ns_by_depth) },
                wait_ns: Quantiles::of(&tally.waits),
                depth_over_time: tally.integrals.map(mean).into(),
            }
        };
        self.queues.into_iter().map(used).collect()
    }
}

/// The queues that tasks were put into, until the end of the trace.
pub fn queues(events: &[TraceEvent], end_ns: u64) -> Vec<QueueUse> {
    let interval_ns = end_ns.div_ceil(INTERVALS as u64).max(1);
    let (queues, tasks) = (BTreeMap::new(), BTreeMap::new());
    let mut reader = Reader { end_ns, interval_ns, queues, tasks };
    for event in events.iter().filter(|event| event.time_ns < end_ns) {
        match &event.what {
            What::Enqueue { pid, queue, .. } => reader.put(*pid, *queue, event.time_ns),
            What::Choose { pid, .. } | What::Exit { pid } => reader.take(*pid, event.time_ns),
            What::Switch { next, .. } => reader.take(*next, event.time_ns),
            _ => {}
        }
    }
    reader.close()
}
