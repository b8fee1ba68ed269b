// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler did and held during a traced trial, as its author would look at it.

use serde::{Deserialize, Serialize};

mod map_reading;
mod samples;

pub use map_reading::{
    ENTRIES_MOST, GROUP_STORAGE, MapReading, NO_TYPES, NOT_READ, TASK_STORAGE, TOO_MANY, map_kind,
};
pub use samples::Samples;

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
    /// What is not here, and why, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Inside {
    pub fn is_empty(&self) -> bool {
        *self == Inside::default()
    }

    /// Its names and sentences.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let names = self.callbacks.iter().map(|callback| &callback.name);
        let variables = self.variables.iter().map(|variable| &variable.name);
        let maps = self.maps.iter().flat_map(MapAtEnd::texts);
        names.chain(variables).chain(maps).chain(&self.missing).map(String::as_str)
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

/// A number over time.
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

/// What a map held.
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
    /// The numbers in its values.
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

#[cfg(test)]
mod tests;
