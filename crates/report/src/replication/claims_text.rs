// SPDX-License-Identifier: GPL-2.0-only
//! Claims on a terminal: each with the published and the measured result, the summary last.

use std::collections::BTreeSet;

use model::MeasureKey;
use model::claim::{Beside, Expectation, Test};
use model::metric::Unit;
use stats::decide::replication::{Finding, Reproduction, Side, alone};

use super::phrases::{consequence, expected, found, plain, published, short};
use super::{Judged, Replication, Tested, sentence};
use crate::terminal::layout::{Paint, hanging, wrapped};
use crate::units;

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

/// The findings, the evidence, the numbers beside published ones, and what is lacking.
fn test_lines(tested: &Tested) -> Vec<String> {
    let test = &tested.test;
    let mut lines = Vec::new();
    for (expectation, finding) in test.expect.iter().zip(&tested.expect) {
        lines.push(expectation_line(test, expectation, finding));
        lines.extend(finding.against.iter().map(|objection| format!("but {objection}")));
    }
    let because = test.because.iter().zip(&tested.because);
    lines.extend(because.map(|(evidence, finding)| evidence_line(test, evidence, finding)));
    let cells: Vec<&str> = test.beside.iter().filter_map(|row| row.cell.as_deref()).collect();
    let names: BTreeSet<&str> =
        tested.beside.iter().flatten().map(|side| side.contestant.as_str()).collect();
    let beside = test.beside.iter().zip(&tested.beside);
    lines.extend(beside.map(|(row, sides)| beside_line(row, sides, &names, &cells)));
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

/// `completion in policies cpu=10: cfs 1.50 s [1.25, 1.75]; published 13.5 s · rr 1.40 s …`
fn beside_line(row: &Beside, sides: &[Side], names: &BTreeSet<&str>, cells: &[&str]) -> String {
    let key = row.measure.parse::<MeasureKey>();
    let unit = key.as_ref().map_or(Unit::Count, |key| key.unit_and_direction().0);
    let measure = key.map_or_else(|_| row.measure.clone(), |key| units::measure(&key));
    let cell = short(row.cell.as_deref().unwrap_or_default(), cells);
    let numbers = names.iter().filter_map(|name| {
        let side = sides.iter().find(|side| side.contestant == **name)?;
        Some(format!("{name} {}", beside_number(row, side, unit)))
    });
    format!("{measure} in {cell}: {}", numbers.collect::<Vec<_>>().join(" · "))
}

/// `13.4 s [13.1, 13.9]; published 13.132 s`.
fn beside_number(row: &Beside, side: &Side, unit: Unit) -> String {
    let ours = match side.median {
        Some(median) => format!("{}{}", units::number(median, unit), spread(side, median, unit)),
        None => format!("missing: {}", side.reason()),
    };
    match row.published.get(&side.contestant) {
        Some(value) => {
            format!(
                "{ours}; published {} {}",
                plain(*value),
                row.unit.as_deref().unwrap_or_default()
            )
        }
        None => ours,
    }
}

/// The interval; of too few trials for one, the smallest and the largest.
fn spread(side: &Side, median: f64, unit: Unit) -> String {
    if let Ok(estimate) = alone(side) {
        return format!(" {}", units::interval(estimate.interval, median, unit));
    }
    if side.units.len() < 2 {
        return " (one trial)".into();
    }
    let low = side.units.iter().copied().fold(f64::INFINITY, f64::min);
    let high = side.units.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!(" ({} … {})", units::number(low, unit), units::number(high, unit))
}
