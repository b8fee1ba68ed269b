// SPDX-License-Identifier: GPL-2.0-only
//! The page of a scheduler, with every answer; that of a machine or a workload, with one line for
//! each question.

use std::collections::{BTreeMap, BTreeSet};

use stats::Verdict;
use stats::view::consensus::{Answer, Question};

use super::super::escape::{anchor, text};
use super::super::frame::{fact, labelled_fact};
use super::super::markup::class;
use super::answer_card;
use super::collection::{Contribution, Gallery};
use super::consent_counts::{ConsentCounts, badge};
use super::gallery_frame::GalleryFrame;
use super::page_subject::Subject;
use crate::units;

/// The page.
pub fn page(gallery: &Gallery, subject: Subject, name: &str) -> String {
    let questions = subject.about(gallery, name);
    let counts = ConsentCounts::count(questions.iter().copied());
    let contributors: BTreeSet<&str> =
        questions.iter().flat_map(|question| question.contributors()).collect();
    let body = match subject {
        Subject::Scheduler => versions(gallery, name) + &by_workload(&questions),
        Subject::Machine => machine(&questions, name),
        Subject::Workload => workload(&questions),
    };
    let about = match subject {
        Subject::Workload => questions.first().map_or("", |question| question.about.as_str()),
        _ => "",
    };
    let frame = GalleryFrame {
        kicker: &format!("Fairground gallery · {}", subject.word()),
        title: name,
        question: about,
        facts: vec![
            fact(questions.len(), "question"),
            fact(contributors.len(), "contributor"),
            labelled_fact(counts.agree, "agreed on"),
            labelled_fact(counts.disagree, "disputed"),
        ],
        links: vec![
            ("index.html".into(), "Gallery"),
            ("index.html#scheduler".into(), "Schedulers"),
            ("index.html#machine".into(), "Machines"),
            ("index.html#workload".into(), "Workloads"),
        ],
    };
    frame.around(&body, gallery)
}

/// The source texts under this name. Several texts are several schedulers.
fn versions(gallery: &Gallery, name: &str) -> String {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Contribution { by, schedulers, .. } in &gallery.contributions {
        for (_, sha256) in schedulers.iter().filter(|(scheduler, _)| scheduler == name) {
            versions.entry(sha256).or_default().push(by);
        }
    }
    if versions.is_empty() {
        return String::new();
    }
    let item = |(sha256, contributors): (&&str, &Vec<&str>)| {
        format!("<li><code>{}</code> {}</li>", text(sha256), text(&contributors.join(", ")))
    };
    let items: String = versions.iter().map(item).collect();
    let warning = match versions.len() {
        1 => "All contributors ran the same source.",
        _ => "These are different sources under one name: answers may differ for this reason.",
    };
    format!(
        "<section><h2>Source</h2><p class=\"aside\">{warning}</p><ul \
         class=\"plain\">{items}</ul></section>\n"
    )
}

/// A scheduler's questions, workload by workload.
fn by_workload(questions: &[&Question]) -> String {
    let mut workloads: BTreeMap<&str, Vec<&Question>> = BTreeMap::new();
    questions
        .iter()
        .for_each(|question| workloads.entry(&question.workload).or_default().push(question));
    let section = |(workload, questions): (&str, Vec<&Question>)| {
        let about = questions.first().map_or("", |question| question.about.as_str());
        let cards: String = questions.iter().map(|question| answer_card::card(question)).collect();
        format!(
            "<section><h2>{}</h2><p class=\"aside\">{}</p>{cards}</section>\n",
            Subject::Workload.link(workload),
            text(about)
        )
    };
    workloads.into_iter().map(section).collect()
}

