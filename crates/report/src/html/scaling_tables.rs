// SPDX-License-Identifier: GPL-2.0-only
//! The scaling of a workload that grows with the machine: the throughput per CPU, where a cell ran
//! on three machine sizes or more.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::metric::Unit;
use model::{Backend, Record};
use stats::{Cell, Comparison, Entry, Row};

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// The fewest machine sizes of a table.
const SIZES_MIN: usize = 3;

/// One cell on machines of growing size, each with its CPUs.
type MachineLadder<'a> = Vec<(u32, &'a Cell)>;

/// A table for each cell that ran on enough sizes; empty if none did.
pub fn tables(comparison: &Comparison, records: &[Record]) -> Markup {
    let mut ladders = ladders(comparison, records);
    ladders.retain(|ladder| grows(ladder, records));
    let tables: Vec<Markup> =
        ladders.iter().filter_map(|ladder| table(ladder, comparison)).collect();
    html! {
        @if !tables.is_empty() {
            div id="scaling" {
                h3 { "On growing machines" }
                p class="aside" {
                    "Median rates, divided by the number of CPUs; in brackets in percent of the \
                     rate on the smallest machine. A scheduler that scales keeps 100 %."
                }
                @for table in &tables { (table) }
            }
        }
    }
}

fn ladders<'a>(comparison: &'a Comparison, records: &[Record]) -> Vec<MachineLadder<'a>> {
    let machines = records.iter().map(|record| &record.trial.machine);
    let cpus: BTreeMap<&str, u32> =
        machines.map(|machine| (machine.name.as_str(), machine.cpus)).collect();
    let mut ladders: BTreeMap<(&str, Backend), MachineLadder> = BTreeMap::new();
    for cell in &comparison.cells {
        if let Some(&cpus) = cpus.get(cell.machine.as_str()) {
            ladders.entry((&cell.name, cell.backend)).or_default().push((cpus, cell));
        }
    }
    let mut ladders: Vec<MachineLadder> = ladders.into_values().collect();
    for ladder in &mut ladders {
        ladder.sort_by_key(|(cpus, _)| *cpus);
        ladder.dedup_by_key(|(cpus, _)| *cpus);
    }
    ladders.retain(|ladder| ladder.len() >= SIZES_MIN);
    ladders
}

/// Whether the workload has more tasks on larger machines; else there is nothing to scale. The
/// tasks of a real program are unknown, so it counts as growing.
fn grows(ladder: &MachineLadder, records: &[Record]) -> bool {
    let tasks = |cell: &Cell| {
        let ours = |record: &&Record| crate::reading::label_of(record) == cell.label();
        let workload = &records.iter().find(ours)?.trial.workload;
        Some(workload.tasks.iter().map(|group| u64::from(group.count)).sum::<u64>())
    };
    let ends = ladder.first().zip(ladder.last());
    ends.is_some_and(|((_, small), (_, large))| {
        let many = tasks(large);
        many > tasks(small) || many == Some(0)
    })
}

/// The first rate among the headline measures, by size and contestant.
fn table(ladder: &MachineLadder, comparison: &Comparison) -> Option<Markup> {
    let (fewest, first) = ladder.first()?;
    let rate = first.headline().find(|row| row.unit == Unit::PerSecond)?;
    let contestants = comparison.contestants.iter().map(|name| (name.as_str(), Right));
    let mut table =
        Table::new(&[("CPUs", Left)].into_iter().chain(contestants).collect::<Vec<_>>());
    for (cpus, cell) in ladder {
        let row = cell.rows.iter().find(|row| row.measure == rate.measure);
        let entries = row.map_or(&[][..], |row: &Row| &row.entries);
        let each = entries.iter().enumerate().map(|(at, entry)| {
            let alone = rate.entries.get(at).and_then(|entry| rate_per_cpu(entry, *fewest));
            rate_with_percent(rate_per_cpu(entry, *cpus), alone)
        });
        table.add([format!("{cpus}, {}", cell.machine)].into_iter().chain(each));
    }
    Some(html! {
        p { b { (first.name) } " " small { (units::measure(&rate.measure)) } }
        (table)
    })
}

fn rate_per_cpu(entry: &Entry, cpus: u32) -> Option<f64> {
    Some(entry.median? / f64::from(cpus))
}

/// `900 /s (90 %)`.
fn rate_with_percent(rate: Option<f64>, alone: Option<f64>) -> String {
    let Some(rate) = rate else { return "–".into() };
    let percent = alone.filter(|&alone| alone > 0.0).map(|alone| 100.0 * rate / alone);
    let percent = percent.map(|percent| format!(" ({percent:.0$} %)", usize::from(percent < 1.0)));
    units::number(rate, Unit::PerSecond) + &percent.unwrap_or_default()
}
