// SPDX-License-Identifier: GPL-2.0-only
//! Throughput against tail latency on one machine: for each contestant two ratios to the baseline,
//! and the contestants on the Pareto front, which no other beats in both.
//!
//! A ratio is the geometric mean over the headline measures of its axis (Fleming and Wallace, "How
//! not to lie with statistics: the correct way to summarize benchmark results", Communications of
//! the ACM 29(3), 1986), taken in each block against the baseline's trial of the same block, and
//! the median over the blocks. It is a picture and not a ranking, because it gives all workloads
//! the same weight.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::Direction;
use model::{Backend, MeasureKey, Record, Statistic};

use crate::compare::comparison::{Cell, Comparison, Row};
use crate::compare::verdict::{MARGIN_PERCENT, is_beyond, log_ratio_of_percent};
use crate::number::quantile::median;
use crate::records::columns::values;

#[derive(Clone, Debug, PartialEq)]
pub struct TradeOff {
    pub machine: String,
    pub backend: Backend,
    /// The cells and measures that the throughput is the mean of.
    pub throughput: Vec<String>,
    /// The cells and measures that the latency is the mean of.
    pub latency: Vec<String>,
    /// In the comparison's order.
    pub points: Vec<Point>,
    /// Contestants without some of the numbers.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub contestant: String,
    /// Throughput as a part of the baseline's; above 1 is better.
    pub throughput: RatioSpread,
    /// Tail latency as a part of the baseline's; below 1 is better.
    pub latency: RatioSpread,
    /// Whether no other contestant has more throughput at no more latency, or less latency at no
    /// less throughput.
    pub on_front: bool,
}

/// A ratio: the median over blocks, with the lowest and the highest block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioSpread {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// Which ratio a measure belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Throughput,
    Latency,
}

/// A trade-off for each machine and backend whose headline measures are of both kinds.
pub fn trade_offs(records: &[Record], comparison: &Comparison) -> Vec<TradeOff> {
    let mut places: Vec<(&str, Backend)> = Vec::new();
    for cell in &comparison.cells {
        let place = (cell.machine.as_str(), cell.backend);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.into_iter().filter_map(|place| trade_off(records, comparison, place)).collect()
}

fn trade_off(
    records: &[Record],
    comparison: &Comparison,
    (machine, backend): (&str, Backend),
) -> Option<TradeOff> {
    let here = |cell: &&Cell| cell.machine == machine && cell.backend == backend;
    let cells: Vec<&Cell> = comparison.cells.iter().filter(here).collect();
    let rows = cells.iter().flat_map(|cell| cell.headline().map(move |row| (*cell, row)));
    let rows: Vec<(&Cell, &Row, Axis)> =
        rows.filter_map(|(cell, row)| Some((cell, row, axis(row)?))).collect();
    let rows = that_count(rows);
    let measures_of = |axis: Axis| {
        let rows = rows.iter().filter(move |(.., other)| *other == axis);
        rows.map(|(cell, row, _)| format!("{}: {}", cell.name, row.measure)).collect::<Vec<_>>()
    };
    if measures_of(Axis::Throughput).is_empty() || measures_of(Axis::Latency).is_empty() {
        return None;
    }
    let counted: BTreeSet<MeasureKey> =
        rows.iter().map(|(_, row, _)| row.measure.clone()).collect();
    let numbers = Numbers::new(records, (machine, backend), &counted);
    let ratio = |name: &str, axis: Axis| numbers.spread(&rows, axis, name, &comparison.baseline);
    let point = |name: &String| {
        Some(Point {
            contestant: name.clone(),
            throughput: ratio(name, Axis::Throughput)?,
            latency: ratio(name, Axis::Latency)?,
            on_front: false,
        })
    };
    let mut points: Vec<Point> = comparison.contestants.iter().filter_map(point).collect();
    mark_front(&mut points);
    let known = |name: &&String| points.iter().any(|point| point.contestant == **name);
    let takes_part = |name: &&String| numbers.takes_part(name);
    let left_out = comparison.contestants.iter().filter(takes_part).filter(|name| !known(name));
    let left_out = left_out.cloned().collect();
    let (throughput, latency) = (measures_of(Axis::Throughput), measures_of(Axis::Latency));
    let machine = machine.into();
    (points.len() > 1).then_some(TradeOff {
        machine,
        backend,
        throughput,
        latency,
        points,
        left_out,
    })
}

/// The measures that the baseline has and some contestant changes, without those that most
/// contestants lack.
fn that_count<'a>(rows: Vec<(&'a Cell, &'a Row, Axis)>) -> Vec<(&'a Cell, &'a Row, Axis)> {
    let base = |row: &Row| row.entries.first().and_then(|entry| entry.median);
    let moves = |row: &Row| {
        let shifts = row.entries.iter().filter_map(|entry| entry.shift?.percent);
        shifts.into_iter().any(|percent| is_beyond(log_ratio_of_percent(percent), MARGIN_PERCENT))
    };
    let most_have_it = |row: &Row| {
        let known = row.entries.iter().filter(|entry| entry.median.is_some());
        2 * known.count() > row.entries.len()
    };
    let counts = |row: &Row| base(row).is_some() && moves(row) && most_have_it(row);
    rows.into_iter().filter(|(_, row, _)| counts(row)).collect()
}

