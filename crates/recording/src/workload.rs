// SPDX-License-Identifier: GPL-2.0-only
//! A recording as a workload's file and a file of tapes.

use std::collections::BTreeSet;

use model::tape::{self, Recorded, TIME_NS_MAX};
use model::trial::sha256_hex;
use model::{Policy, Step, Tape, TapeOp, TaskGroup, Workload};

use crate::control_groups::Chosen;
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
    /// Whether the load runs for a time and not for an amount: tasks that were there for most of
    /// the recording begin again until that time is over.
    pub for_a_time: bool,
}

impl Choice {
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

struct Played {
    groups: Vec<Group>,
    control_groups: Chosen,
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
    let mut workload = workload(recording, &played);
    if choice.for_a_time {
        last(&mut workload, recording, &played)?;
    }
    // A tape that is written is not needed any more: together they may take gigabytes.
    let texts = played.tapes.into_iter().map(|tape| tape::write(std::slice::from_ref(&tape)));
    let tapes: String = texts.collect();
    workload.recording = Some(Recorded {
        source: recording.source.clone(),
        cpus: recording.cpus,
        length_us: recording.length_ns.div_ceil(1000),
        lost_events: recording.lost_events,
        untold: untold(recording, &played.counts, played.control_groups.merged),
        tapes: tapes_name.into(),
        sha256: sha256_hex(tapes.as_bytes()),
        ..Recorded::default()
    });
    let Counts { switches, waits, timers, delays, .. } = played.counts;
    let text = text(&workload).map_err(|why| Empty(why.to_string()))?;
    let workload = format!(
        "# {switches} switches. Sleeps: {waits} ended by other tasks, {timers} by timers, {delays} \
         by devices.\n{text}"
    );
    Ok(Files { workload, tapes })
}

/// The text of a workload's file, which has the name that the workload has.
///
/// # Errors
/// TOML cannot say it.
pub fn text(workload: &Workload) -> Result<String, toml::ser::Error> {
    let mut table = toml::Table::try_from(workload)?;
    table.remove("name");
    toml::to_string(&table)
}

fn refuse_long(recording: &Recording) -> Result<(), Empty> {
    if recording.length_ns > TIME_NS_MAX {
        return Err(Empty("the trace is longer than a day; cut out a part of it".into()));
    }
    Ok(())
}

fn played(recording: &Recording, choice: &Choice, written: Written) -> Result<Played, Empty> {
    let played = (0..written.tapes.len()).filter(|&task| !written.tapes[task].is_empty());
    let played: Vec<TaskIndex> = played.map(|task| TaskIndex(task as u32)).collect();
    let control_groups = Chosen::of(recording, &played, &written.tapes);
    let groups = groups::groups(recording, played.into_iter(), |task| control_groups.name(task));
    if groups.is_empty() {
        let why = if choice.only.is_empty() {
            "no task of it ran".to_owned()
        } else {
            format!("no task named {} ran", choice.only.join(" or "))
        };
        return Err(Empty(why));
    }
    let counts = written.counts;
    let tapes = in_order(recording, written, &groups, choice.for_a_time);
    Ok(Played { groups, control_groups, counts, tapes })
}

/// The tapes in the order of the groups; operations name them by their numbers.
fn in_order(
    recording: &Recording,
    mut written: Written,
    groups: &[Group],
    for_a_time: bool,
) -> Vec<Tape> {
    let order: Vec<TaskIndex> = groups.iter().flat_map(|group| group.tasks.clone()).collect();
    let mut numbers = vec![0; written.tapes.len()];
    for (number, task) in (0..).zip(&order) {
        numbers[task.0 as usize] = number;
    }
    let tape = |task: &TaskIndex| {
        let recorded = &recording.tasks[task.0 as usize];
        let mut ops = std::mem::take(&mut written.tapes[task.0 as usize]);
        let others = ops.iter_mut().filter_map(TapeOp::other_mut);
        others.for_each(|other| *other = numbers[*other as usize]);
        let lasts = for_a_time && written.lasting.contains(task);
        let works = ops.iter().any(|op| matches!(op, TapeOp::Run(_)));
        ops.extend((lasts && works).then_some(TapeOp::Again(0)));
        Tape { tid: recorded.tid, name: recorded.name.clone(), ops, line: 0 }
    };
    order.iter().map(tape).collect()
}

fn workload(recording: &Recording, played: &Played) -> Workload {
    let tasks: usize = played.groups.iter().map(|group| group.tasks.len()).sum();
    let seconds = recording.length_ns as f64 / 1e9;
    let about =
        format!("a recording of {seconds:.1} s with {tasks} tasks, from {}", recording.source);
    let group = |group: &Group| TaskGroup {
        count: group.tasks.len() as u32,
        policy: Some(group.policy).filter(|policy| *policy != Policy::default()),
        affinity: group.affinity.clone(),
        group: group.control_group.clone(),
        ..TaskGroup::once(&*group.name, vec![Step::Tape])
    };
    let headline = headline(&played.groups, &played.tapes);
    let tasks = played.groups.iter().map(group).collect();
    let control_groups = played.control_groups.groups.clone();
    Workload { about, headline, control_groups, tasks, ..Workload::default() }
}

/// Lets the workload last as long as the recording, with what its tasks achieve as its headline.
fn last(workload: &mut Workload, recording: &Recording, played: &Played) -> Result<(), Empty> {
    let mut tapes = played.tapes.iter();
    let begins_again = |group: &&Group| {
        let own = tapes.by_ref().take(group.tasks.len());
        own.filter(|tape| matches!(tape.ops.last(), Some(TapeOp::Again(_)))).count() > 0
    };
    let groups = played.groups.iter().filter(begins_again);
    let achieved: Vec<String> =
        groups.take(JUDGED).map(|group| format!("iterations_per_second {}", group.name)).collect();
    if achieved.is_empty() {
        let why = "no task could have gone on: none was there for more than half of the recording \
                   and in its last tenth, or all needed others that were not; leave out \
                   --for-a-time";
        return Err(Empty(why.into()));
    }
    workload.duration_us = Some(recording.length_ns.div_ceil(1000));
    workload.headline.splice(..1, achieved);
    Ok(())
}

/// What neither the source nor the tapes tell.
fn untold(recording: &Recording, counts: &Counts, merged: usize) -> Vec<String> {
    let Counts { unexplained, missing, .. } = counts;
    let own = [
        (merged > 0).then(|| {
            format!(
                "{merged} control groups, those with the least CPU time, count as their parents: \
                 a workload has room for no more"
            )
        }),
        (*unexplained > 0).then(|| {
            format!(
                "{unexplained} sleeps end without a wake-up; they count as timers', or devices'"
            )
        }),
        (*missing > 0).then(|| {
            format!(
                "{missing} switches are missing: there a CPU leaves another task than it had got"
            )
        }),
    ];
    recording.untold.iter().cloned().chain(own.into_iter().flatten()).collect()
}

/// A replay with fewer waits has no p99 of them.
const P99_LEAST: usize = 368;

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
    let delays = judged.map(|(sleeps, group)| {
        let measure = if *sleeps < P99_LEAST { "longest_wait_ns" } else { "run_delay_ns.p99" };
        format!("{measure} {}", group.name)
    });
    std::iter::once("completion_ns all".to_owned()).chain(delays).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Leaves, SleepsFor, Task, What};

    /// Two tasks that begin at once; each ends, or sleeps for ever, when it is told.
    fn recording(until_ns: [u64; 2]) -> Recording {
        let task = |name: &str| Task { name: name.into(), ..Task::default() };
        let switch = |at_ns, cpu, out: Option<u32>, next: Option<u32>, leaves| {
            let what = What::Switch { out: out.map(TaskIndex), leaves, next: next.map(TaskIndex) };
            Event { at_ns, cpu, what }
        };
        let events = vec![
            switch(0, 0, None, Some(0), Leaves::Runnable),
            switch(0, 1, None, Some(1), Leaves::Runnable),
            switch(until_ns[0], 0, Some(0), None, Leaves::Ended),
            switch(until_ns[1], 1, Some(1), None, Leaves::Sleeps(SleepsFor::Futex)),
        ];
        let tasks = vec![task("worker"), task("idler")];
        Recording { cpus: 2, length_ns: 2_000_000, tasks, events, ..Recording::default() }
    }

    #[test]
    fn few_waits_are_judged_by_the_longest() {
        let group = |name: &str| Group {
            name: name.into(),
            policy: Policy::default(),
            affinity: Vec::new(),
            control_group: String::new(),
            tasks: vec![TaskIndex(0)],
        };
        let tape = |sleeps| Tape { ops: vec![TapeOp::Sleep(1); sleeps], ..Tape::default() };
        let found = headline(&[group("few"), group("many")], &[tape(367), tape(368)]);
        let wanted = ["completion_ns all", "run_delay_ns.p99 many", "longest_wait_ns few"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_load_of_a_given_time_begins_again_until_then() {
        let choice = |for_a_time| Choice { for_a_time, ..Choice::default() };
        let ended = recording([1_900_000, 10_000]);
        let plain = files(&ended, &choice(false), "x.tapes").expect("a workload");
        assert_eq!(plain.tapes, "task 0 worker\nr1900000\ntask 0 idler\nr10000\n");
        assert!(!plain.workload.contains("duration_us"), "{}", plain.workload);
        let timed = files(&ended, &choice(true), "x.tapes").expect("a workload");
        assert_eq!(timed.tapes, "task 0 worker\nr1900000 a\ntask 0 idler\nr10000\n");
        for line in ["duration_us = 2000\n", "headline = [\"iterations_per_second worker\""] {
            assert!(timed.workload.contains(line), "{line}: {}", timed.workload);
        }
        let early = recording([1_700_000, 10_000]);
        let why = files(&early, &choice(true), "x.tapes").err().expect("nobody").to_string();
        assert!(why.starts_with("no task could have gone on"), "{why}");
    }
}
