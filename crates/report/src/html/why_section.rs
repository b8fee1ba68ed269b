// SPDX-License-Identifier: GPL-2.0-only
//! Why tasks waited, for the traced trials: for each cell the use of time by each task group under
//! every contestant, then for each trial the tasks that ran instead and the causes of the longest
//! waits, then a timeline.

use maud::{Markup, html};
use model::Record;
use model::metric::Unit;
use stats::Comparison;
use stats::explain::{Chosen, Explanation, Spent, Wait, explain};

use super::detail_level::DetailLevel;
use super::markup::{heads, joined, name};
use super::stretch::Stretches;
use super::timeline;
use crate::explain::sentences;
use crate::{inside, units};

/// The number of longest waits of each group that are explained.
const WAITS: usize = 2;
/// Slices of the drawing of a trial's longest wait.
const SLICES: usize = 200;

struct ExplainedTrial<'a> {
    record: &'a Record,
    explanation: Explanation,
}

pub fn body(comparison: &Comparison, records: &[Record], detail: &DetailLevel) -> Markup {
    let explained = |record| {
        Some(ExplainedTrial { record, explanation: explain(record, &Chosen::each(WAITS))? })
    };
    let mut trials: Vec<ExplainedTrial<'_>> = records.iter().filter_map(explained).collect();
    trials.sort_by_key(|traced| {
        let trial = &traced.record.trial;
        let name = &trial.contestant.name;
        let place = comparison.contestants.iter().position(|other| other == name);
        (place, trial.backend.is_model())
    });
    let mut places: Vec<String> = Vec::new();
    for traced in &trials {
        let place = place(traced.record);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    html! {
        @if trials.is_empty() {
            p class="aside" {
                "No trial was traced. Name cells in the experiment's " code { "trace" } ", or run \
                 with " code { "--trace" } "."
            }
        } @else {
            p class="aside" {
                "Where the time of the traced trials went: one trial of each contestant, so these \
                 are examples, not statistics. " (legend())
            }
            @for place in &places { (cell(place, &trials)) }
            (timeline::figure(records, detail.slices))
        }
    }
}

fn legend() -> Markup {
    let keys = [
        ("key s-run", "running"),
        ("key s-wait", "waiting: able to run, and not running"),
        ("key s-sleep", "sleeping"),
        ("key s-block", "blocked by the disk"),
    ];
    joined(keys.map(|(class, words)| html! { span class=(class) { (words) } }), " ")
}

/// The cell, on any backend.
fn place(record: &Record) -> String {
    format!("{} on {}", record.trial.workload.cell(), record.trial.machine.name)
}

fn cell(place: &str, trials: &[ExplainedTrial<'_>]) -> Markup {
    let ours: Vec<&ExplainedTrial<'_>> =
        trials.iter().filter(|traced| self::place(traced.record) == place).collect();
    let mut groups: Vec<&str> = Vec::new();
    for group in ours.iter().flat_map(|traced| &traced.explanation.groups) {
        if !group.name.is_empty() && !groups.contains(&group.name.as_str()) {
            groups.push(&group.name);
        }
    }
    html! {
        h3 { (place) }
        div class="scroll" {
            table class="data spent" {
                (heads(&[
                    ("", "tasks"),
                    ("", "under"),
                    ("", "where their time went"),
                    ("n", "running"),
                    ("n", "waiting"),
                    ("n", "longest wait"),
                    ("", "what ran meanwhile"),
                ]))
                @for group in groups { tbody { (group_rows(group, &ours)) } }
            }
        }
        @for traced in ours { (trial(traced)) }
    }
}

/// A group under every contestant.
fn group_rows(name: &str, trials: &[&ExplainedTrial<'_>]) -> Markup {
    let spent = |traced: &&ExplainedTrial<'_>| {
        let group = traced.explanation.groups.iter().find(|group| group.name == name)?;
        Some((who(traced.record), group.clone()))
    };
    let rows: Vec<(String, Spent)> = trials.iter().filter_map(spent).collect();
    html! {
        @for (place, (who, group)) in rows.iter().enumerate() {
            tr {
                @if place == 0 {
                    th scope="rowgroup" rowspan=(rows.len()) {
                        (name) small { " × " (group.tasks) }
                    }
                }
                td { (who) }
                (fields(group))
            }
        }
    }
}

/// `vtime · sim`.
fn who(record: &Record) -> String {
    format!("{} · {}", record.trial.contestant.name, record.trial.backend.word())
}

fn fields(group: &Spent) -> Markup {
    let share = |ns: u64| sentences::share(ns, group.lifetime_ns);
    let longest = match group.longest_wait_ns {
        0 => "–".into(),
        ns => sentences::time(ns),
    };
    let instead = match group.waiting_ns {
        0 => "no task waited".into(),
        all => sentences::instead(&group.instead_ns, group.cpu_idle_ns, all),
    };
    html! {
        td { (bar(group)) }
        td class="n" { (share(group.running_ns)) }
        td class="n" { (share(group.waiting_ns)) }
        td class="n" { (longest) }
        td class="idle" { (instead) }
    }
}

/// Four parts of a bar; its title has the numbers.
fn bar(group: &Spent) -> Markup {
    let parts = [
        ("s-run", "running", group.running_ns),
        ("s-wait", "waiting", group.waiting_ns),
        ("s-sleep", "sleeping", group.sleeping_ns),
        ("s-block", "blocked", group.blocked_ns),
    ];
    let percent = |ns: u64| 100.0 * ns as f64 / group.lifetime_ns.max(1) as f64;
    let shown = parts.iter().filter(|(_, _, ns)| *ns > 0);
    let words: Vec<String> =
        shown.clone().map(|(_, word, ns)| format!("{word} {}", sentences::time(*ns))).collect();
    let words = words.join(", ");
    html! {
        span class="parts" role="img" aria-label=(words) title=(words) {
            @for (class, _, ns) in shown {
                i class=(class) style=(format!("width:{:.2}%", percent(*ns))) {}
            }
        }
    }
}

fn trial(traced: &ExplainedTrial<'_>) -> Markup {
    let explanation = &traced.explanation;
    let episodes: Vec<_> = explanation.idle.worst.iter().take(3).collect();
    let inside = inside::text(&traced.record.provenance, explanation, false);
    html! {
        details class="more why" {
            summary { (who(traced.record)) ": " (summary(explanation)) }
            h4 { "The longest waits" }
            @if explanation.waits.is_empty() {
                p { "No task waited." }
            } @else {
                ol class="waits" { @for wait in &explanation.waits { (story(wait)) } }
                @if let (Some(wait), Some(trace)) = (longest(explanation), &traced.record.trace) {
                    (Stretches::new(trace, explanation).figure(wait, SLICES))
                }
            }
            h4 { "Idle while work waited" }
            p { (sentences::idle(explanation)) }
            @if !episodes.is_empty() {
                ul { @for episode in episodes { li { (sentences::episode(episode)) } } }
            }
            @for note in sentences::notes(explanation) {
                p class="aside" { "Note: " (note) "." }
            }
            @if !inside.is_empty() {
                @let own = traced.record.trial.contestant.scheduler.is_own_file();
                details class={ "inside" @if own { " own" } } {
                    summary { "Inside the scheduler" }
                    pre { (inside.trim_start()) }
                }
            }
        }
    }
}

fn longest(explanation: &Explanation) -> Option<&Wait> {
    explanation.waits.first()
}

/// `817 switches, longest wait 62.6 ms (hog/1)`.
fn summary(explanation: &Explanation) -> String {
    let switches = units::number(explanation.switches as f64, Unit::Count);
    let longest = longest(explanation).map(|wait| {
        let ns = sentences::time(wait.to_ns - wait.from_ns);
        format!(", longest wait {ns} ({})", wait.task)
    });
    format!("{switches} switches{}", longest.unwrap_or_default())
}

fn story(wait: &Wait) -> Markup {
    html! {
        li {
            b { (sentences::time(wait.to_ns - wait.from_ns)) } " " (name(&wait.task)) ": "
            (sentences::wait(wait).join(" "))
        }
    }
}
