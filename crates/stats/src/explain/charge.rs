// SPDX-License-Identifier: GPL-2.0-only
//! Charges every wait to the groups that its CPU ran during it.
//!
//! The time that interrupts took from CPUs, and from which tasks.
//!
//! The timeline in letters: the group that used each CPU most, column by column.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::idle::Idle;
use super::timeline::{CpuSpan, Timeline};
use super::{Spent, Wait};

/// The time of a CPU from the start to some moment, by group, then idling.
pub struct Meter<'a> {
    stretches: &'a [CpuSpan],
    timeline: &'a Timeline,
    place: usize,
    now_ns: u64,
    pub sums: Vec<u64>,
}

impl<'a> Meter<'a> {
    pub fn new(timeline: &'a Timeline, cpu: usize) -> Meter<'a> {
        let sums = vec![0; timeline.groups.len() + 1];
        Meter { stretches: &timeline.stretches[cpu], timeline, place: 0, now_ns: 0, sums }
    }

    /// Advances to this time, which must not be in the past.
    pub fn advance(&mut self, to_ns: u64) {
        while let Some(stretch) = self.stretches.get(self.place)
            && self.now_ns < to_ns
        {
            let stop_ns = stretch.to_ns.min(to_ns);
            let idle = self.timeline.groups.len();
            let whose = stretch.task.map_or(idle, |task| self.timeline.tasks[task].group);
            self.sums[whose] += stop_ns.saturating_sub(self.now_ns.max(stretch.from_ns));
            self.now_ns = stop_ns;
            self.place += usize::from(stop_ns == stretch.to_ns);
        }
    }
}

/// Where each task's time went.
pub fn tasks(timeline: &Timeline, idle: &Idle) -> Vec<Spent> {
    let (sums, idle_ns) = charges(timeline);
    let mut tasks: Vec<Spent> = timeline.tasks.iter().map(|past| spent(timeline, past)).collect();
    for (task, sums) in tasks.iter_mut().zip(sums) {
        add(&mut task.instead_ns, timeline.groups.iter().cloned().zip(sums));
    }
    for (wait, cpu_idle_ns) in timeline.waits.iter().zip(idle_ns) {
        let task = &mut tasks[wait.task];
        task.waits += 1;
        task.longest_wait_ns = task.longest_wait_ns.max(wait.to_ns - wait.from_ns);
        task.cpu_idle_ns += cpu_idle_ns;
        task.other_idle_ns += idle.elsewhere_ns(timeline, wait, cpu_idle_ns);
    }
    tasks.retain(|task| task.lifetime_ns > 0);
    tasks
}

/// For each task, the time of the CPUs that it waited on by group; for each wait, how long they
/// idled: the CPU's sums at the end of a part minus those at its beginning.
fn charges(timeline: &Timeline) -> (Vec<Vec<u64>>, Vec<u64>) {
    let mut boundaries: Vec<Vec<(u64, usize, bool)>> = vec![Vec::new(); timeline.stretches.len()];
    for (number, wait) in timeline.waits.iter().enumerate() {
        for part in &wait.parts {
            let on_cpu = &mut boundaries[part.cpu as usize];
            on_cpu.extend([(part.from_ns, number, true), (part.to_ns, number, false)]);
        }
    }
    let idle = timeline.groups.len();
    let mut sums = vec![vec![0_u64; idle]; timeline.tasks.len()];
    let mut idle_ns = vec![0_u64; timeline.waits.len()];
    for (cpu, mut on_cpu) in boundaries.into_iter().enumerate() {
        on_cpu.sort_unstable();
        let mut meter = Meter::new(timeline, cpu);
        for (at_ns, wait, begins) in on_cpu {
            meter.advance(at_ns);
            // The final difference is never negative; intermediate ones may wrap.
            let change = |sum: &mut u64, now: u64| {
                *sum = if begins { sum.wrapping_sub(now) } else { sum.wrapping_add(now) };
            };
            let own = &mut sums[timeline.waits[wait].task];
            own.iter_mut().zip(&meter.sums).for_each(|(sum, now)| change(sum, *now));
            change(&mut idle_ns[wait], meter.sums[idle]);
        }
    }
    (sums, idle_ns)
}

fn spent(timeline: &Timeline, past: &super::TaskTimes) -> Spent {
    let idle_ns = past.sleeping_ns + past.blocked_ns;
    Spent {
        name: past.name.clone(),
        group: timeline.groups[past.group].clone(),
        pid: past.pid,
        tasks: 1,
        lifetime_ns: past.running_ns + past.waiting_ns + idle_ns,
        running_ns: past.running_ns,
        waiting_ns: past.waiting_ns,
        sleeping_ns: past.sleeping_ns,
        blocked_ns: past.blocked_ns,
        preemptions: past.preemptions,
        moves: past.moves,
        ..Spent::default()
    }
}

fn add(sums: &mut BTreeMap<String, u64>, more: impl Iterator<Item = (String, u64)>) {
    for (name, ns) in more.filter(|&(_, ns)| ns > 0) {
        *sums.entry(name).or_default() += ns;
    }
}

/// The sums over each group's tasks.
pub fn groups(timeline: &Timeline, tasks: &[Spent]) -> Vec<Spent> {
    let group = |name: &String| {
        let of_group = tasks.iter().filter(|task| task.group == *name);
        let empty = Spent { name: name.clone(), group: name.clone(), ..Spent::default() };
        of_group.fold(empty, plus)
    };
    timeline.groups.iter().map(group).filter(|group| group.tasks > 0).collect()
}

fn plus(mut sum: Spent, task: &Spent) -> Spent {
    sum.tasks += task.tasks;
    sum.lifetime_ns += task.lifetime_ns;
    sum.running_ns += task.running_ns;
    sum.waiting_ns += task.waiting_ns;
    sum.sleeping_ns += task.sleeping_ns;
    sum.blocked_ns += task.blocked_ns;
    sum.waits += task.waits;
    sum.preemptions += task.preemptions;
    sum.moves += task.moves;
    sum.longest_wait_ns = sum.longest_wait_ns.max(task.longest_wait_ns);
    sum.cpu_idle_ns += task.cpu_idle_ns;
    sum.other_idle_ns += task.other_idle_ns;
    add(&mut sum.instead_ns, task.instead_ns.iter().map(|(name, &ns)| (name.clone(), ns)));
    sum
}

/// An interrupt's work on a CPU, soft interrupts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    pub cpu: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// What interrupts took of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interrupted {
    pub cpu: u32,
    pub times: u64,
    pub ns: u64,
    /// The stretch of [`STRETCH_NS`] in which they took most, ns.
    pub worst_from_ns: u64,
    pub worst_ns: u64,
    /// The task that lost most to them while it ran; empty: only the idle task was interrupted.
    pub task: String,
    pub task_ns: u64,
}

