// SPDX-License-Identifier: GPL-2.0-only
//! An explanation in words: where the time went, what ran instead, why the longest waits were long.
//!
//! [`sentences`] are shared with the HTML page; [`text`] is the terminal's form.

pub mod sentences;

use model::metric::Unit;
use stats::explain::{Explanation, GroupCause, Letters, Limit, Spent, Wait};

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::terminal::layout::{COLUMNS, Paint, fit, pad_left, wrapped};
use crate::units;
use sentences::{moment, share, time};

/// The most tasks that are listed one by one.
const TASKS: usize = 8;

/// The most groups.
const GROUPS: usize = 12;

/// The most CPUs with interrupts, and tasks that were moved.
const LISTED: usize = 4;

/// Characters of a task's name that are shown.
const NAME: usize = 23;

/// The most CPUs of the timeline.
const LANES: usize = 32;

/// The whole explanation for a terminal: at most 110 columns, colour only if asked for.
pub fn text(title: &str, explanation: &Explanation, colour: bool) -> String {
    let paint = Paint(colour);
    let parts = [
        head(title, explanation, paint),
        where_time_went(explanation, paint),
        who_ran_instead(explanation, paint),
        longest_waits(explanation, paint),
        held(explanation, paint),
        interrupts(explanation, paint),
        moves(explanation, paint),
        idle_while_waiting(explanation, paint),
        timeline(explanation, paint),
        notes(explanation),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn head(title: &str, explanation: &Explanation, paint: Paint) -> String {
    let cpus = units::count(explanation.cpus.into(), "CPU");
    let switches = units::number(explanation.switches as f64, Unit::Count);
    let facts = format!("{} on {cpus}, {switches} switches", time(explanation.end_ns));
    format!("{}\n{facts}\n", paint.bold(&fit(title, COLUMNS)))
}

fn where_time_went(explanation: &Explanation, paint: Paint) -> String {
    let mut table = Table::new(&[
        ("", Left),
        ("tasks", Right),
        ("running", Right),
        ("waiting", Right),
        ("sleeping", Right),
        ("blocked", Right),
        ("longest wait", Right),
    ]);
    let mut groups: Vec<&Spent> = explanation.groups.iter().collect();
    keep_most_waiting(&mut groups);
    groups.iter().for_each(|group| table.add(spent(group, sentences::group(&group.name))));
    let (listed, all) = most_waiting(explanation);
    listed.iter().for_each(|task| table.add(spent(task, &task.name)));
    let mut lines = table.terminal("  ", &[NAME, 5, 14, 14, 14, 14, 13], paint);
    if !listed.is_empty() {
        let which = if listed.len() < all {
            format!("the {} of {all} tasks that waited longest", listed.len())
        } else {
            "task by task".into()
        };
        lines.insert(1 + groups.len(), format!("  {}\n", paint.dim(&which)));
    }
    format!("{}\n{}", paint.bold("Where the time went"), lines.concat())
}

/// A machine has many groups: those that waited most, in their order.
fn keep_most_waiting(groups: &mut Vec<&Spent>) {
    let mut waited: Vec<u64> = groups.iter().map(|group| group.waiting_ns).collect();
    waited.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    if let Some(least) = waited.get(GROUPS) {
        groups.retain(|group| group.waiting_ns > *least);
    }
}

/// The tasks of groups of several that waited most, and how many such tasks there are.
fn most_waiting(explanation: &Explanation) -> (Vec<&Spent>, usize) {
    let several =
        |name: &str| explanation.groups.iter().any(|group| group.name == name && group.tasks > 1);
    let ours = |task: &&Spent| !task.group.is_empty() && several(&task.group);
    let mut tasks: Vec<&Spent> = explanation.tasks.iter().filter(ours).collect();
    let all = tasks.len();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.waiting_ns));
    tasks.truncate(TASKS);
    (tasks, all)
}

