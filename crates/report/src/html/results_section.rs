// SPDX-License-Identifier: GPL-2.0-only
//! Tables of every cell: headline measures with intervals and their picture, then all other
//! measures.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use model::Record;
use model::metric::measure;
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Interval, Row, SeedCounts, Shift, Verdict};

use super::detail_level::{DetailLevel, shows};
use super::figure::px;
use super::markup::{anchor, class, name, percent};
use super::scaling_tables;
use crate::reading::Reading;
use crate::{backends, reading, units};

pub fn body(
    reading: &Reading,
    records: &[Record],
    agreement: Option<&Agreement>,
    detail: &DetailLevel,
) -> Markup {
    let comparison = reading.comparison;
    let start = comparison.cells.get(reading::most_decided(comparison));
    let opens = |cells: &Vec<&Cell>| cells.iter().any(|cell| Some(*cell) == start);
    let first = reading.questions.iter().position(opens).unwrap_or_default();
    html! {
        p class="aside" {
            "Medians over trials with " (percent(comparison.confidence))
            " intervals (bootstrap: boots first, then trials within them), and the \
             Hodges–Lehmann shift against " (name(&comparison.baseline)) ". The bars show the \
             shift with its interval on a scale of ratios; the line is no difference"
            @if has_noise(comparison) {
                ", the band is the noise floor: the largest difference that A/A trials show"
            }
            "."
        }
        @for (place, cells) in reading.questions.iter().enumerate() {
            @let open = place == first;
            @match (cells.as_slice(), agreement) {
                _ if !shows(place, first, detail.cells) => {
                    @for cell in cells { (left_out(cell)) }
                }
                ([_, _], Some(agreement)) => {
                    (both(comparison, cells, agreement, detail, open))
                }
                _ => {
                    @for cell in cells { (details(cell, &comparison.baseline, detail, open)) }
                }
            }
        }
        (scaling_tables::tables(comparison, records))
    }
}

fn has_noise(comparison: &Comparison) -> bool {
    comparison.cells.iter().flat_map(|cell| &cell.rows).any(|row| row.noise.is_some())
}

/// One cell of two backends: their medians side by side, and folded away each one's own tables.
fn both(
    comparison: &Comparison,
    cells: &[&Cell],
    agreement: &Agreement,
    detail: &DetailLevel,
    open: bool,
) -> Markup {
    let first = cells[0];
    let backends: Vec<&str> = cells.iter().map(|cell| cell.backend.word()).collect();
    html! {
        details class="cell" open[open] {
            summary {
                span class="cell-name" { (first.name) } " "
                span class="where" { (first.machine) " · " (backends.join(" and ")) }
            }
            p class="aside" { (first.about) }
            (backends::markup(comparison, cells, agreement))
            @for cell in cells {
                details class="more" id=(anchor(&cell.label())) {
                    summary {
                        "Intervals and all measures of " (cell.backend.word()) " alone "
                        (tally(cell))
                    }
                    (tables(cell, &comparison.baseline, detail))
                }
            }
        }
    }
}

fn details(cell: &Cell, baseline: &str, detail: &DetailLevel, open: bool) -> Markup {
    fold(cell, &html! { p class="aside" { (cell.about) } (tables(cell, baseline, detail)) }, open)
}

/// A cell whose tables are not in the page: the target of its links explains that.
fn left_out(cell: &Cell) -> Markup {
    let words = html! {
        p class="aside" {
            "There is too much data for this cell’s tables; " code { "fairground compare" } " and "
            code { "fairground export csv" } " have them."
        }
    };
    fold(cell, &words, false)
}

fn fold(cell: &Cell, body: &Markup, open: bool) -> Markup {
    html! {
        details class="cell" id=(anchor(&cell.label())) open[open] {
            summary {
                span class="cell-name" { (cell.name) } " "
                span class="where" { (cell.machine) " · " (cell.backend.word()) }
                (tally(cell))
            }
            (body)
        }
    }
}

fn tables(cell: &Cell, baseline: &str, detail: &DetailLevel) -> Markup {
    let measured = || cell.rows.iter().filter(|row| row.is_measured());
    let has_headline = measured().any(|row| row.headline);
    let (shown, others): (Vec<&Row>, Vec<&Row>) =
        measured().partition(|row| row.headline || !has_headline);
    html! {
        @for row in shown { (table(row, cell, baseline)) }
        @if detail.other_measures || others.is_empty() {
            (all_measures(&others))
        } @else {
            p class="aside small" {
                "There is too much data for the " (others.len()) " other measures; "
                code { "fairground export csv" } " has them."
            }
        }
        (unmeasured(cell))
    }
}

