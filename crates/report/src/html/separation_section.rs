// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of contestants: which are distinguishable, and the measure that shows it best.

use maud::{Markup, html};
use model::Record;
use stats::Comparison;
use stats::compare::margin::NOTICEABLE;
use stats::decide::separation::{Separation, Separator, separations, trials_needed};
use stats::rank::holm::ALPHA;

use super::markup::{heads, joined, name};
use crate::units;

/// With more contestants than this, the table is folded.
const PAIRS_OPEN: usize = 15;

/// One line for each pair; empty without a comparison.
pub fn section(comparison: &Comparison, records: &[Record]) -> Markup {
    let pairs = separations(records, comparison);
    if !pairs.iter().any(|pair| pair.looked_at > 0) {
        return Markup::default();
    }
    html! {
        section id="separation" {
            h2 { "Which pairs are distinguishable" }
            p { (summary(&pairs)) }
            p class="aside" {
                "Two contestants are distinguishable here if in one headline measure every trial \
                 of the one is below every trial of the other, the medians differ by "
                (format!("{:.0} %", NOTICEABLE * 100.0))
                " of the larger one or more, and there are enough trials that chance does this in \
                 less than " (format!("{:.0} %", ALPHA * 100.0)) " of pairs."
            }
            @if pairs.len() > PAIRS_OPEN {
                details { summary { "All " (pairs.len()) " pairs" } (table(&pairs)) }
            } @else {
                (table(&pairs))
            }
        }
    }
}

fn table(pairs: &[Separation]) -> Markup {
    html! {
        div class="scroll" {
            table class="data" {
                (heads(&[
                    ("", "A"),
                    ("", "B"),
                    ("", "where they differ most"),
                    ("", "measure"),
                    ("n", "A"),
                    ("n", "B"),
                ]))
                tbody { @for pair in pairs { (row(pair)) } }
            }
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

fn row(pair: &Separation) -> Markup {
    html! {
        tr {
            td { (name(&pair.one)) }
            td { (name(&pair.other)) }
            @if let Some(Separator { cell, measure, unit, one, other }) = &pair.evidence {
                td { (cell) }
                td { (units::measure(measure)) }
                td class="n" { (units::number(*one, *unit)) }
                td class="n" { (units::number(*other, *unit)) }
            } @else {
                td colspan="4" { "not distinguishable" }
            }
        }
    }
}
