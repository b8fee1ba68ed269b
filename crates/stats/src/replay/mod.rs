// SPDX-License-Identifier: GPL-2.0-only
//! Whether the replay of a real program tells the truth about it.
//!
//! ```text
//! trial of the program ─► figures ┐
//!                                 ├─► checks (one scheduler: how near), direction (two: which way)
//! trial of its replay  ─► figures ┘
//! ```
//!
//! Both sides are measured alike: by [`figures_of_record`] in trials without traces, which judge,
//! and by [`figures`] in trials with traces, which say of each group of tasks what differs.

pub mod direction;
pub mod figures;

use crate::number::quantile::median;
use model::Backend;

pub use direction::{Answers, FiguresByScheduler, Pair, Side, Way, pairs};
pub use figures::{Figures, Kind, figures, figures_of_record};

/// What was found of programs and their replays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proofs {
    /// Of trials without traces: what a tracer costs is on neither side.
    pub judged: Vec<Proof>,
    /// Of trials with traces, by groups of like tasks.
    pub traced: Vec<Proof>,
}

/// What was found of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The cell of the program, `hackbench groups=1`.
    pub cell: String,
    pub machine: String,
    /// Where the program and its replay ran.
    pub backend: Backend,
    /// The scheduler under which it was recorded.
    pub recorded: String,
    /// Under that scheduler: the trial of the program that was recorded, and its replays.
    pub checks: Vec<Check>,
    /// Under that scheduler: the recorded trial of the program and its other trials. What is far
    /// off here cannot be near in a replay. Empty where there are no others.
    pub repeats: Vec<Check>,
    /// All schedulers, two by two.
    pub pairs: Vec<Pair>,
}

impl Proof {
    /// The figures that the program's other trials repeat: whether a replay has these too says
    /// most, because no replay can have the others but by chance.
    pub fn steady(&self) -> Vec<Check> {
        let repeats = |check: &&Check| {
            let same = |other: &&Check| (other.kind, &other.group) == (check.kind, &check.group);
            self.repeats.iter().find(same).is_some_and(Check::is_within)
        };
        self.checks.iter().filter(repeats).cloned().collect()
    }
}

/// Compares a program with its replay, on the backend where it was recorded and in the simulator.
/// The sides have every trial, by scheduler.
pub fn proof(
    of: (String, String, Backend),
    recorded: &str,
    sides: [&FiguresByScheduler; 3],
) -> Proof {
    let [program, replay, model] = sides;
    let (cell, machine, backend) = of;
    let trials = |side: &FiguresByScheduler| side.get(recorded).cloned().unwrap_or_default();
    let (own, replayed) = (trials(program), trials(replay));
    let (first, others) = own.split_at(own.len().min(1));
    Proof {
        cell,
        machine,
        backend,
        recorded: recorded.into(),
        checks: checks(first, &replayed),
        repeats: if others.is_empty() { Vec::new() } else { checks(first, others) },
        pairs: pairs(program, replay, model, recorded),
    }
}

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
fn tolerance(kind: Kind) -> f64 {
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

    #[test]
    fn steady_figures_are_those_that_the_program_repeats() {
        let check = |kind, replay| Check {
            kind,
            group: String::new(),
            program: 100.0,
            replay: Some(replay),
        };
        let proof = Proof {
            cell: "a".into(),
            machine: "m".into(),
            backend: Backend::Live,
            recorded: "eevdf".into(),
            checks: vec![check(Kind::Wall, 150.0), check(Kind::Switches, 101.0)],
            repeats: vec![check(Kind::Wall, 101.0), check(Kind::Switches, 150.0)],
            pairs: Vec::new(),
        };
        assert_eq!(proof.steady(), [check(Kind::Wall, 150.0)]);
    }

    #[test]
    fn the_first_trial_is_the_recorded_one() {
        let trial = |wall_ns| Figures { wall_ns, ..Figures::default() };
        let side = |walls: &[u64]| -> FiguresByScheduler {
            [("eevdf".to_owned(), walls.iter().map(|&ns| trial(ns)).collect())].into()
        };
        let of = ("a".to_owned(), "m".to_owned(), Backend::Vm);
        let none = FiguresByScheduler::new();
        let proof = proof(of, "eevdf", [&side(&[100, 200, 200]), &side(&[101]), &none]);
        let wall = |checks: &[Check]| (checks[0].program, checks[0].replay.unwrap_or(0.0));
        assert_eq!((wall(&proof.checks), wall(&proof.repeats)), ((100.0, 101.0), (100.0, 200.0)));
    }

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
