// SPDX-License-Identifier: GPL-2.0-only
//! Whether a kernel confirms what the simulator predicts: two recommendations for the same aims and
//! the same candidates.

use model::metric::Unit;

use super::{Advice, Candidate, Effect, Recommendation, Standing};

/// A candidate in the first deciding measure, against the scheduler in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    Better,
    /// Not distinguishable, or different by less than matters.
    AsGood,
    Worse,
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
        Confirmation { verdicts, choice, best, distinguishes, lost }
    }

    /// How many verdicts are the same.
    pub fn agreeing(&self) -> usize {
        self.verdicts.iter().filter(|(_, predicted, measured)| predicted == measured).count()
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
