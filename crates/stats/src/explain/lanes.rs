// SPDX-License-Identifier: GPL-2.0-only
//! The timeline in letters: the group that used each CPU most, column by column.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Wait;
use super::charge::Meter;
use super::timeline::Timeline;

const COLUMNS: u64 = 80;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    pub cpu: u32,
    /// One letter per column, for the longest user of the CPU in it: `a` for the first group of
    /// [`super::Explanation::groups`], `b` for the second …, `*` for tasks outside the workload,
    /// `.` for the idle task.
    pub letters: String,
}

/// A closer look at some tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct View {
    pub from_ns: u64,
    pub to_ns: u64,
    /// The length of a column, ns.
    pub column_ns: u64,
    pub rows: Vec<TaskRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskRow {
    pub task: String,
    /// One sign per column for its longest state: `#` running, `-` waiting, `·` sleeping or not
    /// there.
    pub letters: String,
}

/// A wait with some time before and after it, and the tasks that ran instead.
pub fn view(timeline: &Timeline, wait: &Wait) -> View {
    let margin_ns = (wait.to_ns - wait.from_ns) / 12;
    let from_ns = wait.from_ns.saturating_sub(margin_ns);
    let to_ns = (wait.to_ns + margin_ns).min(timeline.end_ns);
    let column_ns = (to_ns - from_ns).div_ceil(COLUMNS).max(1);
    let others = wait.instead.iter().map(|turn| turn.task.as_str());
    let mut names: Vec<&str> = std::iter::once(wait.task.as_str()).chain(others).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let row = |name: &&str| {
        let task = timeline.tasks.iter().position(|task| task.name == **name)?;
        Some(TaskRow {
            task: (*name).into(),
            letters: row(timeline, task, from_ns, to_ns, column_ns),
        })
    };
    let rows = names.iter().filter_map(row).collect();
    View { from_ns, to_ns, column_ns, rows }
}

fn row(timeline: &Timeline, task: usize, from_ns: u64, to_ns: u64, column_ns: u64) -> String {
    let columns = (to_ns - from_ns).div_ceil(column_ns) as usize;
    let (mut ran, mut waited) = (vec![0; columns], vec![0; columns]);
    let add = |sums: &mut Vec<u64>, start: u64, end: u64| {
        let (start, end) = (start.max(from_ns) - from_ns, end.min(to_ns) - from_ns);
        for column in (start / column_ns)..end.div_ceil(column_ns) {
            let (left, right) = (column * column_ns, (column + 1) * column_ns);
            sums[column as usize] += end.min(right) - start.max(left);
        }
    };
    for stretches in &timeline.stretches {
        let first = stretches.partition_point(|stretch| stretch.to_ns <= from_ns);
        let within = stretches[first..].iter().take_while(|stretch| stretch.from_ns < to_ns);
        for stretch in within.filter(|stretch| stretch.task == Some(task)) {
            add(&mut ran, stretch.from_ns, stretch.to_ns);
        }
    }
    let ours = timeline.waits.iter().filter(|wait| wait.task == task);
    for wait in ours.filter(|wait| wait.from_ns < to_ns && wait.to_ns > from_ns) {
        add(&mut waited, wait.from_ns, wait.to_ns);
    }
    let sign = |(ran, waited): (&u64, &u64)| match column_ns - (ran + waited).min(column_ns) {
        slept if slept > *ran.max(waited) => '·',
        _ if ran >= waited => '#',
        _ => '-',
    };
    ran.iter().zip(&waited).map(sign).collect()
}

/// The length of a column, ns.
pub fn column_ns((from_ns, to_ns): (u64, u64)) -> u64 {
    (to_ns - from_ns).div_ceil(COLUMNS).max(1)
}

pub fn lanes(timeline: &Timeline, window: (u64, u64)) -> Vec<Lane> {
    (0..timeline.stretches.len()).map(|cpu| lane(timeline, cpu, window)).collect()
}

fn lane(timeline: &Timeline, cpu: usize, (from_ns, to_ns): (u64, u64)) -> Lane {
    let (mut meter, length_ns) = (Meter::new(timeline, cpu), column_ns((from_ns, to_ns)));
    meter.advance(from_ns);
    let mut before = meter.sums.clone();
    let columns = (to_ns - from_ns).div_ceil(length_ns);
    let letter = |column: u64| {
        meter.advance((from_ns + column * length_ns).min(to_ns));
        let spent = meter.sums.iter().zip(&before).map(|(now, before)| now - before);
        let most = spent.enumerate().max_by_key(|&(group, ns)| (ns, usize::MAX - group));
        let (group, ns) = most.unwrap_or_default();
        before.clone_from(&meter.sums);
        if ns == 0 { '.' } else { self::letter(timeline, group) }
    };
    Lane { cpu: cpu as u32, letters: (1..=columns).map(letter).collect() }
}

fn letter(timeline: &Timeline, group: usize) -> char {
    let strangers = timeline.groups.len() - 1;
    match group {
        _ if group > strangers => '.',
        _ if group == strangers => '*',
        _ => group_letter(group),
    }
}

/// The letter of a group of the workload, by its number.
pub fn group_letter(group: usize) -> char {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.clone().nth(group).unwrap_or('?')
}
