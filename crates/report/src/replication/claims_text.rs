// SPDX-License-Identifier: GPL-2.0-only
//! Claims on a terminal: each with the published and the measured result, the summary last.

use model::claim::{Expectation, Test};
use stats::decide::replication::{Finding, Reproduction};

use super::phrases::{consequence, expected, found, published};
use super::{Judged, Replication, Tested, sentence};
use crate::terminal::layout::{Paint, hanging, wrapped};

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
