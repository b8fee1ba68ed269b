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

use model::trial::hex16;
use model::{Backend, Clock, Machine, MeasureKey, Record, Workload};

use crate::compare::comparison::{Cell, Comparison, Entry};
use crate::compare::verdict::Verdict;
use crate::records::columns::cells;

pub struct Contribution {
    /// The contributor's name, or the store's.
    pub name: String,
    pub comparison: Comparison,
    /// A hash for each cell of the comparison, see [`definitions`].
    pub definitions: Vec<String>,
}

/// A hash of what each cell's records define: the workload, and under a virtual clock the machine.
/// Descriptions and headline measures are not part of it. Records of one cell that define different
/// things give a hash of all of these.
pub fn definitions(records: &[Record]) -> Vec<String> {
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
        Workload { about: String::new(), headline: Vec::new(), ..(*trial.workload).clone() };
    let machine = Machine { about: String::new(), ..(*trial.machine).clone() };
    hex16(&(workload, (record.trial.clock() == Clock::Virtual).then_some(machine)))
}

#[derive(Clone)]
pub struct Answer {
    pub contributor: String,
    pub machine: String,
    pub backend: Backend,
    /// The contestant's median, its difference from the baseline, and the verdict.
    pub entry: Entry,
}

/// Whether the answers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub fn words(self) -> &'static str {
        match self {
            Consent::Disagree => "disagree",
            Consent::Partly => "partly agree",
            Consent::Agree => "agree",
            Consent::Open => "open",
        }
    }
}

pub struct Question {
    pub cell: String,
    /// The machine and the backend where the clock is virtual; empty where it is real.
    pub setting: String,
    /// The beginning of the definition's hash, which tells questions with the same words apart.
    pub definition: String,
    pub contestant: String,
    pub baseline: String,
    pub measure: MeasureKey,
    /// In the order of the contributions.
    pub answers: Vec<Answer>,
}

/// What an answer says about the sign: 1 better, −1 worse, 0 no difference that matters.
fn sign(answer: &Answer) -> Option<i8> {
    match answer.entry.verdict {
        Verdict::Better => Some(1),
        Verdict::Worse => Some(-1),
        Verdict::Equivalent | Verdict::Equal => Some(0),
        _ => None,
    }
}

impl Question {
    fn key(&self, definition: &str) -> [String; 6] {
        let measure = self.measure.to_string();
        [&self.cell, &self.setting, &self.contestant, &self.baseline, &measure, definition]
            .map(str::to_owned)
    }

    /// The contributors that have answered, each once.
    pub fn contributors(&self) -> BTreeSet<&str> {
        self.answers.iter().map(|answer| answer.contributor.as_str()).collect()
    }

    pub fn consent(&self) -> Consent {
        let clear = || self.answers.iter().filter_map(|answer| Some((sign(answer)?, answer)));
        let signs: BTreeSet<i8> = clear().map(|(sign, _)| sign).collect();
        let contributors: BTreeSet<&str> =
            clear().map(|(_, answer)| answer.contributor.as_str()).collect();
        match signs.len() {
            _ if contributors.len() < 2 => Consent::Open,
            _ if signs.contains(&1) && signs.contains(&-1) => Consent::Disagree,
            1 => Consent::Agree,
            _ => Consent::Partly,
        }
    }

    /// The answers that claim the opposite of what more answers claim; of two equal camps, both.
    pub fn dissent(&self) -> Vec<&Answer> {
        let camp = |wanted| self.answers.iter().filter(move |answer| sign(answer) == Some(wanted));
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
const SHOWN: usize = 6;

/// All questions that any contributor answers, sorted by cell, setting and contestant.
pub fn questions(contributions: &[Contribution]) -> Vec<Question> {
    let mut questions: BTreeMap<[String; 6], Question> = BTreeMap::new();
    for Contribution { name, comparison, definitions } in contributions {
        let answered = comparison.cells.iter().zip(definitions);
        for (cell, definition) in answered {
            let Some(row) = cell.primary() else { continue };
            let is_answer =
                |entry: &&Entry| !matches!(entry.verdict, Verdict::Baseline | Verdict::NotMeasured);
            for entry in row.entries.iter().filter(is_answer) {
                let question = Question {
                    cell: cell.name.clone(),
                    setting: setting(cell),
                    definition: definition.chars().take(SHOWN).collect(),
                    contestant: entry.contestant.clone(),
                    baseline: comparison.baseline.clone(),
                    measure: row.measure.clone(),
                    answers: Vec::new(),
                };
                let answer = Answer {
                    contributor: name.clone(),
                    machine: cell.machine.clone(),
                    backend: cell.backend,
                    entry: entry.clone(),
                };
                let key = question.key(definition);
                questions.entry(key).or_insert(question).answers.push(answer);
            }
        }
    }
    questions.into_values().collect()
}

fn setting(cell: &Cell) -> String {
    match cell.clock {
        Clock::Virtual => format!("{} ({})", cell.machine, cell.backend.word()),
        Clock::Real => String::new(),
    }
}
