// SPDX-License-Identifier: GPL-2.0-only
//! The agreement of the simulator with a real kernel, as sentences and as signs for tables.

use model::{Backend, Record};
use stats::view::agreement::{Agreement, Aspect, Figure, Within, agreement};
use stats::{Cell, Comparison, Row};

use crate::cells::takes_part;
use crate::sentence::Sentence;
use crate::units;

/// The agreement of the simulator with the real kernel, if the records are of both.
pub fn agreed(comparison: &Comparison, records: &[Record]) -> Option<Agreement> {
    let has = |backend| comparison.cells.iter().any(|cell| cell.backend == backend);
    let real = Backend::EXECUTING.into_iter().find(|&on| !on.is_model() && has(on))?;
    has(Backend::MODEL).then(|| agreement(records, comparison, real, Backend::MODEL))
}

/// The figure of one entry.
pub fn figure<'a>(
    agreement: &'a Agreement,
    cell: &Cell,
    row: &Row,
    contestant: &str,
) -> Option<&'a Figure> {
    agreement.figures.iter().find(|figure| {
        figure.contestant == contestant
            && figure.measure == row.measure
            && (&figure.cell, &figure.machine) == (&cell.name, &cell.machine)
    })
}

/// The error of a simulated median: `+3.2 %` of the real one, or in the unit where that is 0.
pub fn error(figure: &Figure) -> String {
    match figure.relative_error() {
        Some(error) => units::percent(100.0 * error),
        None if figure.model == 0.0 => "0.0 %".into(),
        None => format!("+{}", units::number(figure.model, figure.unit)),
    }
}

/// A sign for whether a figure agrees.
pub fn mark(within: Within) -> &'static str {
    match within {
        Within::Strictly => "✓",
        Within::ByAllowance => "(✓)",
        Within::Outside => "✗",
    }
}

/// An aspect in words, and the tolerance that counts for it.
pub fn aspect(aspect: Aspect) -> (&'static str, &'static str) {
    match aspect {
        Aspect::Shares => ("shares", "1 %, or one percentage point"),
        Aspect::Switches => ("context switches", "5 %, or one switch"),
        Aspect::Latency => ("latencies", "10 %, or one tick"),
        Aspect::Turnaround => ("turn-around", "10 %, or one tick"),
        Aspect::Rate => ("rates", "5 %"),
    }
}

/// Whether the backends give the same answers, most important first.
pub fn sentences(comparison: &Comparison, agreement: &Agreement) -> Vec<Sentence> {
    let mut sentences = vec![signs(agreement)];
    sentences.extend(medians(agreement));
    sentences.extend(only_real(comparison, agreement));
    sentences
}

/// The same sentences without the medians.
pub fn in_short(comparison: &Comparison, agreement: &Agreement) -> Vec<Sentence> {
    std::iter::once(signs(agreement)).chain(only_real(comparison, agreement)).collect()
}

fn signs(agreement: &Agreement) -> Sentence {
    let (agreeing, all) = agreement.signs_agreeing();
    let real = agreement.reference.word();
    let sentence = Sentence::default();
    if all == 0 {
        let nothing = "make no claim about the same contestant and measure";
        return sentence.text(format!("The simulator and the real kernel ({real}) {nothing}."));
    }
    let verb = if agreeing == all { "agree" } else { "agree mostly" };
    let verb = if 2 * agreeing < all { "disagree" } else { verb };
    let sentence = sentence.text("The simulator and the real kernel ");
    let sentence = sentence
        .text(format!("({real}) {verb}: "))
        .strong(format!("{agreeing} of {all} claims point the same way"));
    sentence.text(" where both say that a contestant is better or worse than the baseline.")
}

fn medians(agreement: &Agreement) -> Option<Sentence> {
    let tally = agreement.tally(|_| true);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let (within, strictly) = (percent(tally.share()?), percent(tally.strict_share()?));
    let sentence =
        Sentence::default().text(format!("Of {} medians that both have, ", tally.figures));
    let sentence = sentence.strong(format!("{within} lie within the tolerance"));
    Some(sentence.text(format!(" ({strictly} without the allowance for small numbers).")))
}

/// Contestants that only one of them can run.
fn only_real(comparison: &Comparison, agreement: &Agreement) -> Option<Sentence> {
    let cells_of = |backend| comparison.cells.iter().filter(move |cell| cell.backend == backend);
    let simulated = |name: &String| cells_of(agreement.model).any(|cell| takes_part(cell, name));
    let contestants: Vec<&String> =
        comparison.contestants.iter().filter(|name| !simulated(name)).collect();
    let mut workloads: Vec<&str> = Vec::new();
    for cell in cells_of(agreement.reference) {
        let known = workloads.contains(&cell.workload.as_str());
        if !known && !cells_of(agreement.model).any(|other| other.workload == cell.workload) {
            workloads.push(&cell.workload);
        }
    }
    if contestants.is_empty() && workloads.is_empty() {
        return None;
    }
    let mut sentence =
        Sentence::default().text("Only on the real kernel: ").names(contestants.iter().copied());
    for (index, workload) in workloads.iter().enumerate() {
        let comma = if index > 0 || !contestants.is_empty() { ", " } else { "" };
        sentence = sentence.text(comma).term((*workload).into());
    }
    Some(sentence.text("."))
}
