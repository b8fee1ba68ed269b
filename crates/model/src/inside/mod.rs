// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler did and held during a traced trial, as its author would look at it.
//!
//! Variables over time take bounded memory: whenever there are too many samples, every other one is
//! forgotten, and the following ones are taken half as often.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::ValueType;
use crate::series::POINTS_MAX;
use crate::values::Leaf;

/// The inside of a scheduler. What a backend cannot tell is named in `missing`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Inside {
    /// The callbacks that ran during the workload, in the order of `struct sched_ext_ops`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callbacks: Vec<CallbackRuns>,
    /// The numbers among the global variables that changed during the workload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableOverTime>,
    /// The maps when the workload had ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<MapAtEnd>,
    /// What the scheduler's program in user space tells of the time of the workload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
    /// What is not here, and why, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Inside {
    pub fn is_empty(&self) -> bool {
        *self == Inside::default()
    }

    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let names = self.callbacks.iter().map(|callback| &callback.name);
        let variables = self.variables.iter().map(|variable| &variable.name);
        let maps = self.maps.iter().flat_map(MapAtEnd::texts);
        let told = self.told.iter().map(|told| &told.name);
        names.chain(variables).chain(maps).chain(told).chain(&self.missing).map(String::as_str)
    }
}

/// How often a callback ran, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallbackRuns {
    /// Its name in `struct sched_ext_ops`.
    pub name: String,
    pub calls: u64,
    /// All calls together, ns. In the simulator what their costs are, kernel functions that they
    /// call included; on a kernel what its BPF statistics say.
    pub time_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableOverTime {
    /// A variable, with the way to a number in it: `nr_waiting`, `cpus[].load`.
    pub name: String,
    /// Of several numbers, such as those of an array: which one of those that were ever not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// From one value to the next, from the common start on, ns. The last value is that of the end.
    pub interval_ns: u64,
    pub values: Vec<i128>,
}

/// A number of a scheduler's program, as it names it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    pub name: String,
    pub value: f64,
}

/// One number for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    Min,
    Median,
    Max,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Min, Part::Median, Part::Max];
}

/// The least, the median and the greatest; `None` of none.
pub fn spread(mut numbers: Vec<i128>) -> Option<[i128; 3]> {
    numbers.sort_unstable();
    Some([*numbers.first()?, numbers[numbers.len() / 2], *numbers.last()?])
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapAtEnd {
    pub name: String,
    /// `array`, `hash`, `task storage` …
    pub kind: String,
    /// Of an array those that are not 0.
    pub entries: u64,
    /// 0: without limit.
    pub max_entries: u64,
    pub numbers: Vec<MapNumbers>,
}

impl MapAtEnd {
    fn texts(&self) -> impl Iterator<Item = &String> {
        let of_numbers = self.numbers.iter().flat_map(|numbers| {
            std::iter::once(&numbers.path).chain(numbers.top.iter().map(|(key, _)| key))
        });
        [&self.name, &self.kind].into_iter().chain(of_numbers)
    }
}

/// The same number of all values of a map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapNumbers {
    /// The way to it in a value: `.load`; empty if the value is a number.
    pub path: String,
    pub min: i128,
    pub median: i128,
    pub max: i128,
    /// The keys of the greatest, with their numbers: in task storage the thread's number.
    pub top: Vec<(String, i128)>,
}

/// The most entries that are read of a map.
pub const ENTRIES_MOST: usize = 1 << 16;

/// The most keys of the greatest numbers, and the most numbers of a value.
const TOP: usize = 3;
const NUMBERS_MOST: usize = 32;

/// What maps of a type (`BPF_MAP_TYPE_*`) are called; `None` for those that are not read.
pub fn map_kind(number: u32) -> Option<&'static str> {
    Some(match number {
        1 => "hash",
        2 => "array",
        5 => "per-CPU hash",
        6 => "per-CPU array",
        9 => "LRU hash",
        10 => "per-CPU LRU hash",
        TASK_STORAGE => "task storage",
        GROUP_STORAGE => "control group storage",
        _ => return None,
    })
}

/// `BPF_MAP_TYPE_TASK_STORAGE` and `BPF_MAP_TYPE_CGRP_STORAGE`.
pub const TASK_STORAGE: u32 = 29;
pub const GROUP_STORAGE: u32 = 32;

/// Why a map is not told.
pub const NOT_READ: &str = "only arrays, hashes and storage are read";
pub const NO_TYPES: &str = "its definition names no types";
pub const TOO_MANY: &str = "it has more than 65,536 entries";

/// A map's entries: each key in words, and its value, of a per-CPU map one for each CPU.
pub struct MapReading<'a> {
    pub name: String,
    pub kind: &'static str,
    pub max_entries: u64,
    pub value: &'a ValueType,
    pub entries: Vec<(String, Vec<Vec<u8>>)>,
}

