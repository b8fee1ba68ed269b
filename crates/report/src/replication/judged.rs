// SPDX-License-Identifier: GPL-2.0-only
//! Claims with their verdicts, as the caller hands them over.

use model::claim::Test;
use model::{Backend, Claim};
use stats::decide::replication::{Finding, Number, Reproduction};

/// Why a test did not run that nobody asked for: another of its claim was, or another backend.
pub const OTHERS_ASKED: [&str; 2] = ["another test was asked for", "another backend was asked for"];

/// All claims that were asked, and where their answers come from.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    /// The claims, in the order of reports.
    pub claims: Vec<Judged>,
    /// The commands that made the records and this report.
    pub commands: Vec<String>,
    /// The kernels that answered, by their releases.
    pub kernels: Vec<String>,
    /// How many trials there are.
    pub trials: usize,
    /// The day of the report; the caller's words, as reports have no clock.
    pub generated: String,
}

/// A claim and what came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// As its file says.
    pub claim: Claim,
    /// What its first test with data says.
    pub verdict: Reproduction,
    /// Whether one backend finds the opposite of another.
    pub disagree: bool,
    /// Its tests, in the order of [`Claim::tests`].
    pub tests: Vec<Tested>,
}

/// A test and what came of it.
#[derive(Clone, Debug)]
pub struct Tested {
    /// As the claim's file says.
    pub test: Test,
    /// What the worst of its expectations says.
    pub verdict: Reproduction,
    /// Findings, in the order of [`Test::expect`]; none if it did not run.
    pub expect: Vec<Finding>,
    /// Findings, in the order of [`Test::because`].
    pub because: Vec<Finding>,
    /// Numbers beside published ones, in the order of [`Test::beside`].
    pub beside: Vec<Vec<Number>>,
    /// Why it did not run, or why it judges nothing.
    pub why: Option<String>,
    /// The command that runs it, here or elsewhere.
    pub command: Option<String>,
    /// Commands that show more of it, each with what it shows.
    pub looks: Vec<(&'static str, String)>,
    /// The kernels that answered.
    pub kernels: Vec<String>,
    /// How many trials there are.
    pub trials: usize,
}

impl Judged {
    /// The test that speaks for the claim: the first with data.
    pub(crate) fn speaker(&self) -> Option<&Tested> {
        self.tests.iter().find(|tested| tested.verdict.has_data())
    }

    /// What its tests say on one backend: the first with data, or the first; `None` without any.
    pub(crate) fn on(&self, backend: Backend) -> Option<&Tested> {
        let mut tests = self.tests.iter().filter(|tested| tested.test.on == backend);
        let first = tests.clone().next();
        tests.find(|tested| tested.verdict.has_data()).or(first)
    }
}
