// SPDX-License-Identifier: GPL-2.0-only
//! The records of the sessions → a verdict on each claim.

use std::collections::BTreeMap;

use model::claim::Test;
use model::{Expectation, Record};
use report::replication::{Judged, Tested};
use stats::decide::replication::{
    Finding, Reproduction, beside, disagree, judge, of_claim, of_test,
};

use super::choose::{self, Choice, Chosen, Session};

/// The records of each session, or why there are none.
pub type Answers = BTreeMap<Session, Result<Vec<Record>, String>>;

/// The verdict on a claim.
pub fn claim(chosen: Chosen, answers: &Answers) -> Judged {
    let Chosen { name, claim, tests: choices } = chosen;
    let tests: Vec<Tested> = claim
        .tests
        .iter()
        .zip(choices)
        .map(|(test, choice)| tested(test, choice, answers))
        .collect();
    let tests: Vec<Tested> = tests.into_iter().map(|tested| with_command(tested, &name)).collect();
    let verdicts: Vec<Reproduction> = tests.iter().map(|tested| tested.verdict).collect();
    let answers: Vec<_> = tests
        .iter()
        .map(|tested| (tested.test.on, tested.test.experiment.as_deref(), tested.verdict))
        .collect();
    let disagree = disagree(&answers);
    Judged { verdict: of_claim(&verdicts), disagree, claim, tests }
}

/// Adds the command to a test that this machine cannot run, for another machine.
fn with_command(mut tested: Tested, name: &str) -> Tested {
    let cannot = tested.verdict == Reproduction::Untested && tested.trials > 0;
    if cannot {
        tested.command = Some(choose::command(name, &tested.test));
    }
    tested
}

fn tested(test: &Test, choice: Choice, answers: &Answers) -> Tested {
    let blank = |verdict| Tested {
        test: test.clone(),
        verdict,
        expect: Vec::new(),
        because: Vec::new(),
        beside: Vec::new(),
        why: None,
        command: None,
        kernels: Vec::new(),
        trials: 0,
    };
    let session = match choice {
        Choice::Leave(why, command) => {
            return Tested { why: Some(why), command, ..blank(Reproduction::Untested) };
        }
        Choice::Run(session) => session,
    };
    let records = match answers.get(&session) {
        Some(Ok(records)) => records,
        Some(Err(why)) => return Tested { why: Some(why.clone()), ..blank(Reproduction::NoData) },
        None => {
            return Tested { why: Some("it did not run".into()), ..blank(Reproduction::NoData) };
        }
    };
    let all = |expectations: &[Expectation]| -> Vec<Finding> {
        expectations.iter().map(|expectation| judge(expectation, test.on, records)).collect()
    };
    let expect = all(&test.expect);
    Tested {
        verdict: of_test(&expect),
        because: all(&test.because),
        beside: test.beside.iter().map(|numbers| beside(numbers, test.on, records)).collect(),
        why: test.not_testable.clone(),
        kernels: kernels(records.iter()),
        trials: records.len(),
        expect,
        ..blank(Reproduction::NoData)
    }
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
