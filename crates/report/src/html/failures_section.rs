// SPDX-License-Identifier: GPL-2.0-only
//! Every outcome that is not `ok`, with its reason and dump.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{Outcome, Record};

use super::detail_level::DetailLevel;
use super::markup::{NO_BREAK, heads, joined};
use super::starvation;

/// Contestant, cell, outcome and reason of trials that failed alike.
type FailureKey<'a> = (&'a str, String, &'a str, &'a str);

pub fn body(records: &[Record], detail: &DetailLevel) -> Markup {
    let mut alike: BTreeMap<FailureKey, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.outcome.is_ok()) {
        let contestant = record.trial.contestant.name.as_str();
        let cell = crate::cells::label_of(record);
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
                @if let Some(record) = records.first() { (starvation::sentence(record)) }
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
