// SPDX-License-Identifier: GPL-2.0-only
//! The stretch of a trace in which a task waited, as a drawing: when the task waited and ran, and
//! what each CPU ran meanwhile. An empty row is an idle CPU.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use model::Trace;
use stats::explain::{Explanation, Wait};

use super::figure::{px, short, words};
use super::timeline::{Slice, slices_of};
use crate::explain::sentences;

/// The drawing's size, pixels: the names of the rows, the time, a row's height.
const NAMES: f64 = 90.0;
const TIME: f64 = 760.0;
const ROW: f64 = 20.0;
/// A part of the wait's length is shown before it and after it.
const AROUND: u64 = 6;
/// CPUs that have rows.
const CPUS: usize = 16;
/// The colours of tasks, in the order of their CPU time; the last one is that of all others.
const COLOURS: usize = 6;
/// A slice that is narrower has no name in it, pixels.
const NAMED: f64 = 44.0;

/// The drawing's window, and where a time is in it.
#[derive(Clone, Copy)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    fn around(wait: &Wait, end_ns: u64) -> Window {
        let around = ((wait.to_ns - wait.from_ns) / AROUND).max(1_000);
        let to_ns = (wait.to_ns + around).min(end_ns.max(wait.to_ns));
        Window { from_ns: wait.from_ns.saturating_sub(around), to_ns }
    }

    fn x(self, ns: u64) -> f64 {
        let since = ns.clamp(self.from_ns, self.to_ns) - self.from_ns;
        NAMES + TIME * since as f64 / (self.to_ns - self.from_ns).max(1) as f64
    }

    fn has(self, slice: &Slice) -> bool {
        slice.start_ns < self.to_ns && slice.start_ns + slice.length_ns > self.from_ns
    }
}

/// A trace's slices, from which all its waits are drawn.
pub struct Stretches<'a> {
    trace: &'a Trace,
    explanation: &'a Explanation,
    slices: Vec<Slice>,
    /// The CPUs that ran anything.
    cpus: BTreeSet<u32>,
}

impl<'a> Stretches<'a> {
    pub fn new(trace: &'a Trace, explanation: &'a Explanation) -> Stretches<'a> {
        let slices = slices_of(trace);
        let cpus = slices.iter().filter_map(|slice| slice.cpu).collect();
        Stretches { trace, explanation, slices, cpus }
    }

    /// Draws a wait. Of more than `most` slices the longest ones are drawn.
    pub fn figure(&self, wait: &Wait, most: usize) -> Markup {
        let end_ns = self.trace.events.last().map_or(0, |event| event.time_ns);
        let window = Window::around(wait, end_ns);
        let is_drawn =
            |slice: &&Slice| window.has(slice) && (slice.cpu.is_some() || slice.pid == wait.pid);
        let mut slices: Vec<&Slice> = self.slices.iter().filter(is_drawn).collect();
        let colours = colours(&slices);
        slices.sort_by_key(|slice| (std::cmp::Reverse(slice.length_ns), slice.start_ns));
        let left_out = slices.len().saturating_sub(most);
        slices.truncate(most);
        let drawing = self.drawing(wait, window, &slices, &colours);
        html! {
            figure class="stretch" {
                div class="scroll" { (drawing) }
                figcaption {
                    (wait.task) " " span class="key s-wait" { "waiting" } " and "
                    span class="key s-run" { "running" } "; below, what each CPU ran, a colour for \
                    each of the tasks that ran longest."
                    @if left_out > 0 { " Left out: the " (left_out) " shortest slices." }
                }
            }
        }
    }

    fn drawing(
        &self,
        wait: &Wait,
        window: Window,
        slices: &[&Slice],
        colours: &BTreeMap<u32, String>,
    ) -> Markup {
        let cpus = rows(&self.cpus, wait);
        let height = ROW * (cpus.len() + 2) as f64;
        html! {
            svg viewBox=(format!("0 0 {:.0} {height:.0}", NAMES + TIME)) role="img"
                aria-label=(format!("What ran while {} waited", wait.task)) {
                (words("name", (NAMES - 6.0, ROW - 6.0), "end", &short(&wait.task, 13)))
                @for (row, cpu) in (1..).zip(&cpus) {
                    (words("name", (NAMES - 6.0, ROW * f64::from(row + 1) - 6.0), "end",
                        &format!("CPU {cpu}")))
                }
                @for slice in slices {
                    @let row = slice.cpu.and_then(|cpu| cpus.iter().position(|&one| one == cpu));
                    @let name = self.name(slice.pid);
                    @let title = format!("{name}, {} from {}", sentences::time(slice.length_ns),
                        sentences::moment(slice.start_ns));
                    @if let Some(row) = row {
                        (bar(window, slice, row + 1, &colours[&slice.pid], &title, name))
                    }
                    @if slice.pid == wait.pid {
                        @let class = if slice.cpu.is_some() { "ran" } else { "waited" };
                        (bar(window, slice, 0, class, &title, ""))
                    }
                }
                (words("at", (NAMES, height - 6.0), "start", &sentences::moment(window.from_ns)))
                (words("at", (NAMES + TIME, height - 6.0), "end", &sentences::moment(window.to_ns)))
            }
        }
    }

    /// As the explanation calls the task; else as it calls itself.
    fn name(&self, pid: u32) -> &str {
        let told = self.explanation.tasks.iter().find(|task| task.pid == pid);
        let own = || self.trace.tasks.iter().find(|task| task.pid == pid);
        told.map(|task| &*task.name).or_else(|| own().map(|task| &*task.comm)).unwrap_or("?")
    }
}

