// SPDX-License-Identifier: GPL-2.0-only
//! The agreement of a model with its reference, which are the simulator and a real kernel, or a
//! scheduler's file and its counterpart: sentences, signs for tables, and tables.

use model::{Backend, Clock, Record};
use stats::view::agreement::{Agreement, Aspect, Figure, Tally, Within, agreement};
use stats::{Cell, Comparison, Row};

use crate::reading::takes_part;
use crate::sentence::Sentence;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// What tables call the reference and the model.
pub struct SideNames {
    reference: &'static str,
    model: &'static str,
}

pub const BACKENDS: SideNames = SideNames { reference: "kernel", model: "simulator" };
pub const COUNTERPARTS: SideNames = SideNames { reference: "counterpart", model: "file" };

/// The agreement of the simulator with the real kernel, if the records are of both.
pub fn agreed(comparison: &Comparison, records: &[Record]) -> Option<Agreement> {
    let has = |backend| comparison.cells.iter().any(|cell| cell.backend == backend);
    let real = Backend::EXECUTING.into_iter().find(|&on| !on.is_model() && has(on))?;
    has(Backend::MODEL).then(|| agreement(records, comparison, real, Backend::MODEL))
}

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

/// The error of a model's median: `+3.2 %` of the reference's, or in the unit where that is 0.
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

/// Whether the backends give the same answers, most important first.
pub fn sentences(comparison: &Comparison, agreement: &Agreement) -> Vec<Sentence> {
    let mut sentences = vec![signs(agreement)];
    sentences.extend(medians(agreement));
    sentences.extend(only_real(comparison, agreement));
    sentences
}

/// The same sentences without the medians.
pub fn sentences_in_short(comparison: &Comparison, agreement: &Agreement) -> Vec<Sentence> {
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
    let verb = match agreeing {
        _ if agreeing == all => "agree",
        _ if 2 * agreeing < all => "disagree",
        _ => "agree mostly",
    };
    sentence
        .text(format!("The simulator and the real kernel ({real}) {verb}: "))
        .strong(format!("{agreeing} of {all} claims point the same way"))
        .text(" where both say that a contestant is better or worse than the baseline.")
}

