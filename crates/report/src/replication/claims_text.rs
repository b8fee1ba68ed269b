// SPDX-License-Identifier: GPL-2.0-only
//! Claims on a terminal: each with the published and the measured result, the summary last.

use model::claim::{Expectation, Test};
use stats::decide::replication::{Finding, Reproduction};

use super::judged::{Judged, Replication, Tested};
use super::phrases::{consequence, expected, found_in, published};
use super::published_numbers::{columns, rows};
use super::verdict_counts::sentence;
use crate::terminal::layout::{Paint, hanging, wrapped};

/// The claims.
pub fn text(replication: &Replication, colour: bool) -> String {
    let paint = Paint(colour);
    let mut text: String = replication.claims.iter().map(|judged| claim(judged, paint)).collect();
    text += &paint.bold(wrapped(&sentence(replication), "").trim_end());
    text + "\n"
}

fn claim(judged: &Judged, paint: Paint) -> String {
    let (id, verdict) = (paint.bold(&judged.claim.id), painted(judged.verdict, paint));
    let disagree = if judged.disagree { ", backends disagree" } else { "" };
    let mut text = format!("{id}: {verdict}{disagree}\n");
    text += &hanging(&judged.claim.about, "  ", "  ");
    text += &hanging(&format!("published: {}", published(&judged.claim.published)), "  ", "    ");
    judged.tests.iter().for_each(|one| text += &tested(one, paint));
    if let Some(words) = &judged.claim.afterwards {
        text += &hanging(&format!("said afterwards: {words}"), "  ", "    ");
    }
    text + "\n"
}

fn tested(tested: &Tested, paint: Paint) -> String {
    let on = tested.test.on.word();
    let name = match tested.test.name.as_str() {
        name if name == on => name.to_owned(),
        name => format!("{name} ({on})"),
    };
    let mut text = format!("  {name}: {}\n", painted(tested.verdict, paint));
    for (expectation, finding) in tested.test.expect.iter().zip(&tested.expect) {
        text += &indented(&expectation_line(&tested.test, expectation, finding));
        finding.against.iter().for_each(|line| text += &indented(&format!("but {line}")));
    }
    for (evidence, finding) in tested.test.because.iter().zip(&tested.because) {
        text += &indented(&evidence_line(&tested.test, evidence, finding));
    }
    for row in rows(tested) {
        let numbers = columns(tested).into_iter().zip(&row.numbers);
        let numbers = numbers.filter(|(_, number)| !number.is_empty());
        let words: Vec<String> = numbers.map(|(name, it)| format!("{name} {it}")).collect();
        text += &indented(&format!("{} in {}: {}", row.measure, row.cell, words.join(" · ")));
    }
    if let Some(why) = &tested.why {
        text += &indented(why);
    }
    if let Some(command) = &tested.command {
        text += &indented(&format!("to test it: {command}"));
    }
    text
}

fn expectation_line(test: &Test, expectation: &Expectation, finding: &Finding) -> String {
    let (found, expected) = (found_in(test, expectation, finding), expected(expectation));
    match finding.estimate {
        Some(_) => format!("{found}: {} ({expected})", consequence(expectation, finding)),
        None => format!("{found} ({expected})"),
    }
}

fn evidence_line(test: &Test, evidence: &Expectation, finding: &Finding) -> String {
    let says = evidence.says.as_deref().unwrap_or_default();
    let found = found_in(test, evidence, finding);
    match finding.verdict {
        Reproduction::Reproduced | Reproduction::DirectionOnly => {
            format!("because {says}: {found}")
        }
        Reproduction::Contradicted => format!("not because {says}: {found}"),
        _ => format!("whether {says} is open: {found}"),
    }
}

fn indented(text: &str) -> String {
    hanging(text, "    ", "      ")
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
