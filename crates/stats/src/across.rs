// SPDX-License-Identifier: GPL-2.0-only
//! The same question, answered by several: do they agree?
//!
//! A question is: is this contestant better than the baseline under this load, by the measure that
//! the load names first? Where the clock is virtual, the machine is a part of the question, as all
//! who ask it must find the same; where it is real, it is not, as everybody has another. An answer
//! is one contributor's verdict with its interval.
//! Answers are set side by side and never pooled: machines, kernels and dates differ, and that they
//! do is what makes agreement worth something.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::{Direction, Unit};
use model::{Backend, Clock};
use serde::{Deserialize, Serialize};

use crate::comparison::{Cell, Comparison, Shift};
use crate::measures::MeasureKey;
use crate::verdict::Verdict;

/// One contributor's comparison.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// Who, or which store.
    pub name: &'a str,
    /// What their records say.
    pub comparison: &'a Comparison,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Who gives it.
    pub contributor: String,
    /// On which machine.
    pub machine: String,
    /// Which backend answered.
    pub backend: Backend,
    /// Which clock counted.
    pub clock: Clock,
    /// Runs with a number.
    pub runs: usize,
    /// The contestant's median, in the question's unit.
    pub median: Option<f64>,
    /// The difference from the baseline, with its interval.
    pub shift: Option<Shift>,
    /// What it says.
    pub verdict: Verdict,
}

/// How answers stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Some say better, others worse.
    Disagree,
    /// Some claim a difference, others that there is none that matters.
    Partly,
    /// Two contributors or more say the same, nobody anything else.
    Agree,
    /// Fewer than two contributors say anything.
    Open,
}

impl Consent {
    /// In the words of tables.
    pub fn words(self) -> &'static str {
        match self {
            Consent::Disagree => "disagree",
            Consent::Partly => "partly agree",
            Consent::Agree => "agree",
            Consent::Open => "open",
        }
    }
}

/// One question with its answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The load with its parameters.
    pub cell: String,
    /// The load's name.
    pub workload: String,
    /// What the load is, one sentence.
    pub about: String,
    /// The machine and the backend where the clock is virtual; empty where it is real.
    pub setting: String,
    /// Who is compared …
    pub contestant: String,
    /// … with whom.
    pub baseline: String,
    /// By what.
    pub measure: MeasureKey,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// In the order of the contributions.
    pub answers: Vec<Answer>,
}

/// What an answer says about the sign: 1 better, −1 worse, 0 no difference that matters.
fn sign(answer: &Answer) -> Option<i8> {
    match answer.verdict {
        Verdict::Better => Some(1),
        Verdict::Worse => Some(-1),
        Verdict::Equivalent | Verdict::Equal => Some(0),
        _ => None,
    }
}

impl Question {
    /// Who has answered, each once.
    pub fn contributors(&self) -> BTreeSet<&str> {
        self.answers.iter().map(|answer| answer.contributor.as_str()).collect()
    }

    /// How the answers stand to each other.
    pub fn consent(&self) -> Consent {
        let signs: BTreeSet<i8> = self.answers.iter().filter_map(sign).collect();
        let clear = |answer: &&Answer| sign(answer).is_some();
        let who: BTreeSet<&str> =
            self.answers.iter().filter(clear).map(|answer| answer.contributor.as_str()).collect();
        match signs.len() {
            _ if who.len() < 2 => Consent::Open,
            _ if signs.contains(&1) && signs.contains(&-1) => Consent::Disagree,
            1 => Consent::Agree,
            _ => Consent::Partly,
        }
    }

    /// The answers that claim the opposite of what more answers claim; of two equal camps, both.
    pub fn dissent(&self) -> Vec<&Answer> {
        let camp = |wanted| self.answers.iter().filter(move |one| sign(one) == Some(wanted));
        let (better, worse) = (camp(1).count(), camp(-1).count());
        match better.cmp(&worse) {
            _ if better == 0 || worse == 0 => Vec::new(),
            std::cmp::Ordering::Less => camp(1).collect(),
            std::cmp::Ordering::Greater => camp(-1).collect(),
            std::cmp::Ordering::Equal => camp(1).chain(camp(-1)).collect(),
        }
    }
}

/// Load, setting, contestant, baseline, measure.
type Key = [String; 5];

/// All questions that anybody answers, sorted by load, contestant and baseline.
pub fn questions(contributions: &[Contribution]) -> Vec<Question> {
    let mut questions: BTreeMap<Key, Question> = BTreeMap::new();
    for contribution in contributions {
        let baseline = &contribution.comparison.baseline;
        for cell in &contribution.comparison.cells {
            ask(&mut questions, contribution.name, baseline, cell);
        }
    }
    questions.into_values().collect()
}

fn ask(questions: &mut BTreeMap<Key, Question>, contributor: &str, baseline: &str, cell: &Cell) {
    let Some(row) = cell.primary() else { return };
    let setting = match cell.clock {
        Clock::Virtual => format!("{} ({})", cell.machine, cell.backend.word()),
        Clock::Real => String::new(),
    };
    for entry in &row.entries {
        if matches!(entry.verdict, Verdict::Baseline | Verdict::NotMeasured) {
            continue;
        }
        let contestant = entry.contestant.clone();
        let measure = row.measure.to_string();
        let key = [cell.name.clone(), setting.clone(), contestant, baseline.to_owned(), measure];
        let question = questions.entry(key).or_insert_with(|| Question {
            cell: cell.name.clone(),
            workload: cell.workload.clone(),
            about: cell.about.clone(),
            setting: setting.clone(),
            contestant: entry.contestant.clone(),
            baseline: baseline.to_owned(),
            measure: row.measure.clone(),
            unit: row.unit,
            direction: row.direction,
            answers: Vec::new(),
        });
        question.answers.push(Answer {
            contributor: contributor.to_owned(),
            machine: cell.machine.clone(),
            backend: cell.backend,
            clock: cell.clock,
            runs: entry.runs,
            median: entry.median,
            shift: entry.shift,
            verdict: entry.verdict,
        });
    }
}