/// Measures without any number, and why.
fn unmeasured(cell: &Cell) -> Markup {
    let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in cell.rows.iter().filter(|row| !row.is_measured()) {
        let reasons: BTreeSet<&str> =
            row.entries.iter().flat_map(|entry| entry.missing.keys().map(String::as_str)).collect();
        let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
        by_reason.entry(reasons).or_default().push(units::measure(&row.measure));
    }
    let words = |(reason, measures): (&String, &Vec<String>)| {
        let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        format!("{}{why}", measures.join(", "))
    };
    let words: Vec<String> = by_reason.iter().map(words).collect();
    html! {
        @if !words.is_empty() {
            p class="aside small" { "No contestant has a number for " (words.join("; ")) "." }
        }
    }
}

/// The number of better and worse headline verdicts of a cell, for its folded line.
fn tally(cell: &Cell) -> Markup {
    let count = |verdict: Verdict| {
        let entries = cell.headline().flat_map(|row| &row.entries);
        entries.filter(|entry| entry.verdict == verdict).count()
    };
    let bad: usize = cell.outcomes.iter().filter(|c| c.outcome != "ok").map(|c| c.trials).sum();
    html! {
        span class="tally" {
            span class="t-better" { (count(Verdict::Better)) " better" } " · "
            span class="t-worse" { (count(Verdict::Worse)) " worse" }
            @if bad > 0 { " · " (bad) " not ok" }
        }
    }
}

fn table(row: &Row, cell: &Cell, baseline: &str) -> Markup {
    let scale = RatioScale::over(row.entries.iter().filter_map(|entry| entry.shift.as_ref()));
    let definition = measure(&row.measure.name).map_or("", |measure| measure.definition);
    html! {
        div class="scroll" {
            table class="data result" {
                caption {
                    span title=(definition) { (units::measure(&row.measure)) } " "
                    small {
                        (units::direction(row.direction).unwrap_or("neither is better"))
                        @if let Some(noise) = &row.noise { " · " (units::noise(noise)) }
                        @if let Some(many) = corrected(row) {
                            " · p values are corrected for " (many) " comparisons"
                        }
                    }
                }
                thead {
                    tr {
                        th scope="col" { "contestant" }
                        th scope="col" class="n"
                            title="trials with a number / boots that they come from" {
                            "trials/boots"
                        }
                        th scope="col" class="n" { "median" }
                        th scope="col" { "95 % interval" }
                        th scope="col" class="n" { "shift" }
                        th scope="col" { "interval" }
                        th scope="col" class="bar" { span class="sr" { "picture" } }
                        th scope="col" { "verdict" }
                    }
                }
                tbody { @for entry in &row.entries { (line(row, entry, (cell, baseline), scale)) } }
            }
        }
    }
}

/// For how many comparisons the row's p values are corrected; `None` for one.
fn corrected(row: &Row) -> Option<usize> {
    let many = row.entries.iter().filter_map(|entry| entry.p_value).map(|p| p.comparisons).max();
    many.filter(|many| *many > 1)
}

fn line(row: &Row, entry: &Entry, (cell, baseline): (&Cell, &str), scale: RatioScale) -> Markup {
    if !reading::takes_part(cell, &entry.contestant) {
        return html! {
            tr class="v-none" {
                th scope="row" { (entry.contestant) }
                td colspan="6" {}
                td class="verdict" { (reading::not_here(cell)) }
            }
        };
    }
    let median = units::number_or_dash(entry.median, row.unit);
    let range = entry.interval.zip(entry.median);
    let range = range.map(|(interval, at)| units::interval(interval, at, row.unit));
    let shift = entry.shift.map(|shift| units::shift(&shift, row.unit));
    let (shift, interval) = shift.unwrap_or_default();
    let noise = row.noise.map(|noise| noise.percent);
    html! {
        tr class=(class(entry.verdict)) {
            th scope="row" { (entry.contestant) }
            td class="n" { (entry.trials) small { "/" (entry.boots) } }
            td class="n median" { (median) }
            td class="range" { (range.unwrap_or_default()) }
            td class="n shift" { (shift) }
            td class="range" { (interval) }
            td class="bar" { (scale.bar(noise, entry.shift.as_ref())) }
            td class="verdict" {
                (reading::verdict_words(entry, baseline))
                @for remark in remarks(entry, cell) { small { (remark) } }
            }
        }
    }
}

/// Pairs under a virtual clock with the p value, why numbers are missing, bad outcomes.
fn remarks(entry: &Entry, cell: &Cell) -> Vec<String> {
    let seeds = entry.by_seed.filter(|_| entry.verdict != Verdict::Equal).and_then(by_seed);
    let tells = entry.verdict == Verdict::NotDistinguishable || entry.verdict.is_claim();
    let p = entry.p_value.filter(|_| tells).map(units::p_value);
    let evidence: Vec<String> = seeds.into_iter().chain(p).collect();
    let mut remarks = vec![evidence.join(", ")];
    remarks.retain(|remark| !remark.is_empty());
    remarks.extend(entry.missing.iter().map(|(why, trials)| format!("{trials} without: {why}")));
    let bad = cell.outcomes.iter().filter(|count| count.outcome != "ok");
    let bad = bad.filter(|count| count.contestant == entry.contestant);
    remarks.extend(bad.map(|count| format!("{} {}", count.trials, count.outcome)));
    remarks
}

