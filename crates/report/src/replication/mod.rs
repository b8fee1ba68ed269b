// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts on published findings, as text for a terminal and as Markdown.
//!
//! What is not here: any decision. `stats::decide::replication` decides.

mod claims_markdown;
mod claims_text;
mod phrases;

pub use claims_markdown::markdown;
pub use claims_text::text;

use model::Claim;
use model::claim::Test;
use stats::decide::replication::{Finding, Reproduction, of_claim};

use crate::units;

/// The selected claims, and the origin of their records.
#[derive(Clone, Debug, Default)]
pub struct Replication {
    /// The claims, in the order of reports.
    pub claims: Vec<Judged>,
    /// The command that made the records and this report.
    pub command: String,
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
    /// Its tests, in the order of [`Claim::tests`].
    pub tests: Vec<Tested>,
}

#[derive(Clone, Debug)]
pub struct Tested {
    pub test: Test,
    /// The verdict of the worst of its expectations.
    pub verdict: Reproduction,
    /// Findings, in the order of [`Test::expect`]; none if it did not run.
    pub expect: Vec<Finding>,
    /// Findings, in the order of [`Test::because`].
    pub because: Vec<Finding>,
    /// Why it was not run, or why it decides nothing.
    pub why: Option<String>,
    /// The command that runs it on this machine or elsewhere.
    pub command: Option<String>,
    /// Whether the user has asked for other tests only.
    pub is_unwanted: bool,
}

impl Judged {
    pub fn new(claim: Claim, tests: Vec<Tested>) -> Judged {
        let verdicts: Vec<Reproduction> = tests.iter().map(|tested| tested.verdict).collect();
        Judged { verdict: of_claim(&verdicts), claim, tests }
    }
}

/// `17 of 31 claims reproduced, 6 in direction only, 2 contradicted, 6 not tested here.`
pub fn sentence(replication: &Replication) -> String {
    let claims = &replication.claims;
    let count = |verdict| claims.iter().filter(|judged| judged.verdict == verdict).count();
    let noun = units::plural(claims.len() as u64, "claim");
    let mut text =
        format!("{} of {} {noun} reproduced", count(Reproduction::Reproduced), claims.len());
    for (verdict, words) in [
        (Reproduction::DirectionOnly, "in direction only"),
        (Reproduction::NotReproduced, "not reproduced"),
        (Reproduction::Contradicted, "contradicted"),
        (Reproduction::NoData, "without data"),
        (Reproduction::Untested, "not tested here"),
    ] {
        match count(verdict) {
            0 => {}
            count => text += &format!(", {count} {words}"),
        }
    }
    text + "."
}
