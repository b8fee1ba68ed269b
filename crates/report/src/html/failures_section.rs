// SPDX-License-Identifier: GPL-2.0-only
//! Every outcome that is not `ok`, with its reason and dump.

use std::collections::BTreeMap;

use model::{Outcome, Record};

use super::detail_level::DetailLevel;
use super::escape::text;
use super::starvation;

pub fn section(records: &[Record], detail: &DetailLevel) -> String {
    let mut alike: BTreeMap<(&str, String, &str, &str), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.outcome.is_ok()) {
        let contestant = record.trial.contestant.name.as_str();
        let cell = crate::cells::label_of(record);
        let key = (contestant, cell, record.outcome.word(), record.outcome.reason());
        alike.entry(key).or_default().push(record);
    }
    if alike.is_empty() {
        return "<section id=\"failures\"><h2>What did not end well</h2><p>Every trial ran to its \
            end, with the scheduler under test active before and after it.</p></section>\n"
            .into();
    }
    let rows: String = alike
        .iter()
        .take(detail.failures)
        .map(|((contestant, cell, outcome, reason), records)| {
            row(contestant, cell, outcome, reason, records, detail)
        })
        .collect();
    let left_out = match alike.values().skip(detail.failures).map(Vec::len).sum::<usize>() {
        0 => String::new(),
        trials => format!(
            "<p class=\"aside\">There is too much data for {trials} more such trials here; the \
             table of all trials has them.</p>"
        ),
    };
    format!(
        "<section id=\"failures\"><h2>What did not end well</h2><p class=\"aside\">These trials \
         are in no median; their failure is a finding of its own.</p><div class=\"scroll\"><table \
         class=\"data \
         failures\"><thead><tr>\
         <th scope=\"col\">contestant</th><th scope=\"col\">cell</th><th \
         scope=\"col\">outcome</th><th \
         scope=\"col\">reason and trials</th></tr></thead><tbody>{rows}</tbody></table></div>\
         {left_out}</section>\n"
    )
}

fn row(
    contestant: &str,
    cell: &str,
    outcome: &str,
    reason: &str,
    records: &[&Record],
    detail: &DetailLevel,
) -> String {
    let links: Vec<String> = records
        .iter()
        .map(|record| {
            let id = record.trial.id();
            format!("<a href=\"#trial-{id}\">{}</a>", &id[..8])
        })
        .collect();
    let starvation = records.first().and_then(|record| starvation::sentence(record));
    let dumps: Vec<String> =
        records.iter().filter_map(|record| dump(record, detail.dump)).collect();
    let shown = dumps.len().min(detail.dumps);
    let more = match dumps.len() - shown {
        0 => String::new(),
        more => format!("<small>{more} more dumps are left out.</small>"),
    };
    let dumps = dumps[..shown].concat() + &more;
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td><span \
         class=\"outcome\">{}&nbsp;{outcome}</span></td>\
         <td>{}<br><small>{}</small>{}{dumps}</td></tr>",
        text(contestant),
        text(cell),
        records.len(),
        text(reason),
        links.join(" "),
        starvation.unwrap_or_default()
    )
}

/// The kernel's messages, folded.
fn dump(record: &Record, most: usize) -> Option<String> {
    let (name, dump) = match &record.outcome {
        Outcome::Ejected { dump, .. } => ("the kernel's dump", dump),
        Outcome::Crashed { text } => ("the console's last lines", text),
        _ => return None,
    };
    let boot = record.trial.boot;
    (!dump.is_empty()).then(|| {
        format!(
            "<details><summary>boot {boot}: {name}</summary><pre>{}{}</pre></details>",
            text(&dump.chars().take(most).collect::<String>()),
            if dump.chars().nth(most).is_some() { "\n… (no room for more)" } else { "" }
        )
    })
}