impl MapReading<'_> {
    pub fn at_end(mut self) -> MapAtEnd {
        if self.kind.ends_with("array") {
            // It always has all entries: those that are 0 say nothing.
            let is_used = |value: &Vec<u8>| value.iter().any(|byte| *byte != 0);
            self.entries.retain(|(_, values)| values.iter().any(is_used));
        }
        let numbers = self.value.leaves().into_iter().take(NUMBERS_MOST);
        MapAtEnd {
            numbers: numbers.filter_map(|leaf| self.numbers(&leaf)).collect(),
            kind: self.kind.into(),
            entries: self.entries.len() as u64,
            max_entries: self.max_entries,
            name: self.name,
        }
    }

    fn numbers(&self, leaf: &Leaf) -> Option<MapNumbers> {
        let mut all = Vec::new();
        for (key, values) in &self.entries {
            for (cpu, value) in values.iter().enumerate() {
                let on = if values.len() > 1 { Some(cpu) } else { None };
                all.extend(leaf.numbers(value).into_iter().map(|number| (number, key, on)));
            }
        }
        let [min, median, max] = spread(all.iter().map(|(number, ..)| *number).collect())?;
        // The order of a hash map's entries is the kernel's secret. Numbers sort by their length.
        all.sort_by_key(|(number, key, on)| (Reverse(*number), key.len(), *key, *on));
        let is_told = |(number, ..): &&(i128, &String, Option<usize>)| *number != 0 && min < max;
        let top = all.iter().filter(is_told).take(TOP).map(|(number, key, on)| {
            let on = on.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
            (format!("{key}{on}"), *number)
        });
        Some(MapNumbers { path: leaf.path.clone(), min, median, max, top: top.collect() })
    }
}

/// The most KiB of a sample, and the most series that are kept.
const KIB_MOST: usize = 256;
const SERIES_MOST: usize = 100;

/// The shortest time between two samples, ns: authors try short workloads.
const FIRST_NS: u64 = 1_000_000;

/// Samples of variables whose bytes stand one after the other.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Name, type, and where its bytes begin in a sample.
    variables: Vec<(String, ValueType, usize)>,
    left_out: Vec<String>,
    interval_ns: u64,
    rows: Vec<Vec<u8>>,
}

impl Samples {
    /// Room for those of the variables that hold numbers; too large ones are left out.
    pub fn new(variables: impl IntoIterator<Item = (String, ValueType)>) -> Samples {
        let mut samples = Samples { interval_ns: FIRST_NS, ..Samples::default() };
        let mut bytes = 0;
        for (name, ty) in variables {
            if bytes + ty.size > KIB_MOST << 10 {
                samples.left_out.push(name);
            } else if !ty.leaves().is_empty() {
                samples.variables.push((name, ty, bytes));
                bytes += samples.variables.last().map_or(0, |(_, ty, _)| ty.size);
            }
        }
        samples
    }

    /// The variables in the order of their bytes in a sample.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, ..)| name.as_str())
    }

    /// When the next sample is due, ns since the common start; `None`: there is nothing to sample.
    pub fn next_ns(&self) -> Option<u64> {
        (!self.variables.is_empty()).then(|| self.rows.len() as u64 * self.interval_ns)
    }

    /// What the variables are until the present time, which is not before the next sample is due.
    pub fn take(&mut self, now_ns: u64, row: &[u8]) {
        while self.next_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            if self.rows.len() as u64 == POINTS_MAX {
                let mut is_odd = false;
                self.rows.retain(|_| {
                    is_odd = !is_odd;
                    is_odd
                });
                self.interval_ns *= 2;
            } else {
                self.rows.push(row.to_vec());
            }
        }
    }

    /// Writes what changed, and what is not told, with the variables as they are at the end.
    pub fn tell(&self, end: &[u8], inside: &mut Inside) {
        let mut found = Vec::new();
        for (name, ty, at) in &self.variables {
            let own = |row: &[u8]| row.get(*at..at + ty.size).unwrap_or_default().to_vec();
            let rows = self.rows.iter().map(Vec::as_slice).chain([end]);
            let rows: Vec<Vec<u8>> = rows.map(own).collect();
            for leaf in ty.leaves() {
                let numbers: Vec<Vec<i128>> = rows.iter().map(|row| leaf.numbers(row)).collect();
                let numbers = without_unused(numbers);
                let name = format!("{name}{}", leaf.path);
                let series = self.series(&name, leaf.is_plain(), &numbers);
                if series.iter().any(has_changed) {
                    found.extend(series);
                }
            }
        }
        if found.len() > SERIES_MOST {
            let all = found.len();
            let what =
                format!("of {all} numbers of its variables the first {SERIES_MOST} are kept");
            inside.missing.push(what);
            found.truncate(SERIES_MOST);
        }
        inside.variables = found;
        if !self.left_out.is_empty() {
            let names = self.left_out.join(", ");
            inside.missing.push(format!("{names} over time: at most {KIB_MOST} KiB are sampled"));
        }
    }

    fn series(&self, name: &str, is_plain: bool, numbers: &[Vec<i128>]) -> Vec<VariableOverTime> {
        let spreads: Vec<[i128; 3]> = numbers.iter().cloned().filter_map(spread).collect();
        let series = |part: Option<Part>, at: usize| VariableOverTime {
            name: name.into(),
            part,
            interval_ns: self.interval_ns,
            values: spreads.iter().map(|spread| spread[at]).collect(),
        };
        if is_plain {
            return vec![series(None, 0)];
        }
        Part::ALL.into_iter().zip(0..).map(|(part, at)| series(Some(part), at)).collect()
    }
}

/// An array has room for more CPUs or tasks than there are: what is always 0 says nothing.
fn without_unused(mut rows: Vec<Vec<i128>>) -> Vec<Vec<i128>> {
    let count = rows.first().map_or(0, Vec::len);
    let is_used: Vec<bool> =
        (0..count).map(|at| rows.iter().any(|row| row.get(at).is_some_and(|n| *n != 0))).collect();
    if count > 1 {
        for row in &mut rows {
            let mut is_used = is_used.iter();
            row.retain(|_| is_used.next().is_some_and(|is_used| *is_used));
        }
    }
    rows
}

fn has_changed(series: &VariableOverTime) -> bool {
    series.values.windows(2).any(|two| two[0] != two[1])
}

#[cfg(test)]
mod tests;
