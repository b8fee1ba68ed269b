// SPDX-License-Identifier: GPL-2.0-only
//! Which scheduler to recommend to somebody who cares about something, or that there is none
//! better than what is used now.
//!
//! ```text
//! Comparison + Aims ─► what is found of each candidate, measure by measure ─► standing ─► advice
//! ```
//!
//! **What decides** is one measure for each aim. A candidate is better there only by a verdict that
//! is corrected (Holm) for all candidates in all deciding measures together, and if the shift is as
//! large as the aim says that it must be to matter. **What must not be paid with** is judged the
//! other way round: a loss that is large enough to matter and whose interval excludes 0 rules a
//! candidate out, without any correction, because caution costs nothing here.
//!
//! Several candidates that cannot be told apart from the best, or that gain less than it by no more
//! than matters, are equal choices; first of them stands who needs nothing to be loaded, then who
//! surely pays with nothing. Where nobody is better, what is used now stays: it costs nothing
//! to keep it.
//!
//! What is not here: wording, and which candidates there are.

mod find;

use model::Record;
use model::metric::{Direction, Unit};

use crate::compare::comparison::Comparison;
use crate::compare::evidence::PValue;
use crate::compare::shift::Shift;
use crate::decide::leaders::{Leaders, leaders};
use crate::records::columns::{Column, cells, columns};
use crate::records::measures::MeasureKey;

/// What somebody cares about.
#[derive(Clone, Debug, PartialEq)]
pub struct Aim {
    /// Its name.
    pub name: String,
    /// What decides.
    pub decides: Watched,
    /// What must not be paid with.
    pub keeps: Vec<Watched>,
}

/// A measure of a cell, and how much of it matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// The cell's name, `wake_under_hogs hogs=3`.
    pub cell: String,
    /// The measure.
    pub measure: MeasureKey,
    /// What it is, in plain words.
    pub words: String,
    /// Smaller differences do not matter, in percent of what is used now.
    pub percent: f64,
    /// Nor do these, in the measure's unit. Where what is used now has 0 this alone decides.
    pub least: f64,
}

/// What is found of one candidate in one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What it means.
    pub finding: Effect,
    /// The measure's unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// The candidate's median over runs.
    pub median: Option<f64>,
    /// The median of what is used now.
    pub now: Option<f64>,
    /// The shift from what is used now, **above 0 where it is better**, below where it is worse.
    pub gain: Option<Shift>,
    /// The chance of such a difference; `adjusted` for all candidates in all deciding measures, and
    /// `None` for what must not be paid with.
    pub p: Option<PValue>,
    /// Runs of the side that has fewer.
    pub runs: usize,
    /// Why a side has no number, where one has none.
    pub missing: Option<String>,
}

impl Judged {
    /// Whether it is surely worse, by however little.
    pub fn is_loss(&self) -> bool {
        self.gain.and_then(|gain| gain.interval).is_some_and(|interval| interval.high < 0.0)
    }
}

/// What a difference means to somebody who has an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Surely better, by so much that it matters.
    Better,
    /// Surely another number, by less than matters.
    Slight,
    /// The interval holds nothing that matters on the bad side, or nothing on either side.
    Alike,
    /// These runs do not tell.
    Open,
    /// Surely worse, by so much that it matters.
    Worse,
    /// Too few runs, or no number.
    Unknown,
}

/// Where a candidate stands, all measures together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Better in what decides, and pays with nothing that matters.
    Good,
    /// Better in what decides, and pays for it.
    Dear,
    /// Better only by less than matters.
    Slight,
    /// Not told apart from what is used now.
    Alike,
    /// Worse in what decides.
    Worse,
    /// Too few runs, or no number.
    Unknown,
    /// Not all its trials ended well.
    Failed,
}

impl Standing {
    /// All, the best first.
    pub const ALL: [Standing; 7] = [
        Self::Good,
        Self::Dear,
        Self::Slight,
        Self::Alike,
        Self::Worse,
        Self::Unknown,
        Self::Failed,
    ];

    /// In one word.
    pub fn words(self) -> &'static str {
        match self {
            Standing::Good => "good",
            Standing::Dear => "good at a price",
            Standing::Slight => "slightly better",
            Standing::Alike => "alike",
            Standing::Worse => "worse",
            Standing::Unknown => "unknown",
            Standing::Failed => "failed",
        }
    }
}

/// One candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub standing: Standing,
    /// What decides, aim by aim.
    pub decides: Vec<Judged>,
    /// What must not be paid with, aim by aim, in the aim's order.
    pub keeps: Vec<Vec<Judged>>,
    /// How trials ended that did not end well: the outcome with its reason, and how many.
    pub failures: Vec<(String, usize)>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Use the first; the others are as good, as far as these runs tell.
    Switch(Vec<String>),
    /// Keep what is used now.
    Keep(Reason),
    /// Nothing can be said.
    Silent(Silence),
}

/// Why to keep what is used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nobody is told apart from it.
    NoDifference,
    /// Some are told apart, and all of them are worse.
    NobodyBetter,
    /// Some are better, by less than matters.
    TooLittle,
    /// Some are better, and all of them pay with what must not be paid with.
    TooDear,
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// So many runs of each side are too few; the second number is needed.
    TooFewRuns(usize, usize),
    /// What is used now has no number, or nobody else has one.
    NothingMeasured,
}

