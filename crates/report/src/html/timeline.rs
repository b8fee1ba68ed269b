// SPDX-License-Identifier: GPL-2.0-only
//! Traced trials as slices of CPUs and waits of tasks.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::trace::{TraceTask, What};
use model::{Record, Trace};
use serde::Serialize;

use super::figure::save_buttons;

/// Tasks that have rows, as in the script that draws them; the first chart's height is as there.
const TASK_ROWS: usize = 48;

/// One traced trial.
#[derive(Serialize)]
pub struct Timeline {
    trial: String,
    label: String,
    cpus: Vec<u32>,
    /// `[name, group, thread id]` of each task that ran or waited.
    tasks: Vec<(String, String, u32)>,
    /// Flat quadruples: CPU (place in `cpus`), task (place in `tasks`), start, length; in 0.1 µs.
    slices: Vec<u64>,
    /// Flat triples: task, start, length; in 0.1 µs.
    waits: Vec<u64>,
    /// A note on what is not shown.
    note: String,
}

/// The chart's frame; it shows the first trial of a scheduler of the user's own, else the first.
pub fn figure(records: &[Record], slices: usize) -> Markup {
    let timelines = timelines(records, slices);
    let own =
        traced(records).position(|(record, _)| record.trial.contestant.scheduler.is_own_file());
    let chosen = own.unwrap_or(0);
    let rows = timelines
        .get(chosen)
        .map_or(0, |timeline| timeline.cpus.len() + timeline.tasks.len().min(TASK_ROWS));
    html! {
        div id="timeline" {
            h3 { "Timeline" }
            p class="aside" {
                "Which task ran where: CPUs above, tasks below, coloured by task group. Thin grey \
                 lines are waits: runnable, but not running. Drag to zoom, double-click to see \
                 all."
            }
            div class="controls" {
                label {
                    "Trial "
                    select id="pick-timeline" {
                        @for (index, timeline) in timelines.iter().enumerate() {
                            option value=(index) selected[index == chosen] { (timeline.label) }
                        }
                    }
                }
            }
            figure {
                div class="chart tall" id="chart-timeline" role="img"
                    style={ "min-height: " (96 + 17 * rows) "px" }
                    aria-label="Timeline of a traced trial" {}
                figcaption id="timeline-note" {}
                (save_buttons())
            }
        }
    }
}

fn traced(records: &[Record]) -> impl Iterator<Item = (&Record, &Trace)> {
    let traced = records.iter().filter_map(|record| Some((record, record.trace.as_ref()?)));
    traced.filter(|(_, trace)| !trace.events.is_empty())
}

/// All traced trials, each with its part of the page's limit of slices.
pub fn timelines(records: &[Record], slices: usize) -> Vec<Timeline> {
    let traced: Vec<(&Record, &Trace)> = traced(records).collect();
    let share = slices / traced.len().max(1);
    traced.into_iter().map(|(record, trace)| timeline(record, trace, share)).collect()
}

/// What the tasks of a trace did, in no order.
pub fn slices_of(trace: &Trace) -> Vec<Slice> {
    let mut builder = SliceBuilder::default();
    trace.events.iter().for_each(|event| builder.event(event.time_ns, event.cpu, &event.what));
    builder.finish(trace.events.last().map_or(0, |event| event.time_ns))
}

fn timeline(record: &Record, trace: &Trace, most: usize) -> Timeline {
    let end_ns = trace.events.last().map_or(0, |event| event.time_ns);
    let mut slices = slices_of(trace);
    slices.sort_by_key(|slice| slice.start_ns);
    let all = slices.len();
    let shown_ns = slices.get(most).map(|slice| slice.start_ns);
    slices.truncate(most);
    let note = note(shown_ns, end_ns, all, most, trace.lost);
    flatten(
        slices,
        &trace.tasks,
        Timeline {
            trial: record.trial.id(),
            label: format!(
                "{} · {}",
                record.trial.contestant.name,
                crate::reading::label_of(record)
            ),
            cpus: Vec::new(),
            tasks: Vec::new(),
            slices: Vec::new(),
            waits: Vec::new(),
            note,
        },
    )
}

fn note(shown_ns: Option<u64>, end_ns: u64, all: usize, most: usize, lost: u64) -> String {
    let ms = |ns: u64| format!("{:.1} ms", ns as f64 / 1e6);
    let shown = match shown_ns {
        Some(until) => format!(
            "Shown: the first {} of {} ({most} of {all} slices and waits).",
            ms(until),
            ms(end_ns)
        ),
        None => format!("Shown: all {all} slices and waits of {}.", ms(end_ns)),
    };
    match lost {
        0 => shown,
        lost => format!("{shown} The trace is incomplete: {lost} events were lost."),
    }
}

/// A time that a task ran on a CPU, or waited (`cpu` is `None`).
pub struct Slice {
    pub cpu: Option<u32>,
    pub pid: u32,
    pub start_ns: u64,
    pub length_ns: u64,
}

