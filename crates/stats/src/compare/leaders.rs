// SPDX-License-Identifier: GPL-2.0-only
//! The leaders in one measure of one cell: the best median, and every contestant that is not
//! distinguishable from it.
//!
//! Two contestants are distinguished by the exact rank tests ([`crate::compare::evidence`]), with
//! Holm's correction over all that are compared with the best, and by the margin between their
//! medians ([`crate::compare::margin`]). Where the baseline is one of the two, the row's verdict
//! decides ([`Leaders::judged_by`]), so that a table and its summary say the same. The best is
//! chosen by the same numbers that it is tested with, so the error rate is slightly above the
//! nominal one when all are alike; Holm's correction keeps it small (compare Hsu, "Simultaneous
//! Confidence Intervals for all Distances from the Best", Annals of Statistics 9(5), 1981).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use model::Clock;
use model::metric::Direction;
use serde::{Deserialize, Serialize};

use crate::compare::comparison::Entry;
use crate::compare::evidence::Evidence;
use crate::compare::verdict::{Verdict, differ};
use crate::number::interval::TRIALS_NEEDED;
use crate::number::quantile::median;
use crate::rank::rank_sum::{self, ALPHA};
use crate::records::columns::Column;
use crate::records::pairing::MatchedPairs;

/// The contestants of a row with enough trials, in two groups, each in the order of the medians.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaders {
    /// The best median, then all contestants that are not distinguishable from it.
    pub best: Vec<String>,
    /// All others, the nearest first.
    pub behind: Vec<String>,
}

struct ContestantValues<'a> {
    name: &'a String,
    column: &'a Column,
    values: Vec<f64>,
    median: f64,
}

/// The leaders of a row; `None` if the measure has no better direction, or if fewer than two
/// contestants have enough trials.
pub(crate) fn leaders(
    columns: &BTreeMap<String, Column>,
    contestants: &[String],
    direction: Direction,
    clock: Clock,
) -> Option<Leaders> {
    let side = |name| side(name, columns.get(name)?, clock);
    let mut sides: Vec<ContestantValues> = contestants.iter().filter_map(side).collect();
    match direction {
        Direction::Lower | Direction::Higher => {
            sides.sort_by(|a, b| best_first((a.name, a.median), (b.name, b.median), direction));
        }
        Direction::Neutral => sides.clear(),
    }
    let (best, others) = sides.split_first()?;
    let chance =
        |other: &ContestantValues| best.evidence(other).map_or(1.0, |found| found.p(others.len()));
    let chances: Vec<f64> = others.iter().map(chance).collect();
    let mut leaders = Leaders { best: vec![best.name.clone()], behind: Vec::new() };
    for (other, chance) in others.iter().zip(rank_sum::adjust(&chances)) {
        let apart = chance <= ALPHA && differ(best.median, other.median);
        let group = if apart { &mut leaders.behind } else { &mut leaders.best };
        group.push(other.name.clone());
    }
    (!others.is_empty()).then_some(leaders)
}

/// By median, then by name, so that the order of contestants does not matter.
fn best_first(one: (&String, f64), other: (&String, f64), direction: Direction) -> Ordering {
    let (a, b) = if direction == Direction::Higher { (other, one) } else { (one, other) };
    a.1.total_cmp(&b.1).then_with(|| one.0.cmp(other.0))
}

