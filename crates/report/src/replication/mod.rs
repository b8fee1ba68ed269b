// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts on published findings, as text for a terminal and as Markdown.
//!
//! What is not here: any decision. `stats::decide::replication` decides.

mod phrases;

use std::fmt::Write;

use model::Claim;
use model::claim::{Expectation, Test};
use stats::decide::replication::{Finding, Reproduction, of_claim};

use crate::markdown::clean;
use crate::table::{Align, Field, Table};
use crate::terminal::layout::{Paint, hanging, wrapped};
use crate::units;
use phrases::{absence, consequence, expected, found, kernels, published};

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

/// For a terminal: each claim with the published and the measured result, the summary last.
pub fn text(replication: &Replication, colour: bool) -> String {
    let paint = Paint(colour);
    let mut text: String = replication.claims.iter().map(|judged| claim(judged, paint)).collect();
    text += &paint.bold(wrapped(&sentence(replication), "").trim_end());
    text + "\n"
}

fn claim(judged: &Judged, paint: Paint) -> String {
    let (id, verdict) = (paint.bold(&judged.claim.id), painted(judged.verdict, paint));
    let mut text = format!("{id}: {verdict}\n");
    text += &hanging(&judged.claim.about, "  ", "  ");
    text += &hanging(&format!("published: {}", published(&judged.claim.published)), "  ", "    ");
    text.extend(judged.tests.iter().map(|tested| test(tested, paint)));
    if let Some(words) = &judged.claim.afterwards {
        text += &hanging(&format!("said afterwards: {words}"), "  ", "    ");
    }
    text + "\n"
}

fn test(tested: &Tested, paint: Paint) -> String {
    let head = format!("  {}: {}\n", test_name(tested), painted(tested.verdict, paint));
    let lines = test_lines(tested);
    head + &lines.iter().map(|line| hanging(line, "    ", "      ")).collect::<String>()
}

fn painted(verdict: Reproduction, paint: Paint) -> String {
    let words = verdict.words();
    match verdict {
        Reproduction::Reproduced => paint.green(words),
        Reproduction::Contradicted | Reproduction::NoData => paint.red(words),
        Reproduction::Untested => paint.dim(words),
        Reproduction::DirectionOnly | Reproduction::NotReproduced => paint.bold(words),
    }
}

/// `sim`, `originals (vm)`.
fn test_name(tested: &Tested) -> String {
    match (tested.test.name.as_str(), tested.test.on.word()) {
        (name, on) if name == on => name.to_owned(),
        (name, on) => format!("{name} ({on})"),
    }
}

/// The findings, the evidence, and what is lacking.
fn test_lines(tested: &Tested) -> Vec<String> {
    let test = &tested.test;
    let mut lines = Vec::new();
    for (expectation, finding) in test.expect.iter().zip(&tested.expect) {
        lines.push(expectation_line(test, expectation, finding));
        lines.extend(finding.against.iter().map(|objection| format!("but {objection}")));
    }
    let because = test.because.iter().zip(&tested.because);
    lines.extend(because.map(|(evidence, finding)| evidence_line(test, evidence, finding)));
    lines.extend(tested.why.clone());
    lines.extend(tested.command.iter().map(|command| format!("to test it: {command}")));
    lines
}

fn expectation_line(test: &Test, expectation: &Expectation, finding: &Finding) -> String {
    let (found, expected) = (found(test, expectation, finding), expected(expectation));
    match finding.estimate {
        Some(_) => format!("{found}: {} ({expected})", consequence(expectation, finding)),
        None => format!("{found} ({expected})"),
    }
}

fn evidence_line(test: &Test, evidence: &Expectation, finding: &Finding) -> String {
    let says = evidence.says.as_deref().unwrap_or_default();
    let found = found(test, evidence, finding);
    match finding.verdict {
        Reproduction::Reproduced | Reproduction::DirectionOnly => {
            format!("because {says}: {found}")
        }
        Reproduction::Contradicted => format!("not because {says}: {found}"),
        _ => format!("whether {says} is open: {found}"),
    }
}

/// A whole document, for the folder of the claims' files: the summary, its origin, a table for each
/// source, and the commands for tests that were not run here.
pub fn markdown(replication: &Replication) -> String {
    let mut text = String::from("# Which published findings hold?\n\n");
    let _ = writeln!(text, "{}\n", sentence(replication));
    let _ = writeln!(
        text,
        "Made on {} from {} trials. Kernels: {}. The rule of each claim is in its file, was \
         written\nbefore anything was measured, and is explained in \
         [the book](../docs/src/method/claims.md#how-a-claim-is-judged).\n",
        replication.generated,
        replication.trials,
        clean(&kernels(&replication.kernels)),
    );
    let _ = writeln!(text, "```sh\n{}\n```", replication.command);
    for claims in replication.claims.chunk_by(|one, next| one.claim.source == next.claim.source) {
        let _ = write!(text, "\n## {}\n\n{}", clean(&claims[0].claim.source), table(claims));
    }
    text + &afterwards(replication) + &untested(replication)
}

/// Explanations found after measuring.
fn afterwards(replication: &Replication) -> String {
    let known = replication.claims.iter().filter_map(|judged| {
        let words = judged.claim.afterwards.as_ref()?;
        Some(format!("- **{}** ({}): {}\n", judged.claim.id, judged.verdict.words(), clean(words)))
    });
    let text: String = known.collect();
    let heading = "\n## What explains it\n\nWritten after measuring; no verdict depends on it.\n\n";
    if text.is_empty() { text } else { format!("{heading}{text}") }
}

fn table(claims: &[Judged]) -> String {
    let headings = ["claim", "published", "measured", "verdict"];
    let mut table = Table::new(&headings.map(|heading| (heading, Align::Left)));
    for judged in claims {
        let Judged { claim, verdict, .. } = judged;
        table.add([
            Field::markdown(format!("[{id}]({id}.toml): {}", clean(&claim.about), id = claim.id)),
            published(&claim.published).into(),
            measured(judged).into(),
            verdict.words().to_owned().into(),
        ]);
    }
    table.markdown()
}

/// The number that decides the claim: of its first test with data.
fn measured(judged: &Judged) -> String {
    let Some(speaker) = judged.tests.iter().find(|tested| tested.verdict.has_data()) else {
        return "–".into();
    };
    let mut pairs = speaker.test.expect.iter().zip(&speaker.expect);
    let decides = pairs.find(|(_, finding)| finding.verdict == speaker.verdict);
    let found = decides.map(|(demand, finding)| found(&speaker.test, demand, finding));
    format!("{}: {}", speaker.test.name, found.unwrap_or_default())
}

/// Requested tests that were not run, the reason, and the command. Tests that the user did not
/// request are not listed.
fn untested(replication: &Replication) -> String {
    let mut text = String::new();
    for judged in &replication.claims {
        let is_listed =
            |tested: &&Tested| tested.verdict == Reproduction::Untested && !tested.is_unwanted;
        for tested in judged.tests.iter().filter(is_listed) {
            let command = tested.command.iter().map(|command| format!("; `{command}`"));
            let (id, name, why) = (&judged.claim.id, &tested.test.name, clean(&absence(tested)));
            let _ = writeln!(text, "- {id} ({name}): {why}{}", command.collect::<String>());
        }
    }
    if text.is_empty() { text } else { format!("\n## Not tested here\n\n{text}") }
}
