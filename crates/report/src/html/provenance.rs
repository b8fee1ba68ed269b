// SPDX-License-Identifier: GPL-2.0-only
//! Where, when and with what: one entry per distinct environment.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use model::{ActiveScheduler, Provenance, Record};

use super::markup::fact_item;
use crate::units;

/// The distinct environments, in order of appearance, and which one each record has.
pub struct Environments<'a> {
    pub list: Vec<Vec<&'a Record>>,
    pub of_record: Vec<usize>,
}

/// Sorts records by all of their provenance that is not particular to one trial.
pub fn environments(records: &[Record]) -> Environments<'_> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut environments = Environments { list: Vec::new(), of_record: Vec::new() };
    for record in records {
        let facts = facts(&record.provenance).map(|(_, fact)| fact).join("\u{1f}");
        let next = environments.list.len();
        let index = *known.entry(facts).or_insert(next);
        if index == next {
            environments.list.push(Vec::new());
        }
        environments.list[index].push(record);
        environments.of_record.push(index);
    }
    environments
}

/// A folded entry for each environment.
pub fn entries(records: &[Record]) -> Markup {
    let environments = environments(records).list;
    html! {
        div id="provenance" {
            h3 { "Provenance" }
            p class="aside" { "The table of all trials names the environment of each." }
            details {
                summary { (units::count(environments.len() as u64, "environment")) }
                div class="folded" {
                    @for (index, records) in environments.iter().enumerate() {
                        (entry(index, records))
                    }
                }
            }
        }
    }
}

fn entry(index: usize, records: &[&Record]) -> Markup {
    let Some(first) = records.first() else { return Markup::default() };
    let names: BTreeSet<&str> = records.iter().map(|r| r.trial.contestant.name.as_str()).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let facts = facts(&first.provenance).into_iter().chain(shared(records));
    html! {
        details id={ "environment-" (index) } {
            summary {
                b { "Environment " (index + 1) } " " (first.provenance.kernel_release) " · "
                (records.len()) " trials · " (names)
            }
            dl class="facts" {
                @for (name, fact) in facts.filter(|(_, fact)| !fact.is_empty()) {
                    (fact_item(name, fact))
                }
            }
        }
    }
}

/// The facts that all trials of an environment share.
fn facts(provenance: &Provenance) -> [(&'static str, String); 11] {
    let pairs = |map: &BTreeMap<String, String>| {
        map.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join("; ")
    };
    let calibration = match provenance.calibration_rounds_per_ms {
        0 => String::new(),
        rounds => format!("{rounds} loop rounds per millisecond"),
    };
    [
        ("Fairground", provenance.fairground.clone()),
        ("Kernel", provenance.kernel_release.clone()),
        ("Version", provenance.kernel_version.clone()),
        ("Image sha256", provenance.kernel_sha256.clone()),
        ("Configuration", pairs(&provenance.kernel_facts)),
        ("Accelerator", provenance.accelerator.clone()),
        ("Processor", provenance.cpu_model.clone()),
        ("CPUs", provenance.cpus.to_string()),
        ("Calibration", calibration),
        ("Probes", provenance.probes.clone()),
        ("Programs", pairs(&provenance.programs)),
    ]
}

/// Facts that differ between trials of an environment, summarised.
fn shared(records: &[&Record]) -> Vec<(&'static str, String)> {
    let set = |fact: &dyn Fn(&Record) -> String| {
        let all: BTreeSet<String> = records.iter().map(|record| fact(record)).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    let notes: BTreeSet<&String> = records.iter().flat_map(|r| &r.provenance.notes).collect();
    let notes = notes.into_iter().cloned().collect::<Vec<_>>().join("; ");
    vec![
        ("Active before", set(&|record| active(&record.provenance.scheduler_before))),
        ("Active after", set(&|record| active(&record.provenance.scheduler_after))),
        ("Probes' cost", probe_cost(records)),
        ("Notes", notes),
    ]
}

fn active(scheduler: &ActiveScheduler) -> String {
    let state = &scheduler.sched_ext_state;
    match scheduler.sched_ext_ops.as_str() {
        "" if state.is_empty() => scheduler.fair.clone(),
        "" => format!("{} (sched_ext {state})", scheduler.fair),
        // The simulator has no fair class.
        ops if scheduler.fair.is_empty() => format!("{ops} (sched_ext {state})"),
        ops => format!("{ops} (sched_ext {state}, with {})", scheduler.fair),
    }
}

/// Mean over trials, weighted by the number of calls.
fn probe_cost(records: &[&Record]) -> String {
    let mut costs: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (name, cost) in records.iter().flat_map(|record| &record.provenance.probe_cost) {
        let sum = costs.entry(name).or_default();
        *sum = (sum.0 + cost.runs, sum.1 + cost.mean_ns * cost.runs as f64);
    }
    let cost = |(name, (runs, total)): (&str, (u64, f64))| {
        format!("{name}: {:.0} ns in each of {runs} calls", total / runs.max(1) as f64)
    };
    costs.into_iter().map(cost).collect::<Vec<_>>().join("; ")
}
