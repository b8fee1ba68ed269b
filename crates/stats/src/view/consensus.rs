// SPDX-License-Identifier: GPL-2.0-only
//! Do several contributors give the same answer to the same question?
//!
//! A question is: is this contestant better than the baseline under this workload, by the
//! workload's first headline measure? Under a virtual clock the machine is a part of the question,
//! as all contributors must find the same; under a real clock it is not, as each has another
//! machine. Workloads and machines are identified by their definitions, not by their names: two
//! workloads of one name with different tasks are two questions. An answer is one contributor's
//! verdict with its interval. Answers are listed together and never pooled: machines, kernels and
//! dates differ, which is why agreement means something.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::{Direction, Unit};
use model::trial::hex16;
use model::{Backend, Clock, Machine, Record, Workload};
use serde::{Deserialize, Serialize};

use crate::compare::comparison::{Cell, Comparison};
use crate::compare::shift::Shift;
use crate::compare::verdict::Verdict;
use crate::records::columns::cells;
use model::MeasureKey;

/// One contributor's comparison.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// The contributor's name, or the store's.
    pub name: &'a str,
    /// The comparison of their records.
    pub comparison: &'a Comparison,
    /// The definitions of the cells, see [`definitions`].
    pub definitions: &'a Definitions,
}

/// A hash for each cell of a comparison, in its order.
pub type Definitions = Vec<String>;

/// A hash of what each cell's records define: the workload, and under a virtual clock the machine.
/// Descriptions and headline measures are not part of it. Records of one cell that define different
/// things give a hash of all of these.
pub fn definitions(records: &[Record]) -> Definitions {
    let definition_of = |records: Vec<&Record>| {
        let all: BTreeSet<String> = records.into_iter().map(definition).collect();
        match all.len() {
            1 => all.into_iter().collect(),
            _ => hex16(&all),
        }
    };
    cells(records).into_values().map(definition_of).collect()
}

fn definition(record: &Record) -> String {
    let trial = &record.trial;
    let workload =
        Workload { about: String::new(), headline: Vec::new(), ..trial.workload.clone() };
    let machine = Machine { about: String::new(), ..trial.machine.clone() };
    hex16(&(workload, (record.trial.clock() == Clock::Virtual).then_some(machine)))
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub contributor: String,
    pub machine: String,
    pub backend: Backend,
    pub clock: Clock,
    pub trials: usize,
    /// The contestant's median, in the question's unit.
    pub median: Option<f64>,
    /// The difference from the baseline, with its interval.
    pub shift: Option<Shift>,
    pub verdict: Verdict,
}

/// Whether the answers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Some say better, others worse.
    Disagree,
    /// Some claim a difference, others that there is none that matters.
    Partly,
    /// At least two contributors give the same answer, and none another one.
    Agree,
    /// Fewer than two contributors have an answer.
    Open,
}

impl Consent {
    /// The word that tables print.
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
    pub cell: String,
    pub workload: String,
    /// The workload's description, one sentence.
    pub about: String,
    /// The machine and the backend where the clock is virtual; empty where it is real.
    pub setting: String,
    /// The hash of the definitions of workload and machine.
    pub definition: String,
    /// Whether another question has the same words, and differs in its definition alone.
    pub has_twin: bool,
    pub contestant: String,
    /// … and the contestant that it is compared with.
    pub baseline: String,
    pub measure: MeasureKey,
    pub unit: Unit,
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
    /// The beginning of the definition's hash, which distinguishes questions with the same words.
    pub fn variant(&self) -> Option<&str> {
        self.has_twin.then(|| self.definition.get(..VARIANT)).flatten()
    }

    /// The contributors that have answered, each once.
    pub fn contributors(&self) -> BTreeSet<&str> {
        self.answers.iter().map(|answer| answer.contributor.as_str()).collect()
    }

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

/// The shown digits of a definition's hash.
const VARIANT: usize = 6;

/// Workload, setting, contestant, baseline, measure; definition.
type QuestionKey = ([String; 5], String);

/// All questions that any contributor answers, sorted by workload, contestant and baseline.
pub fn questions(contributions: &[Contribution]) -> Vec<Question> {
    let mut questions: BTreeMap<QuestionKey, Question> = BTreeMap::new();
    for contribution in contributions {
        let baseline = &contribution.comparison.baseline;
        let cells = contribution.comparison.cells.iter().zip(contribution.definitions);
        for (cell, definition) in cells {
            ask(&mut questions, contribution.name, baseline, (cell, definition));
        }
    }
    let words: Vec<[String; 5]> = questions.keys().map(|(words, _)| words.clone()).collect();
    let twins = |at: usize| {
        let beside = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
        beside.filter_map(|other| words.get(other)).any(|other| *other == words[at])
    };
    let questions = questions.into_values().enumerate();
    questions.map(|(at, question)| Question { has_twin: twins(at), ..question }).collect()
}

fn ask(
    questions: &mut BTreeMap<QuestionKey, Question>,
    contributor: &str,
    baseline: &str,
    (cell, definition): (&Cell, &String),
) {
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
        let words = [cell.name.clone(), setting.clone(), contestant, baseline.to_owned(), measure];
        let question = questions.entry((words, definition.clone())).or_insert_with(|| Question {
            cell: cell.name.clone(),
            workload: cell.workload.clone(),
            about: cell.about.clone(),
            setting: setting.clone(),
            definition: definition.clone(),
            has_twin: false,
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
            trials: entry.trials,
            median: entry.median,
            shift: entry.shift,
            verdict: entry.verdict,
        });
    }
}
