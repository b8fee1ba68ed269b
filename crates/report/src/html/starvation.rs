// SPDX-License-Identifier: GPL-2.0-only
//! An ejection because of starvation, in plain words: some policies starve tasks by design.

use maud::{Markup, html};
use model::Record;

use crate::explain;

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
    let explanation = stats::explain::explain(record, 0)?;
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
