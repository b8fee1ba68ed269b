// SPDX-License-Identifier: GPL-2.0-only
//! A page of shared results: for each question with several answers whether they agree, all
//! answers, and where they come from. All of it comes from files that others have written.

use std::collections::BTreeSet;

use maud::{Markup, html};
use stats::view::consensus::{Consent, Question};

use super::frame::{document, fact};
use super::markup::fact_item;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::terminal::consensus_text::answered;
use crate::units;

const STYLE: &str =
    concat!(include_str!("../../assets/page.css"), include_str!("../../assets/tables.css"));

#[derive(Default)]
pub struct SharedFile {
    /// Its name in the folder.
    pub file: String,
    /// The contributor's name, as given.
    pub by: String,
    /// The SHA-256 that seals it.
    pub seal: String,
    pub trials: usize,
    /// See [`FACTS`]; what is not known is empty.
    pub facts: [String; FACTS.len()],
}

/// What is known of a shared file, beside whose it is.
pub const FACTS: [&str; 7] =
    ["days", "experiments", "kernels", "processors", "sources", "left out", "note"];

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
            @for question in questions { (card(question)) }
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

/// One question with all answers to it.
fn card(question: &Question) -> Markup {
    let several = question.contributors().len() > 1;
    html! {
        h3 {
            (question.contestant) " under " (question.cell)
            @if !question.setting.is_empty() { " " small { "on " (question.setting) } }
            " " small { "definition " code { (question.definition) } }
            @if several { ": " (question.consent().words()) }
        }
        p { (units::measure(&question.measure)) " against " (question.baseline) }
        (answers(question))
    }
}

fn answers(question: &Question) -> Table {
    let (unit, dissent) = (question.unit, question.dissent());
    let mut table = Table::new(&[
        ("who", Left),
        ("where", Left),
        ("trials", Right),
        ("median", Right),
        ("difference", Right),
        ("95 % interval", Left),
        ("verdict", Left),
    ]);
    for answer in &question.answers {
        let dissents = dissent.iter().any(|other| std::ptr::eq(*other, answer));
        let (shift, interval) =
            answer.shift.map(|shift| units::shift(&shift, unit)).unwrap_or_default();
        table.add([
            answer.contributor.clone(),
            format!("{} ({})", answer.machine, answer.backend.word()),
            answer.trials.to_string(),
            units::number_or_dash(answer.median, unit),
            shift,
            interval,
            format!("{}{}", if dissents { "≠ " } else { "" }, answer.verdict.words()),
        ]);
    }
    table
}

fn shared_files(gallery: &Gallery) -> Markup {
    html! {
        section id="contributions" {
            h2 { "Contributions" }
            p class="aside" {
                "Names and notes are the contributors' own words. Take a file into your store with "
                code { "fairground import" } "; nothing in it is ever executed."
            }
            (files(&gallery.files))
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

fn files(files: &[SharedFile]) -> Table {
    let columns = [&["who", "file", "trials"], &FACTS[..], &["seal"]].concat();
    let columns: Vec<_> = columns.into_iter().map(|heading| (heading, Left)).collect();
    let mut table = Table::new(&columns);
    for SharedFile { file, by, seal, trials, facts } in files {
        let first = [by.clone(), file.clone(), trials.to_string()];
        table.add([&first, &facts[..], std::slice::from_ref(seal)].concat());
    }
    table
}