/// Rates and times to completion are throughput; upper quantiles of times and the longest response
/// are tail latency. A maximum grows with the number of samples, but that of a timer's releases is
/// the same for all contestants.
fn axis(row: &Row) -> Option<Axis> {
    match (row.measure.name.as_str(), row.measure.statistic) {
        ("completion_ns" | "iterations_per_second", None) => Some(Axis::Throughput),
        ("response_time_ns", Some(Statistic::Max)) => Some(Axis::Latency),
        (_, Some(Statistic::P90 | Statistic::P99 | Statistic::P999))
            if row.direction == Direction::Lower =>
        {
            Some(Axis::Latency)
        }
        _ => None,
    }
}

/// The numbers of a block, by cell and measure.
type Block = BTreeMap<(String, MeasureKey), f64>;

/// The numbers of a machine's trials, by contestant and block.
struct Numbers<'a>(BTreeMap<(&'a str, u32), Block>);

impl<'a> Numbers<'a> {
    fn new(
        records: &'a [Record],
        (machine, backend): (&str, Backend),
        counted: &BTreeSet<MeasureKey>,
    ) -> Numbers<'a> {
        let mut numbers: BTreeMap<_, Block> = BTreeMap::new();
        let here = |record: &&Record| {
            record.trial.machine.name == machine && record.trial.backend == backend
        };
        for record in records.iter().filter(here) {
            let trial = &record.trial;
            let block = numbers.entry((trial.contestant.name.as_str(), trial.block)).or_default();
            for (key, value) in values(record) {
                if let Ok(value) = value
                    && record.outcome.is_ok()
                    && counted.contains(&key)
                {
                    block.insert((trial.workload.cell(), key), value);
                }
            }
        }
        Numbers(numbers)
    }

    fn takes_part(&self, contestant: &str) -> bool {
        self.0.keys().any(|(name, _)| *name == contestant)
    }

    fn spread(
        &self,
        rows: &[(&Cell, &Row, Axis)],
        axis: Axis,
        contestant: &str,
        baseline: &str,
    ) -> Option<RatioSpread> {
        let rows: Vec<_> = rows.iter().filter(|(.., other)| *other == axis).collect();
        if rows.is_empty() {
            return None;
        }
        let ratio = |&(name, block): &(&str, u32)| {
            let (ours, base) = (self.0.get(&(name, block))?, self.0.get(&(baseline, block))?);
            let logs = rows.iter().map(|(cell, row, _)| {
                let key = (cell.name.clone(), row.measure.clone());
                log_ratio(*ours.get(&key)?, *base.get(&key)?, row, axis)
            });
            let logs: Option<Vec<f64>> = logs.collect();
            logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        };
        let blocks = self.0.keys().filter(|(name, _)| *name == contestant);
        let ratios: Vec<f64> = blocks.filter_map(ratio).collect();
        Some(RatioSpread {
            ratio: median(&ratios)?,
            low: ratios.iter().copied().reduce(f64::min)?,
            high: ratios.iter().copied().reduce(f64::max)?,
        })
    }
}

/// The logarithm of a ratio, above 0 for more throughput or more latency. Times of less than a
/// nanosecond are one; a rate of 0 has no ratio.
fn log_ratio(ours: f64, base: f64, row: &Row, axis: Axis) -> Option<f64> {
    let lower = row.direction == Direction::Lower;
    let (ours, base) = if lower { (ours.max(1.0), base.max(1.0)) } else { (ours, base) };
    let log = (ours > 0.0 && base > 0.0).then(|| (ours / base).ln())?;
    Some(if lower && axis == Axis::Throughput { -log } else { log })
}

fn mark_front(points: &mut [Point]) {
    let at = |point: &Point| (point.throughput.ratio, point.latency.ratio);
    let all: Vec<(f64, f64)> = points.iter().map(at).collect();
    for point in points {
        let (throughput, latency) = at(point);
        let beats = |&(t, l): &(f64, f64)| {
            t >= throughput && l <= latency && (t > throughput || l < latency)
        };
        point.on_front = !all.iter().any(beats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(places: &[(f64, f64)]) -> Vec<Point> {
        let spread = |ratio| RatioSpread { ratio, low: ratio, high: ratio };
        let point = |&(throughput, latency): &(f64, f64)| Point {
            contestant: String::new(),
            throughput: spread(throughput),
            latency: spread(latency),
            on_front: false,
        };
        let mut points: Vec<Point> = places.iter().map(point).collect();
        mark_front(&mut points);
        points
    }

    #[test]
    fn the_front_is_whom_nobody_beats_in_both() {
        let points = points(&[(1.0, 1.0), (1.2, 2.0), (0.9, 1.5), (1.0, 1.0), (0.5, 0.1)]);
        let front: Vec<bool> = points.iter().map(|point| point.on_front).collect();
        assert_eq!(front, [true, true, false, true, true]);
    }

    proptest! {
        #[test]
        fn there_is_always_a_front(
            places in prop::collection::vec((0.1f64..9.0, 0.1f64..9.0), 1..20),
        ) {
            let points = points(&places);
            let most = points.iter().map(|p| p.throughput.ratio).fold(0.0, f64::max);
            prop_assert!(points.iter().any(|p| p.on_front && p.throughput.ratio == most));
        }
    }
}
