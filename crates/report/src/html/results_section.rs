// SPDX-License-Identifier: GPL-2.0-only
//! Tables of every cell: headline measures with intervals and their picture, then all other
//! measures.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::measure;
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Interval, Row, Shift, Verdict};

use super::backends_table;
use super::detail_level::{DetailLevel, shows};
use super::escape::{anchor, text};
use super::markup::class;
use crate::reading::Reading;
use crate::{cells, units};

pub fn section(reading: &Reading, agreement: Option<&Agreement>, detail: &DetailLevel) -> String {
    let comparison = reading.comparison;
    let start = comparison.cells.get(cells::most_decided(comparison));
    let opens = |cells: &[&Cell]| cells.iter().any(|cell| Some(*cell) == start);
    let first = reading.questions.iter().position(|cells| opens(cells)).unwrap_or_default();
    let questions = reading.questions.iter().enumerate().map(|(place, cells)| {
        if !shows(place, first, detail.cells) {
            return cells.iter().map(|cell| left_out(cell)).collect();
        }
        match (cells.as_slice(), agreement) {
            ([_, _], Some(agreement)) => both(comparison, cells, agreement, detail, place == first),
            _ => cells.iter().map(|cell| details(cell, detail, place == first)).collect(),
        }
    });
    format!(
        "<section id=\"results\"{}><h2>Results</h2><p class=\"aside\">Medians over trials with \
         {:.0} % intervals \
         (bootstrap: boots first, then trials within them), and the Hodges–Lehmann shift against \
         <b \
         class=\"name\">{}</b>. The bars show the shift with its interval on a scale of ratios; \
         the line is no difference{}.</p>{}\
         </section>\n",
        if super::frame::is_wide(comparison) { " class=\"wide\"" } else { "" },
        comparison.confidence * 100.0,
        text(&comparison.baseline),
        if has_noise(comparison) {
            ", the band is the noise floor: the largest difference that A/A trials show"
        } else {
            ""
        },
        questions.collect::<String>()
    )
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
) -> String {
    let open = if open { " open" } else { "" };
    let first = cells[0];
    let pairs = backends_table::tables(comparison, cells, agreement);
    let own = |cell: &&Cell| {
        format!(
            "<details class=\"more\" id=\"{}\"><summary>Intervals and all measures of {} alone \
             {}</summary>{}</details>",
            anchor(&cell.label()),
            cell.backend.word(),
            tally(cell),
            body(cell, detail)
        )
    };
    let own: String = cells.iter().map(own).collect();
    let backends: Vec<&str> = cells.iter().map(|cell| cell.backend.word()).collect();
    format!(
        "<details class=\"cell\"{open}><summary><span class=\"cell-name\">{}</span> <span \
         class=\"where\">{} · {}</span></summary><p class=\"aside\">{}</p>{pairs}{own}</details>\n",
        text(&first.name),
        text(&first.machine),
        backends.join(" and "),
        text(&first.about)
    )
}

fn details(cell: &Cell, detail: &DetailLevel, open: bool) -> String {
    let body = format!("<p class=\"aside\">{}</p>{}", text(&cell.about), body(cell, detail));
    fold(cell, &body, open)
}

/// A cell whose tables are not in the page: the target of its links explains that.
fn left_out(cell: &Cell) -> String {
    let words = "<p class=\"aside\">There is too much data for this cell’s tables; \
                 <code>fairground compare</code> and <code>fairground export csv</code> have \
                 them.</p>";
    fold(cell, words, false)
}

fn fold(cell: &Cell, body: &str, open: bool) -> String {
    let open = if open { " open" } else { "" };
    format!(
        "<details class=\"cell\" id=\"{}\"{open}><summary><span class=\"cell-name\">{}</span> \
         <span \
         class=\"where\">{} · {}</span>{}</summary>{body}</details>\n",
        anchor(&cell.label()),
        text(&cell.name),
        text(&cell.machine),
        cell.backend.word(),
        tally(cell)
    )
}

/// The tables of one backend.
fn body(cell: &Cell, detail: &DetailLevel) -> String {
    let known = |row: &&Row| row.is_measured();
    let headlines: String = cell.headline().filter(known).map(|row| table(row, cell)).collect();
    let others: Vec<&Row> = cell.rows.iter().filter(|row| !row.headline).filter(known).collect();
    let (headlines, others) = if headlines.is_empty() {
        (others.iter().map(|row| table(row, cell)).collect(), Vec::new())
    } else {
        (headlines, others)
    };
    let others = if detail.other_measures || others.is_empty() {
        all_measures(&others)
    } else {
        format!(
            "<p class=\"aside small\">There is too much data for the {} other measures; \
             <code>fairground export csv</code> has them.</p>",
            others.len()
        )
    };
    headlines + &others + &unmeasured(cell)
}

