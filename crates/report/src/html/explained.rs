// SPDX-License-Identifier: GPL-2.0-only
//! The page of one explained trace: its longest waits, each with a drawing of what ran meanwhile.

use maud::{Markup, html};
use model::Trace;
use stats::explain::{Explanation, Wait};

use super::STYLE;
use super::markup::{document, name};
use super::stretch::Stretches;
use crate::explain::{self, sentences};

/// Slices of all drawings together, and of each one at most.
const SLICES: usize = 20_000;
const OF_ONE: usize = 1_000;

/// The page; `untold` is what the trace does not tell.
pub fn page(title: &str, explanation: &Explanation, trace: &Trace, untold: &[String]) -> String {
    let stretches = Stretches::new(trace, explanation);
    let most = (SLICES / explanation.waits.len().max(1)).min(OF_ONE);
    let body = html! {
        header class="masthead" {
            div class="inner" {
                p class="kicker" { "Fairground explains" }
                h1 { (title) }
            }
        }
        main {
            section {
                h2 { "The longest waits" }
                @if explanation.waits.is_empty() { p { "No task waited." } }
                @for wait in &explanation.waits { (story(wait, &stretches.figure(wait, most))) }
            }
            section {
                h2 { "In words" }
                pre { (explain::text(title, explanation, false)) }
                @for sentence in untold { p class="aside" { "It does not tell: " (sentence) } }
            }
        }
    };
    document(title, STYLE, &body)
}

fn story(wait: &Wait, drawing: &Markup) -> Markup {
    html! {
        h3 { (sentences::time(wait.to_ns - wait.from_ns)) ": " (name(&wait.task)) }
        p { (sentences::wait(wait).join(" ")) }
        (drawing)
    }
}
