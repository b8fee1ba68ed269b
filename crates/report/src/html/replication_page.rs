// SPDX-License-Identifier: GPL-2.0-only
//! The page of a replication: the summary, a table of all claims, and a card for each.

use maud::{Markup, PreEscaped, html};
use model::Backend;
use model::claim::{Expectation, Source};
use stats::decide::replication::{Finding, Reproduction};

use super::expectation_plot;
use super::frame::{command, document, fact};
use super::markup::heads;
use crate::replication::{
    Judged, PublishedRow, Replication, Tested, VerdictCounts, columns, consequence, expected,
    found, kernels, measured_on, published, reasons, rows, sentence,
};

const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/tables.css"),
    include_str!("../../assets/replication.css"),
);

/// Copies commands, and hides claims by verdict; the page is complete without it.
const SCRIPT: &str =
    concat!(include_str!("../../assets/copy.js"), include_str!("../../assets/replication.js"));

const TITLE: &str = "Which published findings hold?";

pub fn page(replication: &Replication) -> String {
    let body = html! {
        a class="skip" href="#answer" { "Skip to the answer" }
        (header(replication))
        main {
            (answer(replication))
            @for source in Source::ALL { (section_of(source, replication)) }
            (rule())
            (made(replication))
        }
        footer {
            p { (replication.generated) }
            p { "Made with Fairground (GPL-2.0). This page fetches nothing and sends nothing." }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    document(TITLE, STYLE, &body)
}

fn header(replication: &Replication) -> Markup {
    let has =
        |source: &Source| replication.claims.iter().any(|judged| judged.claim.source == *source);
    html! {
        header class="masthead" {
            div class="inner" {
                p class="kicker" { "Fairground replication" }
                h1 { (TITLE) }
                p class="question" {
                    "What others have published about Linux CPU schedulers, measured again."
                }
                p class="facts" {
                    (fact(replication.claims.len(), "claim")) (fact(replication.trials, "trial"))
                }
            }
        }
        nav class="contents" aria-label="Contents" {
            div class="inner" {
                a href="#answer" { "Answer" }
                @for source in Source::ALL.iter().filter(|source| has(source)) {
                    a href=(format!("#{source}")) { (source.to_string()) }
                }
                a href="#rule" { "Rule" }
                a href="#reproduce" { "Reproduce" }
            }
        }
    }
}

/// The summary, the number of claims of each verdict, and all claims by backend.
fn answer(replication: &Replication) -> Markup {
    let counts = VerdictCounts::new(replication);
    let known = Reproduction::ALL.iter().filter(|verdict| counts.with_verdict(**verdict) > 0);
    html! {
        section id="answer" {
            h2 { "Answer" }
            p class="lead" { (sentence(replication)) }
            div class="chips" role="group" aria-label="Shown verdicts" {
                @for &verdict in known {
                    button type="button" class={ "chip " (class(verdict)) }
                        data-verdict=(class(verdict)) aria-pressed="true" {
                        b { (counts.with_verdict(verdict)) } " " (verdict.words())
                    }
                }
            }
            div class="scroll" {
                table class="data overview" {
                    (heads(&[
                        ("", "claim"),
                        ("", "originals"),
                        ("", "files"),
                        ("", "sim"),
                        ("", "vm"),
                        ("", "live"),
                        ("", "why"),
                    ]))
                    tbody { @for judged in &replication.claims { (row(judged)) } }
                }
            }
        }
    }
}

fn row(judged: &Judged) -> Markup {
    let field = |on: &str, verdict: Option<Reproduction>, more: Markup| {
        html! {
            @if let Some(verdict) = verdict {
                td data-on=(on) { (badge(verdict)) (more) }
            } @else {
                td class="none" { "–" }
            }
        }
    };
    let id = &judged.claim.id;
    html! {
        tr data-verdict=(class(judged.verdict)) {
            th scope="row" { a href={ "#claim-" (id) } { (id) } }
            (field("originals", judged.originals(), Markup::default()))
            (field("files", judged.files(), disagreement(judged)))
            @for backend in Backend::EXECUTING {
                @let verdict = judged.on(backend).map(|tested| tested.verdict);
                (field(backend.word(), verdict, Markup::default()))
            }
            td class="why" { (reasons(judged)) }
        }
    }
}

fn disagreement(judged: &Judged) -> Markup {
    html! {
        @if judged.disagree { " " span class="badge disagree" { "backends disagree" } }
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
        article class="claim" id={ "claim-" (claim.id) } data-verdict=(class(judged.verdict)) {
            header { h3 { (claim.id) } (badge(judged.verdict)) (disagreement(judged)) }
            p class="summary" { (claim.about) }
            p class="cite" { (claim.citation) }
            p class="published" { b { "Published" } " " (published(&claim.published)) }
            details class="protocol" {
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

/// Measured numbers next to the published ones.
fn beside(tested: &Tested) -> Markup {
    let rows = rows(tested);
    html! {
        @if !rows.is_empty() {
            div class="scroll" {
                table class="data" {
                    thead {
                        tr {
                            th scope="col" { "cell" }
                            th scope="col" { "measure" }
                            @for name in columns(tested) { th scope="col" { (name) } }
                        }
                    }
                    tbody { @for row in &rows { (beside_row(row)) } }
                }
            }
        }
    }
}

fn beside_row(row: &PublishedRow) -> Markup {
    html! {
        tr {
            th scope="row" { (row.cell) }
            td { (row.measure) }
            @for number in &row.numbers { td { (number) } }
        }
    }
}

fn test(tested: &Tested) -> Markup {
    let (name, on) = (&tested.test.name, tested.test.on.word());
    let because: Vec<_> = tested.test.because.iter().zip(&tested.because).collect();
    html! {
        section class="test" {
            h4 {
                (name) @if name != on { " (" (on) ")" } " " (badge(tested.verdict)) " "
                small { (source_of(tested)) }
            }
            @for (expected, finding) in tested.test.expect.iter().zip(&tested.expect) {
                (expectation(expected, finding))
            }
            (beside(tested))
            @if let Some(why) = &tested.why { p { (why) } }
            @if let Some(shown) = &tested.command { p { "To test it:" } (command(shown)) }
            @if !because.is_empty() {
                h4 { "The published reason" }
                ul class="evidence" {
                    @for (expected, finding) in because { (evidence(expected, finding)) }
                }
            }
        }
    }
}

/// The experiment, its trials and its kernels.
fn source_of(tested: &Tested) -> String {
    match (&tested.test.experiment, tested.trials) {
        (Some(experiment), trials) if trials > 0 => {
            format!("{experiment}, {trials} trials, {}", kernels(&tested.kernels))
        }
        _ => String::new(),
    }
}

fn expectation(demand: &Expectation, finding: &Finding) -> Markup {
    html! {
        div class={ "expectation " (class(finding.verdict)) } {
            p {
                (found(demand, finding))
                small {
                    (consequence(demand, finding)) "; expected: " (expected(demand)) ". In "
                    (measured_on(demand)) "."
                }
            }
            (expectation_plot::picture(demand, finding))
            @if !finding.against.is_empty() {
                ul class="objections" { @for objection in &finding.against { li { (objection) } } }
            }
        }
    }
}

fn evidence(demand: &Expectation, finding: &Finding) -> Markup {
    let word = match finding.verdict {
        Reproduction::Reproduced | Reproduction::DirectionOnly => "holds",
        Reproduction::Contradicted => "does not hold",
        _ => "not shown",
    };
    html! {
        li class=(class(finding.verdict)) {
            (demand.says.as_deref().unwrap_or_default()) ": " b { (word) } " "
            small { (found(demand, finding)) }
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
            p class="aside" {
                "In the pictures the band is the published range, the vertical line is no \
                 difference, the bar is the interval."
            }
        }
    }
}

fn made(replication: &Replication) -> Markup {
    html! {
        section id="reproduce" {
            h2 { "Reproduce it" }
            p class="aside" { "Kernels: " (kernels(&replication.kernels)) "." }
            @for shell in &replication.commands { (command(shell)) }
        }
    }
}

fn badge(verdict: Reproduction) -> Markup {
    html! { span class={ "badge " (class(verdict)) } { (verdict.words()) } }
}

fn class(verdict: Reproduction) -> &'static str {
    match verdict {
        Reproduction::Reproduced => "r-yes",
        Reproduction::DirectionOnly => "r-direction",
        Reproduction::NotReproduced => "r-open",
        Reproduction::Untested => "r-untested",
        Reproduction::NoData => "r-none",
        Reproduction::Contradicted => "r-no",
    }
}
