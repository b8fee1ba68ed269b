// SPDX-License-Identifier: GPL-2.0-only
//! The first page: whether contributors agree, the disputed questions, and links to all other
//! pages.

use std::collections::BTreeSet;

use stats::view::consensus::{Consent, Question};

use super::super::escape::text;
use super::super::frame::fact;
use super::answer_card;
use super::collection::{Contribution, Gallery, Refused};
use super::consent_counts::{ConsentCounts, HEADS};
use super::gallery_frame::GalleryFrame;
use super::page_subject::Subject;
use super::subject_page::contribution;
use crate::units;

/// The page.
pub fn page(gallery: &Gallery) -> String {
    let contributors: BTreeSet<&str> =
        gallery.contributions.iter().map(|contribution| contribution.by.as_str()).collect();
    let trials = gallery.contributions.iter().map(|contribution| contribution.trials).sum();
    let body = [
        answer(gallery, contributors.len()),
        disputed(gallery),
        Subject::ALL.map(|subject| list(gallery, subject)).concat(),
        contributions(&gallery.contributions),
        refused(&gallery.refused),
    ]
    .concat();
    let links = [
        ("answer", "Answer"),
        ("disputed", "Disputed"),
        ("scheduler", "Schedulers"),
        ("machine", "Machines"),
        ("workload", "Workloads"),
        ("contributions", "Contributions"),
        ("refused", "Refused"),
    ];
    let exists = |(id, _): &(&str, &str)| body.contains(&format!("<section id=\"{id}\""));
    let links = links.into_iter().filter(exists);
    let frame = GalleryFrame {
        kicker: "Fairground gallery",
        title: "Linux CPU schedulers, measured by many",
        question: "Do contributors find the same answer to the same question?",
        facts: vec![
            fact(gallery.contributions.len(), "shared file"),
            fact(contributors.len(), "contributor"),
            fact(trials, "trial"),
            fact(gallery.questions.len(), "question"),
        ],
        links: links.map(|(id, name)| (format!("#{id}"), name)).collect(),
    };
    frame.around(&body, gallery)
}

fn answer(gallery: &Gallery, contributors: usize) -> String {
    let counts = ConsentCounts::count(&gallery.questions);
    let asked = units::count(counts.asked as u64, "question");
    let sentence = match counts.asked {
        0 if gallery.contributions.is_empty() => "There is no shared file here.".into(),
        0 => "No question was answered by two contributors yet.".into(),
        _ => format!(
            "{asked} of {} were answered by several of the {contributors} contributors: \
             <strong>{} agreed on</strong>, {} partly, {} disputed, {} open.",
            gallery.questions.len(),
            counts.agree,
            counts.partly,
            counts.disagree,
            counts.open
        ),
    };
    format!(
        "<section id=\"answer\"><h2>Answer</h2><p class=\"lead\">{sentence}</p><p \
         class=\"aside\">A question is: is this scheduler better than the baseline under this \
         workload, by its first headline \
         measure? An answer counts if its 95 % interval, \
         corrected for the number of comparisons, excludes zero, or lies wholly within the \
         equivalence margin. <b>Agree</b>: all answers that count agree. <b>Partly</b>: some find \
         a difference, others find equivalence. <b>Disagree</b>: some find better, others worse. \
         <b>Open</b>: fewer than two contributors have an answer that counts. Answers are \
         never pooled.</p></section>\n"
    )
}

/// Questions whose answers contradict each other, in full.
fn disputed(gallery: &Gallery) -> String {
    let disputes =
        gallery.questions.iter().filter(|question| question.consent() == Consent::Disagree);
    let card = |question: &Question| {
        let whose = Subject::Scheduler.link(&question.contestant);
        format!("<h3>{whose}</h3>{}", answer_card::card(question))
    };
    let cards: String = disputes.map(card).collect();
    if cards.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"disputed\"><h2>Disputed</h2><p class=\"aside\">Some contributors find \
         better what others find worse; ≠ marks the minority. Compare machines, \
         kernels and versions to find the reason.</p>{cards}</section>\n"
    )
}

/// All names of a subject, with what is known about them.
fn list(gallery: &Gallery, subject: Subject) -> String {
    let row = |name: &str| {
        let questions = subject.about(gallery, name);
        let counts = ConsentCounts::count(questions.iter().copied());
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>{}</tr>",
            subject.link(name),
            questions.len(),
            counts.asked,
            counts.fields()
        )
    };
    let rows: String = subject.all(gallery).into_iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let (word, heading) = (subject.word(), subject.heading());
    format!(
        "<section id=\"{word}\"><h2>{heading}</h2><div class=\"scroll\"><table class=\"data \
         subjects\"><thead><tr><th scope=\"col\">{word}</th><th scope=\"col\" \
         class=\"n\">questions</th><th scope=\"col\" class=\"n\">asked by several</th>{HEADS}\
         </tr></thead><tbody>{rows}</tbody></table></div></section>\n"
    )
}

fn contributions(list: &[Contribution]) -> String {
    let rows: String = list.iter().map(contribution_card).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"contributions\"><h2>Contributions</h2><p class=\"aside\">Names and notes \
         are the contributors' own words. Take a file into your store with <code>fairground \
         import</code>; nothing in it is ever executed.</p><div \
         class=\"folded\">{rows}</div></section>\n"
    )
}

fn contribution_card(shared: &Contribution) -> String {
    let schedulers: Vec<String> =
        shared.schedulers.iter().map(|(name, sha256)| format!("{name} {sha256}")).collect();
    let experiments: Vec<String> =
        shared.experiments.iter().map(|(name, question)| format!("{name}: {question}")).collect();
    let facts = [
        ("Note", shared.note.clone()),
        ("Experiments", experiments.join("; ")),
        ("Kernels", shared.kernels.join("; ")),
        ("Processors", shared.processors.join("; ")),
        ("Sources", schedulers.join("; ")),
        ("Left out", shared.left_out.join("; ")),
        ("Seal", shared.seal.clone()),
    ];
    let facts: String = facts
        .iter()
        .filter(|(_, fact)| !fact.is_empty())
        .map(|(name, fact)| format!("<dt>{name}</dt><dd>{}</dd>", text(fact)))
        .collect();
    format!(
        "<details id=\"{}\"><summary><b>{}</b> {} · {} trials · {}</summary><dl \
         class=\"facts\">{facts}</dl></details>",
        contribution(&shared.seal),
        text(&shared.by),
        text(&shared.file),
        shared.trials,
        text(&shared.dates.join(", "))
    )
}

fn refused(list: &[Refused]) -> String {
    let row = |refused: &Refused| {
        format!("<tr><td>{}</td><td>{}</td></tr>", text(&refused.file), text(&refused.why))
    };
    let rows: String = list.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"refused\"><h2>Refused</h2><p class=\"aside\">Files of the folder that are \
         not shown, and why.</p><div class=\"scroll\"><table class=\"data refused\"><thead><tr><th \
         scope=\"col\">file</th><th scope=\"col\">reason</th></tr></thead><tbody>{rows}</tbody>\
         </table></div></section>\n"
    )
}
