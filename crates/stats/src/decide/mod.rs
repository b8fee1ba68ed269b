// SPDX-License-Identifier: GPL-2.0-only
//! The rules that decide between contestants, on one page.
//!
//! - **[`verdict`]**: Is a contestant better than the baseline in one measure of one cell?
//!   - test: exact rank-sum and signed-rank tests, 95 % interval of the shift.
//!   - correction: Holm over the family.
//!   - margin: 0.1 % to claim, 1 % to be equivalent.
//!   - answers: better, worse, more, less, equivalent, exactly equal, not distinguishable, differs
//!     (few seeds), too few trials, not measured.
//! - **[`leaders`]**: Who is best in one measure of one cell?
//!   - test: exact rank-sum and signed-rank tests against the best median.
//!   - correction: Holm over all that are compared with the best.
//!   - margin: 2 % of the larger median.
//!   - answers: best, behind.
//! - **[`separation`]**: Which measure separates two contestants best?
//!   - test: no overlap of their trials (outermost rank sum).
//!   - correction: Bonferroni over all headline measures of both.
//!   - margin: 2 % of the larger median.
//!   - answers: a measure, none.
//! - **[`gate`]**: Is a contestant worse than in the session before?
//!   - test: virtual clock: sign test by seed; real clock: exact rank-sum test.
//!   - correction: real clock: Holm over the whole gate.
//!   - margin: the user's, in percent.
//!   - answers: worse, better, exactly equal, no change, too few trials, not measured.
//! - **[`replication`]**: Do the records say what somebody has published?
//!   - test: 95 % interval of a shift, a ratio or a median.
//!   - correction: none: each claim is a question of its own.
//!   - margin: the published size.
//!   - answers: reproduced, direction only, not reproduced, not tested, no data,
//!     contradicted.
//! - **[`recommend`]**: Which scheduler serves somebody's aims?
//!   - test: as the verdict, of what decides; 95 % interval, of what must not get worse.
//!   - correction: Holm over all candidates and aims.
//!   - margin: the aim's, in percent and in the measure's unit.
//!   - answers: good, good at a price, slightly better, alike, worse, unknown, failed.
//!
//! All use the same level, 5 % in a family (`holm::ALPHA`), the same least number of trials
//! (`interval::TRIALS_NEEDED`) except replication (four suffice for an interval), and the margins
//! of [`margin`] where the user does not set one.
//!
//! Three sets of answers differ because the questions differ. The gate and the verdict share
//! [`Verdict`]. A [`replication::Reproduction`] compares a direction and a size with
//! published ones, so "worse" has no meaning in it. A [`recommend::Standing`] is the sum of several
//! verdicts, of which one is paid for with another.
//!
//! [`verdict`]: crate::compare::verdict
//! [`leaders`]: crate::compare::leaders
//! [`margin`]: crate::compare::margin

pub mod gate;
pub mod recommend;
pub mod replication;
pub mod separation;

use crate::compare::margin::{NOTICEABLE, PERCENT_EQUIVALENT, PERCENT_THAT_MATTERS};
use crate::compare::verdict::Verdict;
use recommend::Standing;
use replication::Reproduction;

/// One row of the table of decision rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The module of this folder that has it.
    pub name: &'static str,
    /// What it answers.
    pub question: &'static str,
    /// The test or interval that it rests on.
    pub test: &'static str,
    /// What keeps many comparisons from making false claims.
    pub correction: &'static str,
    /// The smallest difference that it speaks of.
    pub margin: String,
    /// The words of its answers.
    pub answers: Vec<&'static str>,
}

/// The table of decision rules; words and margins are those of the code.
pub fn rules() -> [Rule; 6] {
    [verdict_rule(), leaders_rule(), separation_rule(), gate_rule(), replication_rule(), advice()]
}

fn verdict_rule() -> Rule {
    let others = [Verdict::Baseline, Verdict::Unchanged];
    Rule {
        name: "verdict",
        question: "Is a contestant better than the baseline in one measure of one cell?",
        test: "exact rank-sum and signed-rank tests, 95 % interval of the shift",
        correction: "Holm over the family",
        margin: format!(
            "{PERCENT_THAT_MATTERS} % to claim, {PERCENT_EQUIVALENT} % to be equivalent"
        ),
        answers: words(|verdict| !others.contains(&verdict)),
    }
}

fn leaders_rule() -> Rule {
    Rule {
        name: "leaders",
        question: "Who is best in one measure of one cell?",
        test: "exact rank-sum and signed-rank tests against the best median",
        correction: "Holm over all that are compared with the best",
        margin: noticeable(),
        answers: vec!["best", "behind"],
    }
}

fn separation_rule() -> Rule {
    Rule {
        name: "separation",
        question: "Which measure separates two contestants best?",
        test: "no overlap of their trials (outermost rank sum)",
        correction: "Bonferroni over all headline measures of both",
        margin: noticeable(),
        answers: vec!["a measure", "none"],
    }
}

fn gate_rule() -> Rule {
    let answers = [
        Verdict::Worse,
        Verdict::Better,
        Verdict::Equal,
        Verdict::Unchanged,
        Verdict::TooFewTrials,
        Verdict::NotMeasured,
    ];
    Rule {
        name: "gate",
        question: "Is a contestant worse than in the session before?",
        test: "virtual clock: sign test by seed; real clock: exact rank-sum test",
        correction: "real clock: Holm over the whole gate",
        margin: "the user's, in percent".into(),
        answers: answers.map(Verdict::words).to_vec(),
    }
}

fn replication_rule() -> Rule {
    Rule {
        name: "replication",
        question: "Do the records say what somebody has published?",
        test: "95 % interval of a shift, a ratio or a median",
        correction: "none: each claim is a question of its own",
        margin: "the published size".into(),
        answers: Reproduction::ALL.map(Reproduction::words).to_vec(),
    }
}

fn advice() -> Rule {
    Rule {
        name: "recommend",
        question: "Which scheduler serves somebody's aims?",
        test: "as the verdict, of what decides; 95 % interval, of what must not get worse",
        correction: "Holm over all candidates and aims",
        margin: "the aim's, in percent and in the measure's unit".into(),
        answers: Standing::ALL.map(Standing::words).to_vec(),
    }
}

fn noticeable() -> String {
    format!("{} % of the larger median", 100.0 * NOTICEABLE)
}

fn words(wanted: impl Fn(Verdict) -> bool) -> Vec<&'static str> {
    Verdict::ALL.into_iter().filter(|verdict| wanted(*verdict)).map(Verdict::words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::holm::ALPHA;

    #[test]
    fn the_head_of_this_file_lists_the_rules_of_the_code() {
        let lines = include_str!("mod.rs").lines();
        let head = lines.filter_map(|line| line.strip_prefix("//!"));
        let shown = head.map(str::trim).collect::<Vec<_>>().join(" ");
        for Rule { name, question, test, correction, margin, answers } in rules() {
            let answers = answers.join(", ");
            let item = format!(
                "- **[`{name}`]**: {question} - test: {test}. - correction: {correction}. \
                 - margin: {margin}. - answers: {answers}."
            );
            assert!(shown.contains(&item), "the head of decide/mod.rs lacks this:\n{item}");
        }
        assert!((ALPHA - 0.05).abs() < 1e-15, "the head says 5 %");
    }
}
