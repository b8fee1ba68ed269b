// SPDX-License-Identifier: GPL-2.0-only
//! Whether the simulator and the real kernel agree: by kind of number, with contradictory claims
//! and every median outside its tolerance.

use std::cmp::Ordering;

use stats::Comparison;
use stats::view::agreement::{Agreement, Aspect, Figure, Sign, Tally, Within};

use super::escape::text;
use crate::{agreement, units};

/// The most medians outside their tolerance that are listed.
const LISTED: usize = 60;

/// The section; empty with only one backend.
pub fn section(comparison: &Comparison, agreement: Option<&Agreement>) -> String {
    let Some(agreement) = agreement else { return String::new() };
    let sentences = agreement::sentences(comparison, agreement);
    let words: String = sentences.iter().map(|it| super::markup::sentence(it) + " ").collect();
    format!(
        "<section id=\"agreement\"><h2>Agreement</h2><p>{words}</p>{}{}{}</section>\n",
        by_aspect(agreement),
        contradictions(agreement),
        outside(agreement)
    )
}

fn by_aspect(agreement: &Agreement) -> String {
    let line = |name: &str, tolerance: &str, tally: Tally| {
        let percent =
            |share: Option<f64>| share.map_or("–".into(), |it| format!("{:.0} %", 100.0 * it));
        format!(
            "<tr><th scope=\"row\">{name}</th><td>{tolerance}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            tally.figures,
            percent(tally.share()),
            percent(tally.strict_share())
        )
    };
    let tally_of = |aspect: Aspect| agreement.tally(|figure| figure.aspect == aspect);
    let known = Aspect::ALL.into_iter().filter(|&aspect| tally_of(aspect).figures > 0);
    let lines: String = known
        .map(|aspect| {
            let (name, tolerance) = agreement::aspect(aspect);
            line(name, tolerance, tally_of(aspect))
        })
        .collect();
    let all = line("all", "", agreement.tally(|_| true));
    format!(
        "<div class=\"scroll\"><table class=\"data agreement\"><thead><tr><th \
         scope=\"col\">kind</th><th scope=\"col\">tolerance</th><th scope=\"col\" \
         class=\"n\">medians</th><th scope=\"col\" class=\"n\">within</th><th scope=\"col\" \
         class=\"n\">without allowance</th></tr></thead><tbody>{lines}{all}</tbody></table></div>"
    )
}

/// More lines than this are folded.
const LINES_OPEN: usize = 8;

/// Claims that point in opposite directions, those of one cell and measure together.
fn contradictions(agreement: &Agreement) -> String {
    let against: Vec<&Sign> = agreement.signs.iter().filter(|sign| !sign.agrees()).collect();
    if against.is_empty() {
        return String::new();
    }
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
    let item = |(sign, names): &(&Sign, Vec<&str>)| {
        let names: Vec<String> =
            names.iter().map(|name| format!("<b class=\"name\">{}</b>", text(name))).collect();
        format!(
            "<li><i>{}</i> under <i>{}</i>: {} on {}, {} on {}: {}</li>",
            text(&units::measure(&sign.measure)),
            text(&sign.cell),
            sign.reference.words(),
            agreement.reference.word(),
            sign.model.words(),
            agreement.model.word(),
            names.join(", ")
        )
    };
    let items: String = lines.iter().map(item).collect();
    let heading = "Where they contradict each other";
    if lines.len() > LINES_OPEN {
        format!(
            "<details class=\"more\"><summary>{heading}: {} claims</summary><ul>{items}</ul>\
             </details>",
            against.len()
        )
    } else {
        format!("<h3>{heading}</h3><ul>{items}</ul>")
    }
}

fn outside(agreement: &Agreement) -> String {
    let wrong = agreement.figures.iter().filter(|figure| figure.within == Within::Outside);
    let mut wrong: Vec<&Figure> = wrong.collect();
    if wrong.is_empty() {
        return String::new();
    }
    wrong.sort_by(|one, other| worst_first(one, other));
    let lines: String = wrong.iter().take(LISTED).map(|figure| line(figure)).collect();
    let more = match wrong.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("<p class=\"aside\">and {more} more.</p>"),
    };
    format!(
        "<details class=\"more\"><summary>{} medians outside the tolerance, the worst \
         first</summary><div class=\"scroll\"><table class=\"data\"><thead><tr><th \
         scope=\"col\">cell</th><th scope=\"col\">contestant</th><th scope=\"col\">measure</th><th \
         scope=\"col\" class=\"n\">{}</th><th scope=\"col\" class=\"n\">{}</th><th scope=\"col\" \
         class=\"n\">error</th></tr></thead><tbody>{lines}</tbody></table></div>{more}</details>",
        wrong.len(),
        agreement.reference.word(),
        agreement.model.word()
    )
}

/// By relative error. Errors of a reference of 0 have none, and come first.
fn worst_first(one: &Figure, other: &Figure) -> Ordering {
    let size = |figure: &Figure| figure.relative_error().map_or(f64::INFINITY, f64::abs);
    size(other).total_cmp(&size(one))
}

fn line(figure: &Figure) -> String {
    format!(
        "<tr><td>{}</td><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td \
         class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        text(&figure.cell),
        text(&figure.contestant),
        text(&units::measure(&figure.measure)),
        text(&units::number(figure.reference, figure.unit)),
        text(&units::number(figure.model, figure.unit)),
        text(&agreement::error(figure))
    )
}
