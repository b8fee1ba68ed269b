// SPDX-License-Identifier: GPL-2.0-only
//! From what the tracing scheduler printed to a sequence that both arms must share.
//!
//! Times, task numbers and tasks that are not the scenario's are left out. Nothing is put in order,
//! but that each CPU's callbacks stand together: between CPUs there is no order.
//!
//! The kernel's own threads are of a higher class, and wake at times of their own. Where one runs
//! for a moment amid a task's turn, the task stops and runs on, with nothing in between. Such
//! [`Visits`] can be left out, too.

use std::collections::BTreeMap;

use super::scenario::{Scenario, View};

/// The weights that the marking task gets by its nice values: the window lies between them.
const BEGIN_WEIGHT: i64 = 80;
const END_WEIGHT: i64 = 64;

/// The task that marks the window.
pub const MARK: &str = "mark";

/// Callbacks in a task's and a scheduler's life.
const LIFE: [&str; 12] = [
    "init",
    "exit",
    "init_task",
    "exit_task",
    "enable",
    "disable",
    "set_weight",
    "set_cpumask",
    "cgroup_init",
    "cgroup_exit",
    "cgroup_prep_move",
    "cgroup_move",
];

/// A printed line: `trace EVENT CPU PID COMM HEX NUMBER`.
#[derive(Clone, Debug)]
struct Line {
    event: String,
    cpu: u32,
    pid: i32,
    comm: String,
    flags: u64,
    number: i64,
}

/// What becomes of the kernel's own threads that run for a moment amid a task's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visits {
    /// They are shown, as a stop and a start.
    Shown,
    LeftOut,
}

/// The scenario's sequence in what was printed. `existing` is the name of a task that is there
/// before the scheduler. The error says what is missing, or who ran that should not have.
pub fn of(
    scenario: &Scenario,
    printed: &[String],
    existing: &str,
    visits: Visits,
) -> Result<Vec<String>, String> {
    let lines: Vec<Line> = printed.iter().filter_map(|line| parse(line)).collect();
    let names = names(&lines, existing);
    let kept = match scenario.view {
        View::Window | View::Tasks => window(&lines)?,
        View::Mistake => until_mistake(&lines)?,
        View::Life => &lines[..],
        View::Refused => &[],
    };
    let mut by_cpu: BTreeMap<u32, Vec<Named>> = BTreeMap::new();
    for line in kept {
        let name = names.get(&line.pid).map_or("other", String::as_str);
        if scenario.shows(line, name) {
            by_cpu.entry(line.cpu).or_default().push((line, name));
        }
    }
    let limit = scenario.lines.unwrap_or(usize::MAX);
    let mut sequence = Vec::new();
    for lines in by_cpu.into_values() {
        let lines = if scenario.view == View::Life { lines } else { without_looks(lines) };
        let lines = if visits == Visits::LeftOut { without_visits(lines) } else { lines };
        for (line, name) in lines.into_iter().take(limit) {
            if line.event == "running" && name == "other" {
                return Err(format!("{} ran in the window", line.comm));
            }
            sequence.push(text(line, name));
        }
    }
    Ok(sequence)
}

/// A line with the task's name in the scenario.
type Named<'a> = (&'a Line, &'a str);

/// Leaves out what an idle CPU does that looks for work and finds none: others wake now and then,
/// and must wait. The marking task's way onto its CPU, which ends the window, goes as well.
fn without_looks(lines: Vec<Named>) -> Vec<Named> {
    let says = |at: usize, event: &str| lines[at].0.event == event;
    let finds_nothing = |at: usize| {
        let answer = (at..lines.len()).find(|&at| says(at, "looked"));
        says(at, "dispatch")
            && lines[at].1 == "nobody"
            && answer.is_some_and(|at| lines[at].0.flags == 0)
    };
    let keep = |&at: &usize| !says(at, "looked") && !finds_nothing(at);
    let mut kept: Vec<Named> = (0..lines.len()).filter(keep).map(|at| lines[at]).collect();
    let leaves_idle = |line: &Line| line.event == "update_idle" && line.flags == 0;
    while kept.last().is_some_and(|(line, name)| *name == MARK || leaves_idle(line)) {
        kept.pop();
    }
    kept
}