fn spent(spent: &Spent, name: &str) -> [String; 7] {
    let part = |ns: u64| match ns {
        0 => "–".into(),
        ns => format!("{} {}", time(ns), pad_left(&share(ns, spent.lifetime_ns), 6)),
    };
    let longest = match spent.longest_wait_ns {
        0 => "–".into(),
        ns => time(ns),
    };
    let tasks = units::number(spent.tasks as f64, Unit::Count);
    let [running, waiting] = [spent.running_ns, spent.waiting_ns].map(part);
    let [sleeping, blocked] = [spent.sleeping_ns, spent.blocked_ns].map(part);
    [fit(name, NAME), tasks, running, waiting, sleeping, blocked, longest]
}

fn who_ran_instead(explanation: &Explanation, paint: Paint) -> String {
    // The affinity of tasks outside the workload is not recorded.
    let ours = explanation.groups.iter().filter(|group| !group.name.is_empty());
    let waited = ours.filter(|group| group.waiting_ns > 0);
    let mut waited: Vec<&Spent> = waited.collect();
    keep_most_waiting(&mut waited);
    let lines: String = waited.into_iter().map(|group| wrapped_in(&instead(group), 4)).collect();
    titled("What ran instead of waiting tasks", &lines, paint)
}

/// `hog waited 12 times, 301 ms in all; meanwhile its CPU ran hog 98.2 %, and idled 1.8 %.`
pub(crate) fn instead(group: &Spent) -> String {
    let waits = units::count(group.waits, "time");
    let name = sentences::group(&group.name);
    let parts = sentences::instead(&group.instead_ns, group.cpu_idle_ns, group.waiting_ns);
    let elsewhere = sentences::elsewhere(group.other_idle_ns, group.waiting_ns);
    let all = time(group.waiting_ns);
    format!("{name} waited {waits}, {all} in all; meanwhile {parts}.{elsewhere}")
}

fn longest_waits(explanation: &Explanation, paint: Paint) -> String {
    if explanation.waits.is_empty() {
        return String::new();
    }
    let told: String = explanation.waits.iter().map(|wait| story(wait, paint)).collect();
    format!("{}\n{told}", paint.bold("The longest waits"))
}

fn story(wait: &Wait, paint: Paint) -> String {
    let head = format!("{}: {}", time(wait.to_ns - wait.from_ns), wait.task);
    let sentences = sentences::wait(wait).join(" ");
    format!("  {}\n{}", paint.bold(&fit(&head, COLUMNS - 2)), wrapped_in(&sentences, 4))
}

/// Sleeps that waits of other tasks prolonged.
fn held(explanation: &Explanation, paint: Paint) -> String {
    let mut text = String::new();
    for held in &explanation.held {
        let head = format!("{}: {}", time(held.to_ns - held.from_ns), held.task);
        text += &format!("  {}\n", paint.bold(&fit(&head, COLUMNS - 2)));
        text += &wrapped_in(&sentences::held(held), 4);
    }
    titled("Sleeps that others' waits prolonged", &text, paint)
}

fn interrupts(explanation: &Explanation, paint: Paint) -> String {
    let listed = explanation.interrupts.iter().take(LISTED);
    let lines: String = listed
        .map(|of_cpu| wrapped_in(&sentences::interrupted(of_cpu, explanation.end_ns), 4))
        .collect();
    titled("Interrupts", &lines, paint)
}

/// The tasks that were preempted or moved most; a single one that moved tells nothing.
fn moves(explanation: &Explanation, paint: Paint) -> String {
    let mut tasks: Vec<&Spent> =
        explanation.tasks.iter().filter(|task| task.moves > 1 && !task.group.is_empty()).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.preemptions + task.moves));
    let lines = tasks.iter().take(LISTED).map(|task| wrapped_in(&sentences::moved(task), 4));
    titled("Moves", &lines.collect::<String>(), paint)
}

pub(crate) fn titled(title: &str, lines: &str, paint: Paint) -> String {
    match lines {
        "" => String::new(),
        lines => format!("{}\n{lines}", paint.bold(title)),
    }
}

