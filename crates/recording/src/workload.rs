// SPDX-License-Identifier: GPL-2.0-only
//! A recording as a workload's file and a file of tapes.

use std::collections::BTreeSet;
use std::fmt::Write;

use model::tape::{self, TIME_NS_MAX};
use model::trial::sha256_hex;
use model::{Policy, PolicyClass, Tape};
use toml::Value;

use crate::event::{Recording, TaskIndex};
use crate::groups::{self, Group};
use crate::tapes::{self, Counts, Written};

/// The most groups that are judged: those that were woken most often.
const JUDGED: usize = 3;

/// What of a recording becomes a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Names of threads that are played; empty: all.
    pub only: Vec<String>,
    /// Numbers of threads that are played; `None`: all.
    pub threads: Option<BTreeSet<u32>>,
    /// Whether the kernel's own threads are played too. Otherwise what they did counts as done by
    /// devices.
    pub kernel_threads: bool,
}

impl Choice {
    /// Whether a task of the recording is played.
    pub fn keeps(&self, recording: &Recording, task: TaskIndex) -> bool {
        let task = &recording.tasks[task.0 as usize];
        let is_chosen = self.only.is_empty() || self.only.contains(&task.name);
        let is_chosen =
            is_chosen && self.threads.as_ref().is_none_or(|threads| threads.contains(&task.tid));
        is_chosen && (self.kernel_threads || task.kernel != Some(true))
    }
}

/// Why a recording makes no workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Empty(String);

/// What of a recording is played.
struct Played {
    groups: Vec<Group>,
    counts: Counts,
    /// In the order of the groups.
    tapes: Vec<Tape>,
}

/// A workload that plays a recording, as the texts of two files.
pub struct Files {
    pub workload: String,
    pub tapes: String,
}

/// The workload's file, and the file with a tape for each task, which will have this name.
///
/// # Errors
/// No task is left, or the recording is too long.
pub fn files(recording: &Recording, choice: &Choice, tapes_name: &str) -> Result<Files, Empty> {
    refuse_long(recording)?;
    let written = tapes::write(recording, |task| choice.keeps(recording, task));
    files_of(recording, choice, written, tapes_name)
}

/// The same of tapes that are written already; the recording needs no events.
///
/// # Errors
/// No task is left, or the recording is too long.
pub fn files_of(
    recording: &Recording,
    choice: &Choice,
    written: Written,
    tapes_name: &str,
) -> Result<Files, Empty> {
    refuse_long(recording)?;
    let played = played(recording, choice, written)?;
    let mut text = String::new();
    head(&mut text, recording, &played);
    tasks(&mut text, &played.groups);
    facts(&mut text, recording, &played.counts);
    // A tape that is written is not needed any more: together they may take gigabytes.
    let texts = played.tapes.into_iter().map(|tape| tape::write(std::slice::from_ref(&tape)));
    let tapes: String = texts.collect();
    let sha256 = sha256_hex(tapes.as_bytes());
    let _ = writeln!(text, "tapes = {}\nsha256 = \"{sha256}\"", Value::from(tapes_name));
    Ok(Files { workload: text, tapes })
}

fn refuse_long(recording: &Recording) -> Result<(), Empty> {
    if recording.length_ns > TIME_NS_MAX {
        return Err(Empty("the trace is longer than a day; cut out a part of it".into()));
    }
    Ok(())
}

fn played(recording: &Recording, choice: &Choice, written: Written) -> Result<Played, Empty> {
    let played = (0..written.tapes.len()).filter(|&task| !written.tapes[task].is_empty());
    let groups = groups::groups(recording, played.map(|task| TaskIndex(task as u32)));
    if groups.is_empty() {
        let why = if choice.only.is_empty() {
            "no task of it ran".to_owned()
        } else {
            format!("no task named {} ran", choice.only.join(" or "))
        };
        return Err(Empty(why));
    }
    let counts = written.counts;
    let tapes = in_order(recording, written, &groups);
    Ok(Played { groups, counts, tapes })
}

/// The tapes in the order of the groups; operations name them by their numbers.
fn in_order(recording: &Recording, mut written: Written, groups: &[Group]) -> Vec<Tape> {
    let order: Vec<TaskIndex> = groups.iter().flat_map(|group| group.tasks.clone()).collect();
    let mut numbers = vec![0; written.tapes.len()];
    for (number, task) in (0..).zip(&order) {
        numbers[task.0 as usize] = number;
    }
    let tape = |task: &TaskIndex| {
        let recorded = &recording.tasks[task.0 as usize];
        let mut ops = std::mem::take(&mut written.tapes[task.0 as usize]);
        ops.iter_mut().for_each(|op| *op = op.with_other(|task| numbers[task as usize]));
        Tape { tid: recorded.tid, name: recorded.name.clone(), ops, line: 0 }
    };
    order.iter().map(tape).collect()
}

