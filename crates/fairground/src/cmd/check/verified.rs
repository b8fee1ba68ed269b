// SPDX-License-Identifier: GPL-2.0-only
//! How many instructions a kernel's verifier has looked at, for each program of a scheduler.

use std::collections::{BTreeMap, BTreeSet};

use live::loader::VERIFIED;
use model::Record;
use serde::Serialize;

use crate::output;

/// The programs of a record's scheduler with their instructions; empty if no verifier has said.
fn programs(record: &Record) -> BTreeMap<&str, u64> {
    let said = record.provenance.notes.iter().find_map(|note| note.strip_prefix(VERIFIED));
    let counts = said.into_iter().flat_map(|said| said.split(", "));
    counts
        .filter_map(|one| one.split_once(' '))
        .filter_map(|(n, c)| Some((n, c.parse().ok()?)))
        .collect()
}

/// In words, for one kernel.
pub fn words(record: &Record) -> String {
    let programs = programs(record);
    let all: u64 = programs.values().sum();
    let each: Vec<String> =
        programs.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if each.is_empty() {
        return String::new();
    }
    format!("; {all} instructions verified: {}", each.join(", "))
}

/// A table of all programs, with a column for each kernel.
pub fn matrix(records: &[Record]) -> String {
    let release = |record: &Record| record.provenance.kernel_release.clone();
    let kernels: BTreeSet<String> = records.iter().map(release).collect();
    let mut counts: BTreeMap<(&str, &str), BTreeMap<String, u64>> = BTreeMap::new();
    for record in records {
        for (program, count) in programs(record) {
            let row = counts.entry((&record.trial.contestant.name, program)).or_default();
            row.insert(release(record), count);
        }
    }
    let mut head = vec!["verified instructions".to_owned(), String::new()];
    head.extend(kernels.iter().cloned());
    let rows = counts.iter().map(|((scheduler, program), by_kernel)| {
        let count = |kernel| by_kernel.get(kernel).map_or("-".into(), u64::to_string);
        let names = [(*scheduler).to_owned(), (*program).to_owned()];
        names.into_iter().chain(kernels.iter().map(count)).collect()
    });
    output::table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// The instructions of all programs of a scheduler on a kernel, before and now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Growth {
    pub contestant: String,
    pub kernel: String,
    pub before: u64,
    pub now: u64,
}

impl Growth {
    pub fn percent(&self) -> f64 {
        (self.now as f64 / self.before as f64 - 1.0) * 100.0
    }

    /// `mine on 7.3.4`.
    pub fn place(&self) -> String {
        format!("{} on {}", self.contestant, self.kernel)
    }

    /// `mine on 7.3.4: 37 → 80, +116.2 %`.
    pub fn words(&self) -> String {
        let Growth { before, now, .. } = self;
        format!("{}: {before} → {now}, {:+.1} %", self.place(), self.percent())
    }
}

/// The schedulers on kernels that both sessions have verified.
pub fn growths(before: &[Record], now: &[Record]) -> Vec<Growth> {
    let (before, now) = (sums(before), sums(now));
    let both = now.into_iter().filter_map(|(place, now)| Some((*before.get(&place)?, place, now)));
    both.map(|(before, (contestant, kernel), now)| Growth { contestant, kernel, before, now })
        .collect()
}

/// The sum of all programs by contestant and kernel; the largest, should trials differ.
fn sums(records: &[Record]) -> BTreeMap<(String, String), u64> {
    let mut sums = BTreeMap::new();
    for record in records {
        let sum = programs(record).values().sum::<u64>();
        if sum > 0 {
            let name = record.trial.contestant.name.clone();
            let known = sums.entry((name, record.provenance.kernel_release.clone())).or_insert(sum);
            *known = sum.max(*known);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_of_a_scheduler_on_the_same_kernel() {
        let note = |count: u32| format!("verified instructions: mine_enqueue {count}, mine_init 7");
        let before = [record("7.3.4", &[&note(30)]), record("6.12.1", &[&note(9)])];
        let now = [record("7.3.4", &[&note(73)]), record("7.3.4", &[])];
        let found = growths(&before, &now);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].words(), "mine on 7.3.4: 37 → 80, +116.2 %");
        assert!(growths(&before, &[record("7.3.4", &[])]).is_empty());
    }

    fn record(kernel: &str, notes: &[&str]) -> Record {
        let mut record = Record::without_measurement(
            model::Trial::default(),
            model::Outcome::Ok,
            model::Provenance::default(),
        );
        record.trial.contestant.name = "mine".into();
        record.provenance.kernel_release = kernel.into();
        record.provenance.notes = notes.iter().map(|note| (*note).to_owned()).collect();
        record
    }

    #[test]
    fn counts_of_programs_become_a_matrix_of_kernels() {
        let old = record("6.12.1", &["verified instructions: mine_enqueue 30, mine_init 7"]);
        let new = record("7.3.4", &["a note", "verified instructions: mine_enqueue 31"]);
        assert_eq!(words(&old), "; 37 instructions verified: mine_enqueue 30, mine_init 7");
        assert_eq!(words(&record("7.3.4", &[])), "");
        assert_eq!(
            matrix(&[old, new]),
            "verified instructions                6.12.1  7.3.4\n\
             mine                   mine_enqueue  30      31\n\
             mine                   mine_init     7       -\n"
        );
    }
}
