// SPDX-License-Identifier: GPL-2.0-only
//! One self-contained offline HTML file.
//!
//! Everything that must be readable without scripts, on paper and by a screen reader is written
//! here: the answer, the tables, failures, method, provenance, commands. The scripts draw the
//! charts and the table of all trials from one block of JSON. The page's content security policy
//! forbids every network request.
//!
//! Text from records is untrusted: names of schedulers, reasons, dumps. Templates escape it, and
//! it reaches scripts only as data.

mod agreement_section;
mod answer_section;
mod charts_section;
mod detail_level;
pub mod explained;
mod failures_section;
mod figure;
pub mod gallery;
mod gzip_element;
pub(crate) mod markup;
mod method_section;
mod page_data;
mod provenance;
mod results_section;
mod scaling_tables;
mod shift_functions;
mod stretch;
mod time_series_section;
mod timeline;
mod trade_off_section;
mod why_section;

use maud::{Markup, PreEscaped, Render, html};
use model::Record;
use stats::{Comparison, Recommendation};

use detail_level::{DETAILS, DetailLevel};
use markup::{document, fact, is_wide};
use page_data::Resampled;

use crate::reading::Reading;
use crate::{agreement, separation};

#[derive(Clone, Debug, Default)]
pub struct About {
    pub title: String,
    /// The question that the experiment asks: the heading.
    pub question: String,
    /// The commands that made the records and the page, to be copied.
    pub commands: Vec<String>,
    /// When and by which program the page was made; from the caller, because reports have no clock.
    pub generated: String,
    /// Whether the plan was declared as exploratory.
    pub exploratory: bool,
    /// What follows from the aims of a recommendation, for each contestant that stands for the
    /// scheduler in use.
    pub advice: Vec<Recommendation>,
}

impl About {
    fn heading(&self) -> &str {
        if self.question.is_empty() { &self.title } else { &self.question }
    }
}

const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/tables.css"),
    include_str!("../../assets/charts.css"),
    include_str!("../../assets/why.css"),
);

/// The scripts, in the order of use.
const SCRIPT: &str = concat!(
    include_str!("../../assets/base.js"),
    include_str!("../../assets/copy.js"),
    include_str!("../../assets/lazy_draw.js"),
    include_str!("../../assets/plots.js"),
    include_str!("../../assets/distribution.js"),
    include_str!("../../assets/shifts.js"),
    include_str!("../../assets/effects.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/trials.js"),
    include_str!("../../assets/save.js"),
    include_str!("../../assets/report.js"),
);

/// The size limit of a page, so that it opens quickly and can be sent by mail.
pub const LIMIT_BYTES: usize = 8_000_000;

/// The page, with as much detail as fits. `records` must be those that the comparison was made of.
pub fn page(comparison: &Comparison, records: &[Record], about: &About) -> String {
    let reading = Reading::new(comparison);
    let mut page = String::new();
    let resampled = Resampled::new(comparison, records);
    // A page with more numbers of trials than it may have bytes is not made to be thrown away.
    let rows = comparison.cells.iter().map(|cell| cell.rows.len()).max().unwrap_or(0);
    let details = &DETAILS[usize::from(records.len() * rows > LIMIT_BYTES)..];
    for detail in details {
        page = page_with(&reading, records, about, &resampled, detail);
        if page.len() <= LIMIT_BYTES {
            break;
        }
    }
    page
}

fn page_with(
    reading: &Reading,
    records: &[Record],
    about: &About,
    resampled: &Resampled,
    detail: &DetailLevel,
) -> String {
    let comparison = reading.comparison;
    let (sections, numbers) = sections(reading, records, about, resampled, detail);
    let data = page_data::json(comparison, records, resampled, detail, &numbers);
    let body = html! {
        a class="skip" href="#answer" { "Skip to the answer" }
        (header(comparison, about, &sections))
        main { @for section in &sections { (section) } }
        (footer(about))
        (gzip_element::element("data", &data))
        (gzip_element::plotly())
        script { (PreEscaped(SCRIPT)) }
    };
    document(about.heading(), STYLE, &body)
}