/// The CPUs that have rows: those of the wait, and the first of the others.
fn rows(cpus: &BTreeSet<u32>, wait: &Wait) -> Vec<u32> {
    let mut cpus: Vec<u32> = cpus.iter().copied().collect();
    cpus.sort_by_key(|cpu| *cpu != wait.cpu && Some(*cpu) != wait.moved_from);
    cpus.truncate(CPUS);
    cpus.sort_unstable();
    cpus
}

/// The class of each task's colour: those that ran longest have their own.
fn colours(slices: &[&Slice]) -> BTreeMap<u32, String> {
    let mut ran: BTreeMap<u32, u64> = BTreeMap::new();
    for slice in slices {
        *ran.entry(slice.pid).or_default() += slice.cpu.map_or(0, |_| slice.length_ns);
    }
    let mut by_time: Vec<(u32, u64)> = ran.into_iter().collect();
    by_time.sort_by_key(|&(pid, ns)| (std::cmp::Reverse(ns), pid));
    let class = |place: usize| format!("t{}", place.min(COLOURS) + 1);
    by_time.iter().enumerate().map(|(place, &(pid, _))| (pid, class(place))).collect()
}

fn bar(window: Window, slice: &Slice, row: usize, class: &str, title: &str, name: &str) -> Markup {
    let (x, y) = (window.x(slice.start_ns), ROW * row as f64);
    let width = (window.x(slice.start_ns + slice.length_ns) - x).max(0.3);
    html! {
        rect class=(class) x=(px(x)) y=(px(y + 2.0)) width=(px(width)) height=(px(ROW - 4.0)) {
            title { (title) }
        }
        @if width > NAMED && !name.is_empty() {
            (words("in", (x + 4.0, y + ROW - 6.0), "start", &short(name, (width / 8.0) as usize)))
        }
    }
}

#[cfg(test)]
mod tests {
    use model::trace::{TraceEvent, TraceTask, What};
    use stats::explain::{About, Chosen, explain_trace};

    use super::*;

    fn task(pid: u32, comm: &str) -> TraceTask {
        TraceTask { pid, comm: comm.into(), group: comm.into() }
    }

    #[test]
    fn the_task_that_ran_instead_is_drawn_and_an_idle_cpu_has_an_empty_row() {
        let switch = |time_ns, cpu, prev, state: &str, next| {
            let prev_state = state.into();
            let what = What::Switch {
                prev,
                prev_prio: 120,
                prev_state,
                next,
                next_prio: 120,
                reason: None,
            };
            TraceEvent { time_ns, cpu, what }
        };
        let waking = What::Waking { pid: 8, prio: 120, target: 0, interrupt: true, by: None };
        let trace = Trace {
            tasks: vec![task(7, "hog<"), task(8, "game"), task(9, "late")],
            events: vec![
                switch(0, 0, 0, "R", 7),
                switch(10_000, 1, 0, "R", 9),
                switch(20_000, 1, 9, "S", 0),
                TraceEvent { time_ns: 2_000_000, cpu: 0, what: waking },
                switch(8_000_000, 0, 7, "R+", 8),
                switch(10_000_000, 0, 8, "S", 7),
            ],
            lost: 0,
        };
        let about =
            About { cpus: 2, end_ns: 10_000_000, chosen: Chosen::each(1), ..About::default() };
        let explanation = explain_trace(&trace, &about);
        let wait = explanation.waits.iter().find(|wait| wait.pid == 8).expect("a wait");
        let stretches = Stretches::new(&trace, &explanation);
        let drawn = stretches.figure(wait, 100).into_string();
        // 6 ms of 8 in the window, 1 ms before and after them.
        assert!(drawn.contains(r#"class="waited" x="185.0" y="2.0" width="570.0""#), "{drawn}");
        assert!(drawn.contains("hog&lt;/0, 8.00 ms from 0.000 ms"), "{drawn}");
        // `late` ran before the window; its CPU was idle.
        assert!(drawn.contains(">CPU 1<") && !drawn.contains("late"), "{drawn}");
        assert!(!drawn.contains("Left out"), "{drawn}");
        assert!(stretches.figure(wait, 1).into_string().contains("Left out: the 2 shortest"));
    }
}
