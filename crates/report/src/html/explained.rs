// SPDX-License-Identifier: GPL-2.0-only
//! The page of one explained trace: its longest waits, each with a drawing of what ran meanwhile.

use maud::{Markup, html};
use model::Trace;
use stats::explain::{Explanation, Wait};

use super::frame::document;
use super::markup::name;
use super::{STYLE, stretch};
use crate::explain::{self, sentences};

/// Slices of a drawing.
const SLICES: usize = 1_000;

/// The page; `untold` is what the trace does not tell.
pub fn page(title: &str, explanation: &Explanation, trace: &Trace, untold: &[String]) -> String {
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
                @for wait in &explanation.waits { (story(wait, explanation, trace)) }
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

fn story(wait: &Wait, explanation: &Explanation, trace: &Trace) -> Markup {
    html! {
        h3 { (sentences::time(wait.to_ns - wait.from_ns)) ": " (name(&wait.task)) }
        p { (sentences::wait(wait).join(" ")) }
        (stretch::figure(trace, explanation, wait, SLICES))
    }
}
