// SPDX-License-Identifier: GPL-2.0-only
//! The experiment's numbers session after session: a picture for each series that changed,
//! and the others in a table.

use maud::{Markup, html};
use stats::Verdict;
use stats::view::history::{History, Series, Step};

use super::figure::{Figure, Numbers, field, line, point, words};
use super::markup::heads;
use crate::terminal::history_text::{verdict, words as step_words};
use crate::units;

/// The most pictures; the table has all numbers.
const PICTURES_MAX: usize = 24;

/// Width and height of a picture, and the frame's left, right, top and bottom.
const SIZE: (f64, f64) = (360.0, 150.0);
const FRAME: (f64, f64, f64, f64) = (62.0, 348.0, 14.0, 122.0);

/// The section; empty with fewer than two sessions.
pub fn section(history: Option<&History>) -> Markup {
    let Some(history) = history.filter(|history| history.sessions.len() > 1) else {
        return Markup::default();
    };
    let mut series: Vec<&Series> = history.series.iter().collect();
    series.sort_by_key(|series| (!series.has_regressed(), series.steps.is_empty()));
    html! {
        section id="history" {
            h2 { "History" }
            p { (verdict(history)) "." }
            p class="aside" {
                "Each point is the median of one session of the experiment. A session is compared \
                 with the one before as " code { "fairground history --gate" } " does; a filled \
                 point is a significant step, a dotted line a change of level that may be chance."
            }
            details {
                summary { "The " (history.sessions.len()) " sessions" }
                ol class="plain" { @for session in &history.sessions { li { (session) } } }
            }
            div class="figures" {
                @for series in series.iter().take(PICTURES_MAX) {
                    (picture(series, &history.sessions))
                }
            }
            (table(&series, history))
        }
    }
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

fn picture(series: &Series, sessions: &[String]) -> Markup {
    if series.medians.iter().flatten().next().is_none() {
        return Markup::default();
    }
    let scale = HistoryScale::new(series);
    let title = format!("{}, {}", series.contestant, units::measure(&series.measure));
    let steps: Vec<String> = series.steps.iter().map(step_words).collect();
    Figure {
        title: &title,
        label: &format!("{title}, {}: {}", series.cell, steps.join("; ")),
        size: SIZE,
        marks: html! {
            (frame(series, &scale))
            (jumps(series, &scale))
            (track(series, &scale, sessions))
        },
        numbers: Numbers::Here(csv(series, sessions)),
        caption: html! { (series.cell) @for step in &steps { br; (step) } },
    }
    .html()
}

/// Lines at the lowest and the highest number, and the sessions' numbers below.
fn frame(series: &Series, scale: &HistoryScale) -> Markup {
    let (left, right, top, bottom) = FRAME;
    let known: Vec<f64> = series.medians.iter().flatten().copied().collect();
    let levels = if known.iter().any(|value| *value != known[0]) {
        vec![(bottom, scale.low), (top, scale.high)]
    } else {
        vec![((top + bottom) / 2.0, known[0])]
    };
    let last = scale.sessions - 1;
    html! {
        @for (y, value) in levels {
            (line("grid", (left, y), (right, y)))
            (words("tick", (left - 6.0, y + 4.0), "end", &units::number(value, series.unit)))
        }
        (words("tick", (scale.x(0), bottom + 20.0), "middle", "session 1"))
        (words("tick", (scale.x(last), bottom + 20.0), "middle", &(last + 1).to_string()))
    }
}

/// Where a new level begins.
fn jumps(series: &Series, scale: &HistoryScale) -> Markup {
    let (.., top, bottom) = FRAME;
    let middle = |step: &Step| (scale.x(step.at - 1) + scale.x(step.at)) / 2.0;
    let steps = series.steps.iter().filter(|step| step.level);
    html! { @for x in steps.map(middle) { (line("jump", (x, top), (x, bottom))) } }
}

/// The line through the medians, and a point for each.
fn track(series: &Series, scale: &HistoryScale, sessions: &[String]) -> Markup {
    let known: Vec<(usize, f64)> =
        series.medians.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let place = |(at, value): (usize, f64)| (scale.x(at), scale.y(value));
    let points: Vec<String> =
        known.iter().map(|&known| place(known)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let look = |at: usize| {
        let step = series.steps.iter().find(|step| step.at == at);
        match step.map(|step| step.change) {
            Some(Verdict::Worse) => ("dot worse", 5.0),
            Some(Verdict::Better) => ("dot better", 5.0),
            _ => ("dot", 3.0),
        }
    };
    html! {
        polyline class="track" points=(points.join(" ")) {}
        @for (at, value) in known {
            @let (class, radius) = look(at);
            @let title = format!("{}: {}", sessions[at], units::number(value, series.unit));
            (point(class, place((at, value)), radius, &title))
        }
    }
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
fn table(series: &[&Series], history: &History) -> Markup {
    let last = format!("session {}", history.sessions.len());
    let number = |series: &Series, value: Option<&Option<f64>>| match value.copied().flatten() {
        Some(value) => units::number(value, series.unit),
        None => "–".into(),
    };
    html! {
        details {
            summary { "All " (series.len()) " series" }
            div class="scroll" {
                table class="data" {
                    (heads(&[
                        ("", "contestant"),
                        ("", "cell"),
                        ("", "measure"),
                        ("n", "session 1"),
                        ("n", &last),
                        ("", "what happened"),
                    ]))
                    tbody {
                        @for series in series {
                            @let steps: Vec<String> = series.steps.iter().map(step_words).collect();
                            tr {
                                th scope="row" { (series.contestant) }
                                td { (series.cell) }
                                td { (units::measure(&series.measure)) }
                                td class="n" { (number(series, series.medians.first())) }
                                td class="n" { (number(series, series.medians.last())) }
                                td { (steps.join("; ")) }
                            }
                        }
                    }
                }
            }
        }
    }
}