fn without_visits(lines: Vec<Named>) -> Vec<Named> {
    let mut kept: Vec<Named> = Vec::new();
    for line in lines {
        let visited = kept.last().is_some_and(|before| {
            let runnable = before.0.flags == 1;
            before.1 == line.1 && before.0.event == "stopping" && runnable
        });
        if visited && line.0.event == "running" {
            kept.pop();
        } else {
            kept.push(line);
        }
    }
    kept
}

impl Scenario {
    fn shows(&self, line: &Line, name: &str) -> bool {
        let of_scenario = name.starts_with('_') || name == "nobody";
        match self.view {
            _ if line.event == "tick" && !self.ticks => false,
            View::Tasks => name.starts_with('_'),
            View::Life => {
                LIFE.contains(&line.event.as_str())
                    && (of_scenario || name == "existing" && line.event != "disable")
            }
            View::Window | View::Mistake | View::Refused => {
                of_scenario || ["dispatch", "running"].contains(&line.event.as_str())
            }
        }
    }
}

fn parse(line: &str) -> Option<Line> {
    let mut words = line.strip_prefix("trace ")?.split(' ');
    let mut next = || words.next();
    Some(Line {
        event: next()?.into(),
        cpu: next()?.parse().ok()?,
        pid: next()?.parse().ok()?,
        comm: next()?.into(),
        flags: u64::from_str_radix(next()?, 16).ok()?,
        number: next()?.parse().ok()?,
    })
}

/// Tasks by number: the scenario's have the last name that they gave themselves, and an ordinal if
/// somebody had it before.
fn names(lines: &[Line], existing: &str) -> BTreeMap<i32, String> {
    let mut last: BTreeMap<i32, &str> = BTreeMap::new();
    let mut order = Vec::new();
    for line in lines {
        if last.insert(line.pid, &line.comm).is_none() {
            order.push(line.pid);
        }
    }
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for pid in order {
        let comm = last[&pid];
        if comm == existing {
            // The first is there before the scheduler; others have its name from it.
            if !names.values().any(|name| name == "existing") {
                names.insert(pid, "existing".to_owned());
            }
        } else if comm.starts_with('_') || comm == MARK || comm == "nobody" {
            let count = seen.entry(comm).or_default();
            *count += 1;
            let name = if *count == 1 { comm.to_owned() } else { format!("{comm}#{count}") };
            names.insert(pid, name);
        }
    }
    names
}

fn place(lines: &[Line], weight: i64) -> Option<usize> {
    lines
        .iter()
        .position(|line| line.comm == MARK && line.event == "set_weight" && line.number == weight)
}

fn window(lines: &[Line]) -> Result<&[Line], String> {
    let begin =
        place(lines, BEGIN_WEIGHT).ok_or("the window's begin is not in what was printed")?;
    let end = place(lines, END_WEIGHT).unwrap_or(lines.len());
    Ok(&lines[begin + 1..end.max(begin + 1)])
}

/// What happens after a mistake until the scheduler is gone is not ordered; that it ends is seen in
/// the outcome.
fn until_mistake(lines: &[Line]) -> Result<&[Line], String> {
    let begin =
        place(lines, BEGIN_WEIGHT).ok_or("the window's begin is not in what was printed")?;
    let mistake = lines.iter().position(|line| line.event == "mistake");
    let end = mistake.ok_or("the mistake is not in what was printed")?;
    Ok(&lines[begin + 1..=end])
}

fn text(line: &Line, name: &str) -> String {
    let Line { event, cpu, flags, number, .. } = line;
    format!("cpu{cpu} {event} {name} {flags:x} {number}")
}