/// The sections that have something to say, and the numbers of pictures that are drawn without
/// scripts.
fn sections(
    reading: &Reading,
    records: &[Record],
    about: &About,
    resampled: &Resampled,
    detail: &DetailLevel,
) -> (Vec<Section>, Vec<String>) {
    let comparison = reading.comparison;
    let agreement = agreement::agreed(comparison, records);
    let agreement = agreement.as_ref();
    let recommendation = answer_section::recommendation(comparison, &about.advice);
    let answers = if about.advice.is_empty() { "The answer" } else { "All headline measures" };
    let answer = answer_section::body(reading, agreement);
    let trade_off = trade_off_section::body(comparison, records);
    let agree = agreement_section::body(comparison, agreement);
    let results = results_section::body(reading, records, agreement, detail);
    let charts = charts_section::body(comparison, resampled, detail);
    let (over_time, numbers) = time_series_section::body(comparison, records, resampled, detail);
    let pairs = separation::body(comparison, records);
    let why = why_section::body(comparison, records, detail);
    let failures = failures_section::body(records, detail);
    let method = method_section::body(comparison, records, about);
    let sections = [
        ("recommendation", "Recommendation", "The recommendation", recommendation),
        ("answer", "Answer", answers, answer),
        ("trade-off", "Trade-off", "Throughput against latency", trade_off),
        ("agreement", "Agreement", "Agreement", agree),
        ("results", "Results", "Results", results),
        ("pictures", "Pictures", "Pictures", charts),
        ("over-time", "Over time", "Over time", over_time),
        ("separation", "Pairs", "Which pairs are distinguishable", pairs),
        ("why", "Why", "Why tasks waited", why),
        ("failures", "Failures", "What did not end well", failures),
        ("trials", "Trials", "All trials", trials(records.len())),
        ("method", "Method", "What was compared, and how", method),
    ];
    let section = |(id, link, heading, body)| {
        let is_wide = id == "results" && is_wide(comparison);
        Section { id, link, heading, body, is_wide }
    };
    let sections = sections.into_iter().filter(|(.., body)| !body.0.is_empty());
    (sections.map(section).collect(), numbers)
}

struct Section {
    /// Its address within the page.
    id: &'static str,
    /// Its name in the contents.
    link: &'static str,
    heading: &'static str,
    /// What is below the heading; a section without it is left out.
    body: Markup,
    /// Whether it is printed across.
    is_wide: bool,
}

impl Section {
    /// Whether it answers the question; a phone folds the others.
    fn is_first(&self) -> bool {
        matches!(self.id, "recommendation" | "answer")
    }
}

impl Render for Section {
    fn render(&self) -> Markup {
        html! {
            section id=(self.id) class=[self.is_wide.then_some("wide")] {
                @if self.is_first() {
                    h2 { (self.heading) }
                    (self.body)
                } @else {
                    details class="part" open {
                        summary { h2 { (self.heading) } }
                        (self.body)
                    }
                }
            }
        }
    }
}

fn header(comparison: &Comparison, about: &About, sections: &[Section]) -> Markup {
    html! {
        header class="masthead" {
            div class="inner" {
                p class="kicker" {
                    "Fairground report · " (about.title)
                    @if about.exploratory { " · exploratory" }
                }
                h1 { (about.heading()) }
                p class="facts" {
                    (fact(comparison.contestants.len(), "contestant"))
                    (fact(comparison.cells.len(), "cell"))
                    (fact(comparison.records, "trial"))
                }
            }
        }
        nav class="contents" aria-label="Contents" {
            div class="inner" {
                @for Section { id, link, .. } in sections { a href={ "#" (id) } { (link) } }
            }
        }
    }
}

fn trials(count: usize) -> Markup {
    // Room for the rows that the scripts make at first, so that nothing below them moves.
    let rows = count.min(24);
    html! {
        p class="aside" {
            (count) " trials in any outcome. Select one to see all its numbers; its address can \
             be shared. “Position” is the place in the order in which they were planned to run, \
             “in boot” the place in that boot; trials of one block and one cell have one seed."
        }
        div class="controls" {
            label {
                "Filter "
                input id="trial-filter" type="search" placeholder="contestant, cell, outcome …";
            }
            span id="trial-count" aria-live="polite" {}
        }
        noscript {
            p {
                "The table needs JavaScript; " code { "fairground export csv" } " writes the same \
                 numbers."
            }
        }
        p class="earlier" { button id="trial-before" type="button" hidden { "Show before" } }
        div class="scroll" style={ "--rows: " (rows) } {
            table id="trial-table" class="data" {}
        }
        p { button id="trial-more" type="button" hidden { "Show more" } }
    }
}

fn footer(about: &About) -> Markup {
    html! {
        footer {
            p { (about.generated) }
            p {
                "Made with Fairground (GPL-2.0). Charts drawn by plotly.js (MIT). This page \
                 fetches nothing and sends nothing."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::SCRIPT;

    /// The scripts share one scope, where a second function of a name silently replaces the first.
    #[test]
    fn functions_of_the_scripts_have_unique_names() {
        let lines = SCRIPT.lines().map(|line| line.strip_prefix("async ").unwrap_or(line));
        let functions = lines.filter_map(|line| line.strip_prefix("function "));
        let mut names = BTreeSet::new();
        for name in functions.filter_map(|function| function.split('(').next()) {
            assert!(names.insert(name), "two functions are called {name}");
        }
        assert!(names.contains("drawCharts"));
    }
}
