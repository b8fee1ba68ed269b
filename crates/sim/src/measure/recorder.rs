// SPDX-License-Identifier: GPL-2.0-only
//! Counters and dense histograms that are filled while the simulation runs.

use model::histogram::{bucket, lowest_value};
use model::trace::{TraceEvent, What};
use model::{Histogram, series};

use super::decisions::{TraceLog, prio};
use crate::core::task::{Task, TaskId};

/// Buckets in a piece.
const PIECE: usize = 256;

/// A [`Histogram`] to be filled: of its dense buckets those pieces are there that have samples, as
/// a process's first touch of each page of memory costs more than many samples.
#[derive(Clone, Debug)]
pub(crate) struct DenseHistogram {
    pieces: Vec<Option<Box<[u64; PIECE]>>>,
    min: u64,
    max: u64,
}

impl Default for DenseHistogram {
    fn default() -> DenseHistogram {
        DenseHistogram { pieces: Vec::new(), min: u64::MAX, max: 0 }
    }
}

impl DenseHistogram {
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.pieces.get_mut(bucket / PIECE) {
            Some(Some(samples)) => samples[bucket % PIECE] += 1,
            _ => self.record_beyond(bucket),
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[cold]
    fn record_beyond(&mut self, bucket: usize) {
        let piece = bucket / PIECE;
        if self.pieces.len() <= piece {
            self.pieces.resize(piece + 1, None);
        }
        let samples = self.pieces[piece].get_or_insert_with(|| Box::new([0; PIECE]));
        samples[bucket % PIECE] += 1;
    }

    /// The largest sample; 0 if there is none.
    pub fn largest(&self) -> u64 {
        self.max
    }

    pub fn histogram(&self, name: &str, group: &str) -> Histogram {
        let count = self.pieces.iter().flatten().flat_map(|samples| samples.iter()).sum();
        Histogram {
            name: name.into(),
            group: group.into(),
            count,
            min: if count > 0 { self.min } else { 0 },
            max: self.max,
            buckets: self.filled_buckets().collect(),
        }
    }

    /// The lowest value of each bucket that has samples, and how many.
    fn filled_buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let pieces = self
            .pieces
            .iter()
            .zip(0..)
            .filter_map(|(samples, piece)| Some((samples.as_ref()?, piece)));
        let all = pieces.flat_map(|(samples, piece)| samples.iter().zip(piece * PIECE..));
        let filled = all.filter(|(samples, _)| **samples > 0);
        filled.map(|(samples, bucket)| (lowest_value(bucket), *samples))
    }
}

#[derive(Clone, Debug, Default)]
pub struct GroupTally {
    pub wakeup: DenseHistogram,
    pub delay: DenseHistogram,
    pub lateness: DenseHistogram,
    pub response: DenseHistogram,
    pub turnaround: DenseHistogram,
    pub span: DenseHistogram,
    pub frames: DenseHistogram,
    pub stutters: u64,
    pub timeouts: u64,
    pub deadlines: u64,
    pub missed: u64,
    pub rounds: u64,
    pub tasks: u64,
}

impl GroupTally {
    /// A span that took `ns` and may take `limit_ns`.
    pub fn span(&mut self, ns: u64, limit_ns: u64) {
        self.span.record(ns);
        self.timeouts += u64::from(ns > limit_ns);
    }
}

impl model::play::Tally for GroupTally {
    #[inline]
    fn response(&mut self, ns: u64) {
        self.response.record(ns);
    }

    #[inline]
    fn lateness(&mut self, ns: u64) {
        self.lateness.record(ns);
    }

    #[inline]
    fn deadlines(&mut self, passed: u64, missed: u64) {
        self.deadlines += passed;
        self.missed += missed;
    }

    #[inline]
    fn frame(&mut self, ns: u64, is_stutter: bool) {
        self.frames.record(ns);
        self.stutters += u64::from(is_stutter);
    }
}

/// All counters of a trial.
pub struct Recorder {
    /// The common start. Series and traces count from there.
    start_ns: u64,
    pub groups: Vec<GroupTally>,
    /// The groups' tasks over time.
    pub series: series::Counts,
    /// Time at which the last finite task ended so far.
    pub last_end: Option<u64>,
    /// Why the workload could not continue.
    pub refusal: Option<String>,
    /// Context switches, including those from and to idle tasks.
    pub switches: u64,
    pub(crate) trace: Option<TraceLog>,
}

