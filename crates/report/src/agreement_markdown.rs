// SPDX-License-Identifier: GPL-2.0-only
//! The distance of two backends as Markdown, for documents and the terminal.

use std::fmt::Write;

use model::Clock;
use stats::{Agreement, Aspect, Figure, Tally, Within};

use crate::markdown::clean;
use crate::units;

/// The names of the two sides of a table.
struct ColumnNames {
    reference: &'static str,
    model: &'static str,
}

const BACKENDS: ColumnNames = ColumnNames { reference: "kernel", model: "simulator" };
const COUNTERPARTS: ColumnNames = ColumnNames { reference: "counterpart", model: "file" };

/// The summary by aspect, a row for each cell and contestant, and the claims. Figures of a real
/// clock are in tables of their own, because they contain the host's noise.
pub fn tables(agreement: &Agreement) -> String {
    let (agree, all) = agreement.signs_agreeing();
    let claims = format!("Claims that both make (better or worse): {agree} of {all} agree.\n");
    by_clock(agreement, &BACKENDS) + &claims
}

/// The same for files and their counterparts, without claims.
pub fn copies(agreement: &Agreement) -> String {
    by_clock(agreement, &COUNTERPARTS)
}

fn by_clock(agreement: &Agreement, sides: &ColumnNames) -> String {
    let mut text = String::new();
    for (clock, heading) in [(Clock::Virtual, "In virtual time"), (Clock::Real, "In real time")] {
        let figures: Vec<&Figure> =
            agreement.figures.iter().filter(|figure| figure.clock == clock).collect();
        if !figures.is_empty() {
            let _ = write!(
                text,
                "**{heading}**\n\n{}\n{}\n",
                aspects(&figures),
                cells(&figures, sides)
            );
        }
    }
    text
}

/// Every figure, one per row.
pub fn figures(agreement: &Agreement) -> String {
    rows(agreement, &BACKENDS)
}

/// The same for files and their counterparts.
pub fn figures_of_copies(agreement: &Agreement) -> String {
    rows(agreement, &COUNTERPARTS)
}

fn rows(agreement: &Agreement, ColumnNames { reference, model }: &ColumnNames) -> String {
    let mut text = format!(
        "| cell | scheduler | measure | {reference} | {model} | error | |\n\
         |---|---|---|---:|---:|---:|---|\n",
    );
    for figure in &agreement.figures {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            clean(&cell(figure)),
            clean(&figure.contestant),
            clean(&units::measure(&figure.measure)),
            units::number(figure.reference, figure.unit),
            units::number(figure.model, figure.unit),
            error(figure),
            word(figure.within),
        );
    }
    text
}

fn aspects(figures: &[&Figure]) -> String {
    let mut text = String::from(
        "| | figures | within | within the relative tolerance alone |\n|---|---:|---:|---:|\n",
    );
    for aspect in Aspect::ALL {
        let tally = tally(figures.iter().filter(|figure| figure.aspect == aspect));
        if tally.figures > 0 {
            let _ = writeln!(text, "| {} | {} |", name(aspect), counts(tally));
        }
    }
    let _ = writeln!(text, "| all | {} |", counts(tally(figures.iter())));
    text
}

fn cells(figures: &[&Figure], ColumnNames { reference, model }: &ColumnNames) -> String {
    let mut text = format!(
        "| cell | scheduler | figures | within | relative alone | farthest off | {reference} \
         | {model} |\n|---|---|---:|---:|---:|---|---:|---:|\n",
    );
    let key = |figure: &Figure| (cell(figure), figure.contestant.clone());
    for group in figures.chunk_by(|a, b| key(a) == key(b)) {
        let (place, contestant) = key(group[0]);
        let counts = counts(tally(group.iter()));
        let _ = write!(text, "| {} | {} | {counts} |", clean(&place), clean(&contestant));
        let _ = writeln!(text, "{}", farthest(group));
    }
    text
}

/// The figure with the largest relative error among those that are not within; nothing if all are.
fn farthest(group: &[&Figure]) -> String {
    let outside = group.iter().filter(|figure| figure.within == Within::Outside);
    let size = |figure: &Figure| figure.relative_error().map_or(f64::INFINITY, f64::abs);
    let Some(worst) = outside.max_by(|a, b| size(a).total_cmp(&size(b))) else {
        return " – | | |".into();
    };
    let measure = clean(&units::measure(&worst.measure));
    let (kernel, simulator) =
        (units::number(worst.reference, worst.unit), units::number(worst.model, worst.unit));
    format!(" {measure} | {kernel} | {simulator} |")
}

fn tally<'a>(figures: impl Iterator<Item = &'a &'a Figure>) -> Tally {
    figures.fold(Tally::default(), |tally, figure| tally.with(figure))
}

fn counts(tally: Tally) -> String {
    let percent =
        |share: Option<f64>| share.map_or("–".into(), |s| format!("{:.1} %", 100.0 * s));
    format!("{} | {} | {}", tally.figures, percent(tally.share()), percent(tally.strict_share()))
}

fn cell(figure: &Figure) -> String {
    format!("{} on {}", figure.cell, figure.machine)
}

fn error(figure: &Figure) -> String {
    let absolute = || units::number(figure.error(), figure.unit);
    figure.relative_error().map_or_else(absolute, |error| units::percent(100.0 * error))
}

fn word(within: Within) -> &'static str {
    match within {
        Within::Strictly => "within",
        Within::ByAllowance => "by allowance",
        Within::Outside => "outside",
    }
}

fn name(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Shares => "shares (1 %, or 1 percentage point)",
        Aspect::Switches => "context switches (5 %, or one)",
        Aspect::Latency => "latencies (10 %, or one tick)",
        Aspect::Turnaround => "turn-around (10 %, or one tick)",
        Aspect::Rate => "rates (5 %)",
    }
}
