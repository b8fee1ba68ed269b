// SPDX-License-Identifier: GPL-2.0-only
//! Records → comparison, with the options that all reading verbs share; and what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use model::tables::{NO_CLAMPS, NO_GROUP_CALLBACKS, NO_SESSIONS};
use model::{Design, Record, SchedulerChoice};
use report::stall::where_left;
use report::units;
use stats::sample_size::BLOCKS_MAX;
use stats::view::consensus::{Contribution, definitions};
use stats::{Comparison, Options};
use store::Session;

use crate::exit::bad_input;
use crate::{command_line, times, ui};

/// How many misbehaving trials are listed one by one.
const LISTED: usize = 10;
/// How many lines are shown of what a scheduler has printed.
const PRINTED: usize = 3;

/// Compares records with the baseline that the last session's experiment names, or with another.
pub fn compare(
    sessions: &[Session],
    records: &[Record],
    baseline: Option<String>,
) -> Result<Comparison> {
    let mut comparison = stats::compare(records, &options(sessions, records, baseline)?);
    let declared = sessions.last().map(|session| declared(&session.experiment.design));
    comparison.notes.splice(0..0, declared.unwrap_or_default());
    Ok(comparison)
}

/// A contributor's answers: headline measures alone, against `baseline` if it took part.
pub fn contribution(
    name: String,
    sessions: &[Session],
    records: &[Record],
    baseline: Option<&str>,
) -> Result<Contribution> {
    let takes_part = |name: &&str| records.iter().any(|r| r.trial.contestant.name == *name);
    let options = options(sessions, records, baseline.filter(takes_part).map(str::to_owned))?;
    let comparison = stats::compare(records, &Options { headlines_only: true, ..options });
    Ok(Contribution { name, comparison, definitions: definitions(records) })
}

fn options(sessions: &[Session], records: &[Record], baseline: Option<String>) -> Result<Options> {
    let experiment = sessions.last().map(|session| &session.experiment);
    if let Some(name) = &baseline
        && !records.iter().any(|record| record.trial.contestant.name == *name)
    {
        return Err(bad_input(format!("--baseline {name}: no such contestant in the records")));
    }
    let named = experiment.map(|experiment| experiment.baseline.clone());
    let order = experiment.iter().flat_map(|e| e.contestants.iter().map(|c| c.name.clone()));
    let baseline = baseline.or(named).unwrap_or_default();
    let scatter = experiment.map(|experiment| experiment.design.scatter.clone());
    Ok(Options {
        order: order.collect(),
        scatter: scatter.unwrap_or_default(),
        ..Options::against(&baseline)
    })
}

/// How the plan was declared, for readers of the numbers.
fn declared(design: &Design) -> Vec<String> {
    let mut notes = Vec::new();
    if design.exploratory {
        notes.push("Exploratory: the plan was run without asking what it can prove.".to_owned());
    }
    if let Some(percent) = design.until_percent {
        notes.push(format!(
            "Blocks were added until every shift of a headline measure was known to ±{percent} %, \
             or there were {BLOCKS_MAX}, as declared before."
        ));
    }
    if let Some(seconds) = design.budget_s {
        notes.push(format!(
            "There are as many blocks as fit into {}; their number was fixed before any result was \
             looked at.",
            times::words(Duration::from_secs(seconds))
        ));
    }
    notes
}

