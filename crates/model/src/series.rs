// SPDX-License-Identifier: GPL-2.0-only
//! Measures over time, as `sar` shows them: a few numbers in equal intervals.
//! The length of a trial is not known when it begins, and memory is bounded. Counting therefore
//! starts with intervals of 10 ms; their width doubles after 120 of them, and again after every 60.
//! At the end all intervals get the width of the last one. The result is the same as if neighbours
//! had been merged whenever there were more than 120.

use serde::{Deserialize, Serialize};

use crate::Name;
use crate::metric::Unit;

/// One number over the time of a trial, for the whole workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// A name from [`SERIES`].
    pub name: Name,
    /// The length of an interval: 10 ms times a power of two; 0 where the series is missing.
    pub interval_ns: u64,
    /// Where the last interval ends, from the common start: its length is 0.5 to 1.5 times that of
    /// the others, except in a trial shorter than that.
    pub end_ns: u64,
    /// One for each interval, in the series' unit; at most [`POINTS_MAX`].
    pub values: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Name>,
}

impl Series {
    /// Where an interval begins and ends, ns from the common start.
    pub fn interval(&self, index: usize) -> (u64, u64) {
        let begin_ns = index as u64 * self.interval_ns;
        let last = index + 1 >= self.values.len();
        (begin_ns, if last { self.end_ns } else { begin_ns + self.interval_ns })
    }

    /// The sum over the trial's seconds: switches, or seconds of waiting.
    pub fn integral(&self) -> f64 {
        let part = |(index, value): (usize, &f64)| {
            let (begin_ns, end_ns) = self.interval(index);
            value * end_ns.saturating_sub(begin_ns) as f64 / 1e9
        };
        self.values.iter().enumerate().map(part).sum()
    }
}

/// A definition that holds on every backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Definition {
    pub name: &'static str,
    pub unit: Unit,
    /// What exactly is measured.
    pub definition: &'static str,
}

/// Every series, in the order of a record's. The book's list of measures is generated from it.
pub static SERIES: [Definition; 4] = [
    Definition {
        name: "busy_share",
        unit: Unit::Ratio,
        definition: "CPU time of the workload's tasks within the interval / (its length × CPUs of \
                     the machine).",
    },
    Definition {
        name: "waiting_tasks",
        unit: Unit::Count,
        definition: "Mean number of the workload's tasks that were runnable without running.",
    },
    Definition {
        name: "switches_per_second",
        unit: Unit::PerSecond,
        definition: "Switches away from the workload's tasks, voluntary and involuntary, per \
                     second.",
    },
    Definition {
        name: "forks_per_second",
        unit: Unit::PerSecond,
        definition: "Tasks that the workload's tasks forked, threads included, per second.",
    },
];

/// Looks a series up by its name.
pub fn definition(name: &str) -> Option<&'static Definition> {
    SERIES.iter().find(|series| series.name == name)
}

/// The most intervals of a record.
pub const POINTS_MAX: u64 = 2 * HALF;

/// The shortest interval, ns.
const FIRST_NS: u64 = 10_000_000;

/// Intervals of each width but the first, of which there are twice as many.
const HALF: u64 = 60;

/// How often the width can double: to intervals of 11 minutes, which is 22 hours.
const LAST_LEVEL: u32 = 16;

/// Places for intervals. Later times are counted in the last one.
pub const PLACES: usize = HALF as usize * (LAST_LEVEL as usize + 2);

/// The place of the interval that holds a time since the common start.
pub fn place(since_ns: u64) -> usize {
    let nth = since_ns / FIRST_NS;
    let level = (nth / HALF).checked_ilog2().unwrap_or(0).min(LAST_LEVEL);
    (u64::from(level) * HALF + (nth >> level).min(2 * HALF - 1)) as usize
}

/// Where the interval of a place begins and ends, ns since the common start.
pub fn bounds(place: usize) -> (u64, u64) {
    let place = place as u64;
    let level = (place / HALF).saturating_sub(1);
    let width_ns = FIRST_NS << level;
    let begin_ns = (place - level * HALF) * width_ns;
    (begin_ns, begin_ns + width_ns)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// CPU time of tasks.
    pub busy_ns: u64,
    /// Time that tasks waited for a CPU, all added up.
    pub waiting_ns: u64,
    /// Switches away from tasks.
    pub switches: u64,
    pub forks: u64,
}

impl Interval {
    /// Adds another interval's counts.
    pub fn add(&mut self, more: &Interval) {
        self.busy_ns += more.busy_ns;
        self.waiting_ns += more.waiting_ns;
        self.switches += more.switches;
        self.forks += more.forks;
    }
}

/// The counts of a trial in progress. Nearly all events lie within the current interval, which has
/// a fast path. Times are ns since the common start.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    begin_ns: u64,
    end_ns: u64,
    /// Counts of the current interval that are not in the table yet.
    present: Interval,
    places: Vec<Interval>,
}

