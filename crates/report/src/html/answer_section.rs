// SPDX-License-Identifier: GPL-2.0-only
//! The first screen: the answer in sentences, the best contestants under each workload, then every
//! headline measure against the baseline at once.

use maud::{Markup, html};
use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Recommendation, Row, Verdict};

use super::markup::{anchor, class, fact_item, heads, is_wide, joined, name, percent};
use crate::advice::{Evidence, evidence, failures, headline, reasons};

use crate::answer::{answer, only_simulated, standings};
use crate::leaders::{WorkloadLeaders, own_columns};
use crate::reading::{Reading, WorkloadHeadline};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::{agreement, reading, units};

/// A larger table of all headline measures is folded.
const FIELDS_OPEN: usize = 120;

pub fn body(reading: &Reading, agreement: Option<&Agreement>) -> Markup {
    let comparison = reading.comparison;
    let sentences = answer(reading);
    let (first, rest) = sentences.split_first().unzip();
    let rest = rest.unwrap_or_default();
    let agreed = agreement
        .map_or_else(Vec::new, |agreement| agreement::sentences_in_short(comparison, agreement));
    html! {
        p class="lead" { @if let Some(first) = first { (first) } }
        @if !rest.is_empty() {
            ul class="plain" { @for sentence in rest { li { (sentence) } } }
        }
        @if !agreed.is_empty() {
            p { (joined(&agreed, " ")) " " a href="#agreement" { "More" } }
        }
        (leaders_table(reading))
        @if !comparison.notes.is_empty() {
            ul class="notes" aria-label="Read this first" {
                @for note in &comparison.notes { li { (note) } }
            }
        }
        (matrix(reading))
    }
}

/// Headline measures as rows, contestants as columns, shifts against the baseline in the fields.
fn matrix(reading: &Reading) -> Markup {
    let comparison = reading.comparison;
    let mut headlines = reading.headlines.clone();
    headlines.iter_mut().for_each(|headline| headline.rows.retain(|(_, row)| row.is_measured()));
    headlines.retain(|headline| !headline.rows.is_empty());
    if headlines.is_empty() || comparison.contestants.len() < 2 {
        return Markup::default();
    }
    let fields = headlines.iter().map(|headline| headline.rows.len()).sum::<usize>();
    let open = fields * comparison.contestants.len() <= FIELDS_OPEN;
    let wide = if is_wide(comparison) { "all wide" } else { "all" };
    html! {
        details class=(wide) open[open] {
            summary { "Every headline measure against " (comparison.baseline) }
            figure class="matrix" {
                div class="scroll" tabindex="0" role="region" aria-label="All headline measures" {
                    table class="columns" style={ "--columns: " (comparison.contestants.len()) } {
                        thead {
                            tr {
                                th scope="col" { "measure" }
                                th scope="col" class="base" { span { (comparison.baseline) } }
                                @for name in comparison.contestants.iter().skip(1) {
                                    th scope="col" { span { (name) } }
                                }
                            }
                        }
                        @for headline in &headlines { (workload_rows(reading, headline)) }
                        tfoot { (tally(reading)) }
                    }
                }
                figcaption {
                    "The column of the baseline holds its medians; the others hold the shift \
                     against " (name(&comparison.baseline)) ", in percent of that median. A \
                     negative shift is a smaller value; whether that is better is said in the \
                     table of the cell. The interval is in the tooltip and in the tables below. "
                    (legend())
                }
            }
        }
    }
}

fn legend() -> Markup {
    let keys = [
        ("key v-better", "better"),
        ("key v-worse", "worse"),
        ("key v-more", "differs; neither direction is better"),
        ("key v-none", "≈ equivalent: 95 % interval within 1 %"),
        ("key v-none", "~ not distinguishable: the trials do not show a difference"),
        ("key v-none", "= exactly equal"),
        ("key v-none", "· too few trials"),
    ];
    let keys = keys.map(|(class, words)| html! { span class=(class) { (words) } });
    html! {
        (joined(keys, " "))
        ". A claim (better, worse, differs) needs a 95 % interval that excludes zero and a p value \
         below 5 %, corrected for all contestants and settings."
    }
}