/// `higher in all 6 seeds`, `lower in 4 and higher in 2 of 6 seeds`; `None` without common seeds.
fn by_seed(pairs: SeedCounts) -> Option<String> {
    let counts = [(pairs.lower, "lower"), (pairs.equal, "equal"), (pairs.higher, "higher")];
    let all: usize = counts.iter().map(|(seeds, _)| seeds).sum();
    let found: Vec<_> = counts.into_iter().filter(|(seeds, _)| *seeds > 0).collect();
    match found.as_slice() {
        [] => None,
        [(_, word)] => Some(format!("{word} in all {all} seeds")),
        several => {
            let parts: Vec<String> =
                several.iter().map(|(seeds, word)| format!("{word} in {seeds}")).collect();
            Some(format!("{} of {all} seeds", parts.join(", ")))
        }
    }
}

/// A row's common scale of ratios, in natural logarithms.
#[derive(Clone, Copy)]
pub struct RatioScale(f64);

/// Half of the picture's width.
const HALF: f64 = 70.0;

impl RatioScale {
    /// The scale that holds all these intervals.
    pub fn over<'a>(shifts: impl Iterator<Item = &'a Shift>) -> RatioScale {
        let intervals = shifts.filter_map(|shift| shift.percent_interval);
        let ends = intervals.flat_map(|interval| [interval.low, interval.high]);
        RatioScale(ends.map(|end| log_ratio(end).abs()).fold(1.05f64.ln(), f64::max))
    }

    fn at(self, percent: f64) -> f64 {
        HALF + HALF * 0.94 * (log_ratio(percent) / self.0).clamp(-1.0, 1.0)
    }

    fn band(self, percent: f64) -> Markup {
        // A ratio scale that is symmetric around 1.
        let down = -100.0 * percent / (100.0 + percent);
        let (low, high) = (self.at(down), self.at(percent));
        html! { rect class="noise" x=(px(low)) y="1" width=(px(high - low)) height="14" {} }
    }

    /// The picture of an interval, over a band as wide as the noise floor.
    pub fn bar(self, noise_percent: Option<f64>, shift: Option<&Shift>) -> Markup {
        let range = shift.and_then(|shift| shift.percent.zip(shift.percent_interval));
        html! {
            svg class="forest" viewBox={ "0 0 " (2.0 * HALF) " 16" } width=(2.0 * HALF) height="16"
                aria-hidden="true" {
                line class="zero" x1=(HALF) x2=(HALF) y1="0" y2="16" {}
                @if let Some(percent) = noise_percent && shift.is_some() { (self.band(percent)) }
                @if let Some((at, Interval { low, high })) = range {
                    line class="range" x1=(px(self.at(low))) x2=(px(self.at(high))) y1="8" y2="8" {}
                    circle cx=(px(self.at(at))) cy="8" r="3.2" {}
                }
            }
        }
    }
}

/// −70 % is `ln 0.3`; a shift can reach below −100 %, where the scale ends.
fn log_ratio(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(1e-3).ln()
}

/// Everything else, medians only; the charts show the trials.
fn all_measures(rows: &[&Row]) -> Markup {
    let Some(first) = rows.first() else { return Markup::default() };
    html! {
        details class="more" {
            summary { "All " (rows.len()) " other measures" }
            div class="scroll" {
                table class="data columns" style={ "--columns: " (first.entries.len()) } {
                    thead {
                        tr {
                            th scope="col" { "measure" }
                            @for entry in &first.entries {
                                th scope="col" class="n" { (entry.contestant) }
                            }
                        }
                    }
                    tbody {
                        @for row in rows {
                            tr {
                                th scope="row" { (units::measure(&row.measure)) }
                                @for entry in &row.entries { (compact(row, entry)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn compact(row: &Row, entry: &Entry) -> Markup {
    let median = units::number_or_dash(entry.median, row.unit);
    let percent = entry.shift.and_then(|shift| shift.percent);
    let missing = entry.missing.iter().map(|(why, trials)| format!("{trials} without: {why}"));
    let missing = missing.collect::<Vec<_>>().join("; ");
    html! {
        td class={ "n " (class(entry.verdict)) } title=[(!missing.is_empty()).then_some(missing)] {
            (median)
            @if let Some(percent) = percent && entry.verdict.is_claim() {
                small { (units::percent(percent)) }
            }
        }
    }
}
