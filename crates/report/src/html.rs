// SPDX-License-Identifier: GPL-2.0-only
//! One self-contained offline HTML file.
//!
//! Everything that must be readable without scripts, on paper and by a screen reader is written
//! here: the answer, the tables, failures, method, provenance, commands. The scripts draw the
//! charts and the table of all trials from one block of JSON. The page's content security policy
//! forbids every network request.
//!
//! Text from records is untrusted: names of schedulers, reasons, dumps. It passes through
//! [`escape`] and reaches scripts only as data.

mod agreement_section;
mod answer_section;
mod backends_table;
mod charts_section;
mod detail_level;
mod distributions;
mod escape;
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

use model::Record;
use stats::Comparison;
use stats::view::history::History;

use detail_level::{DETAILS, DetailLevel};
use escape::text;
use frame::{command, fact, head};
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
    let body = sections.concat();
    let data = page_data::json(comparison, records, resampled, detail, &numbers);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}</head>\n<body>\n\
         <a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n{}<main>\n{body}</main>\n{}\
         {}\n{}\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        head(&about.title, STYLE),
        header(comparison, about, &body),
        footer(about),
        gzip_element::element("data", &data),
        plotly_library::element(),
    )
}

/// The heading, and links to the sections that the body has.
fn header(comparison: &Comparison, about: &About, body: &str) -> String {
    let facts = [
        (comparison.contestants.len(), "contestant"),
        (comparison.cells.len(), "cell"),
        (comparison.records, "trial"),
    ];
    let facts: String = facts.into_iter().map(|(count, noun)| fact(count, noun)).collect();
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
    let exists = |(id, _): &&(&str, &str)| body.contains(&format!("<section id=\"{id}\""));
    let links: String = links
        .iter()
        .filter(exists)
        .map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>"))
        .collect();
    format!(
        "<header class=\"masthead\"><div class=\"inner\"><p class=\"kicker\">Fairground \
         report{}</p><h1>{}</h1><p class=\"question\">{}</p>\
         <p class=\"facts\">{facts}</p></div></header>\n\
         <nav class=\"contents\" aria-label=\"Contents\"><div class=\"inner\">{links}</div>\
         </nav>\n",
        if about.exploratory { " · exploratory" } else { "" },
        text(&about.title),
        text(&about.question),
    )
}

fn trials(count: usize) -> String {
    // Room for the rows that the scripts make at first, so that nothing below them moves.
    let rows = count.min(24);
    format!(
        "<section id=\"trials\"><h2>All trials</h2><p class=\"aside\">{count} trials in any \
         outcome. Select \
         one to see all its numbers; its address can be shared.</p>\
         <div class=\"controls\"><label>Filter <input id=\"trial-filter\" type=\"search\" \
         placeholder=\"contestant, cell, outcome …\"></label><span id=\"trial-count\" \
         aria-live=\"polite\"></span></div><noscript><p>The table needs JavaScript; \
         <code>fairground export csv</code> writes the same numbers.</p></noscript>\
         <p class=\"earlier\"><button id=\"trial-before\" type=\"button\" hidden>Show before\
         </button></p><div class=\"scroll\" style=\"--rows: {rows}\"><table id=\"trial-table\" \
         class=\"data\"></table></div><p><button id=\"trial-more\" type=\"button\" hidden>Show more\
         </button></p></section>\n"
    )
}

fn reproduce(about: &About) -> String {
    let commands: String = about.commands.iter().map(|line| command(line)).collect();
    format!("<section id=\"reproduce\"><h2>Reproduce it</h2>{commands}</section>\n")
}

fn footer(about: &About) -> String {
    format!(
        "<footer><p>{}</p><p>Made with Fairground (GPL-2.0). Charts drawn by plotly.js (MIT). This \
         page \
         fetches nothing and sends nothing.</p></footer>\n",
        text(&about.generated)
    )
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