impl Recorder {
    pub fn new(groups: usize, trace: bool) -> Recorder {
        Recorder {
            start_ns: 0,
            groups: vec![GroupTally::default(); groups],
            series: series::Counts::default(),
            last_end: None,
            refusal: None,
            switches: 0,
            trace: trace.then(TraceLog::default),
        }
    }

    /// The common start: what was counted before is forgotten.
    pub(crate) fn restart(&mut self, start_ns: u64) {
        for tally in &mut self.groups {
            *tally = GroupTally { tasks: tally.tasks, ..GroupTally::default() };
        }
        (self.start_ns, self.series, self.switches) = (start_ns, series::Counts::default(), 0);
        self.trace = self.trace.take().map(|_| TraceLog::default());
    }

    #[inline]
    pub(crate) fn since_start(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.start_ns)
    }

    /// When the last finite task ended, from the common start.
    pub(crate) fn completion_ns(&self) -> Option<u64> {
        self.last_end.map(|end_ns| self.since_start(end_ns))
    }

    /// The trace with times from the common start.
    pub(crate) fn take_events(&mut self) -> Option<Vec<TraceEvent>> {
        let mut events = self.trace.take()?.events;
        for event in &mut events {
            event.time_ns = self.since_start(event.time_ns);
        }
        Some(events)
    }

    /// A task still waits for a CPU when the trial ends.
    pub(crate) fn waits_at_end(&mut self, from_ns: u64, end_ns: u64) {
        self.series.waited(self.since_start(from_ns), self.since_start(end_ns));
    }

    /// A task still runs when the trial ends.
    pub(crate) fn runs_at_end(&mut self, from_ns: u64, end_ns: u64) {
        self.series.runs_at_end(self.since_start(from_ns), self.since_start(end_ns));
    }

    /// A wait for a CPU has ended.
    #[inline]
    pub(crate) fn delay(&mut self, group: u32, from_ns: u64, to_ns: u64, longest: &mut u64) {
        let ns = to_ns.saturating_sub(from_ns);
        *longest = (*longest).max(ns);
        if let Some(tally) = self.groups.get_mut(group as usize) {
            tally.delay.record(ns);
            self.series.waited(self.since_start(from_ns), self.since_start(to_ns));
        }
    }

    /// A task leaves its CPU.
    #[inline]
    pub(crate) fn ran(&mut self, group: u32, from_ns: u64, to_ns: u64) {
        if (group as usize) < self.groups.len() {
            self.series.ran(self.since_start(from_ns), self.since_start(to_ns));
        }
    }

    /// A woken task runs.
    #[inline]
    pub(crate) fn wakeup(&mut self, group: u32, ns: u64) {
        if let Some(tally) = self.groups.get_mut(group as usize) {
            tally.wakeup.record(ns);
        }
    }

    #[inline]
    pub(crate) fn waking(
        &mut self,
        time_ns: u64,
        cpu: u32,
        (id, task): (TaskId, &Task),
        interrupt: bool,
    ) {
        if let Some(trace) = &mut self.trace {
            let (prio, target) = (prio(task), task.cpu);
            let what = What::Waking { pid: id.0, prio, target, interrupt, by: None };
            trace.push(time_ns, cpu, what);
        }
    }

    pub(crate) fn fork(&mut self, time_ns: u64, cpu: u32, parent: i32, child: i32) {
        self.series.forked(self.since_start(time_ns));
        if let Some(trace) = &mut self.trace {
            let what = What::Fork { parent: parent as u32, child: child as u32 };
            trace.push(time_ns, cpu, what);
        }
    }

    pub(crate) fn exit(&mut self, time_ns: u64, cpu: u32, pid: i32) {
        if let Some(trace) = &mut self.trace {
            trace.push(time_ns, cpu, What::Exit { pid: pid as u32 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::lowest_equivalent;

    #[test]
    fn dense_buckets_become_sparse_ones() {
        let mut counts = DenseHistogram::default();
        [5_001, 7, 5_001].into_iter().for_each(|sample| counts.record(sample));
        let histogram = counts.histogram("x", "y");
        assert_eq!((histogram.min, histogram.max, histogram.count), (7, 5_001, 3));
        assert_eq!(histogram.buckets, vec![(7, 1), (lowest_equivalent(5_001), 2)]);
    }
}
