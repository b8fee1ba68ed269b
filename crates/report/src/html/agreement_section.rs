// SPDX-License-Identifier: GPL-2.0-only
//! Whether the simulator and the real kernel agree: by kind of number, with contradictory claims
//! and every median outside its tolerance.

use std::cmp::Ordering;

use maud::{Markup, html};
use stats::Comparison;
use stats::view::agreement::{Agreement, Aspect, Figure, Sign, Tally, Within};

use super::markup::{heads, joined, name};
use crate::{agreement, units};

/// The most medians outside their tolerance that are listed.
const LISTED: usize = 60;

/// The section; empty with only one backend.
pub fn section(comparison: &Comparison, agreement: Option<&Agreement>) -> Markup {
    let Some(agreement) = agreement else { return Markup::default() };
    html! {
        section id="agreement" {
            h2 { "Agreement" }
            p {
                @for sentence in agreement::sentences(comparison, agreement) { (sentence) " " }
            }
            (by_aspect(agreement))
            (contradictions(agreement))
            (outside(agreement))
        }
    }
}

fn by_aspect(agreement: &Agreement) -> Markup {
    let percent =
        |share: Option<f64>| share.map_or("–".into(), |it| format!("{:.0} %", 100.0 * it));
    let line = |name: &str, tolerance: &str, tally: Tally| {
        html! {
            tr {
                th scope="row" { (name) }
                td { (tolerance) }
                td class="n" { (tally.figures) }
                td class="n" { (percent(tally.share())) }
                td class="n" { (percent(tally.strict_share())) }
            }
        }
    };
    let tally_of = |aspect: Aspect| agreement.tally(|figure| figure.aspect == aspect);
    let known = Aspect::ALL.into_iter().filter(|&aspect| tally_of(aspect).figures > 0);
    html! {
        div class="scroll" {
            table class="data agreement" {
                (heads(&[
                    ("", "kind"),
                    ("", "tolerance"),
                    ("n", "medians"),
                    ("n", "within"),
                    ("n", "without allowance"),
                ]))
                tbody {
                    @for aspect in known {
                        @let (name, tolerance) = agreement::aspect(aspect);
                        (line(name, tolerance, tally_of(aspect)))
                    }
                    (line("all", "", agreement.tally(|_| true)))
                }
            }
        }
    }
}

/// More lines than this are folded.
const LINES_OPEN: usize = 8;

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
    wrong.sort_by(|a, b| worst_first(a, b));
    let more = wrong.len().saturating_sub(LISTED);
    html! {
        details class="more" {
            summary { (wrong.len()) " medians outside the tolerance, the worst first" }
            div class="scroll" {
                table class="data" {
                    (heads(&[
                        ("", "cell"),
                        ("", "contestant"),
                        ("", "measure"),
                        ("n", agreement.reference.word()),
                        ("n", agreement.model.word()),
                        ("n", "error"),
                    ]))
                    tbody { @for figure in wrong.iter().take(LISTED) { (line(figure)) } }
                }
            }
            @if more > 0 { p class="aside" { "and " (more) " more." } }
        }
    }
}

/// By relative error. Errors of a reference of 0 have none, and come first.
fn worst_first(a: &Figure, b: &Figure) -> Ordering {
    let size = |figure: &Figure| figure.relative_error().map_or(f64::INFINITY, f64::abs);
    size(b).total_cmp(&size(a))
}

fn line(figure: &Figure) -> Markup {
    html! {
        tr {
            td { (figure.cell) }
            th scope="row" { (figure.contestant) }
            td { (units::measure(&figure.measure)) }
            td class="n" { (units::number(figure.reference, figure.unit)) }
            td class="n" { (units::number(figure.model, figure.unit)) }
            td class="n" { (agreement::error(figure)) }
        }
    }
}
