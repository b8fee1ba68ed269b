// SPDX-License-Identifier: GPL-2.0-only
//! What was compared and how: contestants, workloads, machines, the design, and its limits.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use model::contestant::Policy;
use model::{Clock, Contestant, KnobValue, Machine, Record, SchedulerChoice, Workload};
use stats::Comparison;
use stats::compare::comparison::families;
use stats::rank::rank_sum::ALPHA;

use super::markup::{command, fact_item, percent};
use super::{About, provenance};
use crate::table::Align::Left;
use crate::table::Table;

pub fn body(comparison: &Comparison, records: &[Record], about: &About) -> Markup {
    html! {
        dl class="facts" {
            @for (name, fact) in design(comparison, records) { (fact_item(name, fact)) }
        }
        (contestants(comparison, records))
        (workloads(comparison, records))
        (limits(comparison))
        (provenance::entries(records))
        div id="reproduce" {
            h3 { "Reproduce it" }
            @for line in &about.commands { (command(line)) }
        }
    }
}

fn design(comparison: &Comparison, records: &[Record]) -> [(&'static str, String); 7] {
    let count = |fact: fn(&Record) -> u64| records.iter().map(fact).collect::<BTreeSet<_>>().len();
    let kernels: BTreeSet<String> = records.iter().filter_map(kernel).collect();
    let machines: BTreeMap<&str, &Machine> =
        records.iter().map(|r| (r.trial.machine.name.as_str(), &*r.trial.machine)).collect();
    [
        (
            "Blocks",
            format!(
                "{}, each one pass over all contestants and cells in random order",
                count(|record| u64::from(record.trial.block))
            ),
        ),
        ("Boots", format!("{} planned", count(|record| u64::from(record.trial.boot)))),
        (
            "Seeds",
            format!(
                "{}; trials of one block and cell share theirs, so that all contestants face the \
                 same arrivals",
                count(|record| record.trial.seed.0)
            ),
        ),
        ("Machines", machines.values().map(|m| machine(m)).collect::<Vec<_>>().join("; ")),
        ("Kernels", kernels.into_iter().collect::<Vec<_>>().join("; ")),
        (
            "Intervals",
            format!(
                "{}, cluster bootstrap: boots, then trials within them; {} resamples, seed {}",
                percent(comparison.confidence),
                comparison.resamples,
                comparison.seed.0
            ),
        ),
        (
            "Differences",
            format!(
                "Hodges–Lehmann shift against {}, of independent trials or of matched pairs, \
                 whichever has the narrower interval",
                comparison.baseline
            ),
        ),
    ]
}

fn kernel(record: &Record) -> Option<String> {
    let provenance = &record.provenance;
    let facts = ["HZ", "preempt"].map(|name| {
        let value = provenance.kernel_facts.get(name);
        value.map(|value| format!("{name}={value}"))
    });
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let sha = provenance.kernel_sha256.get(..12).unwrap_or_default();
    let details = [facts, if sha.is_empty() { String::new() } else { format!("sha256 {sha}…") }];
    let details =
        details.into_iter().filter(|detail| !detail.is_empty()).collect::<Vec<_>>().join(", ");
    let release = &provenance.kernel_release;
    (!release.is_empty()).then(|| format!("{release} ({details})"))
}

fn machine(machine: &Machine) -> String {
    let clock = match machine.clock {
        Clock::Virtual => "virtual clock: one instruction is one nanosecond",
        Clock::Real => "real clock",
    };
    format!("{} ({} CPU, {} MiB, {clock})", machine.name, machine.cpus, machine.memory_mib)
}

fn contestants(comparison: &Comparison, records: &[Record]) -> Markup {
    let mut known: Vec<(&str, &Contestant)> = Vec::new();
    for name in &comparison.contestants {
        for record in records.iter().filter(|record| record.trial.contestant.name == *name) {
            let contestant = (name.as_str(), &*record.trial.contestant);
            if !known.contains(&contestant) {
                known.push(contestant);
            }
        }
    }
    let mut table =
        Table::new(&[("name", Left), ("kind", Left), ("scheduler", Left), ("kernel", Left)]);
    for (name, contestant) in known {
        let (kind, what) = scheduler(&contestant.scheduler);
        let kernel = contestant.kernel.clone().unwrap_or_else(|| "the running one".into());
        table.add([name.into(), kind.into(), what, kernel]);
    }
    html! {
        h3 { "Contestants" }
        (table)
    }
}

fn scheduler(choice: &SchedulerChoice) -> (&'static str, String) {
    match choice {
        SchedulerChoice::File { file, sha256, knobs, settings } => {
            let knob = |(name, value): (&String, &KnobValue)| format!(", {name} = {value}");
            let knobs: String = knobs.iter().map(knob).collect();
            let set: String = settings.iter().map(knob).collect();
            let set = if set.is_empty() { set } else { format!("; by its side file{}", &set[1..]) };
            let sha = sha256.get(..12).unwrap_or(sha256);
            ("sched_ext file", format!("{file}, sha256 {sha}…{knobs}{set}"))
        }
        SchedulerChoice::Program { command, .. } => ("sched_ext program", command.join(" ")),
        SchedulerChoice::Claimed { name } => ("imported, not verified", name.clone()),
        SchedulerChoice::Kernel => ("built in", "the kernel's own fair scheduler".into()),
        SchedulerChoice::Policy { policy } => ("policy", policy_words(policy)),
    }
}

fn policy_words(policy: &Policy) -> String {
    let mut words = format!("SCHED_{}", format!("{:?}", policy.class).to_uppercase());
    let numbers = [
        ("priority", u64::from(policy.priority)),
        ("runtime_us", policy.runtime_us),
        ("deadline_us", policy.deadline_us),
        ("period_us", policy.period_us),
    ];
    if policy.nice != 0 {
        words += &format!(", nice {}", policy.nice);
    }
    for (name, value) in numbers.into_iter().filter(|(_, value)| *value != 0) {
        words += &format!(", {name} {value}");
    }
    if policy.reclaim {
        words += ", reclaim";
    }
    words
}

/// One folded entry per workload, with every setting's definition in it.
fn workloads(comparison: &Comparison, records: &[Record]) -> Markup {
    let known: BTreeMap<String, &Workload> =
        records.iter().map(|r| (r.trial.workload.cell(), &*r.trial.workload)).collect();
    let mut names: Vec<&str> = comparison.cells.iter().map(|cell| cell.workload.as_str()).collect();
    names.dedup();
    let settings = |name: &str| {
        let cells = comparison.cells.iter().filter(|cell| cell.workload == name);
        let cells: BTreeMap<_, _> =
            cells.map(|cell| (&cell.parameters, known.get(&cell.name))).collect();
        cells.into_values().flatten().copied().collect::<Vec<&Workload>>()
    };
    let about = |name: &str| {
        let workload = known.values().find(|workload| workload.name == name);
        workload.map_or("", |workload| workload.about.as_str())
    };
    html! {
        h3 { "Workloads" }
        div class="folded" {
            @for name in names {
                details {
                    summary { b { (name) } " " (about(name)) }
                    @for workload in settings(name) { (definition(workload)) }
                }
            }
        }
    }
}

fn definition(workload: &Workload) -> Markup {
    let json = serde_json::to_string_pretty(workload).unwrap_or_default();
    html! { details { summary { (workload.cell()) } pre { (json) } } }
}

fn limits(comparison: &Comparison) -> Markup {
    let families = families(&comparison.cells, |row| row.headline);
    let (count, comparisons) = (families.len(), families.values().sum::<usize>());
    let expected = count as f64 * ALPHA;
    html! {
        h3 { "How this might be wrong" }
        ul {
            li {
                "“Not distinguishable” does not mean equal: these trials do not show a difference. \
                 “Equivalent” means a 95 % interval within 1 % of the baseline's median; it is not \
                 corrected for multiple comparisons. A difference of 1 % or less is no claim, \
                 however certain it is."
            }
            li {
                "Headline measures are compared " (comparisons) " times, in " (count) " families: \
                 one measure of one workload on one machine, for all contestants and settings. \
                 Within a family the chance of even one false claim is at most 5 % (exact rank \
                 tests of boots and of matched pairs, Holm's correction). There is no correction \
                 over families: if no contestant differed from another, about one of 20 families \
                 would still have a false claim, here up to " (format!("{expected:.1}")) "."
            }
            li {
                "Samples within a trial are never counted as replicates; quantiles are refused \
                 where a trial has too few samples."
            }
            li {
                "Under a virtual clock every number is exact and repeatable; intervals then \
                 describe the spread over seeds and start phases, not noise."
            }
            li {
                "The largest value of a distribution grows with the number of samples: do not rank \
                 by it."
            }
        }
    }
}
