// SPDX-License-Identifier: GPL-2.0-only
//! A page of shared results: for each question with several answers whether they agree, all
//! answers, and where they come from. All of it comes from files that others have written.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use stats::view::consensus::{Answer, Consent, Question};

use super::frame::{document, fact};
use super::markup::{class, fact_item, heads};
use super::results_section::RatioScale;
use crate::units;

const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/tables.css"),
    include_str!("../../assets/gallery.css"),
);

#[derive(Default)]
pub struct SharedFile {
    /// Its name in the folder.
    pub file: String,
    /// The contributor's name, as given.
    pub by: String,
    /// The SHA-256 that seals it.
    pub seal: String,
    pub trials: usize,
    /// The days of its sessions.
    pub dates: String,
    /// What else is known about it, each with a name; empty facts are not shown.
    pub facts: Vec<(&'static str, String)>,
}

#[derive(Default)]
pub struct Gallery {
    /// In the order of their names.
    pub files: Vec<SharedFile>,
    /// Files that are not shown, and why.
    pub refused: Vec<(String, String)>,
    pub questions: Vec<Question>,
    /// When and by which program the page was made; from the caller, because reports have no clock.
    pub generated: String,
}

pub fn page(gallery: &Gallery) -> String {
    let title = "Linux CPU schedulers, measured by many";
    let contributors: BTreeSet<&str> = gallery.files.iter().map(|file| file.by.as_str()).collect();
    let trials = gallery.files.iter().map(|file| file.trials).sum();
    let body = html! {
        a class="skip" href="#answer" { "Skip to the answer" }
        header class="masthead" {
            div class="inner" {
                p class="kicker" { "Fairground gallery" }
                h1 { (title) }
                p class="question" { "Do contributors find the same answer to the same question?" }
                p class="facts" {
                    (fact(gallery.files.len(), "shared file"))
                    (fact(contributors.len(), "contributor"))
                    (fact(trials, "trial"))
                    (fact(gallery.questions.len(), "question"))
                }
            }
        }
        main {
            (answer(gallery, contributors.len()))
            (sections(gallery))
            (shared_files(gallery))
        }
        footer {
            p { (gallery.generated) }
            p {
                "Made with Fairground (GPL-2.0) from files that others have shared. A seal shows \
                 that a file is as it was made, not who made it. This page fetches nothing and \
                 sends nothing."
            }
        }
    };
    document(title, STYLE, &body)
}

/// What is disputed, then a section for each scheduler.
fn sections(gallery: &Gallery) -> Markup {
    let (disputed, others): (Vec<&Question>, Vec<&Question>) =
        gallery.questions.iter().partition(|question| question.consent() == Consent::Disagree);
    let mut schedulers: BTreeMap<&str, Vec<&Question>> = BTreeMap::new();
    for question in others {
        schedulers.entry(&question.contestant).or_default().push(question);
    }
    html! {
        @if !disputed.is_empty() {
            section id="disputed" {
                h2 { "Disputed" }
                p class="aside" {
                    "Some contributors find better what others find worse; ≠ marks the minority. \
                     Compare machines, kernels and versions to find the reason."
                }
                @for question in disputed { (card(question)) }
            }
        }
        @for (scheduler, questions) in schedulers {
            section {
                h2 { (scheduler) }
                @for question in questions { (card(question)) }
            }
        }
    }
}

fn answer(gallery: &Gallery, contributors: usize) -> Markup {
    let asked: Vec<&Question> =
        gallery.questions.iter().filter(|question| question.contributors().len() > 1).collect();
    let count = |consent| asked.iter().filter(|question| question.consent() == consent).count();
    html! {
        section id="answer" {
            h2 { "Answer" }
            p class="lead" {
                @if asked.is_empty() {
                    "No question was answered by two contributors yet."
                } @else {
                    (units::count(asked.len() as u64, "question")) " of "
                    (gallery.questions.len()) " were answered by several of the " (contributors)
                    " contributors: " strong { (count(Consent::Agree)) " agreed on" } ", "
                    (count(Consent::Partly)) " partly, " (count(Consent::Disagree)) " disputed, "
                    (count(Consent::Open)) " open."
                }
            }
            p class="aside" {
                "A question is: is this scheduler better than the baseline under this workload, by \
                 its first headline measure? An answer counts if its 95 % interval, corrected for \
                 the number of comparisons, excludes zero, or lies wholly within the equivalence \
                 margin. " b { "Agree" } ": all answers that count agree. " b { "Partly" } ": some \
                 find a difference, others find equivalence. " b { "Disagree" } ": some find \
                 better, others worse. " b { "Open" } ": fewer than two contributors have an \
                 answer that counts. Answers are never pooled."
            }
        }
    }
}

/// One question with all answers to it, and their intervals on one scale.
fn card(question: &Question) -> Markup {
    let shifts = question.answers.iter().filter_map(|answer| answer.shift.as_ref());
    let scale = RatioScale::over(shifts);
    let dissent = question.dissent();
    let dissents = |answer: &Answer| dissent.iter().any(|other| std::ptr::eq(*other, answer));
    html! {
        article class="asked" {
            header {
                h3 {
                    (question.contestant) " under " (question.cell)
                    @if !question.setting.is_empty() { " " small { "on " (question.setting) } }
                    @if let Some(variant) = question.variant() {
                        " " small { "definition " code { (variant) } " of several" }
                    }
                }
                @if question.contributors().len() > 1 { (badge(question.consent())) }
            }
            p { (units::measure(&question.measure)) " against " (question.baseline) }
            div class="scroll" {
                table class="data result" {
                    (heads(&[
                        ("", "who"),
                        ("", "where"),
                        ("n", "trials"),
                        ("n", "median"),
                        ("n", "difference"),
                        ("", "95 % interval"),
                        ("bar", ""),
                        ("", "verdict"),
                    ]))
                    tbody {
                        @for answer in &question.answers {
                            (row(answer, question, scale, dissents(answer)))
                        }
                    }
                }
            }
        }
    }
}

fn row(answer: &Answer, question: &Question, scale: RatioScale, dissents: bool) -> Markup {
    let unit = question.unit;
    let (shift, interval) =
        answer.shift.map(|shift| units::shift(&shift, unit)).unwrap_or_default();
    html! {
        tr class=(class(answer.verdict)) {
            th scope="row" { (answer.contributor) }
            td class="where" { (answer.machine) " (" (answer.backend.word()) ")" }
            td class="n" { (answer.trials) }
            td class="n median" { (units::number_or_dash(answer.median, unit)) }
            td class="n shift" { (shift) }
            td class="range" { (interval) }
            td class="bar" { (scale.bar(None, answer.shift.as_ref())) }
            td class=(if dissents { "verdict dissent" } else { "verdict" }) {
                (answer.verdict.words())
            }
        }
    }
}

fn badge(consent: Consent) -> Markup {
    let class = match consent {
        Consent::Agree => "badge c-agree",
        Consent::Partly => "badge c-partly",
        Consent::Disagree => "badge c-disagree",
        Consent::Open => "badge c-open",
    };
    html! { span class=(class) { (consent.words()) } }
}

fn shared_files(gallery: &Gallery) -> Markup {
    html! {
        section id="contributions" {
            h2 { "Contributions" }
            p class="aside" {
                "Names and notes are the contributors' own words. Take a file into your store with "
                code { "fairground import" } "; nothing in it is ever executed."
            }
            div class="folded" {
                @for shared in &gallery.files {
                    details {
                        summary {
                            b { (shared.by) } " " (shared.file) " · " (shared.trials) " trials · "
                            (shared.dates)
                        }
                        dl class="facts" {
                            @for (name, fact) in &shared.facts {
                                @if !fact.is_empty() { (fact_item(name, fact)) }
                            }
                            (fact_item("Seal", &shared.seal))
                        }
                    }
                }
            }
            @if !gallery.refused.is_empty() {
                h3 { "Refused" }
                p class="aside" { "Files of the folder that are not shown, and why." }
                dl class="facts" {
                    @for (file, why) in &gallery.refused { (fact_item(file, why)) }
                }
            }
        }
    }
}
