// SPDX-License-Identifier: GPL-2.0-only
//! A program and its replay under the same scheduler: how many figures are near.

use crate::number::quantile::median;
use crate::replay::figures::{Figures, Kind};

/// A figure on both sides: medians over the trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub kind: Kind,
    /// The group; empty: all tasks.
    pub group: String,
    pub program: f64,
    /// Of the replay; `None`: it lacks the group, or has too few samples.
    pub replay: Option<f64>,
}

impl Check {
    /// The distance as part of the program's figure.
    pub fn error(&self) -> Option<f64> {
        let distance = (self.replay? - self.program).abs();
        Some(distance / self.program.abs().max(f64::MIN_POSITIVE))
    }

    /// Whether the two are near. A figure that the replay lacks is not.
    pub fn is_within(&self) -> bool {
        self.error().is_some_and(|error| error <= tolerance(self.kind))
    }
}

/// How far a replay's figure may be from the program's, as part of it. They were declared before
/// anything was measured.
pub fn tolerance(kind: Kind) -> f64 {
    match kind {
        Kind::Cpu => 0.02,
        Kind::Wall => 0.05,
        Kind::Switches | Kind::Wakeups => 0.10,
        Kind::DelayP50 | Kind::DelayP99 | Kind::DelayMean => 0.20,
    }
}

/// Figures of all tasks, and of each group that decides.
const OF_ALL: [Kind; 3] = [Kind::Wall, Kind::Switches, Kind::Wakeups];
const OF_GROUPS: [Kind; 3] = [Kind::Cpu, Kind::DelayP50, Kind::DelayP99];

/// Every figure that the program has. Which groups decide, its first trial says.
pub fn checks(program: &[Figures], replay: &[Figures]) -> Vec<Check> {
    let groups = program.first().map(Figures::weighty).unwrap_or_default();
    let all = OF_ALL.iter().map(|kind| (*kind, String::new()));
    let of_groups =
        groups.iter().flat_map(|group| OF_GROUPS.iter().map(move |kind| (*kind, group.clone())));
    all.chain(of_groups)
        .filter_map(|(kind, group)| {
            let program = middle(program, kind, &group)?;
            let replay = middle(replay, kind, &group);
            Some(Check { kind, group, program, replay })
        })
        .collect()
}

/// The median over trials.
fn middle(trials: &[Figures], kind: Kind, group: &str) -> Option<f64> {
    let values: Vec<f64> = trials.iter().filter_map(|trial| trial.value(kind, group)).collect();
    median(&values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::figures::GroupFigures;

    fn trial(cpu_ns: u64, wait_ns: u64) -> Figures {
        let group = GroupFigures { cpu_ns, switches: 10, wakeups: 8, waits_ns: vec![wait_ns; 400] };
        Figures { wall_ns: 1_000, groups: [("a".to_owned(), group)].into() }
    }

    #[test]
    fn each_kind_has_its_tolerance() {
        let seen = checks(&[trial(1_000, 100)], &[trial(1_030, 119)]);
        let near: Vec<(Kind, bool)> =
            seen.iter().map(|check| (check.kind, check.is_within())).collect();
        let expected = [
            (Kind::Wall, true),
            (Kind::Switches, true),
            (Kind::Wakeups, true),
            (Kind::Cpu, false),
            (Kind::DelayP50, true),
            (Kind::DelayP99, true),
        ];
        assert_eq!(near, expected);
    }

    #[test]
    fn a_group_that_is_not_replayed_is_far_off() {
        let lacking = Figures { wall_ns: 1_000, ..Figures::default() };
        let seen = checks(&[trial(1_000, 100)], &[lacking]);
        assert_eq!(seen.len(), 6);
        assert_eq!(seen.iter().filter(|check| check.is_within()).count(), 1, "the wall time alone");
        let lacks = |check: &&Check| check.replay.is_none();
        assert_eq!(seen.iter().filter(lacks).count(), 2, "a group that did nothing waited never");
    }
}
