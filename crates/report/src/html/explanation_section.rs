// SPDX-License-Identifier: GPL-2.0-only
//! Why tasks waited, for the traced trials: for each cell the use of time by each task group under
//! every contestant, then for each trial the tasks that ran instead and the causes of the longest
//! waits.

use model::Record;
use model::metric::Unit;
use stats::Comparison;
use stats::explain::{Explanation, Spent, Wait, explain};

use super::escape::text;
use crate::explain::sentences;
use crate::units;

/// The number of longest waits of each group that are explained.
const WAITS: usize = 2;

/// A traced trial with its explanation.
struct ExplainedTrial<'a> {
    record: &'a Record,
    explanation: Explanation,
}

/// The section; empty when nothing was traced, which the timeline's section says.
pub fn section(comparison: &Comparison, records: &[Record]) -> String {
    let mut told: Vec<ExplainedTrial<'_>> = records.iter().filter_map(tell).collect();
    told.sort_by_key(|traced| {
        let trial = &traced.record.trial;
        let name = &trial.contestant.name;
        let place = comparison.contestants.iter().position(|other| other == name);
        (place, trial.backend.is_model())
    });
    if told.is_empty() {
        return String::new();
    }
    let mut places: Vec<String> = Vec::new();
    for traced in &told {
        let place = place(traced.record);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let cells: String = places.iter().map(|place| cell(place, &told)).collect();
    format!(
        "<section id=\"why\"><h2>Why</h2><p class=\"aside\">Where the time of the traced trials \
         went: one trial of each contestant, so these are examples, not statistics. {LEGEND}</p>\
         {cells}</section>\n"
    )
}

const LEGEND: &str = "<span class=\"key s-run\">running</span> <span class=\"key \
     s-wait\">waiting: able to run, and not running</span> <span class=\"key \
     s-sleep\">sleeping</span> <span class=\"key s-block\">blocked by the disk</span>";

fn tell(record: &Record) -> Option<ExplainedTrial<'_>> {
    Some(ExplainedTrial { record, explanation: explain(record, WAITS)? })
}

/// The cell, on any backend.
fn place(record: &Record) -> String {
    format!("{} on {}", record.trial.workload.cell(), record.trial.machine.name)
}

