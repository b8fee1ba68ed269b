// SPDX-License-Identifier: GPL-2.0-only
//! One cell's headline measures on two backends, side by side.

use maud::{Markup, html};
use model::metric::measure;
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use super::markup::class;
use crate::{agreement, cells, units};

/// A table per headline measure; `cells` are the same on a real kernel and in the simulator.
pub fn tables(comparison: &Comparison, cells: &[&Cell], agreement: &Agreement) -> Markup {
    html! { @for row in cells[0].headline() { (table(comparison, cells, row, agreement)) } }
}

fn table(comparison: &Comparison, cells: &[&Cell], row: &Row, agreement: &Agreement) -> Markup {
    if !cells::is_measured(cells, row) {
        return html! {
            p class="aside" {
                b { (units::measure(&row.measure)) } ": no trial has enough samples."
            }
        };
    }
    let definition = measure(&row.measure.name).map_or("", |measure| measure.definition);
    html! {
        div class="scroll" {
            table class="data result backends" {
                caption {
                    span title=(definition) { (units::measure(&row.measure)) } " "
                    small { (units::direction(row.direction).unwrap_or("neither is better")) }
                }
                thead {
                    tr {
                        th scope="col" { "contestant" }
                        @for cell in cells {
                            th scope="col" class="n" { (cell.backend.word()) }
                            th scope="col" { "against " (comparison.baseline) }
                        }
                        th scope="col" class="n" title="error of the simulated median; ✓ within \
                            the tolerance, (✓) only by the allowance for small numbers, ✗ outside" {
                            "sim − " (agreement.reference.word())
                        }
                    }
                }
                tbody {
                    @for name in &comparison.contestants {
                        @if cells.iter().any(|cell| cells::takes_part(cell, name)) {
                            (line(comparison, cells, row, name, agreement))
                        }
                    }
                }
            }
        }
    }
}

fn line(
    comparison: &Comparison,
    cells: &[&Cell],
    row: &Row,
    name: &str,
    agreement: &Agreement,
) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            @for cell in cells {
                @if cells::is_elsewhere(comparison, cell, name) {
                    td class="n range" colspan="2" { (cells::not_here(cell)) }
                } @else {
                    (side(row, cells::twin_entry(cell, row, name)))
                }
            }
            td class="n" {
                @if let Some(figure) = agreement::figure(agreement, cells[0], row, name) {
                    (agreement::error(figure)) " " small { (agreement::mark(figure.within)) }
                }
            }
        }
    }
}

/// A backend's median, and its verdict against the baseline.
fn side(row: &Row, entry: Option<&Entry>) -> Markup {
    let Some(entry) = entry else { return html! { td class="n" { "–" } td {} } };
    let median = entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let shift = entry.shift.map(|shift| units::shift(&shift, row.unit)).unwrap_or_default();
    let words = match entry.verdict {
        Verdict::Baseline => "baseline".into(),
        verdict if verdict.is_claim() => format!("{} {}, {}", shift.0, shift.1, verdict.words()),
        verdict => verdict.words().into(),
    };
    html! {
        td class="n median" { (median) }
        td class={ "difference " (class(entry.verdict)) } { (words) }
    }
}