pub const STRETCH_NS: u64 = 10_000_000;

/// By CPU, most time first; interrupts of one CPU are in order of time.
pub fn interrupted(timeline: &Timeline, interrupts: &[Interrupt]) -> Vec<Interrupted> {
    let mut by_cpu: BTreeMap<u32, Vec<&Interrupt>> = BTreeMap::new();
    for interrupt in interrupts {
        by_cpu.entry(interrupt.cpu).or_default().push(interrupt);
    }
    let mut all: Vec<Interrupted> =
        by_cpu.into_iter().map(|(cpu, interrupts)| on_cpu(timeline, cpu, &interrupts)).collect();
    all.sort_by_key(|of_cpu| (std::cmp::Reverse(of_cpu.ns), of_cpu.cpu));
    all
}

fn on_cpu(timeline: &Timeline, cpu: u32, interrupts: &[&Interrupt]) -> Interrupted {
    let stretches = timeline.stretches.get(cpu as usize).map_or(&[][..], |of_cpu| of_cpu);
    let mut sums = Interrupted { cpu, times: interrupts.len() as u64, ..Interrupted::default() };
    let (mut by_task, mut windows) = (BTreeMap::<usize, u64>::new(), BTreeMap::<u64, u64>::new());
    let mut place = 0;
    for interrupt in interrupts {
        let ns = interrupt.to_ns - interrupt.from_ns;
        sums.ns += ns;
        *windows.entry(interrupt.from_ns / STRETCH_NS).or_default() += ns;
        while stretches.get(place).is_some_and(|stretch| stretch.to_ns <= interrupt.from_ns) {
            place += 1;
        }
        if let Some(task) = stretches.get(place).and_then(|stretch| stretch.task) {
            *by_task.entry(task).or_default() += ns;
        }
    }
    let most = |sums: BTreeMap<u64, u64>| sums.into_iter().max_by_key(|&(key, ns)| (ns, !key));
    if let Some((window, ns)) = most(windows) {
        (sums.worst_from_ns, sums.worst_ns) = (window * STRETCH_NS, ns);
    }
    if let Some((task, ns)) = by_task.into_iter().max_by_key(|&(task, ns)| (ns, !task)) {
        (sums.task, sums.task_ns) = (timeline.tasks[task].name.clone(), ns);
    }
    sums
}

/// The most letters of a lane and of a row of [`View`].
const LETTERS: u64 = 80;
/// Fewer letters tell nothing.
const LETTERS_LEAST: u64 = 20;

/// How long timelines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Letters {
    /// Of each [`Lane`].
    pub lane: u64,
    /// Of each [`TaskRow`].
    pub row: u64,
}

impl Default for Letters {
    fn default() -> Letters {
        Letters { lane: LETTERS, row: LETTERS }
    }
}

impl Letters {
    /// As many as there is room for, within reason.
    pub fn fitting(lane: u64, row: u64) -> Letters {
        let [lane, row] = [lane, row].map(|room| room.clamp(LETTERS_LEAST, LETTERS));
        Letters { lane, row }
    }
}

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
pub fn view(timeline: &Timeline, wait: &Wait, letters: u64) -> View {
    let margin_ns = (wait.to_ns - wait.from_ns) / 12;
    let from_ns = wait.from_ns.saturating_sub(margin_ns);
    let to_ns = (wait.to_ns + margin_ns).min(timeline.end_ns);
    let column_ns = column_ns((from_ns, to_ns), letters);
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
    for cpu in 0..timeline.stretches.len() as u32 {
        let within = timeline.within(cpu, from_ns, to_ns);
        for (stretch, _) in within.filter(|(stretch, _)| stretch.task == Some(task)) {
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

pub fn column_ns((from_ns, to_ns): (u64, u64), letters: u64) -> u64 {
    (to_ns - from_ns).div_ceil(letters).max(1)
}

pub fn lanes(timeline: &Timeline, window: (u64, u64), letters: u64) -> Vec<Lane> {
    let length_ns = column_ns(window, letters);
    (0..timeline.stretches.len()).map(|cpu| lane(timeline, cpu, window, length_ns)).collect()
}

fn lane(timeline: &Timeline, cpu: usize, (from_ns, to_ns): (u64, u64), length_ns: u64) -> Lane {
    let mut meter = Meter::new(timeline, cpu);
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