fn medians(agreement: &Agreement) -> Option<Sentence> {
    let tally = agreement.tally(|_| true);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let (within, strictly) = (percent(tally.share()?), percent(tally.strict_share()?));
    let sentence = Sentence::default()
        .text(format!("Of {} medians that both have, ", tally.figures))
        .strong(format!("{within} lie within the tolerance"))
        .text(format!(" ({strictly} without the allowance for small numbers)."));
    Some(sentence)
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
        if !known && !cells_of(agreement.model).any(|twin| twin.workload == cell.workload) {
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

/// How many claims of both agree, as a line of Markdown.
pub fn claims_markdown(agreement: &Agreement) -> String {
    match agreement.signs_agreeing() {
        (_, 0) => "Claims that both make (better or worse): none.\n".to_owned(),
        (agree, all) => {
            format!("Claims that both make (better or worse): {agree} of {all} agree.\n")
        }
    }
}

/// Markdown: the summary by aspect, and a row for each cell and contestant. Figures of a real clock
/// are in tables of their own, because they contain the host's noise.
pub fn summary_markdown(agreement: &Agreement, sides: &SideNames) -> String {
    let of_clock = |(clock, heading)| {
        let figures: Vec<&Figure> =
            agreement.figures.iter().filter(|figure| figure.clock == clock).collect();
        if figures.is_empty() {
            return String::new();
        }
        let (aspects, cells) = (aspects(&figures), cells(&figures, sides));
        format!("**{heading}**\n\n{}\n{}\n", aspects.markdown(), cells.markdown())
    };
    [(Clock::Virtual, "In virtual time"), (Clock::Real, "In real time")].map(of_clock).concat()
}

/// Every figure in a row, as Markdown.
pub fn figures_markdown(agreement: &Agreement, sides: &SideNames) -> String {
    let mut table = Table::new(&[
        ("cell", Left),
        ("scheduler", Left),
        ("measure", Left),
        (sides.reference, Right),
        (sides.model, Right),
        ("error", Right),
        ("", Left),
    ]);
    for figure in &agreement.figures {
        let within = match figure.within {
            Within::Strictly => "within",
            Within::ByAllowance => "by allowance",
            Within::Outside => "outside",
        };
        table.add([
            place(figure),
            figure.contestant.clone(),
            units::measure(&figure.measure),
            units::number(figure.reference, figure.unit),
            units::number(figure.model, figure.unit),
            error(figure),
            within.into(),
        ]);
    }
    table.markdown()
}

/// How many figures of each aspect are within their tolerance.
pub(crate) fn aspects(figures: &[&Figure]) -> Table {
    let mut table = Table::new(&[
        ("", Left),
        ("figures", Right),
        ("within", Right),
        ("within the relative tolerance alone", Right),
    ]);
    for aspect in Aspect::ALL {
        let tally = tally(figures.iter().filter(|figure| figure.aspect == aspect));
        if tally.figures > 0 {
            let [all, within, strictly] = counts(tally);
            table.add([aspect_with_tolerance(aspect).into(), all, within, strictly]);
        }
    }
    let [all, within, strictly] = counts(tally(figures.iter()));
    table.add(["all".into(), all, within, strictly]);
    table
}

fn cells(figures: &[&Figure], sides: &SideNames) -> Table {
    let mut table = Table::new(&[
        ("cell", Left),
        ("scheduler", Left),
        ("figures", Right),
        ("within", Right),
        ("relative alone", Right),
        ("farthest off", Left),
        (sides.reference, Right),
        (sides.model, Right),
    ]);
    let key = |figure: &Figure| (place(figure), figure.contestant.clone());
    for group in figures.chunk_by(|a, b| key(a) == key(b)) {
        let (place, contestant) = key(group[0]);
        let [all, within, strictly] = counts(tally(group.iter()));
        let [measure, reference, model] = farthest(group);
        table.add([place, contestant, all, within, strictly, measure, reference, model]);
    }
    table
}

/// The figure with the largest relative error among those that are not within: its measure and both
/// numbers. Nothing if all are within.
fn farthest(group: &[&Figure]) -> [String; 3] {
    let outside = group.iter().filter(|figure| figure.within == Within::Outside);
    match outside.max_by(|a, b| error_size(a).total_cmp(&error_size(b))) {
        None => ["–".into(), String::new(), String::new()],
        Some(figure) => [
            units::measure(&figure.measure),
            units::number(figure.reference, figure.unit),
            units::number(figure.model, figure.unit),
        ],
    }
}

/// The size of the relative error. A reference of 0 has none, and counts as the worst.
pub(crate) fn error_size(figure: &Figure) -> f64 {
    figure.relative_error().map_or(f64::INFINITY, f64::abs)
}

fn tally<'a>(figures: impl Iterator<Item = &'a &'a Figure>) -> Tally {
    figures.fold(Tally::default(), |tally, figure| tally.with(figure))
}

/// How many figures there are, and which shares of them are within.
fn counts(tally: Tally) -> [String; 3] {
    let percent =
        |share: Option<f64>| share.map_or("–".into(), |share| format!("{:.1} %", 100.0 * share));
    [tally.figures.to_string(), percent(tally.share()), percent(tally.strict_share())]
}

fn place(figure: &Figure) -> String {
    format!("{} on {}", figure.cell, figure.machine)
}

fn aspect_with_tolerance(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Shares => "shares (1 %, or 1 percentage point)",
        Aspect::Switches => "context switches (5 %, or one)",
        Aspect::Latency => "latencies (10 %, or one tick)",
        Aspect::Turnaround => "turn-around (10 %, or one tick)",
        Aspect::Rate => "rates (5 %)",
    }
}