fn idle_while_waiting(explanation: &Explanation, paint: Paint) -> String {
    let idle = &explanation.idle;
    let mut text = paint.bold("Idle while work waited") + "\n";
    text += &wrapped_in(&sentences::idle(explanation), 2);
    for episode in &idle.worst {
        text += &wrapped_in(&sentences::episode(episode), 4);
    }
    text
}

/// The columns before the letters of a CPU's lane and of a task's row.
const LANE_LABEL: usize = 11;
const ROW_LABEL: usize = 26;

/// How long timelines are on a terminal of this many columns.
pub fn letters(columns: usize) -> Letters {
    let [lane, row] = [LANE_LABEL, ROW_LABEL].map(|label| columns.saturating_sub(label) as u64);
    Letters::fitting(lane, row)
}

fn timeline(explanation: &Explanation, paint: Paint) -> String {
    let mut text = paint.bold("Timeline") + "\n";
    text += &wrapped_in(&sentences::legend(explanation), 2);
    for lane in explanation.lanes.iter().take(LANES) {
        let cpu = format!("  CPU {}", lane.cpu);
        text += &format!("{cpu:<LANE_LABEL$}{}\n", lane.letters);
    }
    if explanation.lanes.len() > LANES {
        text += &format!("  and {} more CPUs\n", explanation.lanes.len() - LANES);
    }
    let first = explanation.lanes.first().map(|lane| &lane.letters);
    let from_ns = explanation.lanes_from_ns;
    let columns = first.map_or(0, |letters| letters.len() as u64);
    let to_ns = explanation.end_ns.min(from_ns + columns * explanation.column_ns);
    text += &scale(LANE_LABEL, from_ns, to_ns, first);
    text + &around(explanation)
}

/// The longest wait and the tasks that ran instead.
fn around(explanation: &Explanation) -> String {
    let Some(view) = &explanation.longest else { return String::new() };
    let mut text = wrapped_in(&sentences::view(view), 2);
    for row in &view.rows {
        let task = format!("  {}", fit(&row.task, NAME));
        text += &format!("{task:<ROW_LABEL$}{}\n", row.letters.trim_end());
    }
    text + &scale(ROW_LABEL, view.from_ns, view.to_ns, view.rows.first().map(|row| &row.letters))
}

/// The moments at both ends of a timeline.
fn scale(indent: usize, from_ns: u64, to_ns: u64, row: Option<&String>) -> String {
    let (from, to) = (moment(from_ns), moment(to_ns));
    let width = row.map_or(0, |row| row.chars().count()).saturating_sub(from.chars().count());
    format!("{:indent$}{from}{}\n", "", pad_left(&to, width))
}

fn notes(explanation: &Explanation) -> String {
    sentences::notes(explanation)
        .iter()
        .map(|note| wrapped(&format!("note: {note}"), "      "))
        .collect()
}

/// A paragraph with an indent of two spaces, and another one for the following lines.
pub(crate) fn wrapped_in(text: &str, indent: usize) -> String {
    let lines = wrapped(text, &" ".repeat(indent.saturating_sub(2)));
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

/// `Its group …` had used its quota or its share.
pub fn group_cause(cause: &GroupCause) -> String {
    let (name, lasted) = (&cause.group, time(cause.ns));
    match cause.limit {
        Limit::Quota { quota_ns, period_ns } => {
            let (quota, period) = (time(quota_ns), time(period_ns));
            format!(
                "Its group `{name}` had used its quota of {quota} in {period}, and none of its \
                 tasks ran for {lasted}."
            )
        }
        Limit::Share { weight: 0, .. } => {
            format!("Its group `{name}` is idle, and others ran for {lasted}.")
        }
        Limit::Share { weight, of, used_ns, of_ns, before_ns } => {
            let had = if cause.had_its_share() { "had used its" } else { "has a small" };
            let (part, used) = (share(weight, of), share(used_ns, of_ns));
            format!(
                "Its group `{name}` {had} share, {part} (weight {weight} of {of}): it had {used} \
                 of its parent's CPU time in {}, and others ran for {lasted}.",
                time(before_ns)
            )
        }
    }
}
