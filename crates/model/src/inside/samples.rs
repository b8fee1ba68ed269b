// SPDX-License-Identifier: GPL-2.0-only
//! Variables over time in bounded memory: whenever there are too many samples, every other one is
//! forgotten, and the following ones are taken half as often.

use super::{Inside, Part, VariableOverTime, spread};
use crate::ValueType;
use crate::series::POINTS_MAX;

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
