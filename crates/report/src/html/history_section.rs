// SPDX-License-Identifier: GPL-2.0-only
//! The experiment's numbers session after session: a picture for each series that changed,
//! and the others in a table.

use stats::Verdict;
use stats::view::history::{History, Series, Step};

use super::escape::text;
use super::figure::{Figure, Numbers, field, line, point, words};
use crate::terminal::history_text::{verdict, words as step_words};
use crate::units;

/// The most pictures; the table has all numbers.
const PICTURES_MAX: usize = 24;

/// Width and height of a picture, and the frame's left, right, top and bottom.
const SIZE: (f64, f64) = (360.0, 150.0);
const FRAME: (f64, f64, f64, f64) = (62.0, 348.0, 14.0, 122.0);

/// The section; empty with fewer than two sessions.
pub fn section(history: Option<&History>) -> String {
    let Some(history) = history.filter(|history| history.sessions.len() > 1) else {
        return String::new();
    };
    let mut series: Vec<&Series> = history.series.iter().collect();
    series.sort_by_key(|one| (!one.has_regressed(), one.steps.is_empty()));
    let pictures = series.iter().take(PICTURES_MAX).map(|one| picture(one, &history.sessions));
    let sessions = history.sessions.iter().map(|session| format!("<li>{}</li>", text(session)));
    format!(
        "<section id=\"history\"><h2>History</h2><p>{}.</p><p class=\"aside\">Each point is the \
         median of one session of the experiment. A session is compared with the one before as \
         <code>\
         fairground history --gate</code> does; a filled point is a significant step, a dotted \
         line a change of level that may be chance.</p><details><summary>The {} \
         sessions</summary><ol \
         class=\"plain\">{}</ol></details><div class=\"figures\">{}</div>{}</section>\n",
        text(&verdict(history)),
        history.sessions.len(),
        sessions.collect::<String>(),
        pictures.collect::<String>(),
        table(&series, history)
    )
}

/// The places of a picture's points.
struct HistoryScale {
    sessions: usize,
    low: f64,
    high: f64,
}

impl HistoryScale {
    fn new(series: &Series) -> HistoryScale {
        let known = || series.medians.iter().flatten().copied();
        let (low, high) =
            (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        // Without any difference the line runs in the middle.
        let room = if high > low { 0.0 } else { (high.abs() * 0.01).max(1e-9) };
        HistoryScale { sessions: series.medians.len(), low: low - room, high: high + room }
    }

    fn x(&self, session: usize) -> f64 {
        let (left, right, ..) = FRAME;
        left + 8.0 + (right - left - 16.0) * session as f64 / (self.sessions.max(2) - 1) as f64
    }

    fn y(&self, value: f64) -> f64 {
        let (.., top, bottom) = FRAME;
        bottom - (bottom - top) * (value - self.low) / (self.high - self.low)
    }
}

fn picture(series: &Series, sessions: &[String]) -> String {
    if series.medians.iter().flatten().next().is_none() {
        return String::new();
    }
    let scale = HistoryScale::new(series);
    let title = format!("{}, {}", series.contestant, units::measure(&series.measure));
    let steps: Vec<String> = series.steps.iter().map(step_words).collect();
    let label = format!("{title}, {}: {}", series.cell, steps.join("; "));
    let marks = [frame(series, &scale), jumps(series, &scale), track(series, &scale, sessions)];
    let steps: String = steps.iter().map(|it| format!("<br>{}", text(it))).collect();
    let figure = Figure {
        title: &title,
        label: &label,
        size: SIZE,
        marks: &marks.concat(),
        numbers: Numbers::Here(&csv(series, sessions)),
        caption: &format!("{}{steps}", text(&series.cell)),
    };
    figure.html()
}

/// Lines at the lowest and the highest number, and the sessions' numbers below.
fn frame(series: &Series, scale: &HistoryScale) -> String {
    let (left, right, top, bottom) = FRAME;
    let level = |y: f64, value: f64| {
        line("grid", (left, y), (right, y))
            + &words("tick", (left - 6.0, y + 4.0), "end", &units::number(value, series.unit))
    };
    let known: Vec<f64> = series.medians.iter().flatten().copied().collect();
    let ends = if known.iter().any(|value| *value != known[0]) {
        level(bottom, scale.low) + &level(top, scale.high)
    } else {
        level((top + bottom) / 2.0, known[0])
    };
    let last = scale.sessions - 1;
    ends + &words("tick", (scale.x(0), bottom + 20.0), "middle", "session 1")
        + &words("tick", (scale.x(last), bottom + 20.0), "middle", &format!("{}", last + 1))
}

/// Where a new level begins.
fn jumps(series: &Series, scale: &HistoryScale) -> String {
    let (.., top, bottom) = FRAME;
    let jump = |step: &Step| {
        let x = (scale.x(step.at - 1) + scale.x(step.at)) / 2.0;
        line("jump", (x, top), (x, bottom))
    };
    series.steps.iter().filter(|step| step.level).map(jump).collect()
}

/// The line through the medians, and a point for each.
fn track(series: &Series, scale: &HistoryScale, sessions: &[String]) -> String {
    let known: Vec<(usize, f64)> =
        series.medians.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let place = |&(at, value): &(usize, f64)| (scale.x(at), scale.y(value));
    let path: Vec<String> =
        known.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dot = |one: &(usize, f64)| {
        let step = series.steps.iter().find(|step| step.at == one.0);
        let (class, radius) = match step.map(|step| step.change) {
            Some(Verdict::Worse) => ("dot worse", 5.0),
            Some(Verdict::Better) => ("dot better", 5.0),
            _ => ("dot", 3.0),
        };
        let number = units::number(one.1, series.unit);
        point(class, place(one), radius, &format!("{}: {number}", sessions[one.0]))
    };
    let dots: String = known.iter().map(dot).collect();
    format!("<polyline class=\"track\" points=\"{}\"/>{dots}", path.join(" "))
}

fn csv(series: &Series, sessions: &[String]) -> String {
    let line = |(session, value): (&String, &Option<f64>)| {
        format!("\n{},{}", field(session), value.map(|value| value.to_string()).unwrap_or_default())
    };
    format!(
        "session,{}{}",
        series.measure,
        sessions.iter().zip(&series.medians).map(line).collect::<String>()
    )
}

/// All series with their ends.
fn table(series: &[&Series], history: &History) -> String {
    let row = |one: &&Series| {
        let number = |value: Option<&Option<f64>>| match value.copied().flatten() {
            Some(value) => units::number(value, one.unit),
            None => "–".into(),
        };
        let steps: Vec<String> = one.steps.iter().map(step_words).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td><td>{}</td></tr>",
            text(&one.contestant),
            text(&one.cell),
            text(&units::measure(&one.measure)),
            text(&number(one.medians.first())),
            text(&number(one.medians.last())),
            text(&steps.join("; "))
        )
    };
    let rows: String = series.iter().map(row).collect();
    format!(
        "<details><summary>All {} series</summary><div class=\"scroll\"><table \
         class=\"data\"><thead><tr><th scope=\"col\">contestant</th><th scope=\"col\">cell</th>\
         <th scope=\"col\">measure</th><th scope=\"col\" class=\"n\">session 1</th><th \
         scope=\"col\" \
         class=\"n\">session {}</th><th scope=\"col\">what happened</th></tr></thead><tbody>{rows}\
         </tbody></table></div></details>",
        series.len(),
        history.sessions.len()
    )
}