/// Measures without any number, and why.
fn unmeasured(cell: &Cell) -> String {
    let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in cell.rows.iter().filter(|row| !row.is_measured()) {
        let reasons: BTreeSet<&str> =
            row.entries.iter().flat_map(|entry| entry.missing.keys().map(String::as_str)).collect();
        let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
        by_reason.entry(reasons).or_default().push(units::measure(&row.measure));
    }
    let words = |(reason, measures): (&String, &Vec<String>)| {
        let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        text(&format!("{}{why}", measures.join(", ")))
    };
    let words: Vec<String> = by_reason.iter().map(words).collect();
    match words.as_slice() {
        [] => String::new(),
        words => {
            format!(
                "<p class=\"aside small\">No contestant has a number for {}.</p>",
                words.join("; ")
            )
        }
    }
}

/// The number of better and worse headline verdicts of a cell, for its folded line.
fn tally(cell: &Cell) -> String {
    let count = |verdict: Verdict| {
        let entries = cell.headline().flat_map(|row| &row.entries);
        entries.filter(|entry| entry.verdict == verdict).count()
    };
    let (better, worse) = (count(Verdict::Better), count(Verdict::Worse));
    let bad: usize = cell.outcomes.iter().filter(|c| c.outcome != "ok").map(|c| c.trials).sum();
    let bad = if bad > 0 { format!(" · {bad} not ok") } else { String::new() };
    format!(
        "<span class=\"tally\"><span class=\"t-better\">{better} better</span> · <span \
         class=\"t-worse\">{worse} worse</span>{bad}</span>"
    )
}

fn table(row: &Row, cell: &Cell) -> String {
    let scale = RatioScale::new(row);
    let lines: String = row.entries.iter().map(|entry| line(row, entry, cell, scale)).collect();
    let definition = measure(&row.measure.name).map_or("", |measure| measure.definition);
    format!(
        "<div class=\"scroll\"><table class=\"data result\"><caption><span title=\"{}\">{}</span> \
         <small>{}{}\
         </small></caption><thead><tr><th scope=\"col\">contestant</th><th scope=\"col\" \
         class=\"n\" \
         title=\"trials with a number / boots that they come from\">trials/boots</th><th \
         scope=\"col\" \
         class=\"n\">median</th><th \
         scope=\"col\">95 % interval</th><th scope=\"col\" class=\"n\">shift</th><th \
         scope=\"col\">interval</th><th scope=\"col\" class=\"bar\"><span \
         class=\"sr\">picture</span></th>\
         <th scope=\"col\">verdict</th></tr></thead><tbody>{lines}</tbody></table></div>\n",
        text(definition),
        text(&units::measure(&row.measure)),
        units::direction(row.direction).unwrap_or("neither is better"),
        row.noise.map_or_else(String::new, |it| format!(" · {}", text(&units::noise(&it))))
    )
}

fn line(row: &Row, entry: &Entry, cell: &Cell, scale: RatioScale) -> String {
    if !cells::takes_part(cell, &entry.contestant) {
        return format!(
            "<tr class=\"v-none\"><th scope=\"row\">{}</th><td colspan=\"6\"></td><td \
             class=\"verdict\">{}</td></tr>",
            text(&entry.contestant),
            cells::not_here(cell)
        );
    }
    let median = entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
    let range = entry.interval.zip(entry.median);
    let range = range.map(|(interval, at)| units::interval(interval, at, row.unit));
    let shift = entry.shift.map(|shift| units::shift(&shift, row.unit));
    let (shift, interval) = shift.unwrap_or_default();
    format!(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"n\">{}<small>/{}</small></td><td \
         class=\"n \
         median\">{}</td><td class=\"range\">{}</td><td class=\"n shift\">{}</td><td \
         class=\"range\">{}</td>\
         <td class=\"bar\">{}</td><td class=\"verdict\">{}{}</td></tr>",
        class(entry.verdict),
        text(&entry.contestant),
        entry.trials,
        entry.boots,
        text(&median),
        text(&range.unwrap_or_default()),
        text(&shift),
        text(&interval),
        scale.bar_over(row.noise.map(|noise| noise.percent), entry.shift.as_ref()),
        entry.verdict.words(),
        remarks(entry, cell)
    )
}

/// Pairs under a virtual clock, the corrected p value, why numbers are missing, bad outcomes.
fn remarks(entry: &Entry, cell: &Cell) -> String {
    let mut remarks = Vec::new();
    if let Some(pairs) = entry.by_seed.filter(|_| entry.verdict != Verdict::Equal) {
        let (lower, equal, higher) = (pairs.lower, pairs.equal, pairs.higher);
        if lower + equal + higher > 0 {
            remarks.push(format!("by seed: {lower} lower, {equal} equal, {higher} higher"));
        }
    }
    let told = matches!(entry.verdict, Verdict::NotDistinguishable) || entry.verdict.is_claim();
    remarks.extend(entry.p_value.filter(|_| told).map(units::p_value));
    remarks.extend(entry.missing.iter().map(|(why, trials)| format!("{trials} without: {why}")));
    let bad = cell.outcomes.iter().filter(|count| count.outcome != "ok");
    let bad = bad.filter(|count| count.contestant == entry.contestant);
    remarks.extend(bad.map(|count| format!("{} {}", count.trials, count.outcome)));
    remarks.iter().map(|remark| format!("<small>{}</small>", text(remark))).collect()
}

