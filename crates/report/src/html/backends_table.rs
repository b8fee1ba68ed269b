// SPDX-License-Identifier: GPL-2.0-only
//! One cell's headline measures on two backends, side by side.

use model::metric::measure;
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use super::escape::text;
use super::markup::class;
use crate::{agreement, cells, units};

/// A table per headline measure; `cells` are the same on a real kernel and in the simulator.
pub fn tables(comparison: &Comparison, cells: &[&Cell], agreement: &Agreement) -> String {
    cells[0].headline().map(|row| table(comparison, cells, row, agreement)).collect()
}

fn table(comparison: &Comparison, cells: &[&Cell], row: &Row, agreement: &Agreement) -> String {
    if !cells::is_measured(cells, row) {
        let measure = text(&units::measure(&row.measure));
        return format!("<p class=\"aside\"><b>{measure}</b>: no trial has enough samples.</p>");
    }
    let lines: String = comparison
        .contestants
        .iter()
        .map(|name| line(comparison, cells, row, name, agreement))
        .collect();
    let heads: String = cells.iter().map(|cell| head(cell, &comparison.baseline)).collect();
    let definition = measure(&row.measure.name).map_or("", |measure| measure.definition);
    format!(
        "<div class=\"scroll\"><table class=\"data result backends\"><caption><span \
         title=\"{}\">{}</span> <small>{}</small></caption><thead><tr><th \
         scope=\"col\">contestant</th>{heads}<th scope=\"col\" class=\"n\" title=\"error of the \
         simulated median; ✓ within the tolerance, (✓) only by the \
         allowance for small numbers, ✗ outside\">sim − {}</th></tr></thead><tbody>{lines}</tbody>\
         </table></div>\n",
        text(definition),
        text(&units::measure(&row.measure)),
        units::direction(row.direction).unwrap_or("neither is better"),
        agreement.reference.word()
    )
}

fn head(cell: &Cell, baseline: &str) -> String {
    format!(
        "<th scope=\"col\" class=\"n\">{}</th><th scope=\"col\">against {}</th>",
        cell.backend.word(),
        text(baseline)
    )
}

fn line(
    comparison: &Comparison,
    cells: &[&Cell],
    row: &Row,
    name: &str,
    agreement: &Agreement,
) -> String {
    if !cells.iter().any(|cell| cells::takes_part(cell, name)) {
        return String::new();
    }
    let side = |cell: &&Cell| {
        if cells::is_elsewhere(comparison, cell, name) {
            format!("<td class=\"n range\" colspan=\"2\">{}</td>", cells::not_here(cell))
        } else {
            side(row, cells::twin_entry(cell, row, name))
        }
    };
    let sides: String = cells.iter().map(side).collect();
    let figure = agreement::figure(agreement, cells[0], row, name);
    let error = figure.map_or(String::new(), |figure| {
        format!(
            "{} <small>{}</small>",
            text(&agreement::error(figure)),
            agreement::mark(figure.within)
        )
    });
    format!("<tr><th scope=\"row\">{}</th>{sides}<td class=\"n\">{error}</td></tr>", text(name))
}

/// A backend's median, and its verdict against the baseline.
fn side(row: &Row, entry: Option<&Entry>) -> String {
    let Some(entry) = entry else { return "<td class=\"n\">–</td><td></td>".into() };
    let median = entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let shift = entry.shift.map(|shift| units::shift(&shift, row.unit)).unwrap_or_default();
    let words = match entry.verdict {
        Verdict::Baseline => "baseline".into(),
        verdict if verdict.is_claim() => format!("{} {}, {}", shift.0, shift.1, verdict.words()),
        verdict => verdict.words().into(),
    };
    format!(
        "<td class=\"n median\">{}</td><td class=\"difference {}\">{}</td>",
        text(&median),
        class(entry.verdict),
        text(&words)
    )
}
