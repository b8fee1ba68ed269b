// SPDX-License-Identifier: GPL-2.0-only
//! How to tell the contestants apart: who cannot be told from whom, and what shows it best for each
//! other pair.

use model::Record;
use stats::Comparison;
use stats::decide::margin::NOTICEABLE;
use stats::decide::separation::{Separation, Separator, runs_needed, separations};
use stats::rank::holm::ALPHA;

use super::escape::text;
use crate::units;

/// More contestants than this make a long table, which is folded.
const PAIRS_OPEN: usize = 15;

/// One line for each pair; empty where nothing is compared.
pub fn section(comparison: &Comparison, records: &[Record]) -> String {
    let pairs = separations(records, comparison);
    if !pairs.iter().any(|pair| pair.looked_at > 0) {
        return String::new();
    }
    let rows: String = pairs.iter().map(row).collect();
    let table = format!(
        "<div class=\"scroll\"><table class=\"data\"><thead><tr><th scope=\"col\">one</th>\
         <th scope=\"col\">other</th><th scope=\"col\">where they differ most</th>\
         <th scope=\"col\">measure</th><th scope=\"col\" class=\"n\">one</th>\
         <th scope=\"col\" class=\"n\">other</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    let table = if pairs.len() > PAIRS_OPEN {
        format!("<details><summary>All {} pairs</summary>{table}</details>", pairs.len())
    } else {
        table
    };
    format!(
        "<section id=\"apart\"><h2>How to tell them apart</h2><p>{}</p><p class=\"aside\">Two are \
         told apart by a headline measure in which every run of the one is below every run of the \
         other, by {:.0} % of the larger median or more, with so many runs that chance does that \
         in less than {:.0} % of pairs.</p>{table}</section>\n",
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
        [] => "Every pair can be told apart.".into(),
        _ if alike.len() == pairs.len() => {
            let measures = pairs.iter().map(|pair| pair.looked_at).max().unwrap_or_default();
            format!(
                "No two can be told apart here. With {measures} measures to look at, that takes {} \
                 runs of each.",
                runs_needed(measures)
            )
        }
        _ => format!(
            "{} of {} pairs can be told apart. These cannot, here: {}.",
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