impl Counts {
    /// A task has run during this span, and leaves its CPU.
    #[inline]
    pub fn ran(&mut self, from_ns: u64, to_ns: u64) {
        if from_ns < self.begin_ns || to_ns >= self.end_ns {
            self.move_to(to_ns);
            if from_ns < self.begin_ns {
                return self.ran_across(from_ns, to_ns);
            }
        }
        self.present.switches += 1;
        self.present.busy_ns += to_ns.saturating_sub(from_ns);
    }

    /// A task has waited for a CPU during this span.
    #[inline]
    pub fn waited(&mut self, from_ns: u64, to_ns: u64) {
        if from_ns < self.begin_ns || to_ns >= self.end_ns {
            return self.spread(from_ns, to_ns, |at| &mut at.waiting_ns);
        }
        self.present.waiting_ns += to_ns.saturating_sub(from_ns);
    }

    /// A task still runs at the end of the trial.
    pub fn runs_at_end(&mut self, from_ns: u64, end_ns: u64) {
        self.spread(from_ns, end_ns, |at| &mut at.busy_ns);
    }

    pub fn forked(&mut self, at_ns: u64) {
        self.at(place(at_ns)).forks += 1;
    }

    pub fn add(&mut self, place: usize, more: &Interval) {
        self.at(place).add(more);
    }

    #[cold]
    fn ran_across(&mut self, from_ns: u64, to_ns: u64) {
        self.present.switches += 1;
        self.spread(from_ns, to_ns, |at| &mut at.busy_ns);
    }

    /// Makes the interval that holds this time the current one.
    #[cold]
    fn move_to(&mut self, at_ns: u64) {
        let present = std::mem::take(&mut self.present);
        self.at(place(self.begin_ns)).add(&present);
        (self.begin_ns, self.end_ns) = bounds(place(at_ns));
    }

    /// Splits a span of time between intervals.
    #[cold]
    fn spread(&mut self, from_ns: u64, to_ns: u64, what: fn(&mut Interval) -> &mut u64) {
        let mut from_ns = from_ns;
        while from_ns < to_ns {
            let at = place(from_ns);
            let end_ns = if at + 1 < PLACES { bounds(at).1.min(to_ns) } else { to_ns };
            *what(self.at(at)) += end_ns - from_ns;
            from_ns = end_ns;
        }
    }

    fn at(&mut self, place: usize) -> &mut Interval {
        if place >= self.places.len() {
            self.places.resize(place + 1, Interval::default());
        }
        &mut self.places[place]
    }

    /// The counts in equal intervals of a trial of that length, and the length of an interval.
    pub fn equal_intervals(&self, run_ns: u64) -> (u64, Vec<Interval>) {
        let rounded = |interval_ns: u64| run_ns.saturating_add(interval_ns / 2) / interval_ns;
        let widths = (0..LAST_LEVEL).map(|level| FIRST_NS << level);
        let fits = |&width_ns: &u64| rounded(width_ns) <= POINTS_MAX;
        let interval_ns = { widths }.find(fits).unwrap_or(FIRST_NS << LAST_LEVEL);
        let mut equal = vec![Interval::default(); rounded(interval_ns).max(1) as usize];
        let last = equal.len() - 1;
        let place_of = |place: usize| ((bounds(place).0 / interval_ns) as usize).min(last);
        for (place, counts) in self.places.iter().enumerate() {
            equal[place_of(place)].add(counts);
        }
        equal[place_of(place(self.begin_ns))].add(&self.present);
        (interval_ns, equal)
    }

    /// The record's series, for a trial of that length on `cpus` CPUs.
    pub fn series(&self, run_ns: u64, cpus: u32) -> Vec<Series> {
        if run_ns == 0 {
            return missing("the trial took no time");
        }
        let (interval_ns, equal) = self.equal_intervals(run_ns);
        let series_of = |definition: &Definition| {
            let mut series =
                Series { name: definition.name.into(), interval_ns, ..Series::default() };
            (series.end_ns, series.values) = (run_ns, vec![0.0; equal.len()]);
            for (index, counts) in equal.iter().enumerate() {
                let (begin_ns, end_ns) = series.interval(index);
                series.values[index] = value(definition.name, counts, end_ns - begin_ns, cpus);
            }
            series
        };
        SERIES.iter().map(series_of).collect()
    }
}

/// A number of an interval, rounded to a millionth, or to a thousandth for rates.
fn value(name: &str, counts: &Interval, length_ns: u64, cpus: u32) -> f64 {
    const SECOND_NS: u64 = 1_000_000_000;
    match name {
        "busy_share" => {
            let capacity_ns = u128::from(length_ns) * u128::from(cpus.max(1));
            quotient(counts.busy_ns, 1, capacity_ns, 1_000_000)
        }
        "waiting_tasks" => quotient(counts.waiting_ns, 1, length_ns.into(), 1_000_000),
        "switches_per_second" => quotient(counts.switches, SECOND_NS, length_ns.into(), 1_000),
        _ => quotient(counts.forks, SECOND_NS, length_ns.into(), 1_000),
    }
}

/// `count · factor / divisor`, rounded to `1 / fine`, in integer arithmetic as far as it goes.
fn quotient(count: u64, factor: u64, divisor: u128, fine: u64) -> f64 {
    let exact = u128::from(count) * u128::from(factor) * u128::from(fine);
    let rounded = (exact + divisor / 2) / divisor.max(1);
    rounded as f64 / fine as f64
}

