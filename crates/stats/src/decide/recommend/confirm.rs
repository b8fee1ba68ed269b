// SPDX-License-Identifier: GPL-2.0-only
//! Whether a kernel confirms what the simulator predicts: two recommendations for the same aims and
//! the same candidates.

use model::metric::{Direction, Unit};
use model::{ModelError, Watched};

use super::{Advice, Candidate, Effect, Judged, Recommendation, Standing};

/// The share of the simulator's differences that are nearer to a kernel's than its error.
const WITHIN_ERROR: f64 = 0.8;

/// A candidate in the first deciding measure, against the scheduler in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    Better,
    /// Not distinguishable, or different by less than matters.
    AsGood,
    Worse,
    /// Different by more than matters, but by less than the simulator's error.
    Doubtful,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// The candidates that both judge: predicted, then measured.
    pub verdicts: Vec<(String, Against, Against)>,
    /// What the prediction chooses; the measured name of the scheduler in use if that is to stay.
    pub choice: String,
    /// The measured choice, and those that are as good.
    pub best: Vec<String>,
    /// Whether the measurement distinguishes any candidate from the scheduler in use.
    pub distinguishes: bool,
    pub lost: Lost,
    /// How far the predicted differences are from the measured ones: in the deciding measure, then
    /// in those that must not get worse.
    pub distances: Vec<MeasureDistances>,
}

/// The distances of all candidates in one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureDistances {
    pub watched: Watched,
    pub unit: Unit,
    pub candidates: Vec<Distance>,
}

/// How far a candidate's predicted difference from the scheduler in use is from the measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Between the ratios to the scheduler in use, in percent of the smaller one; `None` from 0 and
    /// to 0.
    pub percent: Option<f64>,
    /// Between the differences, in the measure's unit.
    pub value: f64,
}

/// What a user has who follows the prediction, and who follows the measurement: medians of the
/// first deciding measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    pub choice: Option<f64>,
    pub best: Option<f64>,
    pub unit: Unit,
}

impl Confirmation {
    pub fn of(predicted: &Recommendation, measured: &Recommendation) -> Confirmation {
        let verdict = |candidate: &Candidate| {
            let theirs = against(measured.candidate(&candidate.name)?)?;
            Some((candidate.name.clone(), against(candidate)?, theirs))
        };
        let verdicts = predicted.candidates.iter().filter_map(verdict).collect();
        let choice = match &predicted.advice {
            Advice::Switch(names) => names[0].clone(),
            _ => measured.now.clone(),
        };
        let best = best(measured);
        let distinguishes = measured
            .candidates
            .iter()
            .any(|candidate| against(candidate).is_some_and(|verdict| verdict != Against::AsGood));
        let lost = Lost {
            choice: median(measured, &choice),
            best: median(measured, &best[0]),
            unit: measured.aims[0].decides.measure.unit_and_direction().0,
        };
        let distances = distances(predicted, measured);
        Confirmation { verdicts, choice, best, distinguishes, lost, distances }
    }

    /// How many verdicts are the same.
    pub fn agreeing(&self) -> usize {
        self.verdicts.iter().filter(|(_, predicted, measured)| predicted == measured).count()
    }

    /// Of how many candidates the prediction has no verdict, because its error is larger.
    pub fn doubtful(&self) -> usize {
        self.verdicts.iter().filter(|(_, predicted, _)| *predicted == Against::Doubtful).count()
    }

    pub fn is_among_best(&self) -> bool {
        self.best.contains(&self.choice)
    }
}

/// `None` where there is no verdict.
fn against(candidate: &Candidate) -> Option<Against> {
    match candidate.decides.first()?.finding {
        _ if !candidate.failures.is_empty() => None,
        Effect::Better => Some(Against::Better),
        Effect::Worse => Some(Against::Worse),
        Effect::Doubtful => Some(Against::Doubtful),
        Effect::Slight | Effect::Alike | Effect::Open => Some(Against::AsGood),
        Effect::Unknown => None,
    }
}

/// The recommended schedulers; if none, those as good as the current one.
fn best(measured: &Recommendation) -> Vec<String> {
    if let Advice::Switch(names) = &measured.advice {
        return names.clone();
    }
    let near = measured.candidates.iter();
    let near =
        near.filter(|candidate| matches!(candidate.standing, Standing::Alike | Standing::Slight));
    let near = near.map(|candidate| candidate.name.clone());
    std::iter::once(measured.now.clone()).chain(near).collect()
}

fn median(measured: &Recommendation, name: &str) -> Option<f64> {
    if name == measured.now {
        return measured.candidates.first().and_then(|first| first.decides[0].now);
    }
    measured.candidate(name).and_then(|candidate| candidate.decides[0].median)
}

fn distances(predicted: &Recommendation, measured: &Recommendation) -> Vec<MeasureDistances> {
    let Some(aim) = predicted.aims.first() else { return Vec::new() };
    let judged = |candidate: &Candidate| -> Vec<Judged> {
        let keeps = candidate.keeps.first().into_iter().flatten();
        candidate.decides.iter().take(1).chain(keeps).cloned().collect()
    };
    let pairs = predicted.candidates.iter().filter_map(|candidate| {
        Some((judged(candidate), judged(measured.candidate(&candidate.name)?)))
    });
    let pairs: Vec<(Vec<Judged>, Vec<Judged>)> = pairs.collect();
    let of_measure = |(place, watched): (usize, &Watched)| MeasureDistances {
        watched: watched.clone(),
        unit: watched.measure.unit_and_direction().0,
        candidates: pairs
            .iter()
            .filter_map(|(ours, theirs)| Distance::between(ours.get(place)?, theirs.get(place)?))
            .collect(),
    };
    std::iter::once(&aim.decides).chain(&aim.keeps).enumerate().map(of_measure).collect()
}

impl Distance {
    fn between(predicted: &Judged, measured: &Judged) -> Option<Distance> {
        let gains = predicted.gain?.value - measured.gain?.value;
        let ratio = |judged: &Judged| {
            let percent = judged.gain?.percent?;
            let sign = if judged.direction == Direction::Lower { -1.0 } else { 1.0 };
            Some(1.0 + sign * percent / 100.0).filter(|ratio| *ratio > 0.0)
        };
        let percent = ratio(predicted)
            .zip(ratio(measured))
            .map(|(one, other)| (one.max(other) / one.min(other) - 1.0) * 100.0);
        Some(Distance { percent, value: gains.abs() })
    }
}

impl MeasureDistances {
    /// The distance that four of five candidates do not exceed, rounded up to two digits; `None`
    /// without any. In the measure's unit if what matters is so, or if there is no ratio to 0.
    pub fn error(&self) -> Option<ModelError> {
        let percents: Option<Vec<f64>> =
            self.candidates.iter().map(|distance| distance.percent).collect();
        match percents.filter(|_| self.watched.least == 0.0) {
            Some(percents) => most_of(percents).map(ModelError::Percent),
            None => {
                let values = self.candidates.iter().map(|distance| distance.value);
                most_of(values.collect()).map(ModelError::Value)
            }
        }
    }
}

fn most_of(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * WITHIN_ERROR).ceil() as usize;
    Some(two_digits_up(*values.get(rank.checked_sub(1)?)?))
}

fn two_digits_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    // Powers of ten below 1 are no floats: divide there, so that the result is the nearest one.
    let digits = value.log10().floor() as i32 - 1;
    let power = 10_f64.powi(digits.abs());
    // What is there with two digits already stays.
    let ceil = |value: f64| (value - 1e-9).ceil();
    if digits < 0 { ceil(value * power) / power } else { ceil(value / power) * power }
}
