// SPDX-License-Identifier: GPL-2.0-only
//! Several stores' answers to the same questions, as text.

use stats::view::consensus::{Answer, Consent, Question};

use super::layout::wrapped;
use crate::units;

/// The questions that several contributors were asked.
fn asked(questions: &[Question]) -> impl Iterator<Item = &Question> {
    questions.iter().filter(|question| question.contributors().len() > 1)
}

/// How many questions several contributors were asked, and how many answers agree; `None` if there
/// was no such question.
pub(crate) fn answered(questions: &[Question]) -> Option<String> {
    let count = |consent| asked(questions).filter(|question| question.consent() == consent).count();
    let (agree, partly) = (count(Consent::Agree), count(Consent::Partly));
    let (disagree, open) = (count(Consent::Disagree), count(Consent::Open));
    let all = agree + partly + disagree + open;
    let asked = units::count(all as u64, "question");
    (all > 0).then(|| {
        format!(
            "{asked} in common, {agree} agree, {partly} partly, {disagree} disagree, {open} open."
        )
    })
}

/// How many questions agree, and every answer to those that do not.
pub fn consensus(questions: &[Question]) -> String {
    let Some(counts) = answered(questions) else {
        return "No question was asked in two of the stores.\n".into();
    };
    let mut text = wrapped(&format!("Across stores: {counts}"), "");
    for consent in [Consent::Disagree, Consent::Partly] {
        asked(questions)
            .filter(|question| question.consent() == consent)
            .for_each(|question| text += &shown(question));
    }
    text
}

fn shown(question: &Question) -> String {
    let Question { contestant, baseline, cell, setting, definition, .. } = question;
    let place = if setting.is_empty() { String::new() } else { format!(" on {setting}") };
    let measure = units::measure(&question.measure);
    let words = question.consent().words();
    let title = format!(
        "{words}: {contestant} against {baseline}, {cell}{place}, {measure}, definition \
         {definition}"
    );
    let mut text = wrapped(&title, "    ");
    for answer in &question.answers {
        text += &format!("    {}\n", line(answer, question));
    }
    text
}

fn line(answer: &Answer, question: &Question) -> String {
    let shift = answer.shift.map(|shift| units::shift(&shift, question.unit)).unwrap_or_default();
    format!(
        "{:<24} {:<13} {} {}  {} ({})",
        answer.contributor,
        answer.verdict.words(),
        shift.0,
        shift.1,
        answer.machine,
        answer.backend.word()
    )
}