/// The trials that did not end well, in a few lines; empty when all are ok.
pub fn misbehaviours(records: &[Record]) -> Vec<String> {
    let bad: Vec<&Record> = records.iter().filter(|record| !record.outcome.is_ok()).collect();
    if bad.is_empty() {
        return Vec::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &bad {
        *counts.entry(record.outcome.word()).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let (not_ok, all, counts) = (bad.len(), records.len(), counts.join(", "));
    let mut lines = vec![format!("not ok: {not_ok} of {all} ({counts})")];
    for record in bad.iter().take(LISTED) {
        let (word, reason) = (record.outcome.word(), ui::first_line(record.outcome.reason()));
        lines.push(format!("  {word}: {}: {reason}", ui::label(&record.trial)));
        lines.extend(where_left(&record.outcome).map(|place| format!("    {place}")));
    }
    if bad.len() > LISTED {
        lines.push(format!("  and {} more", bad.len() - LISTED));
    }
    lines
}

/// What schedulers have printed by `bpf_printk`: of each contestant how many lines there are in all
/// trials, and the first lines of its first trial that has some; or all lines of all trials.
pub fn printed(records: &[Record], all: bool) -> Vec<String> {
    let mut by_contestant: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| !record.provenance.printed.is_empty()) {
        by_contestant.entry(&record.trial.contestant.name).or_default().push(record);
    }
    let mut lines = Vec::new();
    for (name, records) in by_contestant {
        let counts = records.iter().map(|record| record.provenance.printed.len());
        let count: usize = counts.sum();
        let hint = if all || count <= PRINTED { "" } else { "; `--printed` shows all" };
        lines.push(format!("bpf_printk of {name}: {}{hint}", units::count(count as u64, "line")));
        let shown = if all { &records[..] } else { &records[..1] };
        for record in shown {
            let most = if all { usize::MAX } else { PRINTED };
            if all {
                lines.push(format!("  {}", ui::label(&record.trial)));
            }
            let said = record.provenance.printed.iter().take(most);
            lines.extend(said.map(|line| format!("    {line}")));
        }
    }
    lines
}

/// A line for each of users' own files about what the simulator has left out of it.
pub fn left_out(records: &[Record]) -> Vec<String> {
    let own = |record: &&Record| match &record.trial.contestant.scheduler {
        SchedulerChoice::File { sha256, .. } => {
            record.trial.backend.is_model() && !compile::is_builtin(sha256)
        }
        _ => false,
    };
    let line = |record: &Record| {
        // Programs that are left out were named before the first trial.
        let notes = record.provenance.notes.iter().filter(|note| note.contains(": "));
        let notes: Vec<&str> = notes.map(String::as_str).collect();
        let said = format!("{}: {}", record.trial.contestant.name, notes.join("; "));
        (!notes.is_empty()).then(|| format!("left out in the simulator: {said}"))
    };
    records.iter().filter(own).filter_map(line).collect::<BTreeSet<_>>().into_iter().collect()
}

/// A line about schedulers that disregard the control groups of their workloads.
pub fn without_groups(records: &[Record]) -> Option<String> {
    let names = noted(records, NO_GROUP_CALLBACKS)?;
    Some(format!(
        "control groups have no effect under: {names}, which have no callbacks for them; eevdf and \
         cfs have, and so has a kernel's own scheduler"
    ))
}

/// A line about schedulers that disregard the sessions of their workloads.
pub fn without_sessions(records: &[Record]) -> Option<String> {
    let names = noted(records, NO_SESSIONS)?;
    Some(format!(
        "autogroup has no effect under: {names}, which do not look at sessions; eevdf and cfs do, \
         and so does a kernel's own scheduler"
    ))
}

/// A line for each reason why nothing heeds the clamps of a workload.
pub fn without_clamps(records: &[Record]) -> BTreeSet<&str> {
    let notes = records.iter().flat_map(|record| &record.provenance.notes);
    notes.map(String::as_str).filter(|note| note.starts_with(NO_CLAMPS)).collect()
}

/// A sentence for who may leave a scheduler that has control groups, or groups of sessions.
pub fn leaves_groups(records: &[Record]) -> Option<String> {
    let groups = noted(records, NO_GROUP_CALLBACKS).map(|names| {
        format!(
            "The load has control groups, and these disregard them: {names}. Leaving EEVDF for one \
             of them means leaving the groups' weights and quotas."
        )
    });
    let sessions = noted(records, NO_SESSIONS).map(|names| {
        format!(
            "The load has sessions, and these disregard them: {names}. Leaving EEVDF for one of \
             them means leaving autogroup, which gives each session the same part of the CPUs."
        )
    });
    let all: Vec<String> = groups.into_iter().chain(sessions).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The names of the contestants with a note that begins like this, if there are any.
fn noted(records: &[Record], begin: &str) -> Option<String> {
    let is_noted =
        |record: &&Record| record.provenance.notes.iter().any(|note| note.starts_with(begin));
    let noted = records.iter().filter(is_noted);
    let names: BTreeSet<&str> = noted.map(|record| &*record.trial.contestant.name).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// A line about users' own files that only the simulator has run: no verifier has seen them.
pub fn not_verified(records: &[Record]) -> Option<String> {
    let own = |record: &&Record| match &record.trial.contestant.scheduler {
        SchedulerChoice::File { file, sha256, .. } if !compile::is_builtin(sha256) => {
            Some((record.trial.backend.is_model(), file.clone()))
        }
        _ => None,
    };
    let own: BTreeSet<(bool, String)> = records.iter().filter_map(|record| own(&record)).collect();
    let is_unseen = |file: &str| !own.contains(&(false, file.to_owned()));
    let unseen: Vec<&str> =
        own.iter().map(|(_, file)| file.as_str()).filter(|file| is_unseen(file)).collect();
    let quoted: Vec<String> = unseen.iter().map(|file| command_line::quoted(file)).collect();
    (!unseen.is_empty()).then(|| {
        let (files, arguments) = (unseen.join(", "), quoted.join(" "));
        format!("not verified: {files}; `fairground check {arguments}` asks a kernel's verifier")
    })
}
