// SPDX-License-Identifier: GPL-2.0-only
//! The effect of each candidate in each measure that an aim names.

use model::metric::Direction;
use model::{Aim, ModelError, Watched};

use super::{Candidate, Effect, Judged, Silence, Standing};
use crate::compare::comparison::{Comparison, Entry, Row};
use crate::compare::evidence::{self, PValue};
use crate::compare::shift::Shift;
use crate::compare::verdict::{Verdict, judge};
use crate::number::interval::TRIALS_NEEDED;
use crate::rank::rank_sum::units_needed;

/// All but the baseline, in the comparison's order.
pub(super) fn candidates(comparison: &Comparison, aims: &[Aim]) -> Vec<Candidate> {
    let names = comparison.contestants.iter().filter(|name| **name != comparison.baseline);
    let mut candidates: Vec<Candidate> =
        names.map(|name| candidate(comparison, aims, name)).collect();
    correct(&mut candidates);
    for candidate in &mut candidates {
        for (judged, aim) in candidate.decides.iter_mut().zip(aims) {
            judged.finding = decided(judged, &aim.decides);
        }
        candidate.standing = standing(candidate);
    }
    candidates
}

fn candidate(comparison: &Comparison, aims: &[Aim], name: &str) -> Candidate {
    let judge_watched = |watched: &Watched| judged(comparison, watched, name);
    let keeps = |aim: &Aim| -> Vec<Judged> {
        let kept = |watched| {
            let judged = judge_watched(watched);
            Judged { finding: kept(&judged, watched), p: None, ..judged }
        };
        aim.keeps.iter().map(kept).collect()
    };
    Candidate {
        name: name.into(),
        standing: Standing::Unknown,
        decides: aims.iter().map(|aim| judge_watched(&aim.decides)).collect(),
        keeps: aims.iter().map(keeps).collect(),
        failures: failures(comparison, name),
    }
}

pub(super) fn failures(comparison: &Comparison, name: &str) -> Vec<(String, usize)> {
    let outcomes = comparison.cells.iter().flat_map(|cell| &cell.outcomes);
    let bad = outcomes.filter(|count| count.contestant == name && count.outcome != "ok");
    let words = |outcome: &str, reason: &str| match reason.lines().next().unwrap_or_default() {
        "" => outcome.to_owned(),
        reason => format!("{outcome}: {reason}"),
    };
    let mut failures: Vec<(String, usize)> = Vec::new();
    for count in bad {
        let what = words(&count.outcome, &count.reason);
        match failures.iter_mut().find(|(known, _)| *known == what) {
            Some((_, trials)) => *trials += count.trials,
            None => failures.push((what, count.trials)),
        }
    }
    failures
}

fn judged(comparison: &Comparison, watched: &Watched, name: &str) -> Judged {
    let (unit, direction) = watched.measure.unit_and_direction();
    let row = row(comparison, watched);
    let entry = |name: &str| row?.entries.iter().find(|entry| entry.contestant == name);
    let (ours, base) = (entry(name), entry(&comparison.baseline));
    let trials = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.trials);
    Judged {
        finding: Effect::Unknown,
        unit,
        direction,
        median: ours.and_then(|entry| entry.median),
        now: base.and_then(|entry| entry.median),
        gain: ours.and_then(|entry| entry.shift).map(|shift| gain(shift, direction)),
        p: ours.and_then(|entry| entry.p_value),
        trials: trials(ours).min(trials(base)),
        missing: [ours, base].into_iter().flatten().find_map(why_missing),
    }
}

/// Why a contestant has no number: the first reason.
fn why_missing(entry: &Entry) -> Option<String> {
    if entry.median.is_some() {
        return None;
    }
    entry.missing.keys().next().cloned()
}

fn row<'a>(comparison: &'a Comparison, watched: &Watched) -> Option<&'a Row> {
    let cell = comparison.cells.iter().find(|cell| cell.name == watched.cell)?;
    cell.rows.iter().find(|row| row.measure == watched.measure)
}

/// A shift with its sign changed, if needed, so that better is above 0.
fn gain(shift: Shift, direction: Direction) -> Shift {
    if direction == Direction::Lower { shift.turned() } else { shift }
}

/// Holm's correction over every candidate in every deciding measure: one family.
fn correct(candidates: &mut [Candidate]) {
    let decides = candidates.iter_mut().flat_map(|candidate| &mut candidate.decides);
    let mut family: Vec<&mut PValue> = decides.filter_map(|judged| judged.p.as_mut()).collect();
    evidence::correct(&mut family);
}

