// SPDX-License-Identifier: GPL-2.0-only
//! What was compared and how: contestants, workloads, machines, the design, and its limits.

use std::collections::{BTreeMap, BTreeSet};

use model::contestant::Policy;
use model::{Clock, Contestant, KnobValue, Machine, Record, SchedulerChoice, Workload};
use stats::Comparison;
use stats::compare::family::families;
use stats::rank::holm::ALPHA;

use super::escape::text;

pub fn section(comparison: &Comparison, records: &[Record]) -> String {
    format!(
        "<section id=\"method\"><h2>What was compared, and how</h2>{}{}{}{}</section>\n",
        design(comparison, records),
        contestants(comparison, records),
        workloads(comparison, records),
        limits(comparison)
    )
}

fn design(comparison: &Comparison, records: &[Record]) -> String {
    let count = |fact: fn(&Record) -> u64| records.iter().map(fact).collect::<BTreeSet<_>>().len();
    let kernels: BTreeSet<String> = records.iter().filter_map(kernel).collect();
    let machines: BTreeMap<&str, &Machine> =
        records.iter().map(|r| (r.trial.machine.name.as_str(), &r.trial.machine)).collect();
    let facts = [
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
                "{:.0} %, cluster bootstrap: boots, then trials within them; {} resamples, seed {}",
                comparison.confidence * 100.0,
                comparison.resamples,
                comparison.seed.0
            ),
        ),
        (
            "Differences",
            format!(
                "Hodges–Lehmann shift against {}, of independent trials or of matched pairs, \
                 whichever has the \
                 narrower interval",
                comparison.baseline
            ),
        ),
    ];
    let facts: String = facts
        .iter()
        .map(|(name, fact)| format!("<dt>{name}</dt><dd>{}</dd>", text(fact)))
        .collect();
    format!("<dl class=\"facts\">{facts}</dl>")
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
    let details = details.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ");
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

fn contestants(comparison: &Comparison, records: &[Record]) -> String {
    let mut rows = String::new();
    for name in &comparison.contestants {
        let mut known: Vec<&Contestant> = Vec::new();
        for record in records.iter().filter(|record| record.trial.contestant.name == *name) {
            if !known.contains(&&record.trial.contestant) {
                known.push(&record.trial.contestant);
            }
        }
        for contestant in known {
            let (kind, what) = scheduler(&contestant.scheduler);
            rows += &format!(
                "<tr><th scope=\"row\">{}</th><td>{kind}</td><td>{}</td><td>{}</td></tr>",
                text(name),
                text(&what),
                text(contestant.kernel.as_deref().unwrap_or("the running one"))
            );
        }
    }
    format!(
        "<h3>Contestants</h3><div class=\"scroll\"><table class=\"data\"><thead><tr><th \
         scope=\"col\">name</th><th scope=\"col\">kind</th><th scope=\"col\">scheduler</th><th \
         scope=\"col\">kernel</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn scheduler(choice: &SchedulerChoice) -> (&'static str, String) {
    match choice {
        SchedulerChoice::File { file, sha256, knobs } => {
            let knob = |(name, value): (&String, &KnobValue)| format!(", {name} = {value}");
            let knobs: String = knobs.iter().map(knob).collect();
            let sha = sha256.get(..12).unwrap_or(sha256);
            ("sched_ext file", format!("{file}, sha256 {sha}…{knobs}"))
        }
        SchedulerChoice::Program { command } => ("sched_ext program", command.join(" ")),
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
fn workloads(comparison: &Comparison, records: &[Record]) -> String {
    let known: BTreeMap<String, &Workload> =
        records.iter().map(|r| (r.trial.workload.cell(), &r.trial.workload)).collect();
    let mut names: Vec<&str> = comparison.cells.iter().map(|cell| cell.workload.as_str()).collect();
    names.dedup();
    let item = |name: &str| {
        let cells = comparison.cells.iter().filter(|cell| cell.workload == name);
        let cells: BTreeMap<_, _> =
            cells.map(|cell| (&cell.parameters, known.get(&cell.name))).collect();
        let settings: String = cells.into_values().flatten().map(|it| definition(it)).collect();
        let about = known.values().find(|workload| workload.name == name);
        let about = about.map_or("", |workload| workload.about.as_str());
        format!(
            "<details><summary><b>{}</b> {}</summary>{settings}</details>",
            text(name),
            text(about)
        )
    };
    let items: String = names.into_iter().map(item).collect();
    format!("<h3>Workloads</h3><div class=\"folded\">{items}</div>")
}

fn definition(workload: &Workload) -> String {
    let json = serde_json::to_string_pretty(workload).unwrap_or_default();
    let cell = text(&workload.cell());
    format!("<details><summary>{cell}</summary><pre>{}</pre></details>", text(&json))
}

/// The limits of the numbers.
fn limits(comparison: &Comparison) -> String {
    let families = families(&comparison.cells, |row| row.headline);
    let (count, comparisons) = (families.len(), families.values().sum::<usize>());
    let expected = count as f64 * ALPHA;
    format!(
        "<h3>How this might be wrong</h3><ul><li>“Not distinguishable” does not \
         mean equal: these trials do not show a difference. “Equivalent” means a 95 % interval \
         within 1 % of the baseline's \
         median; it is not corrected for multiple comparisons.</li><li>Headline measures are \
         compared \
         {comparisons} times, in {count} families: one measure of one workload on one machine, for \
         all contestants and settings. Within a family the chance of even one false claim is at \
         most 5 % (exact rank tests of boots and of matched pairs, Holm's correction); with no \
         real difference \
         anywhere, up to {expected:.1} families would still be expected to hold one.</\
         li><li>Samples within a trial are never counted as replicates; quantiles are refused \
         where a trial has \
         too few samples.</li><li>Under a virtual clock every number is exact and repeatable; \
         intervals then describe the spread over \
         seeds and start phases, not noise.\
         </li><li>The largest value of a distribution grows with the number of samples: do not \
         rank by it.</li></ul>"
    )
}
