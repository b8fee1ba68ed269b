// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of contestants: which are distinguishable, and the measure that shows it best.

use model::Record;
use stats::Comparison;
use stats::compare::margin::NOTICEABLE;
use stats::decide::separation::{Separation, Separator, separations, trials_needed};
use stats::rank::holm::ALPHA;

use super::escape::text;
use crate::units;

/// With more contestants than this, the table is folded.
const PAIRS_OPEN: usize = 15;

/// One line for each pair; empty without a comparison.
pub fn section(comparison: &Comparison, records: &[Record]) -> String {
    let pairs = separations(records, comparison);
    if !pairs.iter().any(|pair| pair.looked_at > 0) {
        return String::new();
    }
    let rows: String = pairs.iter().map(row).collect();
    let table = format!(
        "<div class=\"scroll\"><table class=\"data\"><thead><tr><th scope=\"col\">A</th>\
         <th scope=\"col\">B</th><th scope=\"col\">where they differ most</th>\
         <th scope=\"col\">measure</th><th scope=\"col\" class=\"n\">A</th>\
         <th scope=\"col\" class=\"n\">B</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    let table = if pairs.len() > PAIRS_OPEN {
        format!("<details><summary>All {} pairs</summary>{table}</details>", pairs.len())
    } else {
        table
    };
    format!(
        "<section id=\"separation\"><h2>Which pairs are distinguishable</h2><p>{}</p><p \
         class=\"aside\">Two contestants are distinguishable here if in one headline measure \
         every trial of the one is \
         below every trial of the other, the medians differ by {:.0} % of the larger one or more, \
         and there \
         are enough trials that chance does this in less than {:.0} % of \
         pairs.</p>{table}</section>\n",
        summary(&pairs),
        NOTICEABLE * 100.0,
        ALPHA * 100.0,
    )
}

fn summary(pairs: &[Separation]) -> String {
    let alike: Vec<String> = (pairs.iter().filter(|pair| pair.evidence.is_none()))
        .map(|pair| format!("{} and {}", name(&pair.one), name(&pair.other)))
        .collect();
    match alike.as_slice() {
        [] => "Every pair is distinguishable.".into(),
        _ if alike.len() == pairs.len() => {
            let measures = pairs.iter().map(|pair| pair.looked_at).max().unwrap_or_default();
            format!(
                "No two contestants are distinguishable here. With {measures} measures, that \
                 takes {} \
                 trials of each.",
                trials_needed(measures)
            )
        }
        _ => format!(
            "{} of {} pairs are distinguishable. These are not: {}.",
            pairs.len() - alike.len(),
            pairs.len(),
            alike.join(", ")
        ),
    }
}

fn name(name: &str) -> String {
    format!("<b class=\"name\">{}</b>", text(name))
}

fn row(pair: &Separation) -> String {
    let found = match &pair.evidence {
        None => "<td colspan=\"4\">not distinguishable</td>".into(),
        Some(evidence) => shown(evidence),
    };
    format!("<tr><td>{}</td><td>{}</td>{found}</tr>", name(&pair.one), name(&pair.other))
}

fn shown(evidence: &Separator) -> String {
    let Separator { cell, measure, unit, one, other } = evidence;
    format!(
        "<td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
        text(cell),
        text(&units::measure(measure)),
        text(&units::number(*one, *unit)),
        text(&units::number(*other, *unit))
    )
}
