// SPDX-License-Identifier: GPL-2.0-only
//! Chrome's trace JSON, which Perfetto's UI opens: one track per CPU with its tasks, one per task
//! with its running and waiting times. Decisions of the simulator are instants on the tasks'
//! tracks.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use model::trace::{Trace, TraceEvent, TraceTask, What};
use serde_json::{Value, json};

/// Two groups of tracks, which the format calls processes.
const CPUS: u32 = 1;
const TASKS: u32 = 2;

/// The tracks while events are read.
struct Tracks<'a> {
    tasks: BTreeMap<u32, &'a TraceTask>,
    /// CPU → (task, since).
    running: BTreeMap<u32, (u32, u64)>,
    /// Task → since.
    waiting: BTreeMap<u32, u64>,
    lines: Vec<Value>,
}

pub fn write(trace: &Trace, out: &mut dyn Write) -> Result<()> {
    let mut tracks = Tracks {
        tasks: super::tasks(trace),
        running: BTreeMap::new(),
        waiting: BTreeMap::new(),
        lines: names(trace),
    };
    for event in &trace.events {
        tracks.add(event);
    }
    tracks.close(trace.events.last().map_or(0, |event| event.time_ns));
    let lines: Vec<String> = tracks.lines.iter().map(Value::to_string).collect();
    writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    writeln!(out, "{}", lines.join(",\n"))?;
    writeln!(out, "]}}")?;
    Ok(())
}

fn names(trace: &Trace) -> Vec<Value> {
    let name = |what: &str, pid: u32, tid: u32, name: String| {
        let args = json!({ "name": name });
        json!({ "ph": "M", "name": what, "pid": pid, "tid": tid, "args": args })
    };
    let mut lines = vec![
        name("process_name", CPUS, 0, "CPUs".into()),
        name("process_name", TASKS, 0, "Tasks".into()),
    ];
    let cpus = trace.events.iter().map(|event| event.cpu).max().map_or(0, |last| last + 1);
    lines.extend((0..cpus).map(|cpu| name("thread_name", CPUS, cpu, format!("CPU {cpu}"))));
    for task in trace.tasks.iter().filter(|task| task.pid != 0) {
        lines.push(name("thread_name", TASKS, task.pid, format!("{} {}", task.comm, task.pid)));
    }
    lines
}

/// A slice; times in the format's microseconds.
fn slice(process: u32, thread: u32, name: &str, from_ns: u64, to_ns: u64) -> Value {
    let micros = |ns: u64| ns as f64 / 1000.0;
    json!({"ph": "X", "pid": process, "tid": thread, "name": name,
           "ts": micros(from_ns), "dur": micros(to_ns.saturating_sub(from_ns))})
}

/// A decision about a task, with all its data.
fn instant(now: u64, pid: u32, name: &str, what: &What) -> Value {
    json!({"ph": "i", "s": "t", "pid": TASKS, "tid": pid, "name": name,
           "ts": now as f64 / 1000.0, "args": what})
}

impl Tracks<'_> {
    fn add(&mut self, TraceEvent { time_ns, cpu, what }: &TraceEvent) {
        let now = *time_ns;
        let mut decision = |pid: u32, name| self.lines.push(instant(now, pid, name, what));
        match what {
            What::Switch { prev, prev_state, next, .. } => {
                self.stop_running(*cpu, now);
                if *prev != 0 && prev_state.starts_with('R') {
                    self.waiting.insert(*prev, now);
                }
                if *next != 0 {
                    self.stop_waiting(*next, now);
                    self.running.insert(*cpu, (*next, now));
                }
            }
            What::Waking { pid, .. } => {
                self.waiting.entry(*pid).or_insert(now);
            }
            What::Fork { child, .. } => {
                self.waiting.insert(*child, now);
            }
            What::Exit { pid } => {
                self.waiting.remove(pid);
            }
            What::Send { pid, .. } => decision(*pid, "send"),
            What::Take { pid, .. } => decision(*pid, "take"),
            What::Enqueue { pid, .. } => decision(*pid, "enqueue"),
            What::Choose { pid, .. } => decision(*pid, "choose"),
            What::Preempt { pid, .. } => decision(*pid, "preempt"),
        }
    }

    fn stop_running(&mut self, cpu: u32, now: u64) {
        if let Some((pid, since)) = self.running.remove(&cpu) {
            let comm = self.tasks.get(&pid).map_or("<...>", |task| task.comm.as_str());
            self.lines.push(slice(CPUS, cpu, comm, since, now));
            self.lines.push(slice(TASKS, pid, "runs", since, now));
        }
    }

    fn stop_waiting(&mut self, pid: u32, now: u64) {
        if let Some(since) = self.waiting.remove(&pid) {
            self.lines.push(slice(TASKS, pid, "waits", since, now));
        }
    }

    fn close(&mut self, end: u64) {
        for cpu in self.running.keys().copied().collect::<Vec<_>>() {
            self.stop_running(cpu, end);
        }
        for pid in self.waiting.keys().copied().collect::<Vec<_>>() {
            self.stop_waiting(pid, end);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A hog is woken, runs, forks, and goes to sleep.
    pub fn sample() -> Trace {
        let event = |time_ns, what| TraceEvent { time_ns, cpu: 0, what };
        let switch = |prev, prev_state: &str, next| What::Switch {
            prev,
            prev_prio: 120,
            prev_state: prev_state.into(),
            next,
            next_prio: 120,
            reason: None,
        };
        Trace {
            tasks: vec![TraceTask { pid: 7, comm: "hog".into(), group: "hogs".into() }],
            events: vec![
                event(
                    1_000,
                    What::Waking { pid: 7, prio: 120, target: 0, interrupt: false, by: None },
                ),
                event(2_500, switch(0, "R", 7)),
                event(2_500_000_000, What::Fork { parent: 7, child: 8 }),
                event(2_500_001_000, switch(7, "S", 0)),
            ],
            lost: 0,
        }
    }

    #[test]
    fn slices_say_who_ran_and_who_waited() {
        let mut out = Vec::new();
        write(&sample(), &mut out).expect("memory takes it");
        let whole: Value = serde_json::from_slice(&out).expect("valid JSON");
        let slices: Vec<String> = whole["traceEvents"]
            .as_array()
            .expect("events")
            .iter()
            .filter(|line| line["ph"] == "X")
            .map(|l| format!("{}/{} {} {}+{}", l["pid"], l["tid"], l["name"], l["ts"], l["dur"]))
            .collect();
        let expected = [
            "2/7 \"waits\" 1.0+1.5",
            "1/0 \"hog\" 2.5+2499998.5",
            "2/7 \"runs\" 2.5+2499998.5",
            "2/8 \"waits\" 2500000.0+1.0",
        ];
        assert_eq!(slices, expected);
    }
}