fn cell(place: &str, told: &[ExplainedTrial<'_>]) -> String {
    let ours: Vec<&ExplainedTrial<'_>> =
        told.iter().filter(|traced| self::place(traced.record) == place).collect();
    let mut groups: Vec<&str> = Vec::new();
    for group in ours.iter().flat_map(|traced| &traced.explanation.groups) {
        if !group.name.is_empty() && !groups.contains(&group.name.as_str()) {
            groups.push(&group.name);
        }
    }
    let rows: String = groups.iter().map(|group| group_rows(group, &ours)).collect();
    let trials: String = ours.iter().map(|traced| trial(traced)).collect();
    format!(
        "<h3>{}</h3><div class=\"scroll\"><table class=\"data spent\"><thead><tr><th \
         scope=\"col\">tasks</th><th scope=\"col\">under</th><th scope=\"col\">where their time \
         went</th><th scope=\"col\" class=\"n\">running</th><th scope=\"col\" \
         class=\"n\">waiting</th><th scope=\"col\" class=\"n\">longest wait</th><th scope=\"col\" \
         >what ran meanwhile</th></tr></thead>{rows}</table></div>{trials}",
        text(place)
    )
}

/// A group under every contestant.
fn group_rows(name: &str, told: &[&ExplainedTrial<'_>]) -> String {
    let spent = |traced: &&ExplainedTrial<'_>| {
        let group = traced.explanation.groups.iter().find(|group| group.name == name)?;
        Some((who(traced.record), group.clone()))
    };
    let rows: Vec<(String, Spent)> = told.iter().filter_map(spent).collect();
    let count = rows.len();
    let row = |(place, (who, group)): (usize, &(String, Spent))| {
        let head = match place {
            0 => format!(
                "<th scope=\"rowgroup\" rowspan=\"{count}\">{}<small> × {}</small></th>",
                text(name),
                group.tasks
            ),
            _ => String::new(),
        };
        format!("<tr>{head}<td>{}</td>{}</tr>", text(who), fields(group))
    };
    let rows: String = rows.iter().enumerate().map(row).collect();
    format!("<tbody>{rows}</tbody>")
}

/// `vtime · sim`.
fn who(record: &Record) -> String {
    format!("{} · {}", record.trial.contestant.name, record.trial.backend.word())
}

fn fields(group: &Spent) -> String {
    let share = |ns: u64| sentences::share(ns, group.lifetime_ns);
    let longest = match group.longest_wait_ns {
        0 => "–".into(),
        ns => sentences::time(ns),
    };
    let instead = match group.waiting_ns {
        0 => "no task waited".into(),
        all => sentences::instead(&group.instead_ns, group.cpu_idle_ns, all),
    };
    format!(
        "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
         class=\"idle\">{}</td>",
        bar(group),
        share(group.running_ns),
        share(group.waiting_ns),
        text(&longest),
        text(&instead)
    )
}

/// Four parts of a bar; its title has the numbers.
fn bar(group: &Spent) -> String {
    let parts = [
        ("s-run", "running", group.running_ns),
        ("s-wait", "waiting", group.waiting_ns),
        ("s-sleep", "sleeping", group.sleeping_ns),
        ("s-block", "blocked", group.blocked_ns),
    ];
    let percent = |ns: u64| 100.0 * ns as f64 / group.lifetime_ns.max(1) as f64;
    let shown = parts.iter().filter(|(_, _, ns)| *ns > 0);
    let marks: String = shown
        .clone()
        .map(|(class, _, ns)| {
            format!("<i class=\"{class}\" style=\"width:{:.2}%\"></i>", percent(*ns))
        })
        .collect();
    let words: Vec<String> =
        shown.map(|(_, word, ns)| format!("{word} {}", sentences::time(*ns))).collect();
    let words = words.join(", ");
    format!(
        "<span class=\"parts\" role=\"img\" aria-label=\"{words}\" title=\"{words}\">{marks}</span>"
    )
}

fn trial(traced: &ExplainedTrial<'_>) -> String {
    let explanation = &traced.explanation;
    let waits: String = explanation.waits.iter().map(story).collect();
    let waits = if waits.is_empty() {
        "<p>No task waited.</p>".into()
    } else {
        format!("<ol class=\"waits\">{waits}</ol>")
    };
    let episodes = explanation.idle.worst.iter().take(3);
    let episodes: String = episodes
        .map(|episode| format!("<li>{}</li>", text(&sentences::episode(episode))))
        .collect();
    let episodes = if episodes.is_empty() { episodes } else { format!("<ul>{episodes}</ul>") };
    let notes = sentences::notes(explanation);
    let notes: String =
        notes.iter().map(|note| format!("<p class=\"aside\">Note: {}.</p>", text(note))).collect();
    format!(
        "<details class=\"more why\"><summary>{}: {}</summary><h4>The longest waits</h4>{waits}\
         <h4>Idle while work waited</h4><p>{}</p>{episodes}{notes}</details>\n",
        text(&who(traced.record)),
        text(&summary(explanation)),
        text(&sentences::idle(explanation)),
    )
}

/// `817 switches, longest wait 62.6 ms (hog/1)`.
fn summary(explanation: &Explanation) -> String {
    let switches = units::number(explanation.switches as f64, Unit::Count);
    let longest = explanation.waits.first().map(|wait| {
        let ns = sentences::time(wait.to_ns - wait.from_ns);
        format!(", longest wait {ns} ({})", wait.task)
    });
    format!("{switches} switches{}", longest.unwrap_or_default())
}

fn story(wait: &Wait) -> String {
    let told = sentences::wait(wait).join(" ");
    let head = sentences::time(wait.to_ns - wait.from_ns);
    format!(
        "<li><b>{}</b> <b class=\"name\">{}</b>: {}</li>",
        text(&head),
        text(&wait.task),
        text(&told)
    )
}
