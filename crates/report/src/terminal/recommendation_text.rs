// SPDX-License-Identifier: GPL-2.0-only
//! A recommendation as text: the scheduler to use and the certainty in the first lines, then the
//! numbers, then how to switch.

use std::collections::BTreeMap;

use stats::Recommendation;
use stats::decide::recommend::Advice;

use super::layout::{COLUMNS, fit, hanging, pad, pad_left, wrapped};
use crate::advice;

pub use crate::advice::headline;

/// Characters of a contestant's name that are shown.
const NAME: usize = 18;
/// The column at which the text of a labelled line begins.
const INDENT: &str = "                ";

/// Facts that only the caller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecommendationContext {
    /// The origin of the numbers and what that means: sentences.
    pub measured: Vec<String>,
    /// Further sentences, each with its label.
    pub notes: Vec<(&'static str, String)>,
    /// How to switch to a scheduler, and back: lines, by its name.
    pub switch: BTreeMap<String, Vec<String>>,
    /// Further commands, each with its purpose.
    pub commands: Vec<(String, String)>,
}

/// The whole answer.
pub fn recommendation(advised: &Recommendation, setting: &RecommendationContext) -> String {
    let mut text = wrapped(&headline(advised), "");
    let reasons = advice::reasons(advised);
    reasons.iter().for_each(|(label, sentence)| text += &labelled(label, sentence));
    text += &labelled("measured", &setting.measured.join(" "));
    setting.notes.iter().for_each(|(label, sentence)| text += &labelled(label, sentence));
    text += &evidence(advised);
    for failure in advice::failures(advised) {
        text += &hanging(&failure, "  ", "    ");
    }
    text += &switching(advised, setting);
    for (what, command) in &setting.commands {
        text += &format!("\n{what}:\n  {command}\n");
    }
    text
}

/// A sentence that stands alone, above an answer.
pub fn paragraph(sentence: &str) -> String {
    wrapped(sentence, "")
}

fn labelled(label: &str, sentence: &str) -> String {
    hanging(sentence, &pad(&format!("  {label}"), INDENT.len()), INDENT)
}

/// The numbers of every candidate, measure by measure.
fn evidence(advised: &Recommendation) -> String {
    let mut text = String::from("\nEvidence\n");
    for of_measure in advice::evidence(advised) {
        text += &format!("  {}\n", fit(&of_measure.title, COLUMNS - 2));
        text += &hanging(&of_measure.about, "    ", "    ");
        of_measure.rows.iter().for_each(|fields| text += &line(fields));
    }
    text
}

fn line([name, median, shift, p, word]: &[String; 5]) -> String {
    let name = pad(&fit(name, NAME), NAME);
    let beside = match word.as_str() {
        "used now" => String::from("  "),
        _ => format!("  {} {} ", pad(shift, 28), pad(p, 9)),
    };
    let text = format!("    {name} {}{beside}{word}", pad_left(median, 10));
    format!("{}\n", fit(text.trim_end(), COLUMNS))
}

fn switching(advised: &Recommendation, setting: &RecommendationContext) -> String {
    let Advice::Switch(names) = &advised.advice else { return String::new() };
    let Some(lines) = setting.switch.get(&names[0]) else { return String::new() };
    let mut text = format!("\nHow to switch to {}\n", names[0]);
    lines.iter().for_each(|line| text += &format!("  {line}\n"));
    text
}