/// All series, with the reason why there are none.
pub fn missing(why: &str) -> Vec<Series> {
    let series_of = |definition: &Definition| Series {
        name: definition.name.into(),
        missing: Some(why.into()),
        ..Series::default()
    };
    SERIES.iter().map(series_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn places_tile_the_time() {
        let mut time_ns = 0;
        for at in 0..PLACES {
            let (begin_ns, end_ns) = bounds(at);
            assert_eq!(begin_ns, time_ns, "place {at}");
            assert_eq!((place(begin_ns), place(end_ns - 1)), (at, at));
            time_ns = end_ns;
        }
        assert!(time_ns > 21 * 3600 * 1_000 * MS);
        assert_eq!(place(u64::MAX), PLACES - 1);
        assert_eq!([10, 20].map(|width| bounds(place(width * 120 * MS)).1 / MS), [1220, 2440]);
    }

    #[test]
    fn intervals_double_with_the_run() {
        let length = |run_ms: u64| {
            let (interval_ns, equal) = Counts::default().equal_intervals(run_ms * MS);
            (interval_ns / MS, equal.len())
        };
        assert_eq!(length(1), (10, 1));
        assert_eq!(length(14), (10, 1));
        assert_eq!(length(15), (10, 2));
        assert_eq!(length(1_200), (10, 120));
        assert_eq!(length(1_204), (10, 120));
        assert_eq!(length(1_206), (20, 60));
        assert_eq!(length(28_000), (320, 88));
        assert_eq!(length(3_600_000), (40_960, 88));
    }

    #[test]
    fn a_span_is_spread_and_its_sum_kept() {
        let mut counts = Counts::default();
        counts.ran(2 * MS, 7 * MS);
        counts.ran(7 * MS, 1_215 * MS);
        counts.waited(1_216 * MS, 1_219 * MS);
        counts.waited(9 * MS, 31 * MS);
        counts.runs_at_end(1_215 * MS, 1_230 * MS);
        counts.forked(1_229 * MS);
        let (interval_ns, equal) = counts.equal_intervals(1_230 * MS);
        assert_eq!((interval_ns, equal.len()), (20 * MS, 62));
        let busy: Vec<u64> = equal.iter().map(|at| at.busy_ns / MS).collect();
        assert_eq!((busy[0], &busy[1..61], busy[61]), (18, &[20; 60][..], 10));
        let waiting: Vec<u64> = equal.iter().map(|at| at.waiting_ns / MS).collect();
        assert_eq!((waiting[0], waiting[1], waiting[60]), (11, 11, 3));
        assert_eq!((equal[0].switches, equal[60].switches, equal[61].forks), (1, 1, 1));
    }

    #[test]
    fn clocks_that_differ_between_cpus_lose_nothing() {
        let mut counts = Counts::default();
        // One CPU is ahead of the other where an interval ends.
        for (from, to) in [(0, 11), (3, 9), (11, 12), (9, 10), (10, 10), (2, 1)] {
            counts.ran(from * MS, to * MS);
            counts.waited(from * MS, to * MS);
        }
        let (_, equal) = counts.equal_intervals(20 * MS);
        let expected = [(17, 17, 2), (2, 2, 4)];
        let found = [0, 1].map(|at: usize| {
            (equal[at].busy_ns / MS, equal[at].waiting_ns / MS, equal[at].switches)
        });
        let sums = |list: [(u64, u64, u64); 2]| {
            (list[0].0 + list[1].0, list[0].1 + list[1].1, list[0].2 + list[1].2)
        };
        assert_eq!(sums(found), (19, 19, 6));
        assert_eq!((found[0].0, found[0].1), (expected[0].0, expected[0].1));
    }

    #[test]
    fn values_have_their_units() {
        let mut counts = Counts::default();
        (0..3).for_each(|nth| counts.ran(10 * nth * MS, (10 * nth + 3) * MS));
        (0..3).for_each(|nth| counts.waited(10 * nth * MS, (10 * nth + 5) * MS));
        counts.forked(29 * MS);
        let series = counts.series(30 * MS, 2);
        assert_eq!(
            series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(),
            ["busy_share", "waiting_tasks", "switches_per_second", "forks_per_second"]
        );
        assert_eq!(series[0].values, [0.15; 3]);
        assert_eq!(series[1].values, [0.5; 3]);
        assert_eq!(series[2].values, [100.0; 3]);
        assert_eq!(series[3].values, [0.0, 0.0, 100.0]);
    }

    #[test]
    fn the_last_interval_is_as_long_as_it_is() {
        let mut counts = Counts::default();
        counts.runs_at_end(0, 32 * MS);
        let series = &counts.series(32 * MS, 1)[0];
        assert_eq!(
            (series.interval(1), series.interval(2)),
            ((10 * MS, 20 * MS), (20 * MS, 32 * MS))
        );
        assert_eq!(series.values, [1.0; 3]);
        let none = &Counts::default().series(0, 1)[0];
        assert!(none.values.is_empty() && none.missing.is_some());
    }
}
