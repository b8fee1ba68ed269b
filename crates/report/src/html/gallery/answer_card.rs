// SPDX-License-Identifier: GPL-2.0-only
//! One question with all answers to it, and their intervals on one scale.

use stats::view::consensus::{Answer, Question};

use super::super::escape::{anchor, text};
use super::super::markup::class;
use super::super::results_section::RatioScale;
use super::consent_counts::badge;
use super::page_subject::Subject;
use crate::units;

/// The workload, and the machine and backend if they are a part of the question.
pub fn subject(question: &Question) -> String {
    let Question { cell, setting, .. } = question;
    let variant = question.variant().map(|variant| {
        format!(" <small>definition <code>{}</code> of several</small>", text(variant))
    });
    let variant = variant.unwrap_or_default();
    match setting.as_str() {
        "" => format!("{}{variant}", text(cell)),
        place => format!("{} <small>on {}</small>{variant}", text(cell), text(place)),
    }
}

/// The question's anchor on its scheduler's page.
pub fn place(question: &Question) -> String {
    let Question { cell, setting, baseline, measure, .. } = question;
    let variant = question.variant().unwrap_or_default();
    anchor(&format!("{cell} {setting} {baseline} {measure} {variant}"))
}

/// The question on its scheduler's page.
pub fn card(question: &Question) -> String {
    let scale =
        RatioScale::over(question.answers.iter().filter_map(|answer| answer.shift.as_ref()));
    let dissent = question.dissent();
    let line = |answer: &Answer| {
        let against = dissent.iter().any(|other| std::ptr::eq(*other, answer));
        row(answer, question, scale, against)
    };
    let lines: String = question.answers.iter().map(line).collect();
    let consent = match question.contributors().len() {
        0 | 1 => String::new(),
        _ => badge(question.consent()),
    };
    format!(
        "<article class=\"asked\" id=\"{}\"><header><h3>{}</h3>{consent}</header><p>{} against \
         {}</p><div class=\"scroll\"><table class=\"data result\"><thead><tr><th \
         scope=\"col\">who</th><th scope=\"col\">where</th><th scope=\"col\" \
         class=\"n\">trials</th><th scope=\"col\" class=\"n\">median</th><th scope=\"col\" \
         class=\"n\">difference</th><th scope=\"col\">95 % interval</th><th scope=\"col\" \
         class=\"bar\"></th><th scope=\"col\">verdict</th></tr></thead><tbody>{lines}</tbody>\
         </table></div></article>\n",
        place(question),
        subject(question),
        text(&units::measure(&question.measure)),
        text(&question.baseline),
    )
}

fn row(answer: &Answer, question: &Question, scale: RatioScale, dissents: bool) -> String {
    let unit = question.unit;
    let median = answer.median.map_or_else(|| "–".into(), |value| units::number(value, unit));
    let (shift, interval) =
        answer.shift.map(|shift| units::shift(&shift, unit)).unwrap_or_default();
    format!(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"where\">{} ({})</td><td \
         class=\"n\">{}</td><td class=\"n median\">{}</td><td class=\"n shift\">{}</td><td \
         class=\"range\">{}</td><td class=\"bar\">{}</td><td class=\"verdict{}\">{}</td></tr>",
        class(answer.verdict),
        text(&answer.contributor),
        Subject::Machine.link(&answer.machine),
        answer.backend.word(),
        answer.trials,
        text(&median),
        text(&shift),
        text(&interval),
        scale.bar(answer.shift.as_ref()),
        if dissents { " dissent" } else { "" },
        answer.verdict.words()
    )
}