/// The rows of one workload: a heading and one row per setting, or a single row.
fn workload_rows(reading: &Reading, headline: &WorkloadHeadline) -> Markup {
    let both = reading.has_several_backends;
    let single = headline.rows.len() == 1 && !both;
    let first = &headline.rows[0];
    let title = html! {
        b { (headline.workload) @if single { " " (setting(first.0)) } }
        " " (units::measure(&first.1.measure))
        @if reading.has_several_places { " " small { (headline.place) } }
    };
    if single {
        return html! { tbody { (matrix_row(reading, *first, &title, "single")) } };
    }
    html! {
        tbody {
            tr class="cell" {
                th colspan=(reading.comparison.contestants.len() + 1) scope="rowgroup" { (title) }
            }
            @for (cell, row) in &headline.rows {
                @let backend = if both { cell.backend.word() } else { "" };
                @let title = html! { (setting(cell)) " " small { (backend) } };
                (matrix_row(reading, (cell, row), &title, "setting"))
            }
        }
    }
}

/// `hogs=24`; empty without parameters.
fn setting(cell: &Cell) -> String {
    let parameters = cell.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    parameters.collect::<Vec<_>>().join(" ")
}

fn matrix_row(
    reading: &Reading,
    (cell, row): (&Cell, &Row),
    title: &Markup,
    class: &str,
) -> Markup {
    html! {
        tr class=(class) {
            th scope="row" { a href={ "#" (anchor(&cell.label())) } { (title) } }
            @for entry in &row.entries {
                @if reading::is_elsewhere(reading.comparison, cell, &entry.contestant) {
                    td class="v-none" { small { (reading::not_here(cell)) } }
                } @else {
                    (field(cell, row, entry, &reading.comparison.baseline))
                }
            }
        }
    }
}

fn field(cell: &Cell, row: &Row, entry: &Entry, baseline: &str) -> Markup {
    let median = entry.median.map(|median| units::number(median, row.unit));
    let (shift, interval) = entry.shift.map(|shift| units::shift(&shift, row.unit)).unzip();
    let words = match entry.verdict {
        Verdict::Baseline => median.clone().unwrap_or_else(|| "–".into()),
        Verdict::NotMeasured => median.clone().unwrap_or_else(|| "–".into()),
        Verdict::TooFewTrials => "·".into(),
        Verdict::Equal => "=".into(),
        Verdict::Equivalent => "≈".into(),
        Verdict::NotDistinguishable => "~".into(),
        _ => shift.clone().unwrap_or_default(),
    };
    let bad = bad_outcomes(cell, entry);
    let is_bad = bad.is_some();
    let verdict = format!("{}: {}", entry.contestant, reading::verdict_words(entry, baseline));
    let details = [Some(verdict), median, shift, interval, bad];
    let details = details.into_iter().flatten().collect::<Vec<_>>().join(", ");
    html! {
        td class=(class(entry.verdict)) title=(details) { (words) @if is_bad { sup { "!" } } }
    }
}

/// How many of the entry's trials did not end well.
fn bad_outcomes(cell: &Cell, entry: &Entry) -> Option<String> {
    let ours = cell.outcomes.iter().filter(|count| count.contestant == entry.contestant);
    let bad: usize = ours.filter(|count| count.outcome != "ok").map(|count| count.trials).sum();
    (bad > 0).then(|| format!("{} did not end well", units::count(bad as u64, "trial")))
}

fn tally(reading: &Reading) -> Markup {
    html! {
        tr {
            th scope="row" { "better / worse" }
            td {}
            @for standing in standings(reading.comparison) {
                td title="better, worse" {
                    span class="t-better" { (standing.better) } " / "
                    span class="t-worse" { (standing.worse) }
                }
            }
        }
    }
}