fn head(text: &mut String, recording: &Recording, played: &Played) {
    let tasks: usize = played.groups.iter().map(|group| group.tasks.len()).sum();
    let seconds = recording.length_ns as f64 / 1e9;
    let about =
        format!("a recording of {seconds:.1} s with {tasks} tasks, from {}", recording.source);
    let headline: Vec<Value> =
        headline(&played.groups, &played.tapes).into_iter().map(Value::from).collect();
    let _ = writeln!(text, "about = {}", Value::from(about));
    let _ = writeln!(text, "headline = {}", Value::from(headline));
}

fn tasks(text: &mut String, groups: &[Group]) {
    for group in groups {
        let count = group.tasks.len();
        let _ = writeln!(text, "\n[[task]]\nname = {}", Value::from(group.name.as_str()));
        let _ = writeln!(text, "count = {count}\nrepeat = 1");
        if group.policy != Policy::default() {
            let _ = writeln!(text, "policy = {}", policy(&group.policy));
        }
        if !group.affinity.is_empty() {
            let _ = writeln!(text, "affinity = {:?}", group.affinity);
        }
        text.push_str("steps = [\"tape\"]\n");
    }
}

fn facts(text: &mut String, recording: &Recording, counts: &Counts) {
    let Counts { switches, waits, timers, delays, unexplained, missing } = counts;
    let _ = write!(
        text,
        "\n# {switches} switches. Sleeps: {waits} ended by other tasks, {timers} by timers, \
         {delays} by devices.\n[recording]\nsource = {}\ncpus = {}\nlength_us = {}\n\
         lost_events = {}\n",
        Value::from(recording.source.as_str()),
        recording.cpus,
        recording.length_ns.div_ceil(1000),
        recording.lost_events,
    );
    let mut untold = recording.untold.clone();
    if *unexplained > 0 {
        untold.push(format!(
            "{unexplained} sleeps end without a wake-up; they count as timers', or devices'"
        ));
    }
    if *missing > 0 {
        untold.push(format!(
            "{missing} switches are missing: there a CPU leaves another task than it had got"
        ));
    }
    text.push_str("untold = [\n");
    for sentence in untold {
        let _ = writeln!(text, "    {},", Value::from(sentence));
    }
    text.push_str("]\n");
}

/// How long everything takes, and how long those tasks wait for a CPU that wake up most often.
fn headline(groups: &[Group], tapes: &[Tape]) -> Vec<String> {
    let mut tapes = tapes.iter();
    let mut sleeps = |group: &Group| -> usize {
        let own = tapes.by_ref().take(group.tasks.len());
        own.map(|tape| tape.ops.iter().filter(|op| op.may_sleep()).count()).sum()
    };
    let mut busy: Vec<(usize, &Group)> =
        groups.iter().map(|group| (sleeps(group), group)).collect();
    busy.sort_by_key(|(sleeps, _)| std::cmp::Reverse(*sleeps));
    let judged = busy.iter().filter(|(sleeps, _)| *sleeps > 0).take(JUDGED);
    let delays = judged.map(|(_, group)| format!("run_delay_ns.p99 {}", group.name));
    std::iter::once("completion_ns all".to_owned()).chain(delays).collect()
}

fn policy(policy: &Policy) -> String {
    let class = match policy.class {
        PolicyClass::Other => "other",
        PolicyClass::Batch => "batch",
        PolicyClass::Idle => "idle",
        PolicyClass::Fifo => "fifo",
        PolicyClass::Rr => "rr",
        PolicyClass::Deadline => "deadline",
    };
    let numbers = [
        ("nice", i64::from(policy.nice)),
        ("priority", i64::from(policy.priority)),
        ("runtime_us", policy.runtime_us as i64),
        ("deadline_us", policy.deadline_us as i64),
        ("period_us", policy.period_us as i64),
    ];
    let set = numbers.iter().filter(|(_, value)| *value != 0);
    let set: String = set.map(|(name, value)| format!(", {name} = {value}")).collect();
    format!("{{ class = \"{class}\"{set} }}")
}
