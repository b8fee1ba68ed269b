// SPDX-License-Identifier: GPL-2.0-only
//! `fairground list workloads NAME`: what one workload does, as far as that is known before it is
//! played.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use model::metric::Unit;
use model::{Recorded, Step, Tape, Workload};
use recording::graph::{self, Graph};
use report::units::number;
use serde::Serialize;
use spec::assets::{self, Kind};

use crate::output;
use crate::planned_experiment::host_cpus;

/// The most pairs of groups that a table has.
const EDGES_MAX: usize = 20;

/// One workload.
#[derive(Serialize)]
pub struct Shown {
    name: String,
    about: String,
    parameters: BTreeMap<String, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<Recorded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Graph>,
    #[serde(skip)]
    groups: Vec<(String, u32, usize)>,
}

/// Reads a workload.
///
/// # Errors
/// It is unknown, or something in it is wrong.
pub fn read(name: &str) -> Result<Shown> {
    let asset = assets::find(Kind::Workload, name, Path::new(""))?;
    let workload = spec::workload::resolve(&asset, &BTreeMap::new(), host_cpus())?.workload;
    let recorded = workload.recording.as_ref();
    let text = recorded.and_then(|recorded| recorded.tapes.0.as_deref()).unwrap_or_default();
    let tapes = model::tape::read(text)?;
    let groups = workload.tasks.iter().map(|it| (it.name.clone(), it.count, it.steps.len()));
    Ok(Shown {
        groups: groups.collect(),
        graph: workload.recording.as_ref().map(|_| graph_of(&workload, &tapes)),
        name: workload.name,
        about: workload.about,
        parameters: workload.parameters,
        recording: workload.recording,
    })
}

fn graph_of(workload: &Workload, tapes: &[Tape]) -> Graph {
    let players = workload.tasks.iter().filter(|group| group.steps == [Step::Tape]);
    let groups: Vec<(String, u32)> =
        players.map(|group| (group.name.clone(), group.count)).collect();
    graph::of(tapes, &groups)
}

/// The workload as text.
pub fn text(shown: &Shown) -> String {
    let mut parts = vec![format!("{}: {}\n", shown.name, shown.about)];
    for (name, value) in &shown.parameters {
        parts.push(format!("parameter {name} = {value}\n"));
    }
    match (&shown.graph, &shown.recording) {
        (Some(graph), Some(recorded)) => parts.extend(recorded_parts(graph, recorded)),
        _ => parts.push(declared(&shown.groups)),
    }
    parts.join("\n")
}

/// The groups of a workload without a recording.
fn declared(groups: &[(String, u32, usize)]) -> String {
    let row = |(name, count, steps): &(String, u32, usize)| {
        vec![name.clone(), count.to_string(), steps.to_string()]
    };
    table(&["group", "tasks", "steps"], groups.iter().map(row))
}

fn recorded_parts(graph: &Graph, recorded: &Recorded) -> Vec<String> {
    let mut parts = vec![groups(graph, recorded), edges(graph), path(graph)];
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

fn time(ns: u64) -> String {
    number(ns as f64, Unit::Nanoseconds)
}

fn count(value: u64) -> String {
    number(value as f64, Unit::Count)
}

fn groups(graph: &Graph, recorded: &Recorded) -> String {
    let capacity_ns = recorded.length_us as f64 * 1e3 * f64::from(recorded.cpus.max(1));
    let row = |group: &graph::GroupUse| {
        let share = 100.0 * group.cpu_ns as f64 / capacity_ns.max(1.0);
        vec![
            group.name.clone(),
            group.tasks.to_string(),
            time(group.cpu_ns),
            format!("{share:.1} %"),
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
    let row = |edge: &graph::Edge| vec![edge.from.clone(), edge.to.clone(), count(edge.wakes)];
    let mut text = table(&["waker", "wakes", "times"], graph.edges.iter().take(EDGES_MAX).map(row));
    if let Some(more) = graph.edges.len().checked_sub(EDGES_MAX).filter(|more| *more > 0) {
        text += &format!("and {more} pairs of groups that wake less often\n");
    }
    text
}

/// The critical path in words.
fn path(graph: &Graph) -> String {
    let path = &graph.path;
    let start = match path.timer_ns {
        0 => "the start".to_owned(),
        ns => format!("a timer at {}", time(ns)),
    };
    let shares: Vec<String> =
        path.cpu_ns.iter().map(|(group, ns)| format!("{group} {}", time(*ns))).collect();
    let computing = if shares.is_empty() { "nothing".into() } else { shares.join(", ") };
    format!(
        "With a CPU for each task it would take {}. The critical path is the longest chain without \
         a timer in it: {} from {start}, {} times from task to task, up to {}. On it compute: \
         {computing}; devices take {}.\n",
        time(path.end_ns),
        time(path.length_ns),
        count(path.handovers),
        path.last,
        time(path.delays_ns),
    )
}
