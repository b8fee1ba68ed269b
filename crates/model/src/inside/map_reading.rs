// SPDX-License-Identifier: GPL-2.0-only
//! From the bytes in a map to what an author wants to know of them.

use std::cmp::Reverse;

use super::{MapAtEnd, MapNumbers, spread};
use crate::ValueType;
use crate::value_numbers::Leaf;

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
