// SPDX-License-Identifier: GPL-2.0-only
//! The records of the experiments → a verdict on each claim.

use std::collections::BTreeMap;

use model::claim::Test;
use model::{Expectation, Record};
use report::replication::{Judged, Tested};
use stats::decide::replication::{Finding, Reproduction, beside, judge, of_test};

use super::choose::{self, Choice, Chosen, TestedExperiment};

/// The records of each experiment, or why there are none.
pub type Answers = BTreeMap<TestedExperiment, Result<Vec<Record>, String>>;

pub fn claim(chosen: Chosen, answers: &Answers) -> Judged {
    let Chosen { name, claim, tests: choices } = chosen;
    let tests = claim.tests.iter().zip(choices);
    let tests = tests.map(|(test, choice)| tested(&name, test, choice, answers)).collect();
    Judged::new(claim, tests)
}

fn tested(name: &str, test: &Test, choice: Choice, answers: &Answers) -> Tested {
    let mut tested = Tested {
        test: test.clone(),
        verdict: Reproduction::Untested,
        expect: Vec::new(),
        because: Vec::new(),
        beside: Vec::new(),
        why: test.not_testable.clone(),
        command: None,
        is_unwanted: matches!(choice, Choice::Unwanted(_)),
    };
    let experiment = match choice {
        Choice::Leave(why, command) => return Tested { why: Some(why), command, ..tested },
        Choice::Unwanted(why) => {
            let command = Some(choose::command(name, test));
            return Tested { why: Some(why), command, ..tested };
        }
        Choice::Run(experiment) => experiment,
    };
    let records = match &answers[&experiment] {
        Ok(records) => records,
        Err(why) => {
            return Tested { verdict: Reproduction::NoData, why: Some(why.clone()), ..tested };
        }
    };
    let judged = |expectations: &[Expectation]| -> Vec<Finding> {
        expectations.iter().map(|expectation| judge(expectation, test.on, records)).collect()
    };
    tested.expect = judged(&test.expect);
    tested.because = judged(&test.because);
    tested.beside = test.beside.iter().map(|row| beside(row, test.on, records)).collect();
    tested.verdict = of_test(&tested.expect);
    if tested.verdict == Reproduction::Untested && !records.is_empty() {
        // This machine cannot run it; another one may.
        tested.command = Some(choose::command(name, test));
    }
    tested
}

/// The releases of the kernels that the records are from.
pub fn kernels<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let records = records.filter(|record| !record.trial.backend.is_model());
    let releases = records.map(|record| record.provenance.kernel_release.clone());
    let mut releases: Vec<String> = releases.filter(|release| !release.is_empty()).collect();
    releases.sort();
    releases.dedup();
    releases
}
