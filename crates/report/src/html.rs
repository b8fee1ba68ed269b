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
mod backends_table;
mod charts_section;
mod detail_level;
mod distributions;
mod expectation_plot;
mod explanation_section;
mod failures_section;
mod figure;
mod frame;
pub mod gallery;
mod gzip_element;
mod history_section;
mod knees;
mod leaders_table;
mod markup;
mod method_section;
mod page_data;
mod plotly_library;
mod provenance_section;
mod recorded_section;
pub mod replication_page;
mod results_section;
mod scaling_section;
mod separation_section;
mod shift_functions;
mod short_number;
mod starvation;
mod time_series_section;
mod timeline_section;
mod trade_off_section;

use maud::{Markup, PreEscaped, html};
use model::Record;
use stats::Comparison;
use stats::view::history::History;

use detail_level::{DETAILS, DetailLevel};
use frame::{command, document, fact};
use page_data::Resampled;

use crate::agreement;
use crate::lineage::Member;
use crate::reading::Reading;
use crate::recorded::RecordedWorkload;

/// The context of a page.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The heading, e.g. the experiment's name.
    pub title: String,
    /// The question that the experiment asks.
    pub question: String,
    /// The commands that made the records and the page, to be copied.
    pub commands: Vec<String>,
    /// When and by which program the page was made; from the caller, because reports have no clock.
    pub generated: String,
    /// The built-in schedulers, whether they take part or not.
    pub lineage: Vec<Member>,
    /// Whether the plan was declared as exploratory.
    pub exploratory: bool,
    /// The recordings that the trials played, with what their tapes show.
    pub recorded: Vec<RecordedWorkload>,
    /// The history of the experiment, if there are several sessions.
    pub history: Option<History>,
}

const STYLE: &str = concat!(
    include_str!("../assets/page.css"),
    include_str!("../assets/tables.css"),
    include_str!("../assets/charts.css"),
    include_str!("../assets/why.css"),
);

/// The scripts, in the order of use.
const SCRIPT: &str = concat!(
    include_str!("../assets/base.js"),
    include_str!("../assets/copy.js"),
    include_str!("../assets/sight.js"),
    include_str!("../assets/plots.js"),
    include_str!("../assets/distribution.js"),
    include_str!("../assets/shifts.js"),
    include_str!("../assets/effects.js"),
    include_str!("../assets/scaling.js"),
    include_str!("../assets/timeline.js"),
    include_str!("../assets/trials.js"),
    include_str!("../assets/save.js"),
    include_str!("../assets/report.js"),
);

/// The size limit of a page, so that it opens quickly and can be sent by mail.
pub const LIMIT_BYTES: usize = 8_000_000;

/// The page, with as much detail as fits. `records` must be those that the comparison was made of.
pub fn page(comparison: &Comparison, records: &[Record], about: &About) -> String {
    let reading = Reading::new(comparison);
    let mut page = String::new();
    let resampled = Resampled::new(comparison, records);
    for detail in &DETAILS {
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
    let agreement = agreement::agreed(comparison, records);
    let agreement = agreement.as_ref();
    let (over_time, numbers) = time_series_section::section(comparison, records, resampled, detail);
    let sections = [
        answer_section::section(reading, agreement),
        trade_off_section::section(comparison, records),
        agreement_section::section(comparison, agreement),
        results_section::section(reading, agreement, detail),
        charts_section::section(
            comparison,
            resampled,
            detail,
            &knees::section(&resampled.ramps, comparison),
        ),
        over_time,
        separation_section::section(comparison, records),
        history_section::section(about.history.as_ref()),
        scaling_section::section(comparison, records, &about.lineage),
        explanation_section::section(comparison, records),
        timeline_section::section(records, detail.slices),
        recorded_section::section(&about.recorded),
        failures_section::section(records, detail),
        method_section::section(comparison, records),
        trials(records.len()),
        provenance_section::section(records),
        reproduce(about),
    ];
    let sections = sections.map(Markup::into_string).concat();
    let data = page_data::json(comparison, records, resampled, detail, &numbers);
    let body = html! {
        a class="skip" href="#answer" { "Skip to the answer" }
        (header(comparison, about, &sections))
        main { (PreEscaped(&sections)) }
        (footer(about))
        (gzip_element::element("data", &data))
        (plotly_library::element())
        script { (PreEscaped(SCRIPT)) }
    };
    document(&about.title, STYLE, &body)
}

/// The heading, and links to the sections that the page has.
fn header(comparison: &Comparison, about: &About, sections: &str) -> Markup {
    let links = [
        ("answer", "Answer"),
        ("trade-off", "Trade-off"),
        ("agreement", "Agreement"),
        ("results", "Results"),
        ("pictures", "Pictures"),
        ("over-time", "Over time"),
        ("separation", "Pairs"),
        ("history", "History"),
        ("scaling", "Scaling"),
        ("why", "Why"),
        ("timeline", "Timeline"),
        ("recorded", "Recorded load"),
        ("failures", "Failures"),
        ("method", "Method"),
        ("trials", "Trials"),
        ("provenance", "Provenance"),
        ("reproduce", "Reproduce"),
    ];
    let exists = |id: &str| sections.contains(&format!("<section id=\"{id}\""));
    html! {
        header class="masthead" {
            div class="inner" {
                p class="kicker" {
                    "Fairground report" @if about.exploratory { " · exploratory" }
                }
                h1 { (about.title) }
                p class="question" { (about.question) }
                p class="facts" {
                    (fact(comparison.contestants.len(), "contestant"))
                    (fact(comparison.cells.len(), "cell"))
                    (fact(comparison.records, "trial"))
                }
            }
        }
        nav class="contents" aria-label="Contents" {
            div class="inner" {
                @for (id, name) in links {
                    @if exists(id) { a href={ "#" (id) } { (name) } }
                }
            }
        }
    }
}

fn trials(count: usize) -> Markup {
    // Room for the rows that the scripts make at first, so that nothing below them moves.
    let rows = count.min(24);
    html! {
        section id="trials" {
            h2 { "All trials" }
            p class="aside" {
                (count) " trials in any outcome. Select one to see all its numbers; its address \
                 can be shared."
            }
            div class="controls" {
                label {
                    "Filter "
                    input id="trial-filter" type="search"
                        placeholder="contestant, cell, outcome …";
                }
                span id="trial-count" aria-live="polite" {}
            }
            noscript {
                p {
                    "The table needs JavaScript; " code { "fairground export csv" } " writes the \
                     same numbers."
                }
            }
            p class="earlier" {
                button id="trial-before" type="button" hidden { "Show before" }
            }
            div class="scroll" style={ "--rows: " (rows) } {
                table id="trial-table" class="data" {}
            }
            p { button id="trial-more" type="button" hidden { "Show more" } }
        }
    }
}

fn reproduce(about: &About) -> Markup {
    html! {
        section id="reproduce" {
            h2 { "Reproduce it" }
            @for line in &about.commands { (command(line)) }
        }
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
