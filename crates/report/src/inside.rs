// SPDX-License-Identifier: GPL-2.0-only
//! The inside of a scheduler for a terminal: what its callbacks, queues, variables and maps did.

use model::inside::{Inside, MapNumbers, Part, Told, VariableOverTime, spread};
use model::metric::Unit;
use model::record::Provenance;
use model::trace::Queue;
use stats::explain::{Explanation, QueueUse, Spent};

use crate::explain::sentences::{self, share, time};
use crate::explain::{titled, wrapped_in};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::terminal::history_text::{picture, picture_above};
use crate::terminal::layout::{Paint, fit};
use crate::units;

/// All of it, each part with a title; empty for a trial without a scheduler's file.
pub fn text(provenance: &Provenance, explanation: &Explanation, colour: bool) -> String {
    let (inside, paint) = (&provenance.inside, Paint(colour));
    let missing = inside.missing.iter().map(|what| wrapped_in(&format!("missing: {what}"), 4));
    let parts = [
        callbacks(inside, explanation, paint),
        queues(explanation, paint),
        over_time(inside, paint),
        variables_at_end(&provenance.variables, colour),
        maps(inside, explanation, paint),
        told(inside, paint),
        titled("What is not known of it", &missing.collect::<String>(), paint),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.map(|part| format!("\n{part}")).collect()
}

fn callbacks(inside: &Inside, explanation: &Explanation, paint: Paint) -> String {
    if inside.callbacks.is_empty() {
        return String::new();
    }
    let headings = ["calls", "per second", "mean time", "share of CPUs"];
    let headings = headings.map(|heading| (heading, Right));
    let mut table = Table::new(&[&[("", Left)], &headings[..]].concat());
    let seconds = explanation.end_ns.max(1) as f64 / 1e9;
    let capacity_ns = explanation.end_ns.saturating_mul(explanation.cpus.into());
    for callback in &inside.callbacks {
        let calls = callback.calls.max(1);
        table.add([
            callback.name.clone(),
            units::number(calls as f64, Unit::Count),
            units::number(calls as f64 / seconds, Unit::Count),
            time(callback.time_ns / calls),
            share(callback.time_ns, capacity_ns),
        ]);
    }
    let mut lines = table.fitted(&[NAME, 12, 12, 12, 13]).terminal("  ", &WIDTHS, paint).concat();
    let what = match explanation.decisions {
        true => "A call takes what the machine's [costs] say, not what the code takes.",
        false => "As the kernel counts them, for all tasks of the machine.",
    };
    lines += &wrapped_in(what, 2);
    titled("Its callbacks", &lines, paint)
}

/// The queues in which tasks waited longest in all, in their order.
fn queues(explanation: &Explanation, paint: Paint) -> String {
    let numbers = ["put in", "depth median", "p99", "max", "wait median", "p99", "max"];
    let numbers = numbers.map(|heading| (heading, Right));
    let columns = [&[("", Left)], &numbers[..], &[("depth over time", Left)]].concat();
    let mut table = Table::new(&columns);
    let mut by_depth: Vec<(f64, usize)> = explanation.queues.iter().map(total).zip(0..).collect();
    by_depth.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut listed: Vec<usize> = by_depth.iter().take(QUEUES).map(|&(_, at)| at).collect();
    listed.sort_unstable();
    for queue in listed.into_iter().map(|at| &explanation.queues[at]) {
        let QueueUse { insertions, depth, wait_ns, depth_over_time, .. } = queue;
        let shown = |depth: &f64| (*depth >= SHALLOW).then_some(*depth);
        let over_time: Vec<Option<f64>> = depth_over_time.iter().map(shown).collect();
        let counts = [*insertions, depth.median, depth.p99, depth.max];
        let [inserted, median, p99, most] =
            counts.map(|count| units::number(count as f64, Unit::Count));
        let waits = [wait_ns.median, wait_ns.p99, wait_ns.max].map(time);
        let [wait, wait_p99, longest] = waits;
        let (name, picture) = (queue_name(&queue.queue), picture_above(0.0, &over_time));
        table.add([name, inserted, median, p99, most, wait, wait_p99, longest, picture]);
    }
    if table.is_empty() {
        return String::new();
    }
    let mut lines = table.terminal("  ", &[15, 7, 12, 4, 4, 11, 7, 7, PICTURE], paint).concat();
    let more = explanation.queues.len().saturating_sub(QUEUES);
    if more > 0 {
        lines +=
            &format!("  and {} in which tasks waited less\n", units::count(more as u64, "queue"));
    }
    titled("Its queues", &lines, paint)
}

fn total(queue: &QueueUse) -> f64 {
    queue.depth_over_time.iter().sum()
}

fn queue_name(queue: &Queue) -> String {
    match queue {
        Queue::Local(cpu) => format!("local, CPU {cpu}"),
        Queue::Global(0) => "global".into(),
        Queue::Global(node) => format!("global, node {node}"),
        Queue::Scheduler => "its own memory".into(),
        other => sentences::queue(other),
    }
}

/// A mean depth that is worth a picture.
const SHALLOW: f64 = 0.05;

/// The most queues that are listed.
const QUEUES: usize = 12;

/// Plain numbers first, then those of arrays: their median, and the least and the greatest of all.
fn over_time(inside: &Inside, paint: Paint) -> String {
    let numbers = ["first", "last", "min", "median", "max"].map(|heading| (heading, Right));
    let columns = [&[("", Left)], &numbers[..], &[("over time", Left)]].concat();
    let mut table = Table::new(&columns);
    let is_row = |one: &&VariableOverTime| matches!(one.part, None | Some(Part::Median));
    let mut rows: Vec<&VariableOverTime> = inside.variables.iter().filter(is_row).collect();
    rows.sort_by_key(|row| row.part.is_some());
    for row in rows.iter().take(VARIABLES) {
        let parts = inside.variables.iter().filter(|part| part.name == row.name);
        let all = parts.flat_map(|part| &part.values).copied().collect();
        let ends = row.values.first().zip(row.values.last());
        let found = ends.zip(spread(all)).zip(spread(row.values.clone()));
        let Some((((first, last), [min, _, max]), [_, median, _])) = found else { continue };
        let [first, last, min, median, max] =
            [*first, *last, min, median, max].map(|number| integer(number, 9));
        let (name, picture) = (fit(&row.name, NAME), picture(&coarse(&row.values)));
        table.add([name, first, last, min, median, max, picture]);
    }
    if table.is_empty() {
        return String::new();
    }
    let mut lines = table.terminal("  ", &[NAME, 10, 10, 10, 10, 10, PICTURE], paint).concat();
    let more = rows.len().saturating_sub(VARIABLES);
    if more > 0 {
        lines += &format!("  and {more} more that changed, in --format json\n");
    }
    titled("Its variables over time", &lines, paint)
}

/// The numbers of its program in user space, those that are 0 without their value.
fn told(inside: &Inside, paint: Paint) -> String {
    let (zero, other): (Vec<&Told>, Vec<&Told>) =
        inside.told.iter().partition(|told| told.value == 0.0);
    let line = |told: &&Told| {
        let value = told.value;
        let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
        let value =
            if is_whole { format!("{value:.0}") } else { units::number(value, Unit::Count) };
        wrapped_in(&format!("{}: {value}", told.name), 4)
    };
    let mut lines: String = other.iter().take(TOLD).map(line).collect();
    let more = other.len().saturating_sub(TOLD);
    if more > 0 {
        lines += &format!("  and {more} more, in --format json\n");
    }
    if !zero.is_empty() {
        let names: Vec<&str> = zero.iter().map(|told| told.name.as_str()).collect();
        lines += &wrapped_in(&format!("0: {}", names.join(", ")), 4);
    }
    titled("What its program tells", &lines, paint)
}

/// The first of them.
pub fn variables_at_end(variables: &[String], colour: bool) -> String {
    let mut lines: String =
        variables.iter().take(VARIABLES).map(|variable| wrapped_in(variable, 4)).collect();
    if variables.len() > VARIABLES {
        lines += &format!("  and {} more\n", variables.len() - VARIABLES);
    }
    titled("Its variables at the end", &lines, Paint(colour))
}

/// Means of neighbours, so that they fit a picture.
fn coarse(values: &[i128]) -> Vec<Option<f64>> {
    let mean =
        |part: &[i128]| part.iter().map(|&value| value as f64).sum::<f64>() / part.len() as f64;
    let columns = values.len().min(PICTURE);
    let part = |at: usize| &values[at * values.len() / columns..(at + 1) * values.len() / columns];
    (0..columns).map(|at| Some(mean(part(at)))).collect()
}

/// A whole number, exact up to so many digits.
fn integer(value: i128, digits: u32) -> String {
    if value.unsigned_abs() < 10_u128.pow(digits) {
        value.to_string()
    } else {
        format!("{value:.2e}")
    }
}

fn maps(inside: &Inside, explanation: &Explanation, paint: Paint) -> String {
    let mut lines = String::new();
    for map in &inside.maps {
        let entries = match (map.entries, map.max_entries) {
            (entries, most) if most > entries => format!("{entries} of {most} entries"),
            (1, _) => "1 entry".into(),
            (entries, _) => format!("{entries} entries"),
        };
        lines += &wrapped_in(&format!("{}: {}, {entries}", map.name, map.kind), 4);
        let (zero, told): (Vec<_>, Vec<_>) =
            map.numbers.iter().partition(|numbers| numbers.min == 0 && numbers.max == 0);
        for numbers in told {
            lines += &indented(&map_numbers(numbers, &map.kind, explanation));
        }
        if !zero.is_empty() {
            let paths: Vec<&str> = zero.iter().map(|numbers| path(numbers)).collect();
            lines += &indented(&format!("0 everywhere: {}", paths.join(", ")));
        }
    }
    titled("Its maps at the end", &lines, paint)
}

fn map_numbers(numbers: &MapNumbers, kind: &str, explanation: &Explanation) -> String {
    let [min, median, max] =
        [numbers.min, numbers.median, numbers.max].map(|number| integer(number, 12));
    let mut text = format!("{}: {min} … {median} … {max}", path(numbers));
    let top = numbers.top.iter().map(|(key, number)| {
        format!("{} of {}", integer(*number, 12), owner(key, kind, explanation))
    });
    let top: Vec<String> = top.collect();
    if !top.is_empty() {
        text += &format!("; most: {}", top.join(", "));
    }
    text
}

/// A key; threads are named as in the rest of an explanation.
fn owner(key: &str, kind: &str, explanation: &Explanation) -> String {
    let is_thread = |task: &&Spent| kind == "task storage" && task.pid.to_string() == key;
    let task = explanation.tasks.iter().find(is_thread);
    task.map_or_else(|| key.to_owned(), |task| task.name.clone())
}

/// The way to a number in a map's value.
fn path(numbers: &MapNumbers) -> &str {
    if numbers.path.is_empty() { "its value" } else { numbers.path.trim_start_matches('.') }
}

/// A paragraph below a name.
fn indented(text: &str) -> String {
    wrapped_in(text, 4).lines().map(|line| format!("  {line}\n")).collect()
}

/// The most numbers of a program that are listed.
const TOLD: usize = 40;
/// The most variables that are listed.
const VARIABLES: usize = 20;
/// The columns of a picture.
const PICTURE: usize = 24;
/// Characters of a name that are shown.
const NAME: usize = 23;
const WIDTHS: [usize; 5] = [NAME, 10, 10, 10, 13];
