// SPDX-License-Identifier: GPL-2.0-only
//! Whether the simulator and the real kernel agree: by kind of number, with contradictory claims
//! and every median outside its tolerance.

use maud::{Markup, html};
use stats::Comparison;
use stats::view::agreement::{Agreement, Figure, Sign, Within};

use super::markup::{joined, name};
use crate::agreement::{aspects, error, error_size, sentences};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// The most medians outside their tolerance that are listed.
const LISTED: usize = 60;

/// More contradictory claims than this are folded.
const LINES_OPEN: usize = 8;

/// Empty with only one backend.
pub fn body(comparison: &Comparison, agreement: Option<&Agreement>) -> Markup {
    let Some(agreement) = agreement else { return Markup::default() };
    let figures: Vec<&Figure> = agreement.figures.iter().collect();
    html! {
        p { (joined(sentences(comparison, agreement), " ")) }
        (aspects(&figures))
        (contradictions(agreement))
        (outside(agreement))
    }
}

/// Claims that point in opposite directions, those of one cell and measure together.
fn contradictions(agreement: &Agreement) -> Markup {
    let against: Vec<&Sign> = agreement.signs.iter().filter(|sign| !sign.agrees()).collect();
    let mut lines: Vec<(&Sign, Vec<&str>)> = Vec::new();
    for sign in &against {
        let same = |(line, _): &&mut (&Sign, Vec<&str>)| {
            (&line.cell, &line.measure, line.reference, line.model)
                == (&sign.cell, &sign.measure, sign.reference, sign.model)
        };
        match lines.iter_mut().find(same) {
            Some((_, names)) => names.push(&sign.contestant),
            None => lines.push((sign, vec![&sign.contestant])),
        }
    }
    let heading = "Where they contradict each other";
    let list = html! {
        ul {
            @for (sign, names) in &lines {
                li {
                    i { (units::measure(&sign.measure)) } " under " i { (sign.cell) } ": "
                    (sign.reference.words()) " on " (agreement.reference.word()) ", "
                    (sign.model.words()) " on " (agreement.model.word()) ": "
                    (joined(names.iter().map(|contestant| name(contestant)), ", "))
                }
            }
        }
    };
    html! {
        @if lines.len() > LINES_OPEN {
            details class="more" {
                summary { (heading) ": " (against.len()) " claims" }
                (list)
            }
        } @else if !lines.is_empty() {
            h3 { (heading) }
            (list)
        }
    }
}

fn outside(agreement: &Agreement) -> Markup {
    let wrong = agreement.figures.iter().filter(|figure| figure.within == Within::Outside);
    let mut wrong: Vec<&Figure> = wrong.collect();
    if wrong.is_empty() {
        return Markup::default();
    }
    wrong.sort_by(|a, b| error_size(b).total_cmp(&error_size(a)));
    let mut table = Table::new(&[
        ("contestant", Left),
        ("cell", Left),
        ("measure", Left),
        (agreement.reference.word(), Right),
        (agreement.model.word(), Right),
        ("error", Right),
    ]);
    for figure in wrong.iter().take(LISTED) {
        table.add([
            figure.contestant.clone(),
            figure.cell.clone(),
            units::measure(&figure.measure),
            units::number(figure.reference, figure.unit),
            units::number(figure.model, figure.unit),
            error(figure),
        ]);
    }
    let more = wrong.len().saturating_sub(LISTED);
    html! {
        details class="more" {
            summary { (wrong.len()) " medians outside the tolerance, the worst first" }
            (table)
            @if more > 0 { p class="aside" { "and " (more) " more." } }
        }
    }
}