/// The advice, and all that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// What is used now.
    pub now: String,
    /// What to do.
    pub advice: Advice,
    /// What was asked.
    pub aims: Vec<Aim>,
    /// The candidates: those that are recommended, then the others by where they stand.
    pub candidates: Vec<Candidate>,
    /// How many comparisons the correction is for.
    pub comparisons: usize,
    /// How trials of what is used now ended that did not end well.
    pub failures: Vec<(String, usize)>,
}

/// Recommends one of the comparison's contestants in place of its baseline. Of equal choices those
/// named in `easy`, which need nothing to be loaded, come first.
pub fn recommend(
    records: &[Record],
    comparison: &Comparison,
    aims: &[Aim],
    easy: &[String],
) -> Recommendation {
    let mut candidates = find::candidates(comparison, aims);
    let comparisons = candidates.iter().flat_map(|one| &one.decides).filter_map(|one| one.p);
    let comparisons = comparisons.count();
    let good = |one: &&Candidate| one.standing == Standing::Good;
    let mut best: Vec<String> =
        candidates.iter().filter(good).map(|one| one.name.clone()).collect();
    for (at, aim) in aims.iter().enumerate() {
        let gain = |name: &String| {
            candidates.iter().find(|one| one.name == *name).and_then(|one| one.decides[at].gain)
        };
        best = best_of(records, best, &aim.decides, &gain);
    }
    let count = |name: &String, what: fn(&Judged) -> bool| {
        let keeps = candidates.iter().filter(|one| one.name == *name).flat_map(|one| &one.keeps);
        keeps.flatten().filter(|judged| what(judged)).count()
    };
    let is_open = |judged: &Judged| judged.finding == Effect::Open;
    best.sort_by_cached_key(|name| {
        (!easy.contains(name), count(name, is_open), count(name, Judged::is_loss))
    });
    let place = |one: &Candidate| best.iter().position(|name| *name == one.name);
    candidates.sort_by_cached_key(|one| (place(one).unwrap_or(best.len()), one.standing));
    let failures = find::failures(comparison, &comparison.baseline);
    let advice = match best.is_empty() {
        false => Advice::Switch(best),
        true => stay(&candidates),
    };
    let (now, aims) = (comparison.baseline.clone(), aims.to_vec());
    Recommendation { now, advice, aims, candidates, comparisons, failures }
}

/// Of these the best by a measure, and those who cannot be told apart from it, or whose gain is
/// smaller by less than matters.
fn best_of(
    records: &[Record],
    names: Vec<String>,
    watched: &Watched,
    gain: &dyn Fn(&String) -> Option<Shift>,
) -> Vec<String> {
    if names.len() < 2 {
        return names;
    }
    let cells = cells(records);
    let cell = cells.values().find(|cell| cell[0].trial.workload.cell() == watched.cell);
    let found = cell.and_then(|cell| {
        let none = std::collections::BTreeMap::<String, Column>::new();
        let columns = columns(cell).remove(&watched.measure).unwrap_or(none);
        let (_, direction) = watched.measure.unit_and_direction();
        leaders(&columns, &names, direction, cell[0].trial.clock())
    });
    let Some(Leaders { mut best, behind }) = found else { return names };
    let top = gain(&best[0]);
    let near = |name: &String| match (top, gain(name)) {
        (Some(top), Some(own)) => {
            let percent = top.percent.zip(own.percent).map(|(top, own)| top - own);
            !find::matters(top.value - own.value, percent, watched)
        }
        _ => false,
    };
    best.extend(behind.into_iter().filter(near));
    best
}

/// What to say where nobody is good.
fn stay(candidates: &[Candidate]) -> Advice {
    let any = |standing| candidates.iter().any(|one| one.standing == standing);
    let ladder = [
        (Standing::Dear, Reason::TooDear),
        (Standing::Slight, Reason::TooLittle),
        (Standing::Worse, Reason::NobodyBetter),
        (Standing::Alike, Reason::NoDifference),
    ];
    match ladder.into_iter().find(|(standing, _)| any(*standing)) {
        Some((_, reason)) => Advice::Keep(reason),
        None => Advice::Silent(find::silence(candidates)),
    }
}

impl Recommendation {
    /// The candidate of a name.
    pub fn candidate(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|one| one.name == name)
    }

    /// The smallest difference that would have been seen in what decides an aim: the widest
    /// interval of those that were not told apart, in percent of what is used now, or in the
    /// measure's unit where that is 0. `None` where there is nobody of that kind.
    pub fn resolution(&self, aim: usize) -> Option<Width> {
        let alike = |one: &&Judged| matches!(one.finding, Effect::Alike | Effect::Open);
        let decides = self.candidates.iter().filter_map(|one| one.decides.get(aim));
        let widths: Vec<Width> = decides.filter(alike).filter_map(Width::of).collect();
        widths.into_iter().max_by(|one, other| one.size().total_cmp(&other.size()))
    }
}

/// How wide an interval is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    /// In percent of what is used now.
    Percent(f64),
    /// In the measure's unit.
    Value(f64, Unit),
}

impl Width {
    fn of(judged: &Judged) -> Option<Width> {
        let gain = judged.gain?;
        match (gain.percent_interval, gain.interval) {
            (Some(percents), _) => Some(Width::Percent(percents.high - percents.low)),
            (None, Some(values)) => Some(Width::Value(values.high - values.low, judged.unit)),
            (None, None) => None,
        }
    }

    fn size(self) -> f64 {
        match self {
            Width::Percent(size) | Width::Value(size, _) => size,
        }
    }
}
