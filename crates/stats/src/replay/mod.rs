// SPDX-License-Identifier: GPL-2.0-only
//! Whether the replay of a real program tells the truth about it.
//!
//! ```text
//! trace of the program ─► figures ┐
//!                                 ├─► same (one scheduler: how near), direction (two: which way)
//! trace of its replay  ─► figures ┘
//! ```
//!
//! [`figures`] is the one measurement for both sides. Nothing else differs but who ran.

pub mod direction;
pub mod figures;
pub mod same;

use model::Backend;

pub use direction::{Pair, Side, Way, pairs};
pub use figures::{Figures, Kind, figures};
pub use same::{Check, checks};

/// What was found of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The cell of the program, `hackbench groups=1`.
    pub cell: String,
    /// The machine.
    pub machine: String,
    /// Where the program and its replay ran.
    pub backend: Backend,
    /// The scheduler under which it was recorded.
    pub recorded: String,
    /// Under that scheduler: the trial of the program that was recorded, and its replays.
    pub checks: Vec<Check>,
    /// Under that scheduler: the recorded trial of the program and its other trials. What is far off
    /// here cannot be near in a replay. Empty where there are no others.
    pub repeats: Vec<Check>,
    /// All schedulers, two by two.
    pub pairs: Vec<Pair>,
}

/// Compares a program with its replay, on the backend where it was recorded and in the simulator.
/// The sides have every trial, by scheduler.
pub fn proof(of: (String, String, Backend), recorded: &str, sides: [&Side; 3]) -> Proof {
    let [program, replay, model] = sides;
    let (cell, machine, backend) = of;
    let trials = |side: &Side| side.get(recorded).cloned().unwrap_or_default();
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
