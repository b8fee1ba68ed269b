// SPDX-License-Identifier: GPL-2.0-only
//! Several stores' answers to the same questions, as text.

use stats::view::consensus::{Answer, Consent, Question};

use super::layout::wrapped;
use crate::units;

/// How many questions agree, and every answer to those that do not.
pub fn consensus(questions: &[Question]) -> String {
    let asked: Vec<&Question> =
        questions.iter().filter(|question| question.contributors().len() > 1).collect();
    if asked.is_empty() {
        return "No question was asked in two of the stores.\n".into();
    }
    let count = |consent| asked.iter().filter(|question| question.consent() == consent).count();
    let mut text = wrapped(
        &format!(
            "Across stores: {} in common, {} agree, {} partly, {} disagree, {} open.",
            units::count(asked.len() as u64, "question"),
            count(Consent::Agree),
            count(Consent::Partly),
            count(Consent::Disagree),
            count(Consent::Open)
        ),
        "",
    );
    for consent in [Consent::Disagree, Consent::Partly] {
        for question in asked.iter().filter(|question| question.consent() == consent) {
            text += &shown(question);
        }
    }
    text
}

fn shown(question: &Question) -> String {
    let Question { contestant, baseline, cell, setting, .. } = question;
    let mut place = if setting.is_empty() { String::new() } else { format!(" on {setting}") };
    place.extend(question.variant().map(|variant| format!(", definition {variant} of several")));
    let measure = units::measure(&question.measure);
    let words = question.consent().words();
    let title = format!("{words}: {contestant} against {baseline}, {cell}{place}, {measure}");
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
