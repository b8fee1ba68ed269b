// SPDX-License-Identifier: GPL-2.0-only
//! A page of shared results: for each question with several answers whether they agree, all
//! answers, and where they come from. All of it comes from files that others have written.

use std::collections::BTreeSet;

use maud::{Markup, html};
use stats::view::consensus::{Consent, Question};

use super::markup::{document, fact, fact_item};
use crate::table::Align::Left;
use crate::table::Table;
use crate::terminal::consensus_text::{answered, answers, title};

const STYLE: &str =
    concat!(include_str!("../../assets/page.css"), include_str!("../../assets/tables.css"));

/// What is known of a shared file: whose it is, its name in the folder, and what it holds.
pub const FACTS: [&str; 11] = [
    "who",
    "file",
    "trials",
    "days",
    "experiments",
    "kernels",
    "processors",
    "sources",
    "left out",
    "note",
    "seal",
];

#[derive(Default)]
pub struct Gallery {
    /// The facts of each file, in the order of the files' names; what is not known is empty.
    pub files: Vec<[String; FACTS.len()]>,
    pub trials: usize,
    /// Files that are not shown, and why.
    pub refused: Vec<(String, String)>,
    pub questions: Vec<Question>,
    /// When and by which program the page was made; from the caller, because reports have no clock.
    pub generated: String,
}

pub fn page(gallery: &Gallery) -> String {
    let title = "Linux CPU schedulers, measured by many";
    let contributors: BTreeSet<&String> = gallery.files.iter().map(|file| &file[0]).collect();
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
                    (fact(gallery.trials, "trial"))
                    (fact(gallery.questions.len(), "question"))
                }
            }
        }
        main {
            (answer(gallery, contributors.len()))
            (all_questions(gallery))
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

/// Every question: what is disputed first, then scheduler by scheduler.
fn all_questions(gallery: &Gallery) -> Markup {
    let mut questions: Vec<&Question> = gallery.questions.iter().collect();
    questions.sort_by_key(|question| {
        (question.consent() != Consent::Disagree, question.contestant.as_str())
    });
    html! {
        section id="questions" {
            h2 { "Questions" }
            p class="aside" {
                "Disputed ones come first: ≠ marks the minority. Compare machines, kernels and \
                 versions to find the reason."
            }
            @for question in questions {
                h3 {
                    (title(question))
                    @if question.contributors().len() > 1 { ": " (question.consent().words()) }
                }
                (answers(question))
            }
        }
    }
}

fn answer(gallery: &Gallery, contributors: usize) -> Markup {
    html! {
        section id="answer" {
            h2 { "Answer" }
            p class="lead" {
                @match answered(&gallery.questions) {
                    Some(counts) => { (contributors) " contributors: " strong { (counts) } },
                    None => "No question was answered by two contributors yet.",
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

fn shared_files(gallery: &Gallery) -> Markup {
    let mut files = Table::new(&FACTS.map(|fact| (fact, Left)));
    gallery.files.iter().for_each(|facts| files.add(facts.clone()));
    html! {
        section id="contributions" {
            h2 { "Contributions" }
            p class="aside" {
                "Names and notes are the contributors' own words. Take a file into your store with "
                code { "fairground import" } "; nothing in it is ever executed."
            }
            (files)
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
