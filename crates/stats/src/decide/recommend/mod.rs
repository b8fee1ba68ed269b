// SPDX-License-Identifier: GPL-2.0-only
//! Which scheduler to recommend to a user with certain aims, or that none is better than the
//! current one.
//!
//! ```text
//! Comparison + Aims ─► effect of each candidate, measure by measure ─► standing ─► advice
//! ```
//!
//! **One measure decides** each aim. A candidate is better there only by a verdict that is
//! corrected (Holm) for all candidates in all deciding measures together, and if the shift is as
//! large as the aim requires. **Other measures must not get worse.** They are judged by the
//! opposite rule: a loss that is large enough to matter and whose interval excludes 0 rules a
//! candidate out, without any correction, because caution costs nothing here.
//! Several candidates are equal choices if they are not distinguishable from the best, or if their
//! gain is smaller by less than what matters. Among them, those that need nothing to be loaded come
//! first, then those with the fewest losses. If no candidate is better, the current scheduler
//! stays: keeping it costs nothing.
//!
//! A difference of the simulator that is smaller than its published error counts neither for nor
//! against a candidate.
//!
//! What is not here: wording, and the choice of candidates.

mod confirm;
mod find;

use model::metric::{Direction, Unit};
use model::{Aim, Record, Watched};

use crate::compare::comparison::Comparison;
use crate::compare::evidence::PValue;
use crate::compare::leaders::{Leaders, leaders};
use crate::compare::shift::Shift;
use crate::records::columns::{Numbers, cells};

pub use confirm::{Against, Confirmation, Distance, Lost, MeasureDistances};

/// The effect of one candidate in one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub finding: Effect,
    pub unit: Unit,
    pub direction: Direction,
    pub median: Option<f64>,
    /// The median of the current scheduler.
    pub now: Option<f64>,
    /// The shift from the current scheduler, **above 0 where it is better**, below where it is
    /// worse.
    pub gain: Option<Shift>,
    /// The p value; `adjusted` for all candidates in all deciding measures, and `None` for guarded
    /// measures.
    pub p: Option<PValue>,
    /// The number of trials of the side with fewer.
    pub trials: usize,
    /// Why a side has no number, where one has none.
    pub missing: Option<String>,
}

impl Judged {
    /// Whether the interval of the gain excludes 0 on the bad side, whatever the size of the loss.
    pub fn is_loss(&self) -> bool {
        self.gain.and_then(|gain| gain.interval).is_some_and(|interval| interval.high < 0.0)
    }
}

/// What a difference means for an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Better, with a corrected p value of at most 5 %, and by more than the aim's margin.
    Better,
    /// Different, with a corrected p value of at most 5 %, but within the aim's margin.
    Slight,
    /// Different by more than the aim's margin, but by less than the simulator's error.
    Doubtful,
    /// The interval excludes a difference that matters, or at least a loss that matters.
    Alike,
    /// The interval contains both no difference and one that matters.
    Open,
    /// Worse, by more than the aim's margin.
    Worse,
    /// Too few trials, or no number.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Better in a deciding measure, and not worse in any other.
    Good,
    /// Better in a deciding measure, and worse in another.
    Costly,
    /// Better, but by less than the simulator's error.
    Doubtful,
    /// Better, but by less than the aim's margin.
    Slight,
    /// Not distinguishable from the current scheduler.
    Alike,
    Worse,
    /// Too few trials, or no number.
    Unknown,
    /// At least one of its trials did not end well.
    Failed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub name: String,
    pub standing: Standing,
    /// What decides, aim by aim.
    pub decides: Vec<Judged>,
    /// What must not get worse, aim by aim, in the aim's order.
    pub keeps: Vec<Vec<Judged>>,
    /// Bad outcomes: each with its reason, and how many trials.
    pub failures: Vec<(String, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Use the first; the others are not distinguishable from it.
    Switch(Vec<String>),
    Keep(Reason),
    /// Nothing can be said.
    Silent(Silence),
}

/// Why to keep the current scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NoDifference,
    /// Some candidates differ from it, and all of these are worse.
    NobodyBetter,
    /// Some candidates are better, but by less than the simulator's error.
    Doubtful,
    /// Some candidates are better, but by less than the aim's margin.
    TooLittle,
    /// Some candidates are better, and all of these are worse in a measure that must not get worse.
    TooCostly,
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Too few trials: the number of trials of each contestant, and the number that is needed.
    TooFewTrials(usize, usize),
    /// The current scheduler has no number, or no candidate has one.
    NothingMeasured,
}

/// The advice with everything that it was derived from.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    pub now: String,
    pub advice: Advice,
    pub aims: Vec<Aim>,
    /// The candidates: those that are recommended, then the others by their overall result, the
    /// largest gain in the first deciding measure first.
    pub candidates: Vec<Candidate>,
    /// How many comparisons the correction is for.
    pub comparisons: usize,
    /// Bad outcomes of the current scheduler's trials.
    pub failures: Vec<(String, usize)>,
}