/// A row's common scale of ratios, in natural logarithms.
#[derive(Clone, Copy)]
pub struct RatioScale(f64);

/// Half of the picture's width.
const HALF: f64 = 70.0;

impl RatioScale {
    fn new(row: &Row) -> RatioScale {
        RatioScale::over(row.entries.iter().filter_map(|entry| entry.shift.as_ref()))
    }

    /// The scale that holds all these intervals.
    pub fn over<'a>(shifts: impl Iterator<Item = &'a Shift>) -> RatioScale {
        let intervals = shifts.filter_map(|shift| shift.percent_interval);
        let ends = intervals.flat_map(|interval| [interval.low, interval.high]);
        RatioScale(ends.map(|end| log_ratio(end).abs()).fold(1.05f64.ln(), f64::max))
    }

    fn at(self, percent: f64) -> f64 {
        HALF + HALF * 0.94 * (log_ratio(percent) / self.0).clamp(-1.0, 1.0)
    }

    /// The picture of an interval.
    pub fn bar(self, shift: Option<&Shift>) -> String {
        self.bar_over(None, shift)
    }

    fn band(self, percent: f64) -> String {
        // A ratio scale that is symmetric around 1.
        let down = -100.0 * percent / (100.0 + percent);
        let (low, high) = (self.at(down), self.at(percent));
        let width = high - low;
        format!("<rect class=\"noise\" x=\"{low:.1}\" y=\"1\" width=\"{width:.1}\" height=\"14\"/>")
    }

    /// The same over a band as wide as the noise floor.
    fn bar_over(self, noise_percent: Option<f64>, shift: Option<&Shift>) -> String {
        let band = noise_percent.map_or_else(String::new, |percent| self.band(percent));
        let Some(shift) = shift else { return zero_line("") };
        let Some((at, interval)) = shift.percent.zip(shift.percent_interval) else {
            return zero_line(&band);
        };
        let Interval { low, high } = interval;
        zero_line(&format!(
            "{band}<line class=\"range\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"8\" y2=\"8\"/><circle \
             cx=\"{:.1}\" \
             cy=\"8\" r=\"3.2\"/>",
            self.at(low),
            self.at(high),
            self.at(at)
        ))
    }
}

fn zero_line(marks: &str) -> String {
    format!(
        "<svg class=\"forest\" viewBox=\"0 0 {0} 16\" width=\"{0}\" height=\"16\" \
         aria-hidden=\"true\">\
         <line class=\"zero\" x1=\"{HALF}\" x2=\"{HALF}\" y1=\"0\" y2=\"16\"/>{marks}</svg>",
        2.0 * HALF
    )
}

/// −70 % is `ln 0.3`; a shift can reach below −100 %, where the scale ends.
fn log_ratio(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(1e-3).ln()
}

/// Everything else, medians only; the charts show the trials.
fn all_measures(rows: &[&Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let heads: String = first
        .entries
        .iter()
        .map(|entry| format!("<th scope=\"col\" class=\"n\">{}</th>", text(&entry.contestant)))
        .collect();
    let lines: String = rows.iter().map(|row| compact(row)).collect();
    format!(
        "<details class=\"more\"><summary>All {} other measures</summary><div \
         class=\"scroll\"><table class=\"data columns\" style=\"--columns: {}\"><thead><tr><th \
         scope=\"col\">measure</th>{heads}</tr></thead><tbody>{lines}</tbody>\
         </table></div></details>",
        rows.len(),
        first.entries.len()
    )
}

fn compact(row: &Row) -> String {
    let field = |entry: &Entry| {
        let median =
            entry.median.map_or_else(|| "–".into(), |value| units::number(value, row.unit));
        let percent =
            entry.shift.filter(|_| entry.verdict.is_claim()).and_then(|shift| shift.percent);
        let percent = percent.map(|percent| format!("<small>{}</small>", units::percent(percent)));
        let missing = entry.missing.iter().map(|(why, trials)| format!("{trials} without: {why}"));
        let missing = text(&missing.collect::<Vec<_>>().join("; "));
        let title = if missing.is_empty() { missing } else { format!(" title=\"{missing}\"") };
        format!(
            "<td class=\"n {}\"{title}>{}{}</td>",
            class(entry.verdict),
            text(&median),
            percent.unwrap_or_default()
        )
    };
    let fields: String = row.entries.iter().map(field).collect();
    format!("<tr><th scope=\"row\">{}</th>{fields}</tr>", text(&units::measure(&row.measure)))
}
