// SPDX-License-Identifier: GPL-2.0-only
//! Trials as tests, for services of continuous integration.

use model::{Outcome, Record};
use report::junit::{Case, CaseResult};

/// A test for each trial: whether it ended well.
pub fn trials(records: &[Record]) -> Vec<Case> {
    records.iter().map(|record| case(record, of_outcome(&record.outcome))).collect()
}

pub fn case(record: &Record, result: CaseResult) -> Case {
    let trial = &record.trial;
    let (cell, machine, backend) =
        (trial.workload.cell(), &trial.machine.name, trial.backend.word());
    let kernel = match trial.backend.boots_kernels() {
        true => format!(", {}", record.provenance.kernel_release),
        false => String::new(),
    };
    Case {
        class: trial.contestant.name.clone(),
        name: format!("{cell} on {machine} ({backend}{kernel}), trial {}", trial.position),
        result,
    }
}

fn of_outcome(outcome: &Outcome) -> CaseResult {
    let said = || format!("{}: {}", outcome.word(), outcome.reason());
    match outcome {
        Outcome::Ok => CaseResult::Passed,
        Outcome::Unsupported { .. } => CaseResult::Skipped(said()),
        _ => CaseResult::Failed(said()),
    }
}
