// SPDX-License-Identifier: GPL-2.0-only
//! Trials over time: for each cell a grid of small pictures, a row for each contestant, a
//! column for each series. All pictures of a column have the same scale.

use maud::{Markup, html};
use model::Record;
use model::metric::Unit;
use model::series::{Definition, SERIES};
use stats::series::{Band, bands};
use stats::{Cell, Comparison};

use super::detail_level::{DetailLevel, shows};
use super::figure::{Figure, Numbers, field, line, short, words};
use super::markup::fact_item;
use super::page_data::Resampled;
use crate::{reading, units};

/// Of a picture, of the gap between two, and of the margins: left for names, top for headings,
/// bottom for times.
const PICTURE: (f64, f64) = (166.0, 34.0);
const GAP: (f64, f64) = (14.0, 10.0);
const MARGIN: (f64, f64, f64) = (112.0, 32.0, 20.0);

struct ContestantRow<'a> {
    contestant: &'a str,
    bands: Vec<Band>,
}

/// The grids and their pictures' numbers; empty where no record has series.
pub fn body(
    comparison: &Comparison,
    records: &[Record],
    resampled: &Resampled,
    detail: &DetailLevel,
) -> (Markup, Vec<String>) {
    let start = reading::most_decided(comparison);
    let mut numbers = Vec::new();
    let (mut folds, mut left_out) = (Vec::new(), 0);
    for (index, cell) in comparison.cells.iter().enumerate() {
        let ours: Vec<&Record> = resampled.trials(index).map(|at| &records[at]).collect();
        if !ours.iter().any(|record| !record.measured.series.is_empty()) {
            continue;
        }
        if shows(index, start, detail.cells) {
            folds.push(fold(comparison, cell, &ours, detail, &mut numbers, index == start));
        } else {
            left_out += 1;
        }
    }
    let body = if folds.is_empty() { Markup::default() } else { grids(&folds, left_out) };
    (body, numbers)
}

fn grids(folds: &[Markup], left_out: usize) -> Markup {
    html! {
        p class="aside" {
            "Like " code { "sar" } ", but for the tasks of the workload: CPU use, waiting \
             tasks, context switches and new tasks. Lines are medians over trials in each \
             interval, bands span the lowest and the highest trial; a line ends where fewer \
             than half of the trials still ran. The pictures of a column share one scale."
        }
        // The legend of the columns, once for all cells.
        details class="all" {
            summary { "What is measured" }
            dl class="facts" {
                @for series in &SERIES { (fact_item(name(series), series.definition)) }
            }
        }
        @for fold in folds { (fold) }
        @if left_out > 0 {
            p class="aside" {
                "There is too much data for the pictures of " (left_out) " more cells; "
                code { "fairground export series" } " has their numbers."
            }
        }
    }
}

fn fold(
    comparison: &Comparison,
    cell: &Cell,
    ours: &[&Record],
    detail: &DetailLevel,
    numbers: &mut Vec<String>,
    open: bool,
) -> Markup {
    let label = cell.label();
    let rows: Vec<ContestantRow> = comparison
        .contestants
        .iter()
        .map(|name| ContestantRow {
            contestant: name,
            bands: bands_of(name, ours, detail.intervals),
        })
        .filter(|row| !row.bands.is_empty())
        .collect();
    let columns = columns(&rows);
    let picture = if columns.is_empty() {
        Markup::default()
    } else {
        numbers.push(csv(&rows, detail.interval_numbers));
        figure(&label, &rows, &columns, Numbers::Packed(numbers.len() - 1))
    };
    html! {
        details class="cell" open[open] {
            summary {
                (cell.name)
                span class="where" { (label.strip_prefix(&cell.name).unwrap_or_default()) }
            }
            (picture)
            @for why in missing(ours) { p class="aside" { "Missing in some trials: " (why) "." } }
        }
    }
}

fn bands_of(contestant: &str, records: &[&Record], intervals: usize) -> Vec<Band> {
    let ours = records.iter().filter(|record| record.trial.contestant.name == contestant);
    bands(&ours.copied().collect::<Vec<_>>(), intervals)
}

/// The reasons why series are missing, each once.
fn missing<'a>(records: &[&'a Record]) -> Vec<&'a str> {
    let all = records.iter().flat_map(|record| &record.measured.series);
    let mut reasons: Vec<&str> = all.filter_map(|series| series.missing.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// A series that is not zero throughout, and the top of its scale.
struct Column {
    definition: &'static Definition,
    top: f64,
}

fn columns(rows: &[ContestantRow]) -> Vec<Column> {
    let band_of = |definition: &'static Definition| {
        let bands = rows.iter().filter_map(|row| row.band(definition));
        let top = bands.flat_map(|band| &band.high).copied().fold(0.0, f64::max);
        // A share has its own scale.
        let top = if definition.unit == Unit::Ratio && top > 0.0 { 1.0 } else { top };
        (top > 0.0).then_some(Column { definition, top })
    };
    SERIES.iter().filter_map(band_of).collect()
}

impl ContestantRow<'_> {
    fn band(&self, definition: &Definition) -> Option<&Band> {
        self.bands.iter().find(|band| band.definition.name == definition.name)
    }
}