/// A workload's questions: the contributors' answers in short.
fn workload(questions: &[&Question]) -> String {
    let row = |question: &&Question| {
        let said = |wanted: fn(Verdict) -> bool| {
            question.answers.iter().filter(|answer| wanted(answer.verdict)).count()
        };
        let number = |class: &str, count: usize| match count {
            0 => "<td class=\"n none\">–</td>".to_owned(),
            _ => format!("<td class=\"n {class}\">{count}</td>"),
        };
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{} against {}</td>{}{}{}{}<td>{}</td>\
             </tr>",
            linked(question),
            answer_card::subject(question),
            text(&units::measure(&question.measure)),
            text(&question.baseline),
            number("t-better", said(|verdict| verdict == Verdict::Better)),
            number("", said(|v| matches!(v, Verdict::Equivalent | Verdict::Equal))),
            number("t-worse", said(|verdict| verdict == Verdict::Worse)),
            number("", said(|v| !v.is_claim() && v != Verdict::Equivalent && v != Verdict::Equal)),
            consent(question)
        )
    };
    let rows: String = questions.iter().map(row).collect();
    format!(
        "<section><h2>Answers by contributor</h2><p class=\"aside\">Answers by verdict; a \
         scheduler's name \
         leads to the answers themselves.</p><div class=\"scroll\"><table class=\"data \
         subjects\"><thead><tr><th scope=\"col\">scheduler</th><th scope=\"col\">workload</th><th \
         scope=\"col\">by</th><th scope=\"col\" class=\"n\">better</th><th scope=\"col\" \
         class=\"n\">equal</th><th scope=\"col\" class=\"n\">worse</th><th scope=\"col\" \
         class=\"n\">open</th><th scope=\"col\">contributors</th></tr></thead><tbody>{rows}\
         </tbody></table></div></section>\n"
    )
}

/// The answers from a machine, and whether others agree.
fn machine(questions: &[&Question], name: &str) -> String {
    let mut rows = String::new();
    for question in questions {
        for answer in question.answers.iter().filter(|answer| answer.machine == name) {
            rows += &machine_row(question, answer);
        }
    }
    format!(
        "<section><h2>Answers from this machine</h2><p class=\"aside\">The last column says \
         whether \
         contributors agree, on all machines.</p><div class=\"scroll\"><table class=\"data result \
         subjects\"><thead><tr><th scope=\"col\">scheduler</th><th scope=\"col\">workload</th><th \
         scope=\"col\">by</th><th scope=\"col\">contributors</th><th scope=\"col\" \
         class=\"n\">difference</th><th scope=\"col\">95 % interval</th><th \
         scope=\"col\">verdict</th><th scope=\"col\">contributors</th></tr></thead><tbody>{rows}\
         </tbody></table></div></section>\n"
    )
}

fn machine_row(question: &Question, answer: &Answer) -> String {
    let (shift, interval) =
        answer.shift.map(|shift| units::shift(&shift, question.unit)).unwrap_or_default();
    format!(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td>{} against {}</td><td>{} ({})\
         </td><td class=\"n shift\">{}</td><td class=\"range\">{}</td><td \
         class=\"verdict\">{}</td><td>{}</td></tr>",
        class(answer.verdict),
        linked(question),
        text(&question.cell),
        text(&units::measure(&question.measure)),
        text(&question.baseline),
        text(&answer.contributor),
        answer.backend.word(),
        text(&shift),
        text(&interval),
        answer.verdict.words(),
        consent(question)
    )
}

/// The scheduler's name, which links to the answers.
fn linked(question: &Question) -> String {
    let file = Subject::Scheduler.file(&question.contestant);
    format!(
        "<a href=\"{file}#{}\">{}</a>",
        answer_card::place(question),
        text(&question.contestant)
    )
}

/// Whether the contributors agree, if there are several.
fn consent(question: &Question) -> String {
    match question.contributors().len() {
        0 | 1 => "<small>one only</small>".into(),
        several => format!("{} <small>of {several}</small>", badge(question.consent())),
    }
}

/// The anchor of a contribution in the index.
pub fn contribution(seal: &str) -> String {
    anchor(seal)
}