impl Leaders {
    /// The same, where the row's verdicts say who is worse than the baseline, and whether anybody
    /// is better than it.
    pub(crate) fn judged_by(self, entries: &[Entry], direction: Direction) -> Leaders {
        let any_better = entries.iter().any(|entry| entry.verdict == Verdict::Better);
        let is_behind = |name: &String, by_tests: bool| {
            let entry = entries.iter().find(|entry| entry.contestant == *name);
            match entry.map(|entry| entry.verdict) {
                Some(Verdict::Baseline) => any_better,
                Some(Verdict::Worse) => true,
                _ => by_tests,
            }
        };
        let best = self.best.iter().map(|name| (name, is_behind(name, false)));
        let behind = self.behind.iter().map(|name| (name, is_behind(name, true)));
        let (mut behind, mut best): (Vec<_>, Vec<_>) = best.chain(behind).partition(|side| side.1);
        if best.is_empty() {
            return self;
        }
        let median = |name: &String| {
            let entry = entries.iter().find(|entry| entry.contestant == *name);
            entry.and_then(|entry| entry.median).unwrap_or(f64::NAN)
        };
        for group in [&mut best, &mut behind] {
            group.sort_by(|a, b| best_first((a.0, median(a.0)), (b.0, median(b.0)), direction));
        }
        let names = |group: Vec<(&String, bool)>| -> Vec<String> {
            group.into_iter().map(|(name, _)| name.clone()).collect()
        };
        Leaders { best: names(best), behind: names(behind) }
    }
}

/// `None` with fewer seeds or boots than a claim may rest on.
fn side<'a>(name: &'a String, column: &'a Column, clock: Clock) -> Option<ContestantValues<'a>> {
    let values = column.independent_values(clock);
    let median = median(&values)?;
    let is_enough = column.seeds_or_boots(clock) >= TRIALS_NEEDED;
    is_enough.then_some(ContestantValues { name, column, values, median })
}

impl ContestantValues<'_> {
    fn evidence(&self, other: &ContestantValues) -> Option<Evidence> {
        let pairs = MatchedPairs::from_samples(&self.column.samples, &other.column.samples);
        Evidence::from_samples(&self.values, &other.values, pairs.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::columns::Sample;
    use model::Seed;

    fn column(values: &[f64], boots: u32) -> Column {
        let sample = |(at, &value): (u32, &f64)| Sample {
            boot: at % boots,
            seed: Seed(u64::from(at)),
            block: Some(at),
            value,
        };
        Column { samples: (0..).zip(values).map(sample).collect(), missing: BTreeMap::new() }
    }

    fn leaders_of(columns: &[(&str, &[f64])], direction: Direction, boots: u32) -> Option<Leaders> {
        let names: Vec<String> = columns.iter().map(|(name, _)| (*name).into()).collect();
        let columns = columns.iter().map(|(name, v)| ((*name).into(), column(v, boots))).collect();
        leaders(&columns, &names, direction, Clock::Real)
    }

    const LOW: [f64; 6] = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
    const MIXED: [f64; 6] = [1.05, 1.15, 1.25, 1.35, 1.45, 9.0];
    const HIGH: [f64; 6] = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5];

    #[test]
    fn who_overlaps_the_best_is_with_it() {
        let columns: [(&str, &[f64]); 3] = [("high", &HIGH), ("mixed", &MIXED), ("low", &LOW)];
        let lower = leaders_of(&columns, Direction::Lower, 9).unwrap();
        assert_eq!(
            (lower.best, lower.behind),
            (vec!["low".into(), "mixed".into()], vec!["high".to_string()])
        );
        let higher = leaders_of(&columns, Direction::Higher, 9).unwrap();
        // One of six lies above: 2 · (1 + 1 + 2 + 3 + 5 + 7 + 11) of 924 are as far apart, 0.065.
        assert_eq!(higher.best, ["high", "mixed"]);
        assert_eq!(higher.behind, ["low"]);
    }

    #[test]
    fn few_boots_neutral_measures_and_loners_have_no_leaders() {
        let columns: [(&str, &[f64]); 2] = [("low", &LOW), ("high", &HIGH)];
        assert_eq!(leaders_of(&columns, Direction::Lower, 5), None, "six trials of five boots");
        assert_eq!(leaders_of(&columns, Direction::Neutral, 9), None);
        assert_eq!(leaders_of(&columns[..1], Direction::Lower, 9), None);
    }
}
