// SPDX-License-Identifier: GPL-2.0-only
//! The page of a replication: the summary, a table of all claims, and what each test has found.

use maud::{Markup, PreEscaped, html};
use model::claim::Source;
use stats::decide::replication::Reproduction;

use super::frame::{command, document, fact};
use super::markup::heads;
use crate::replication::{
    Judged, Replication, Tested, kernels, measured, published, sentence, test_lines, test_name,
};

const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/tables.css"),
    include_str!("../../assets/replication.css"),
);

const SCRIPT: &str = concat!(include_str!("../../assets/copy.js"), "watchCopies();\n");

const TITLE: &str = "Which published findings hold?";

pub fn page(replication: &Replication) -> String {
    let body = html! {
        a class="skip" href="#answer" { "Skip to the answer" }
        header class="masthead" {
            div class="inner" {
                p class="kicker" { "Fairground replication" }
                h1 { (TITLE) }
                p class="facts" {
                    (fact(replication.claims.len(), "claim")) (fact(replication.trials, "trial"))
                }
            }
        }
        main {
            (answer(replication))
            @for source in Source::ALL { (section_of(source, replication)) }
            (rule())
            section id="reproduce" {
                h2 { "Reproduce it" }
                p class="aside" { "Kernels: " (kernels(&replication.kernels)) "." }
                (command(&replication.command))
            }
        }
        footer {
            p { (replication.generated) }
            p { "Made with Fairground (GPL-2.0). This page fetches nothing and sends nothing." }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    document(TITLE, STYLE, &body)
}

fn answer(replication: &Replication) -> Markup {
    html! {
        section id="answer" {
            h2 { "Answer" }
            p class="lead" { (sentence(replication)) }
            div class="scroll" {
                table class="data overview" {
                    (heads(&[("", "claim"), ("", "verdict"), ("", "measured")]))
                    tbody {
                        @for judged in &replication.claims {
                            @let id = &judged.claim.id;
                            tr {
                                th scope="row" { a href={ "#claim-" (id) } { (id) } }
                                td { (badges(judged)) }
                                td class="why" { (measured(judged)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn section_of(source: Source, replication: &Replication) -> Markup {
    let claims: Vec<&Judged> =
        replication.claims.iter().filter(|judged| judged.claim.source == source).collect();
    html! {
        @if !claims.is_empty() {
            section id=(source.to_string()) {
                h2 { small { (source.to_string()) } " " (source.title()) }
                @for judged in claims { (card(judged)) }
            }
        }
    }
}

fn card(judged: &Judged) -> Markup {
    let claim = &judged.claim;
    html! {
        article class="claim" id={ "claim-" (claim.id) } {
            header { h3 { (claim.id) } (badges(judged)) }
            p class="summary" { (claim.about) }
            p class="cite" { (claim.citation) }
            p class="published" { b { "Published" } " " (published(&claim.published)) }
            details {
                summary { "How it was measured there" }
                p { (claim.protocol) }
            }
            @for tested in &judged.tests { (test(tested)) }
            @if let Some(words) = &claim.afterwards {
                aside class="explanation" {
                    h4 {
                        "What explains it "
                        small { "written after measuring; no verdict depends on it" }
                    }
                    p { (words) }
                }
            }
            details {
                summary { "Ask it again" }
                (command(&format!("fairground replicate {}", claim.id)))
            }
        }
    }
}

fn test(tested: &Tested) -> Markup {
    html! {
        section class="test" {
            h4 { (test_name(tested)) " " (badge(tested.verdict)) }
            ul class="plain" { @for line in test_lines(tested) { li { (line) } } }
        }
    }
}

fn rule() -> Markup {
    html! {
        section id="rule" {
            h2 { "Rule" }
            ul class="plain" {
                li {
                    "The number is the Hodges–Lehmann shift of the independent trials (of their \
                     logarithms for a ratio), with its exact 95 % rank-sum interval. Simulated \
                     trials differ by their seeds only."
                }
                li {
                    b { "Reproduced" } ": the interval lies on the published side, and the number \
                     lies in the range that the claim's file gives; for “equal”, the interval lies \
                     in that range."
                }
                li { b { "Direction only" } ": the published side, outside that range." }
                li { b { "Contradicted" } ": the interval lies on the opposite side." }
                li { b { "Not reproduced" } ": the trials do not decide." }
                li {
                    "A test has the verdict of its worst expectation, a claim that of its first \
                     test with data; tests of originals, the patched kernels themselves, come \
                     before those of our files. The rules were written before measuring."
                }
            }
        }
    }
}

fn badges(judged: &Judged) -> Markup {
    html! {
        (badge(judged.verdict))
        @if judged.disagree { " " span class="badge disagree" { "backends disagree" } }
    }
}

fn badge(verdict: Reproduction) -> Markup {
    let class = match verdict {
        Reproduction::Reproduced => "r-yes",
        Reproduction::DirectionOnly | Reproduction::NotReproduced => "r-open",
        Reproduction::Untested => "r-untested",
        Reproduction::NoData | Reproduction::Contradicted => "r-no",
    };
    html! { span class={ "badge " (class) } { (verdict.words()) } }
}
