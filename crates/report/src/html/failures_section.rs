// SPDX-License-Identifier: GPL-2.0-only
//! Every outcome that is not `ok`, with its reason and dump.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{Outcome, Record};

use super::detail_level::DetailLevel;
use super::markup::{NO_BREAK, heads, joined};
use crate::explain;
use crate::stall::where_left;

/// Contestant, cell, outcome and reason of trials that failed alike.
type FailureKey<'a> = (&'a str, String, &'a str, &'a str);

pub fn body(records: &[Record], detail: &DetailLevel) -> Markup {
    let mut alike: BTreeMap<FailureKey, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.outcome.is_ok()) {
        let contestant = record.trial.contestant.name.as_str();
        let cell = crate::reading::label_of(record);
        let key = (contestant, cell, record.outcome.word(), record.outcome.reason());
        alike.entry(key).or_default().push(record);
    }
    html! {
        @if alike.is_empty() {
            p {
                "Every trial ran to its end, with the scheduler under test active before and \
                 after it."
            }
        } @else {
            p class="aside" {
                "These trials are in no median; their failure is a finding of its own."
            }
            (table(&alike, detail))
        }
    }
}

fn table(alike: &BTreeMap<FailureKey, Vec<&Record>>, detail: &DetailLevel) -> Markup {
    let left_out = alike.values().skip(detail.failures).map(Vec::len).sum::<usize>();
    html! {
        div class="scroll" {
            table class="data failures" {
                (heads(&[
                    ("", "contestant"),
                    ("", "cell"),
                    ("", "outcome"),
                    ("", "reason and trials"),
                ]))
                tbody {
                    @for (key, records) in alike.iter().take(detail.failures) {
                        (row(key, records, detail))
                    }
                }
            }
        }
        @if left_out > 0 {
            p class="aside" {
                "There is too much data for " (left_out) " more such trials here; the table of \
                 all trials has them."
            }
        }
    }
}

fn row(
    (contestant, cell, outcome, reason): &FailureKey,
    records: &[&Record],
    detail: &DetailLevel,
) -> Markup {
    let link = |record: &&Record| {
        let id = record.trial.id();
        html! { a href={ "#trial-" (id) } { (id[..8]) } }
    };
    let dumps: Vec<Markup> =
        records.iter().filter_map(|record| dump(record, detail.dump)).collect();
    let more = dumps.len().saturating_sub(detail.dumps);
    html! {
        tr {
            th scope="row" { (contestant) }
            td { (cell) }
            td { span class="outcome" { (records.len()) (NO_BREAK) (outcome) } }
            td {
                (reason)
                br;
                small { (joined(records.iter().map(link), " ")) }
                @if let Some(record) = records.first() {
                    (sentence(record))
                    @if let Some(place) = where_left(&record.outcome) { p { (place) "." } }
                }
                @for dump in dumps.iter().take(detail.dumps) { (dump) }
                @if more > 0 { small { (more) " more dumps are left out." } }
            }
        }
    }
}

/// The kernel's messages, folded.
fn dump(record: &Record, most: usize) -> Option<Markup> {
    let (name, dump) = match &record.outcome {
        Outcome::Ejected { dump, .. } => ("the kernel's dump", dump),
        Outcome::Crashed { text } => ("the console's last lines", text),
        _ => return None,
    };
    if dump.is_empty() {
        return None;
    }
    let shown: String = dump.chars().take(most).collect();
    Some(html! {
        details {
            summary { "boot " (record.trial.boot) ": " (name) }
            pre { (shown) @if shown.len() < dump.len() { "\n… (no room for more)" } }
        }
    })
}

/// The watchdog's message: `hog[304] failed to run for 30.2s`.
const SAYS: &str = " failed to run for ";

/// The starved task and the time, and in a traced trial the tasks that ran instead; empty without
/// starvation.
pub fn sentence(record: &Record) -> Markup {
    let Some((name, time)) = starved(record.outcome.reason()) else { return Markup::default() };
    html! {
        p {
            "Starvation: " (name) " could run, and the scheduler ran others for " (time) ". The \
             kernel takes that for a fault, and throws a scheduler out that leaves a task waiting \
             for more than 30 s, or its own " code { "timeout_ms" } ". "
            @if let Some(instead) = instead(record, name) {
                (instead)
            } @else {
                "To see what ran instead, use " code { "fairground explain" } " with the same \
                 workload in the simulator."
            }
            " Where the head of the scheduler's file warns of it (" i { "Bad at" } "), this is the \
             policy as its authors made it."
        }
    }
}

/// The task's name and the time, `30.2 s`.
fn starved(reason: &str) -> Option<(&str, String)> {
    let (before, after) = reason.split_once(SAYS)?;
    let name = before.rsplit(['(', ' ']).next()?;
    let seconds = after.split('s').next()?;
    let name = name.rsplit_once('[').map_or(name, |(name, _)| name);
    seconds.parse::<f64>().ok().map(|_| (name, format!("{seconds} s")))
}

/// The groups that ran meanwhile, by the trial's trace. The kernel keeps 15 bytes of a group's
/// name.
fn instead(record: &Record, name: &str) -> Option<String> {
    let explanation = stats::explain::explain(record, &stats::explain::Chosen::each(0))?;
    let mut groups = explanation.groups.iter().filter(|group| !group.name.is_empty());
    let group = groups.find(|group| group.name.get(..15).unwrap_or(&group.name) == name)?;
    Some(explain::instead(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdogs_words_are_understood() {
        let reason = "runnable task stall (starved[1002] failed to run for 44.895s)";
        assert_eq!(starved(reason), Some(("starved", "44.895 s".into())));
        assert_eq!(starved("hog[3] failed to run for 30.2s"), Some(("hog", "30.2 s".into())));
        assert_eq!(starved("scx_bpf_error (no such queue)"), None);
    }
}