/// The table; empty where no headline measure has a direction.
fn leaders_table(reading: &Reading) -> Markup {
    let (comparison, lines) = (reading.comparison, &reading.leaders);
    if lines.is_empty() || comparison.contestants.len() < 2 {
        return Markup::default();
    }
    let both = lines.iter().any(|line| line.simulated.is_some());
    let gain = format!("the first of them, against {}", comparison.baseline);
    let own = own_columns(comparison);
    let against = |name| format!("{name}, against {}", comparison.baseline);
    let own_heads: Vec<String> = own.iter().map(against).collect();
    let mut columns = vec![("", "workload"), ("", "machine")];
    columns.extend(own_heads.iter().map(|head| ("", head.as_str())));
    columns.push(("", "best, with all that are not distinguishable from it"));
    columns.push(("", gain.as_str()));
    columns.extend(own.is_empty().then_some(("", "last")));
    columns.extend(both.then_some(("", "simulator")));
    let loads = lines.chunk_by(|a, b| (&a.workload, &a.measure) == (&b.workload, &b.measure));
    html! {
        table class="best" {
            (heads(&columns))
            @for of_load in loads {
                tbody {
                    @for (at, line) in of_load.iter().enumerate() {
                        tr class=[(!line.group.tells()).then_some("alike")] {
                            @if at == 0 {
                                th scope="rowgroup" rowspan=(of_load.len()) {
                                    b { (line.workload) } " " small { (line.measure) }
                                }
                            }
                            (fields(line, both, &own))
                        }
                    }
                }
            }
        }
        p class="aside small" {
            "A contestant is distinguishable from the best if its median differs by more than "
            (percent(stats::compare::verdict::MARGIN_PERCENT / 100.0))
            " and an exact rank test at " (percent(stats::rank::rank_sum::ALPHA))
            ", corrected for all such comparisons (Holm), confirms it; of the baseline \
             the verdicts below decide. “Not distinguishable” means that \
             these trials show no difference; it does not mean equal. Brackets are "
            (percent(comparison.confidence)) " intervals."
        }
    }
}

/// The user's own first; then nobody asks who is last.
fn fields(line: &WorkloadLeaders, both: bool, own: &[&String]) -> Markup {
    html! {
        th scope="row" { a href={ "#" (anchor(&line.cell)) } { (line.place) } }
        @for (name, (verdict, words)) in own.iter().zip(&line.own) {
            td class={ "own " (class(*verdict)) } data-name=(name) { (words) }
        }
        td class="leaders" title=(line.group.best.join(", ")) { (line.group.sentence()) }
        td class="gain" { (line.gain) }
        @if own.is_empty() {
            td class="last" {
                @if let Some((last, far)) = &line.last { (name(last)) " " (far) }
            }
        }
        @if both {
            @match line.simulator() {
                None => { td {} }
                Some(words) if words.0.is_empty() => { td class="sim" { "agrees" } }
                Some(words) => { td class="sim" { (words) } }
            }
        }
    }
}

/// Whether the simulator alone was asked, the first answer, then those against other contestants
/// that stand for the scheduler in use if they say something else; empty without any.
pub fn recommendation(comparison: &Comparison, advice: &[Recommendation]) -> Markup {
    let Some(first) = advice.first() else { return Markup::default() };
    let others = advice[1..].iter().filter(|other| other.advice != first.advice);
    html! {
        @if let Some(prediction) = only_simulated(comparison) { p { (prediction) } }
        (advised_answer(first))
        @for other in others { (advised_answer(other)) }
    }
}

fn advised_answer(advised: &Recommendation) -> Markup {
    html! {
        p class="lead" { strong { (headline(advised)) } }
        dl class="facts" {
            @for (label, sentence) in reasons(advised) { (fact_item(label, sentence)) }
        }
        @let failures = failures(advised);
        @if !failures.is_empty() {
            ul class="notes" { @for failure in failures { li { (failure) } } }
        }
        @for of_measure in evidence(advised) { (table(&of_measure)) }
    }
}

fn table(of_measure: &Evidence) -> Markup {
    let mut table = Table::new(&[
        ("candidate", Left),
        ("median", Right),
        ("against what is used now", Left),
        ("p value", Left),
        ("", Left),
    ]);
    of_measure.rows.iter().for_each(|row| table.add(row.clone()));
    html! {
        h3 { (of_measure.title) }
        p class="aside" { (of_measure.about) }
        (table)
    }
}
