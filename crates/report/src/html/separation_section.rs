// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of contestants: which are distinguishable, and the measure that shows it best.

use maud::{Markup, html};
use model::Record;
use stats::Comparison;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::decide::separation::{Separation, separations, trials_needed};
use stats::rank::holm::ALPHA;

use super::markup::{joined, name, percent};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// With more pairs than this, the table is folded.
const PAIRS_OPEN: usize = 15;

/// One line for each pair; empty without a comparison.
pub fn body(comparison: &Comparison, records: &[Record]) -> Markup {
    let pairs = separations(records, comparison);
    if !pairs.iter().any(|pair| pair.looked_at > 0) {
        return Markup::default();
    }
    html! {
        p { (summary(&pairs)) }
        p class="aside" {
            "Two contestants are distinguishable here if in one headline measure every trial of \
             the one is below every trial of the other, the medians differ by "
            (percent(MARGIN_PERCENT / 100.0)) " or more, and there are enough trials that \
             chance does this in less than " (percent(ALPHA)) " of pairs."
        }
        @if pairs.len() > PAIRS_OPEN {
            details { summary { "All " (pairs.len()) " pairs" } (table(&pairs)) }
        } @else {
            (table(&pairs))
        }
    }
}

fn summary(pairs: &[Separation]) -> Markup {
    let alike: Vec<&Separation> = pairs.iter().filter(|pair| pair.evidence.is_none()).collect();
    if alike.is_empty() {
        return html! { "Every pair is distinguishable." };
    }
    if alike.len() == pairs.len() {
        let measures = pairs.iter().map(|pair| pair.looked_at).max().unwrap_or_default();
        return html! {
            "No two contestants are distinguishable here. With " (measures) " measures, that takes "
            (trials_needed(measures)) " trials of each."
        };
    }
    let names = alike.iter().map(|pair| html! { (name(&pair.one)) " and " (name(&pair.other)) });
    html! {
        (pairs.len() - alike.len()) " of " (pairs.len()) " pairs are distinguishable. These are \
         not: " (joined(names, ", ")) "."
    }
}

fn table(pairs: &[Separation]) -> Table {
    let mut table = Table::new(&[
        ("A", Left),
        ("B", Left),
        ("where they differ most", Left),
        ("measure", Left),
        ("A", Right),
        ("B", Right),
    ]);
    for Separation { one, other, evidence, .. } in pairs {
        let [cell, measure, one_median, other_median] = match evidence {
            Some(found) => [
                found.cell.clone(),
                units::measure(&found.measure),
                units::number(found.one, found.unit),
                units::number(found.other, found.unit),
            ],
            None => ["not distinguishable", "", "", ""].map(String::from),
        };
        table.add([one.clone(), other.clone(), cell, measure, one_median, other_median]);
    }
    table
}
