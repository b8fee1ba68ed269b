// SPDX-License-Identifier: GPL-2.0-only
//! The frames of the charts that the scripts draw, with their captions.

use maud::{Markup, html};
use stats::{Cell, Comparison, Row};

use super::detail_level::DetailLevel;
use super::figure::save_buttons;
use super::markup::NO_BREAK;
use super::page_data::Resampled;
use crate::reading;

/// A chart's name, its title, and the caption; the scripts extend those that depend on the chosen
/// cell.
const FIGURES: [(&str, &str, &str); 6] = [
    (
        "trials",
        "Every trial",
        "Each point is one trial; the box spans the middle half of the trials, its line is the \
         median. No trial is left out.",
    ),
    (
        "histogram",
        "Distribution",
        "Samples of all trials, in bins of equal ratio. Heights are logarithmic, so that a single \
         late wake-up stays visible.",
    ),
    ("shift", "Shift by quantile", ""),
    ("ramp", "By parameter", "Medians over trials; bands are their 95 % intervals."),
    (
        "switches",
        "Context switches",
        "Medians over trials: switches away from tasks that blocked (voluntary) and from tasks \
         that could have continued (involuntary).",
    ),
    (
        "share",
        "CPU time by task group",
        "Medians over trials of each task group's share of the machine's CPU time.",
    ),
];

/// The charts. Every chart has the height that it needs for the
/// first cell, so that nothing moves when the scripts draw; another cell may need another height.
pub fn body(comparison: &Comparison, resampled: &Resampled, detail: &DetailLevel) -> Markup {
    let start = reading::most_decided(comparison);
    let cell = comparison.cells.get(start);
    let shifts = detail.shifts && resampled.has_shifts(start);
    let hidden = |id: &str| cell.is_none_or(|cell| !has(id, cell, comparison, shifts));
    html! {
        noscript {
            p { "The charts need JavaScript; every number in them is in the tables." }
        }
        div class="controls" id="controls" {
            label { "Cell " select id="pick-cell" {} }
            label { "Measure " select id="pick-measure" {} }
            div class="chips" id="chips" role="group" aria-label="Shown contestants" {
                @for name in &comparison.contestants {
                    button type="button" class="chip" { span { (name) } }
                }
            }
        }
        p id="measure-definition" class="definition" { (NO_BREAK) }
        p class="aside" { (detail.cut) }
        div class="figures" {
            @for (id, title, caption) in FIGURES {
                figure id={ "figure-" (id) } hidden[hidden(id)] {
                    h3 { (title) }
                    div class="chart" id={ "chart-" (id) } role="img" aria-label=(title)
                        style={ "min-height: " (height(id, comparison.contestants.len())) "px" }
                        {}
                    figcaption { (caption) }
                    (save_buttons())
                }
            }
        }
    }
}

/// Whether a chart has something to show for this cell.
fn has(id: &str, cell: &Cell, comparison: &Comparison, shifts: bool) -> bool {
    let any =
        |wanted: fn(&Row) -> bool| cell.rows.iter().any(|row| row.is_measured() && wanted(row));
    match id {
        "histogram" => any(|row| row.measure.statistic.is_some()),
        "shift" => shifts,
        "ramp" => comparison.cells.iter().any(|other| is_next(cell, other)),
        "switches" => any(|row| row.measure.name.ends_with("voluntary_switches")),
        "share" => any(|row| row.measure.name == "cpu_share" && row.measure.group != "all"),
        _ => true,
    }
}

/// Whether two cells differ in exactly one parameter.
fn is_next(cell: &Cell, other: &Cell) -> bool {
    let names = cell.parameters.keys();
    (&cell.workload, &cell.machine, cell.backend)
        == (&other.workload, &other.machine, other.backend)
        && cell.parameters.len() == other.parameters.len()
        && names.filter(|&name| cell.parameters.get(name) != other.parameters.get(name)).count()
            == 1
}

/// The height of a chart with this many contestants, in CSS pixels, as in the scripts.
fn height(id: &str, contestants: usize) -> usize {
    match id {
        "trials" | "histogram" => 92 + 34 * contestants,
        "switches" | "share" => 110 + 30 * contestants,
        _ => 400,
    }
}
