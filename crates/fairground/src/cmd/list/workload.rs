// SPDX-License-Identifier: GPL-2.0-only
//! `fairground list workloads NAME`: what one workload does, as far as that is known before it is
//! played.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use model::metric::Unit;
use model::{Recorded, TaskGroup};
use recording::groups::{self, Graph};
use report::units::number;
use serde::Serialize;
use spec::assets::{self, Kind};

use crate::planned_experiment::host_cpus;
use crate::{output, recordings};

/// The most pairs of groups that a table has.
const EDGES_MAX: usize = 20;

#[derive(Serialize)]
pub struct ShownWorkload {
    name: String,
    about: String,
    parameters: BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<Recorded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Graph>,
    #[serde(skip)]
    tasks: Vec<TaskGroup>,
}

pub fn read(name: &str) -> Result<ShownWorkload> {
    let asset = assets::find(Kind::Workload, name, Path::new(""))?;
    let workload = spec::workload::resolve_anywhere(&asset, host_cpus())?;
    let graph = match workload.recording {
        Some(_) => Some(recordings::graph_of(&workload).map_err(anyhow::Error::msg)?),
        None => None,
    };
    Ok(ShownWorkload {
        tasks: workload.tasks,
        graph,
        name: workload.name,
        about: workload.about,
        parameters: workload.parameters,
        recording: workload.recording,
    })
}

pub fn text(shown: &ShownWorkload) -> String {
    let mut parts = vec![format!("{}: {}\n", shown.name, shown.about)];
    for (name, value) in &shown.parameters {
        parts.push(format!("parameter {name} = {value}\n"));
    }
    match (&shown.graph, &shown.recording) {
        (Some(graph), Some(recorded)) => parts.extend(recorded_parts(graph, recorded)),
        _ => parts.push(declared(&shown.tasks)),
    }
    parts.join("\n")
}

/// The groups of a workload without a recording.
fn declared(tasks: &[TaskGroup]) -> String {
    let has_places = tasks.iter().any(|task| !place(task).is_empty());
    let row = |task: &TaskGroup| {
        let mut row = vec![task.name.clone(), task.count.to_string(), task.steps.len().to_string()];
        row.extend(has_places.then(|| place(task).to_owned()));
        row
    };
    let rows = tasks.iter().map(row);
    match has_places {
        true => table(&["group", "tasks", "steps", "session or control group"], rows),
        false => table(&["group", "tasks", "steps"], rows),
    }
}

fn place(task: &TaskGroup) -> &str {
    if task.group.is_empty() { &task.session } else { &task.group }
}

fn recorded_parts(graph: &Graph, recorded: &Recorded) -> Vec<String> {
    let mut parts = vec![groups(graph, recorded), edges(graph)];
    if recorded.lost_events > 0 {
        parts.push(format!("{} events were lost while it was recorded.\n", recorded.lost_events));
    }
    let untold = recorded.untold.iter().map(|sentence| format!("not told: {sentence}\n"));
    parts.push(untold.collect());
    parts
}

fn table<const N: usize>(headings: &[&str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let headings = headings.iter().map(|word| (*word).to_owned()).collect();
    output::table(&std::iter::once(headings).chain(rows).collect::<Vec<_>>())
}

fn groups(graph: &Graph, recorded: &Recorded) -> String {
    let row = |group: &groups::GroupUse| {
        vec![
            group.name.clone(),
            group.tasks.to_string(),
            time(group.cpu_ns),
            share(group.cpu_ns, recorded),
            count(group.waits),
            count(group.timers),
            count(group.delays),
        ]
    };
    let headings =
        ["group", "tasks", "CPU time", "of all CPUs", "waits for tasks", "timers", "devices"];
    table(&headings, graph.groups.iter().map(row))
}

fn edges(graph: &Graph) -> String {
    if graph.edges.is_empty() {
        return "No task wakes another one.\n".into();
    }
    let row = |edge: &groups::Edge| vec![edge.from.clone(), edge.to.clone(), count(edge.wakes)];
    let mut text = table(&["waker", "wakes", "times"], graph.edges.iter().take(EDGES_MAX).map(row));
    if let Some(more) = graph.edges.len().checked_sub(EDGES_MAX).filter(|more| *more > 0) {
        text += &format!("and {more} pairs of groups that wake less often\n");
    }
    text
}

fn time(ns: u64) -> String {
    number(ns as f64, Unit::Nanoseconds)
}

fn count(value: u64) -> String {
    number(value as f64, Unit::Count)
}

/// How much of all CPUs a group used.
fn share(cpu_ns: u64, recorded: &Recorded) -> String {
    let capacity_ns = recorded.length_us as f64 * 1e3 * f64::from(recorded.cpus.max(1));
    format!("{:.1} %", 100.0 * cpu_ns as f64 / capacity_ns.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_says_where_tasks_are() {
        let task = |name: &str, session: &str| TaskGroup {
            session: session.into(),
            ..TaskGroup::once(name, Vec::new())
        };
        let apart = declared(&[task("game", "desktop"), task("make", "terminal")]);
        assert!(apart.contains("session or control group"), "{apart}");
        assert!(apart.contains("terminal"), "{apart}");
        assert!(!declared(&[task("game", "")]).contains("session"));
    }
}
