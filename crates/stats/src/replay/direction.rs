// SPDX-License-Identifier: GPL-2.0-only
//! Two schedulers, a program and its replay: whether differences that both claim point the same
//! way.
//!
//! A side claims a difference of a figure if none of the one scheduler's trials is within the range
//! of the other's, and the medians differ by more than the margin of equivalence
//! ([`MARGIN_PERCENT`]).

use std::collections::BTreeMap;

use crate::compare::verdict::MARGIN_PERCENT;
use crate::number::quantile::median;
use crate::replay::figures::{Figures, Kind};

/// The trials of one side, by scheduler.
pub type FiguresByScheduler = BTreeMap<String, Vec<Figures>>;

/// What a side claims of the second scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Larger,
    Smaller,
}

/// A figure of two schedulers.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub schedulers: [String; 2],
    pub kind: Kind,
    /// The group; empty: all tasks.
    pub group: String,
    pub values: [f64; 2],
    /// What the program claims; `None`: nothing.
    pub program: Option<Way>,
    /// Its replay on the same kernel.
    pub replay: Side,
    /// Its replay in the simulator.
    pub model: Side,
}

/// What a replay has of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// The medians; `None`: it did not run under both schedulers.
    pub values: Option<[f64; 2]>,
    /// What it claims; `None`: nothing.
    pub way: Option<Way>,
}

/// How replays answer the differences that programs claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    pub same: usize,
    pub opposite: usize,
    /// The replay claims nothing.
    pub silent: usize,
}

impl Answers {
    /// Of a side; pairs that it has no trials of do not count.
    pub fn of<'a>(
        pairs: impl IntoIterator<Item = &'a Pair>,
        side: impl Fn(&Pair) -> Side,
    ) -> Answers {
        let mut answers = Answers::default();
        for pair in pairs {
            let side = side(pair);
            let count = match (pair.program, side.way) {
                (None, _) => continue,
                (_, None) if side.values.is_none() => continue,
                (_, None) => &mut answers.silent,
                (program, way) if program == way => &mut answers.same,
                _ => &mut answers.opposite,
            };
            *count += 1;
        }
        answers
    }

    pub fn all(&self) -> usize {
        self.same + self.opposite + self.silent
    }
}

impl Pair {
    /// How many times the smaller value of the program is in the larger one.
    pub fn times(&self) -> f64 {
        let [a, b] = self.values;
        a.max(b) / a.min(b)
    }
}

/// Every pair of schedulers that the program ran under, in every headline figure: the wall time,
/// the number of switches, and the mean wait for a CPU of each group that decides in the trials of
/// `recorded`.
pub fn pairs(
    program: &FiguresByScheduler,
    replay: &FiguresByScheduler,
    model: &FiguresByScheduler,
    recorded: &str,
) -> Vec<Pair> {
    let first = program.get(recorded).and_then(|trials| trials.first());
    let groups = first.map(Figures::weighty).unwrap_or_default();
    let mut headlines = vec![(Kind::Wall, String::new()), (Kind::Switches, String::new())];
    headlines.extend(groups.into_iter().map(|group| (Kind::DelayMean, group)));
    let names: Vec<&String> = program.keys().collect();
    let mut pairs = Vec::new();
    for (place, one) in names.iter().enumerate() {
        for other in &names[place + 1..] {
            for (kind, group) in &headlines {
                let medians = |side: &FiguresByScheduler| {
                    let value = |name| median(&values(side, name, *kind, group));
                    Some([value(one)?, value(other)?])
                };
                let way = |side: &FiguresByScheduler| way(side, [one, other], *kind, group);
                let side = |of| Side { values: medians(of), way: way(of) };
                let Some(values) = medians(program) else { continue };
                pairs.push(Pair {
                    schedulers: [(*one).clone(), (*other).clone()],
                    kind: *kind,
                    group: group.clone(),
                    values,
                    program: way(program),
                    replay: side(replay),
                    model: side(model),
                });
            }
        }
    }
    pairs
}

fn values(side: &FiguresByScheduler, scheduler: &str, kind: Kind, group: &str) -> Vec<f64> {
    let trials = side.get(scheduler).into_iter().flatten();
    trials.filter_map(|trial| trial.value(kind, group)).collect()
}

fn way(side: &FiguresByScheduler, [one, other]: [&str; 2], kind: Kind, group: &str) -> Option<Way> {
    claim(&values(side, one, kind, group), &values(side, other, kind, group))
}

/// What is claimed of the second column.
fn claim(one: &[f64], other: &[f64]) -> Option<Way> {
    let (a, b) = (median(one)?, median(other)?);
    let range = |values: &[f64]| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((a_least, a_most), (b_least, b_most)) = (range(one), range(other));
    if (b - a).abs() <= MARGIN_PERCENT / 100.0 * a.abs() {
        None
    } else if b_least > a_most {
        Some(Way::Larger)
    } else {
        (b_most < a_least).then_some(Way::Smaller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_needs_separate_ranges_and_a_margin() {
        assert_eq!(claim(&[100.0, 101.0], &[103.0, 104.0]), Some(Way::Larger));
        assert_eq!(claim(&[103.0, 104.0], &[100.0, 101.0]), Some(Way::Smaller));
        assert_eq!(claim(&[100.0, 103.5], &[103.0, 104.0]), None, "they overlap");
        assert_eq!(claim(&[100.0], &[100.9]), None, "within the margin");
        assert_eq!(claim(&[100.0], &[]), None, "nothing was measured");
    }

    #[test]
    fn every_pair_of_schedulers_is_compared() {
        let trial = |wall_ns| vec![Figures { wall_ns, ..Figures::default() }];
        let side = |a, b, c| -> FiguresByScheduler {
            [("a".into(), trial(a)), ("b".into(), trial(b)), ("c".into(), trial(c))].into()
        };
        let seen = pairs(&side(10, 20, 30), &side(10, 20, 5), &FiguresByScheduler::new(), "a");
        let wall: Vec<&Pair> = seen.iter().filter(|pair| pair.kind == Kind::Wall).collect();
        assert_eq!(wall.len(), 3);
        let replay = Answers::of(wall.clone(), |pair| pair.replay);
        assert_eq!(replay, Answers { same: 1, opposite: 2, silent: 0 });
        assert_eq!(wall[0].replay.values, Some([10.0, 20.0]));
        assert_eq!(wall[1].times(), 3.0);
        // The simulator has no trials: it is not silent.
        assert_eq!(Answers::of(wall, |pair| pair.model).all(), 0);
    }

    #[test]
    fn silence_is_counted() {
        let pair = |program, way| Pair {
            schedulers: Default::default(),
            kind: Kind::Wall,
            group: String::new(),
            values: [1.0, 2.0],
            program,
            replay: Side { values: Some([1.0, 1.0]), way },
            model: Side::default(),
        };
        let (larger, smaller) = (Some(Way::Larger), Some(Way::Smaller));
        let pairs = [pair(larger, None), pair(larger, smaller), pair(None, larger)];
        let answers = Answers::of(&pairs, |pair| pair.replay);
        assert_eq!(answers, Answers { same: 0, opposite: 1, silent: 1 });
    }
}
