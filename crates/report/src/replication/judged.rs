// SPDX-License-Identifier: GPL-2.0-only
//! Claims with their verdicts, as the caller provides them.

use model::claim::Test;
use model::{Backend, Claim};
use stats::decide::replication::{Finding, Number, Reproduction, of_claim};

/// Why a test was not run: the user selected another test of its claim, another backend, or the
/// tests of originals.
pub const OTHERS_ASKED: [&str; 3] = [
    "another test was asked for",
    "another backend was asked for",
    "only originals were asked for",
];

/// The selected claims, and the origin of their records.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    /// The claims, in the order of reports.
    pub claims: Vec<Judged>,
    /// The commands that made the records and this report.
    pub commands: Vec<String>,
    pub kernels: Vec<String>,
    pub trials: usize,
    /// The day of the report; from the caller, because reports have no clock.
    pub generated: String,
}

/// A claim with its result.
#[derive(Clone, Debug)]
pub struct Judged {
    pub claim: Claim,
    /// The verdict of its first test with data.
    pub verdict: Reproduction,
    /// Whether one backend finds the opposite of another.
    pub disagree: bool,
    /// Its tests, in the order of [`Claim::tests`].
    pub tests: Vec<Tested>,
}

/// A test with its result.
#[derive(Clone, Debug)]
pub struct Tested {
    pub test: Test,
    /// The verdict of the worst of its expectations.
    pub verdict: Reproduction,
    /// Findings, in the order of [`Test::expect`]; none if it did not run.
    pub expect: Vec<Finding>,
    /// Findings, in the order of [`Test::because`].
    pub because: Vec<Finding>,
    /// Numbers beside published ones, in the order of [`Test::beside`].
    pub beside: Vec<Vec<Number>>,
    /// Why it was not run, or why it decides nothing.
    pub why: Option<String>,
    /// The command that runs it on this machine or elsewhere.
    pub command: Option<String>,
    pub kernels: Vec<String>,
    pub trials: usize,
}

impl Judged {
    /// The test that decides the claim: the first with data.
    pub(crate) fn speaker(&self) -> Option<&Tested> {
        self.tests.iter().find(|tested| tested.verdict.has_data())
    }

    /// The test of our files on one backend; `None` without any.
    pub(crate) fn on(&self, backend: Backend) -> Option<&Tested> {
        first(self.tests.iter().filter(|one| !one.test.originals && one.test.on == backend))
    }

    /// The verdict on originals; `None` if no test is about them.
    pub(crate) fn originals(&self) -> Option<Reproduction> {
        first(self.tests.iter().filter(|one| one.test.originals)).map(|one| one.verdict)
    }

    /// The verdict on our files; `None` if no test is about them.
    pub(crate) fn files(&self) -> Option<Reproduction> {
        let files = self.tests.iter().filter(|one| !one.test.originals);
        let verdicts: Vec<Reproduction> = files.map(|one| one.verdict).collect();
        (!verdicts.is_empty()).then(|| of_claim(&verdicts))
    }
}

/// The first test with data, else the first.
fn first<'a>(mut tests: impl Iterator<Item = &'a Tested> + Clone) -> Option<&'a Tested> {
    let first = tests.clone().next();
    tests.find(|tested| tested.verdict.has_data()).or(first)
}
