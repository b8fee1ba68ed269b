// SPDX-License-Identifier: GPL-2.0-only
//! A history as text: the verdict first, then the sessions, then every series with a picture of it.

use stats::Verdict;
use stats::view::history::{History, Series, Step};

use super::gate_text::broken;
use super::layout::{hanging, wrapped};
use crate::units;

/// Heights of a picture's points.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The verdict in a sentence, the sessions, and the series: those that changed first.
pub fn history(history: &History) -> String {
    let mut text = format!("{}\n", verdict(history));
    history.broken.iter().for_each(|one| text += &format!("  broken  {}\n", broken(one)));
    for (index, session) in history.sessions.iter().enumerate() {
        text += &wrapped(&format!("  session {}: {session}", index + 1), "    ");
    }
    for said in &history.other_objects {
        text += &hanging(&format!("note: {said}"), "  ", "    ");
    }
    let mut series: Vec<&Series> = history.series.iter().collect();
    series.sort_by_key(|series| (!series.has_regressed(), series.steps.is_empty()));
    for series in series {
        text += &shown(series);
    }
    text
}

/// The verdict on the newest session.
fn verdict(history: &History) -> String {
    let worse = history.series.iter().filter(|series| series.has_regressed()).count();
    let word = if history.has_regressed() { "regressed" } else { "no regression" };
    let (all, sessions) = (history.series.len(), history.sessions.len());
    let (margin, broken) = (history.margin_percent, history.broken.len());
    format!(
        "{word}: {worse} of {all} numbers worse in the newest of {sessions} sessions by more than \
         {margin} %, {broken} broken"
    )
}

fn shown(series: &Series) -> String {
    let ends = [series.medians.first(), series.medians.last()].into_iter().flatten();
    let ends: Vec<String> = ends.map(|value| units::number_or_dash(*value, series.unit)).collect();
    let mut text = wrapped(
        &format!(
            "{} {}  {}  {}, {}",
            picture(&series.medians),
            ends.join(" → "),
            series.contestant,
            units::measure(&series.measure),
            series.cell
        ),
        "    ",
    );
    for step in &series.steps {
        text += &wrapped(&format!("    {}", words(step)), "      ");
    }
    if let Some(drift) = series.drift_percent {
        // From 0 there is no percent.
        let by =
            if drift.is_finite() { format!(" by {}", units::percent(drift)) } else { "".into() };
        text += &format!("    drift: worse{by} since session 1, without a step\n");
    }
    text
}

fn words(step: &Step) -> String {
    let change = match (step.change, step.level) {
        (Verdict::Worse, _) => "worse",
        (Verdict::Better, _) => "better",
        _ => "another level, not confirmed",
    };
    let percent = step.percent.map(|percent| format!(", {}", units::percent(percent)));
    let with = if step.with.is_empty() {
        String::new()
    } else {
        format!("; also changed: {}", step.with.join(", "))
    };
    format!("session {}: {change}{}{with}", step.at + 1, percent.unwrap_or_default())
}

/// A line of blocks, the lowest number at the bottom; a gap where there is none.
pub(crate) fn picture(medians: &[Option<f64>]) -> String {
    picture_above(medians.iter().flatten().copied().fold(f64::INFINITY, f64::min), medians)
}

/// The same with another number at the bottom.
pub(crate) fn picture_above(low: f64, medians: &[Option<f64>]) -> String {
    let high = medians.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let block = |value: &Option<f64>| match value {
        None => ' ',
        Some(_) if high <= low => BLOCKS[3],
        Some(value) => {
            let part = (value - low) / (high - low);
            BLOCKS[((part * 7.0).round() as usize).min(7)]
        }
    };
    medians.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::picture;

    #[test]
    fn pictures_go_from_the_lowest_to_the_highest() {
        assert_eq!(picture(&[Some(1.0), Some(8.0), None, Some(4.5)]), "▁█ ▅");
        assert_eq!(picture(&[Some(2.0), Some(2.0)]), "▄▄");
        assert_eq!(picture(&[Some(-8.0), Some(-1.0)]), "▁█");
        assert_eq!(picture(&[None]), " ");
    }
}
