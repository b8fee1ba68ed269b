// SPDX-License-Identifier: GPL-2.0-only
//! The frames of the charts that the scripts draw, with their captions.

use stats::{Cell, Comparison, Row};

use super::detail_level::DetailLevel;
use super::escape::text;
use super::figure::SAVE;
use super::page_data::Resampled;
use crate::cells;

/// A chart's name, its title, and the caption; the scripts extend those that depend on the chosen
/// cell.
const FIGURES: [(&str, &str, &str); 6] = [
    (
        "trials",
        "Every trial",
        "Each point is one trial; the box spans the middle half of the trials, its line is the \
         median. \
         No trial is left out.",
    ),
    (
        "histogram",
        "Distribution",
        "Samples of all trials, in bins of equal ratio; both axes are logarithmic, so that a \
         single \
         late wake-up stays visible.",
    ),
    ("shift", "Shift by quantile", ""),
    (
        "ramp",
        "By parameter",
        "Medians over trials; bands are their 95 % intervals. A diamond is a knee with its \
         interval, where a \
         headline measure has one; the knees are listed below.",
    ),
    (
        "switches",
        "Context switches",
        "Medians over trials: switches away from tasks that blocked (voluntary) and from tasks \
         that could \
         have continued (involuntary).",
    ),
    (
        "share",
        "CPU time by task group",
        "Medians over trials of each task group's share of the machine's CPU time.",
    ),
];

/// The section, with `knees` below the charts. Every chart has the height that it needs for the
/// first cell, so that nothing moves when the scripts draw; another cell may need another height.
pub fn section(
    comparison: &Comparison,
    resampled: &Resampled,
    detail: &DetailLevel,
    knees: &str,
) -> String {
    let start = cells::most_decided(comparison);
    let cell = comparison.cells.get(start);
    let shifts = detail.shifts && resampled.has_shifts(start);
    let figure = |(id, title, caption): &(&str, &str, &str)| {
        let place = cell.filter(|cell| has(id, cell, comparison, shifts));
        let hidden = if place.is_some() { "" } else { " hidden" };
        let height = height(id, comparison.contestants.len());
        format!(
            "<figure id=\"figure-{id}\"{hidden}><h3>{title}</h3><div class=\"chart\" \
             id=\"chart-{id}\" style=\"min-height: {height}px\" role=\"img\" \
             aria-label=\"{title}\"></div><figcaption>{caption}</figcaption>{SAVE}</figure>\n"
        )
    };
    let figures: String = FIGURES.iter().map(figure).collect();
    let chip = |name: &String| {
        format!("<button type=\"button\" class=\"chip\"><span>{}</span></button>", text(name))
    };
    let chips: String = comparison.contestants.iter().map(chip).collect();
    format!(
        "<section id=\"pictures\"><h2>Pictures</h2><noscript><p>The charts need JavaScript; every \
         number in them is in the tables.</p></noscript><div class=\"controls\" id=\"controls\">\
         <label>Cell <select id=\"pick-cell\"></select></label>\
         <label>Measure <select id=\"pick-measure\"></select></label>\
         <div class=\"chips\" id=\"chips\" role=\"group\" aria-label=\"Shown \
         contestants\">{chips}</div></div>\
         <p id=\"measure-definition\" class=\"definition\">&nbsp;</p><p class=\"aside\">{}</p>\
         <div class=\"figures\">{figures}</div>{knees}</section>\n",
        detail.cut
    )
}

/// Whether a chart has something to show for this cell.
fn has(id: &str, cell: &Cell, comparison: &Comparison, shifts: bool) -> bool {
    let any =
        |wanted: &dyn Fn(&Row) -> bool| cell.rows.iter().any(|it| it.is_measured() && wanted(it));
    match id {
        "histogram" => any(&|row| row.measure.statistic.is_some()),
        "shift" => shifts,
        "ramp" => comparison.cells.iter().any(|other| is_next(cell, other)),
        "switches" => any(&|row| row.measure.name.ends_with("voluntary_switches")),
        "share" => any(&|row| row.measure.name == "cpu_share" && row.measure.group != "all"),
        _ => true,
    }
}

/// Whether two cells differ in exactly one parameter.
fn is_next(cell: &Cell, other: &Cell) -> bool {
    let place = |it: &Cell| (it.workload.clone(), it.machine.clone(), it.backend);
    let names = cell.parameters.keys();
    place(cell) == place(other)
        && cell.parameters.len() == other.parameters.len()
        && names.filter(|&name| cell.parameters.get(name) != other.parameters.get(name)).count()
            == 1
}

/// The height of a chart with this many contestants, in CSS pixels, as in the scripts.
fn height(id: &str, contestants: usize) -> usize {
    match id {
        "trials" => 92 + 34 * contestants,
        "switches" | "share" => 110 + 30 * contestants,
        _ => 400,
    }
}