/// Events turned into slices.
#[derive(Default)]
struct SliceBuilder {
    running: BTreeMap<u32, (u32, u64)>,
    waiting: BTreeMap<u32, u64>,
    slices: Vec<Slice>,
}

impl SliceBuilder {
    fn event(&mut self, now: u64, cpu: u32, what: &What) {
        match what {
            What::Switch { prev, prev_state, next, .. } => {
                self.stop(now, cpu);
                if *prev != 0 && prev_state.starts_with('R') {
                    self.waiting.insert(*prev, now);
                }
                self.start(now, cpu, *next);
            }
            What::Waking { pid, .. } | What::Fork { child: pid, .. } => {
                let on_cpu = self.running.values().any(|(running, _)| running == pid);
                if !on_cpu {
                    self.waiting.entry(*pid).or_insert(now);
                }
            }
            What::Exit { pid } => drop(self.waiting.remove(pid)),
            What::Send { .. }
            | What::Take { .. }
            | What::Enqueue { .. }
            | What::Choose { .. }
            | What::Preempt { .. } => {}
        }
    }

    fn stop(&mut self, now: u64, cpu: u32) {
        if let Some((pid, start_ns)) = self.running.remove(&cpu) {
            self.push(Some(cpu), pid, start_ns, now);
        }
    }

    fn start(&mut self, now: u64, cpu: u32, pid: u32) {
        if pid == 0 {
            return;
        }
        if let Some(start_ns) = self.waiting.remove(&pid) {
            self.push(None, pid, start_ns, now);
        }
        self.running.insert(cpu, (pid, now));
    }

    fn push(&mut self, cpu: Option<u32>, pid: u32, start_ns: u64, now: u64) {
        self.slices.push(Slice { cpu, pid, start_ns, length_ns: now.saturating_sub(start_ns) });
    }

    /// Ends what runs and what waits.
    fn finish(mut self, now: u64) -> Vec<Slice> {
        for (cpu, (pid, start_ns)) in std::mem::take(&mut self.running) {
            self.push(Some(cpu), pid, start_ns, now);
        }
        for (pid, start_ns) in std::mem::take(&mut self.waiting) {
            self.push(None, pid, start_ns, now);
        }
        self.slices
    }
}

/// Numbers CPUs and tasks by place and writes the slices flat.
fn flatten(slices: Vec<Slice>, known: &[TraceTask], mut timeline: Timeline) -> Timeline {
    let mut pids: Vec<u32> = slices.iter().map(|slice| slice.pid).collect();
    let mut cpus: Vec<u32> = slices.iter().filter_map(|slice| slice.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let task = |&pid: &u32| known.iter().find(|task| task.pid == pid);
    pids.sort_by_key(|pid| (task(pid).map(|task| task.group.clone()), *pid));
    pids.dedup();
    let name = |pid: &u32| {
        let unknown = || (format!("task {pid}"), String::new(), *pid);
        task(pid).map_or_else(unknown, |task| (task.comm.clone(), task.group.clone(), *pid))
    };
    timeline.tasks = pids.iter().map(name).collect();
    let places: BTreeMap<u32, u64> = pids.into_iter().zip(0..).collect();
    for slice in slices {
        let (task, start) = (places[&slice.pid], slice.start_ns / 100);
        let length = (slice.length_ns / 100).max(1);
        match slice.cpu.map(|cpu| cpus.partition_point(|&other| other < cpu) as u64) {
            Some(cpu) => timeline.slices.extend([cpu, task, start, length]),
            None => timeline.waits.extend([task, start, length]),
        }
    }
    timeline.cpus = cpus;
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(prev: u32, state: &str, next: u32) -> What {
        let prev_state = state.into();
        What::Switch { prev, prev_prio: 120, prev_state, next, next_prio: 120, reason: None }
    }

    #[test]
    fn switches_become_slices_and_waits() {
        let mut builder = SliceBuilder::default();
        builder.event(0, 0, &switch(0, "R", 7));
        builder.event(
            100,
            0,
            &What::Waking { pid: 8, prio: 120, target: 0, interrupt: false, by: None },
        );
        builder.event(300, 0, &switch(7, "R+", 8));
        builder.event(400, 0, &switch(8, "S", 7));
        let slices = builder.finish(900);
        let found: Vec<_> = slices
            .iter()
            .map(|slice| (slice.cpu, slice.pid, slice.start_ns, slice.length_ns))
            .collect();
        let expected = [
            (Some(0), 7, 0, 300),
            (None, 8, 100, 200),
            (Some(0), 8, 300, 100),
            (None, 7, 300, 100),
            (Some(0), 7, 400, 500),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_cut_is_stated() {
        let cut = note(Some(81_000_000), 1_000_000_000, 245_000, 20_000, 0);
        assert!(cut.contains("first 81.0 ms of 1000.0 ms (20000 of 245000"), "{cut}");
        assert!(note(None, 5_000_000, 12, 20_000, 3).contains("3 events were lost"));
    }
}