/// Recommends one of the comparison's contestants in place of its baseline. Of equal choices, those
/// named in `easy`, which need nothing to be loaded, come first.
pub fn recommend(
    records: &[Record],
    comparison: &Comparison,
    aims: &[Aim],
    easy: &[String],
) -> Recommendation {
    let mut candidates = find::candidates(comparison, aims);
    let comparisons =
        candidates.iter().flat_map(|candidate| &candidate.decides).filter_map(|judged| judged.p);
    let comparisons = comparisons.count();
    let good = |candidate: &&Candidate| candidate.standing == Standing::Good;
    let mut best: Vec<String> =
        candidates.iter().filter(good).map(|candidate| candidate.name.clone()).collect();
    for (at, aim) in aims.iter().enumerate() {
        let gain = |name: &String| {
            candidates
                .iter()
                .find(|candidate| candidate.name == *name)
                .and_then(|candidate| candidate.decides[at].gain)
        };
        best = best_of(records, best, &aim.decides, &gain);
    }
    let count = |name: &String, what: fn(&Judged) -> bool| {
        let keeps = candidates
            .iter()
            .filter(|candidate| candidate.name == *name)
            .flat_map(|candidate| &candidate.keeps);
        keeps.flatten().filter(|judged| what(judged)).count()
    };
    let is_open = |judged: &Judged| judged.finding == Effect::Open;
    best.sort_by_cached_key(|name| {
        (!easy.contains(name), count(name, is_open), count(name, Judged::is_loss))
    });
    let place = |candidate: &Candidate| best.iter().position(|name| *name == candidate.name);
    let gain = |candidate: &Candidate| {
        let gain = candidate.decides.first().and_then(|judged| judged.gain);
        gain.map_or(f64::NEG_INFINITY, |gain| gain.value)
    };
    candidates.sort_by(|a, b| {
        let by_place = place(a).unwrap_or(best.len()).cmp(&place(b).unwrap_or(best.len()));
        let by_gain = || gain(b).total_cmp(&gain(a)).then_with(|| a.name.cmp(&b.name));
        by_place.then(a.standing.cmp(&b.standing)).then_with(by_gain)
    });
    let failures = find::failures(comparison, &comparison.baseline);
    let advice = if best.is_empty() { stay(&candidates) } else { Advice::Switch(best) };
    let (now, aims) = (comparison.baseline.clone(), aims.to_vec());
    Recommendation { now, advice, aims, candidates, comparisons, failures }
}

/// The best of these candidates by a measure, and those that are not distinguishable from it, or
/// whose gain is smaller by less than what matters.
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
        let columns = Numbers::new(cell).columns(&watched.measure);
        let (_, direction) = watched.measure.unit_and_direction();
        leaders(&columns, &names, direction, cell[0].trial.clock())
    });
    let Some(Leaders { mut best, behind }) = found else { return names };
    let top = gain(&best[0]);
    let near = |name: &String| match (top, gain(name)) {
        (Some(top), Some(own)) => {
            let percent = top.percent.zip(own.percent).map(|(top, own)| top - own);
            find::size_of(top.value - own.value, percent, watched) != find::Size::Clear
        }
        _ => false,
    };
    best.extend(behind.into_iter().filter(near));
    best
}

/// The advice if no candidate is good.
fn stay(candidates: &[Candidate]) -> Advice {
    let any = |standing| candidates.iter().any(|candidate| candidate.standing == standing);
    let ladder = [
        (Standing::Costly, Reason::TooCostly),
        (Standing::Doubtful, Reason::Doubtful),
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
    pub fn candidate(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name)
    }

    /// The smallest difference that would have been detected in the deciding measure of an aim: the
    /// widest interval of those candidates that are not distinguishable, in percent of the current
    /// scheduler, or in the measure's unit where that is 0. `None` if there is no such candidate.
    pub fn resolution(&self, aim: usize) -> Option<Width> {
        let alike = |judged: &&Judged| matches!(judged.finding, Effect::Alike | Effect::Open);
        let decides = self.candidates.iter().filter_map(|candidate| candidate.decides.get(aim));
        let widths: Vec<Width> = decides.filter(alike).filter_map(Width::from_judged).collect();
        widths.into_iter().max_by(|a, b| a.size().total_cmp(&b.size()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    Percent(f64),
    Value(f64, Unit),
}

impl Width {
    fn from_judged(judged: &Judged) -> Option<Width> {
        let gain = judged.gain?;
        match (gain.percent_interval, gain.interval) {
            (Some(percents), _) => Some(Width::Percent(percents.width())),
            (None, Some(values)) => Some(Width::Value(values.width(), judged.unit)),
            (None, None) => None,
        }
    }

    fn size(self) -> f64 {
        match self {
            Width::Percent(size) | Width::Value(size, _) => size,
        }
    }
}