/// What a gain in a deciding measure means. A gain is better the higher it is.
fn decided(judged: &Judged, watched: &Watched) -> Effect {
    let p = judged.p.map(|p| p.adjusted);
    let Some(gain) = &judged.gain else { return Effect::Unknown };
    let size = size(gain, watched);
    // As tables judge it, with the sign that the shift has there.
    let shift = self::gain(*gain, judged.direction);
    match judge(Some(&shift), p, None, judged.trials, judged.direction) {
        Verdict::Better if size == Size::Clear => Effect::Better,
        Verdict::Worse if size == Size::Clear => Effect::Worse,
        Verdict::Better | Verdict::Worse if size == Size::WithinError => Effect::Doubtful,
        Verdict::Better | Verdict::Worse => Effect::Slight,
        Verdict::Equivalent | Verdict::Equal => Effect::Alike,
        Verdict::TooFewTrials | Verdict::NotMeasured => Effect::Unknown,
        // Too few trials to support any claim among this many comparisons.
        _ if !judged.p.is_some_and(|p| p.can_claim()) => Effect::Unknown,
        _ => Effect::Open,
    }
}

/// What a loss means in a measure that must not get worse.
fn kept(judged: &Judged, watched: &Watched) -> Effect {
    let Some(gain) = judged.gain else { return Effect::Unknown };
    if judged.trials < TRIALS_NEEDED {
        return Effect::Unknown;
    }
    let Some(interval) = gain.interval else { return Effect::Open };
    let is_less = gain.value < 0.0 || gain.least_pair.is_some_and(|pair| pair.value < 0.0);
    let far = gain.percent_interval.map(|percents| percents.low);
    let may_be_lost = interval.low < 0.0 && size_of(interval.low, far, watched) != Size::Irrelevant;
    let lost = if is_less && judged.is_loss() { size(&gain, watched) } else { Size::Irrelevant };
    if lost == Size::Clear {
        Effect::Worse
    } else if lost == Size::WithinError {
        Effect::Doubtful
    } else if may_be_lost {
        Effect::Open
    } else {
        Effect::Alike
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Size {
    /// Too small to matter.
    Irrelevant,
    /// Large enough to matter, but not larger than the simulator's error.
    WithinError,
    Clear,
}

pub(super) fn size_of(value: f64, percent: Option<f64>, watched: &Watched) -> Size {
    let exceeds = |margin: f64| percent.is_none_or(|percent| percent.abs() > margin);
    if value.abs() <= watched.least || !exceeds(watched.percent) {
        return Size::Irrelevant;
    }
    let is_clear = match watched.model_error {
        None => true,
        Some(ModelError::Percent(error)) => exceeds(error),
        Some(ModelError::Value(error)) => value.abs() > error,
    };
    if is_clear { Size::Clear } else { Size::WithinError }
}

/// The size of a gain, or that by which every matched pair differs, all in one direction.
fn size(gain: &Shift, watched: &Watched) -> Size {
    let of_pairs = gain.least_pair.map(|pair| size_of(pair.value, pair.percent, watched));
    size_of(gain.value, gain.percent, watched).max(of_pairs.unwrap_or(Size::Irrelevant))
}

fn standing(candidate: &Candidate) -> Standing {
    let decides = |finding| candidate.decides.iter().any(|judged| judged.finding == finding);
    let is_gain = |judged: &Judged| judged.gain.is_some_and(|gain| gain.value > 0.0);
    let gains = |finding| {
        candidate.decides.iter().any(|judged| judged.finding == finding && is_gain(judged))
    };
    let keeps = |finding| candidate.keeps.iter().flatten().any(|judged| judged.finding == finding);
    if !candidate.failures.is_empty() {
        return Standing::Failed;
    }
    if decides(Effect::Unknown) {
        return Standing::Unknown;
    }
    let is_better = decides(Effect::Better);
    if is_better && (decides(Effect::Worse) || keeps(Effect::Worse)) {
        Standing::Costly
    } else if is_better && keeps(Effect::Unknown) {
        // An unknown cost cannot be recommended.
        Standing::Unknown
    } else if is_better {
        Standing::Good
    } else if decides(Effect::Worse) {
        Standing::Worse
    } else if gains(Effect::Doubtful) {
        Standing::Doubtful
    } else if gains(Effect::Slight) {
        Standing::Slight
    } else {
        Standing::Alike
    }
}

/// Why no candidate could be judged.
pub(super) fn silence(candidates: &[Candidate]) -> Silence {
    let decides = || candidates.iter().flat_map(|candidate| &candidate.decides);
    let comparisons = decides().filter(|judged| judged.gain.is_some()).count();
    let trials = decides().map(|judged| judged.trials).max().unwrap_or(0);
    let needed = TRIALS_NEEDED.max(units_needed(comparisons));
    if trials > 0 && trials < needed {
        Silence::TooFewTrials(trials, needed)
    } else {
        Silence::NothingMeasured
    }
}
