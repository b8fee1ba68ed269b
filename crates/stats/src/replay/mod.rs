// SPDX-License-Identifier: GPL-2.0-only
//! Whether the replay of a real program tells the truth about it.
//!
//! ```text
//! trial of the program ─► figures ┐
//!                                 ├─► same (one scheduler: how near), direction (two: which way)
//! trial of its replay  ─► figures ┘
//! ```
//!
//! Both sides are measured alike: by [`figures_of_record`] in trials without traces, which judge,
//! and by [`figures`] in trials with traces, which say of each group of tasks what differs.

pub mod direction;
pub mod figures;
pub mod same;

use model::Backend;

pub use direction::{Answers, FiguresByScheduler, Pair, Side, Way, pairs};
pub use figures::{Figures, Kind, figures, figures_of_record};
pub use same::{Check, checks};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