fn figure(label: &str, rows: &[ContestantRow], columns: &[Column], numbers: Numbers) -> Markup {
    let end_ns = rows.iter().flat_map(|row| &row.bands).map(|band| band.end_ns).max();
    let end_ns = end_ns.unwrap_or(1).max(1);
    let width = MARGIN.0 + columns.len() as f64 * (PICTURE.0 + GAP.0);
    let height = MARGIN.1 + rows.len() as f64 * (PICTURE.1 + GAP.1) + MARGIN.2;
    let trials = rows.iter().flat_map(|row| &row.bands).map(|band| band.trials);
    let (fewest, most) = (trials.clone().min().unwrap_or(0), trials.max().unwrap_or(0));
    let trials = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    Figure {
        title: &format!("Over time: {label}"),
        label: &format!("{} contestants over time on {label}", rows.len()),
        size: (width, height),
        marks: html! {
            @for (at, column) in columns.iter().enumerate() {
                (heading(at, column, rows.len(), end_ns))
            }
            @for (at, row) in rows.iter().enumerate() {
                @let y = place(0, at).1 + PICTURE.1 / 2.0 + 4.0;
                (words("contestant", (0.0, y), "start", &short(row.contestant, 18)))
                @for (to, column) in columns.iter().enumerate() {
                    @if let Some(band) = row.band(column.definition) {
                        (picture(row.contestant, band, column, place(to, at), end_ns))
                    }
                }
            }
        },
        numbers,
        caption: html! { (trials) " trials of each; what is not drawn was 0 throughout." },
    }
    .html()
}

/// The left upper corner of a picture.
fn place(column: usize, row: usize) -> (f64, f64) {
    let x = MARGIN.0 + column as f64 * (PICTURE.0 + GAP.0);
    (x, MARGIN.1 + row as f64 * (PICTURE.1 + GAP.1))
}

/// A column's name, the top of its scale, and the time below it.
fn heading(at: usize, column: &Column, rows: usize, end_ns: u64) -> Markup {
    let (left, _) = place(at, 0);
    let right = left + PICTURE.0;
    let bottom = place(at, rows).1 - GAP.1 + 14.0;
    let top = format!("0 … {}", units::number(column.top, column.definition.unit));
    let end = units::number(end_ns as f64, Unit::Nanoseconds);
    html! {
        (words("contestant", (left, 12.0), "start", &name(column.definition)))
        (words("tick", (left, 25.0), "start", &top))
        (words("tick", (left, bottom), "start", "0"))
        (words("tick", (right, bottom), "end", &end))
    }
}

/// `switches_per_second` as `switches per second`.
fn name(definition: &Definition) -> String {
    definition.name.replace('_', " ")
}

fn picture(
    contestant: &str,
    band: &Band,
    column: &Column,
    (left, top): (f64, f64),
    end_ns: u64,
) -> Markup {
    let bottom = top + PICTURE.1;
    let x = |at: usize| {
        let last =
            at + 1 >= band.median.len() && band.end_ns / band.interval_ns.max(1) <= at as u64 + 1;
        let from = at as u64 * band.interval_ns;
        let to = if last { band.end_ns } else { from + band.interval_ns };
        left + PICTURE.0 * (from + to) as f64 / 2.0 / end_ns as f64
    };
    let y = |value: f64| bottom - PICTURE.1 * (value / column.top).clamp(0.0, 1.0);
    let points = |values: &[f64]| -> Vec<String> {
        let each = values.iter().enumerate();
        each.map(|(at, &value)| format!("{:.0},{:.1}", x(at), y(value))).collect()
    };
    let mut outline = points(&band.high);
    outline.extend(points(&band.low).into_iter().rev());
    html! {
        g {
            title { (summary(contestant, band)) }
            (line("grid", (left, bottom), (left + PICTURE.0, bottom)))
            @if band.low != band.high { polygon class="band" points=(outline.join(" ")) {} }
            polyline class="course" points=(points(&band.median).join(" ")) {}
        }
    }
}

fn summary(contestant: &str, band: &Band) -> String {
    let number = |value: f64| units::number(value, band.definition.unit);
    let low = band.median.iter().copied().fold(f64::INFINITY, f64::min);
    let high = band.median.iter().copied().fold(0.0, f64::max);
    let mean = band.median.iter().sum::<f64>() / band.median.len().max(1) as f64;
    format!(
        "{contestant}: {}, median over {} trials: {} to {}, mean {}",
        name(band.definition),
        band.trials,
        number(low),
        number(high),
        number(mean)
    )
}

fn csv(rows: &[ContestantRow], numbers: bool) -> String {
    let mut csv = String::from("contestant,series,trials,begin_s,median,low,high\n");
    if !numbers {
        csv += "too much data for this page; fairground export series has it\n";
        return csv;
    }
    for row in rows {
        for band in &row.bands {
            let head =
                format!("{},{},{}", field(row.contestant), band.definition.name, band.trials);
            for (at, median) in band.median.iter().enumerate() {
                let begin_s = (at as u64 * band.interval_ns) as f64 / 1e9;
                let (low, high) = (band.low[at], band.high[at]);
                csv += &format!(
                    "{head},{begin_s},{},{},{}\n",
                    brief(*median),
                    brief(low),
                    brief(high)
                );
            }
        }
    }
    csv
}

/// Four significant digits.
fn brief(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
