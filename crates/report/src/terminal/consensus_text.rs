// SPDX-License-Identifier: GPL-2.0-only
//! Several contributors' answers to the same questions, as text.

use stats::view::consensus::{Answer, Consent, Question};

use super::layout::{Paint, wrapped};
use crate::table::Align::{Left, Right};
use crate::table::Table;
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
        for question in asked(questions).filter(|question| question.consent() == consent) {
            let (title, table) = (title(question), answers(question));
            text += &wrapped(&format!("{}: {title}", consent.words()), "    ");
            text += &table.terminal("    ", &table.widths(), Paint(false)).concat();
        }
    }
    text
}

pub(crate) fn title(question: &Question) -> String {
    let Question { contestant, baseline, cell, setting, definition, measure, .. } = question;
    let place = if setting.is_empty() { String::new() } else { format!(" on {setting}") };
    let measure = units::measure(measure);
    format!("{contestant} against {baseline}, {cell}{place}, {measure}, definition {definition}")
}

/// All answers; those of the minority are marked.
pub(crate) fn answers(question: &Question) -> Table {
    let (unit, dissent) = (question.measure.unit_and_direction().0, question.dissent());
    let texts = ["who", "where"].map(|heading| (heading, Left));
    let numbers = ["trials", "median", "difference"].map(|heading| (heading, Right));
    let judged = ["95 % interval", "verdict"].map(|heading| (heading, Left));
    let mut table = Table::new(&[&texts[..], &numbers, &judged].concat());
    for answer in &question.answers {
        let Answer { contributor, machine, backend, entry } = answer;
        let dissents = dissent.iter().any(|other| std::ptr::eq(*other, answer));
        let (shift, interval) =
            entry.shift.map(|shift| units::shift(&shift, unit)).unwrap_or_default();
        table.add([
            contributor.clone(),
            format!("{machine} ({})", backend.word()),
            entry.trials.to_string(),
            units::number_or_dash(entry.median, unit),
            shift,
            interval,
            format!("{}{}", if dissents { "≠ " } else { "" }, entry.verdict.words()),
        ]);
    }
    table
}
