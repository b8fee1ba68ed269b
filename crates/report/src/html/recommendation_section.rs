// SPDX-License-Identifier: GPL-2.0-only
//! The first section of a recommendation's page: the answer, why, and the numbers that it is judged
//! by, in the words of the terminal.

use maud::{Markup, html};
use stats::Recommendation;

use super::markup::fact_item;
use crate::advice::{Evidence, evidence, failures, headline, reasons};
use crate::table::Align::{Left, Right};
use crate::table::Table;

/// The first answer, then those against other contestants that stand for the scheduler in use if
/// they say something else; empty without any.
pub fn body(advice: &[Recommendation]) -> Markup {
    let Some(first) = advice.first() else { return Markup::default() };
    let others = advice[1..].iter().filter(|other| other.advice != first.advice);
    html! {
        (answer(first))
        @for other in others { (answer(other)) }
    }
}

fn answer(advised: &Recommendation) -> Markup {
    html! {
        p class="lead" { strong { (headline(advised)) } }
        dl class="facts" {
            @for (label, sentence) in reasons(advised) { (fact_item(label, sentence)) }
        }
        @let failures = failures(advised);
        @if !failures.is_empty() {
            ul class="notes" { @for failure in failures { li { (failure) } } }
        }
        @for of_measure in evidence(advised) { (table(&of_measure)) }
    }
}

fn table(of_measure: &Evidence) -> Markup {
    let mut table = Table::new(&[
        ("candidate", Left),
        ("median", Right),
        ("against what is used now", Left),
        ("p value", Left),
        ("", Left),
    ]);
    of_measure.rows.iter().for_each(|row| table.add(row.clone()));
    html! {
        h3 { (of_measure.title) }
        p class="aside" { (of_measure.about) }
        (table)
    }
}
