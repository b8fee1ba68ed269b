// SPDX-License-Identifier: GPL-2.0-only
//! What records and traces show, in the words of oracles.

use model::Record;
use model::histogram::Histogram;
use model::trace::What;

/// A time that somebody ran without a break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stint {
    /// The thread's name.
    pub who: String,
    pub cpu: u32,
    /// From the common start, nanoseconds.
    pub from_ns: u64,
    /// Its end; of the last one the trace's end.
    pub to_ns: u64,
}

impl Stint {
    /// Its length in milliseconds, rounded.
    pub fn ms(&self) -> u64 {
        (self.to_ns - self.from_ns + 500_000) / 1_000_000
    }
}

/// Who ran when, on all CPUs, in order of time: the workload's tasks only. A stint that only
/// somebody from outside the workload has interrupted is one.
pub fn stints(record: &Record) -> Vec<Stint> {
    let trace = record.trace.as_ref().expect("oracles are traced");
    let name = |pid: u32| {
        let task = trace.tasks.iter().find(|task| task.pid == pid && !task.group.is_empty());
        task.map(|task| task.comm.clone())
    };
    let mut stints: Vec<Stint> = Vec::new();
    let mut running: Vec<Option<(String, u64)>> = vec![None; record.trial.machine.cpus as usize];
    for event in &trace.events {
        let What::Switch { next, .. } = event.what else { continue };
        let now = name(next).map(|who| (who, event.time_ns));
        if let Some((who, from_ns)) = std::mem::replace(&mut running[event.cpu as usize], now) {
            add(&mut stints, Stint { who, cpu: event.cpu, from_ns, to_ns: event.time_ns });
        }
    }
    let end_ns = trace.events.last().map_or(0, |event| event.time_ns);
    for (cpu, open) in running.into_iter().enumerate() {
        if let Some((who, from_ns)) = open {
            add(&mut stints, Stint { who, cpu: cpu as u32, from_ns, to_ns: end_ns });
        }
    }
    stints.sort_by_key(|stint| stint.from_ns);
    stints
}

/// A break of less than this is somebody's from outside.
const BREAK_NS: u64 = 200_000;

fn add(stints: &mut Vec<Stint>, new: Stint) {
    let last = stints.iter_mut().rev().find(|stint| stint.cpu == new.cpu);
    match last {
        Some(last) if last.who == new.who && new.from_ns - last.to_ns < BREAK_NS => {
            last.to_ns = new.to_ns;
        }
        _ => stints.push(new),
    }
}

/// How long a thread waited for a CPU each time that it was woken after `from_ns`, nanoseconds.
pub fn waits(record: &Record, who: &str, from_ns: u64) -> Vec<u64> {
    let trace = record.trace.as_ref().expect("oracles are traced");
    let is_own = |pid: u32| trace.tasks.iter().any(|task| task.pid == pid && task.comm == who);
    let (mut woken_ns, mut waits) = (None, Vec::new());
    for event in trace.events.iter().filter(|event| event.time_ns >= from_ns) {
        match event.what {
            What::Waking { pid, .. } if is_own(pid) => woken_ns = Some(event.time_ns),
            What::Switch { next, .. } if is_own(next) => {
                waits.extend(woken_ns.take().map(|woken_ns| event.time_ns - woken_ns));
            }
            _ => {}
        }
    }
    waits
}

/// The names of those whose stints count, in order.
pub fn order(record: &Record, counts: impl Fn(&Stint) -> bool) -> Vec<String> {
    stints(record).into_iter().filter(counts).map(|stint| stint.who).collect()
}

/// The `number`-th turn of a thread, from 0. A moment that a new thread needs to fall asleep is
/// none.
pub fn turn_of(record: &Record, who: &str, number: usize) -> Result<Stint, String> {
    let mut own = stints(record).into_iter().filter(|stint| stint.who == who && stint.ms() > 0);
    own.nth(number).ok_or(format!("{who} has no turn {number}"))
}

/// When it begins, whole milliseconds from the common start.
pub fn begins_ms(stint: &Stint) -> u64 {
    stint.from_ns / 1_000_000
}

/// The CPU time of a group as a part of that of all groups, 0 … 1.
pub fn share(record: &Record, group: &str) -> f64 {
    let times = record.measured.metrics.iter().filter(|metric| metric.name == "cpu_time_ns");
    let (mut own, mut all) = (0.0, 0.0);
    for metric in times.filter(|metric| metric.group != "all") {
        let value = metric.value.expect("CPU time is always measured");
        all += value;
        own += if metric.group == group { value } else { 0.0 };
    }
    own / all
}

/// A measured number.
pub fn value(record: &Record, name: &str, group: &str) -> f64 {
    let value = record.measured.value(name, group);
    value.unwrap_or_else(|| panic!("{name} of {group} is missing"))
}

/// `found` is `wanted`, give or take `by`.
pub fn near(what: &str, found: f64, wanted: f64, by: f64) -> Result<(), String> {
    if (found - wanted).abs() <= by {
        Ok(())
    } else {
        Err(format!("{what} is {found:.4}, not {wanted:.4} ± {by}"))
    }
}

pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what} is {found:?}, not {wanted:?}")) }
}

/// `found` lies in `from ..= to`.
pub fn within(what: &str, found: u64, from: u64, to: u64) -> Result<(), String> {
    if (from..=to).contains(&found) {
        Ok(())
    } else {
        Err(format!("{what} is {found}, not {from} … {to}"))
    }
}

pub fn histogram<'a>(record: &'a Record, name: &str, group: &str) -> &'a Histogram {
    let found = record.measured.histogram(name, group);
    found.unwrap_or_else(|| panic!("{name} of {group} is missing"))
}

/// A number that the scheduler has printed in the simulator as `what: number`, the last one.
pub fn printed(record: &Record, what: &str) -> Result<i64, String> {
    let said = record.provenance.printed.iter().find_map(|note| note.split_once(": "));
    let find = |note: &String| note.strip_prefix(what)?.strip_prefix(": ")?.parse().ok();
    let number = record.provenance.printed.iter().rev().find_map(find);
    number.ok_or_else(|| format!("it has not printed '{what}', but first {said:?}"))
}
