// SPDX-License-Identifier: GPL-2.0-only
//! The scaling of a workload that grows with the machine: a table of the throughput per CPU, and
//! the frame of the chart that the scripts draw. Only where a cell ran on three machine sizes or
//! more.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::metric::Unit;
use model::{Backend, Record, SchedulerChoice};
use stats::{Cell, Comparison, Entry, MeasureKey, Row};

use super::figure::save_buttons;
use super::markup::{fact_item, joined, name};
use crate::lineage::Member;
use crate::units;

/// The fewest machine sizes of a curve.
const SIZES_MIN: usize = 3;

/// The CPUs of every machine that the records name.
pub(super) fn cpus(records: &[Record]) -> BTreeMap<&str, u32> {
    let machines = records.iter().map(|record| &record.trial.machine);
    machines.map(|machine| (machine.name.as_str(), machine.cpus)).collect()
}

/// The frame of the chart, and a table for each cell that ran on enough sizes; empty if none did.
pub fn section(comparison: &Comparison, records: &[Record], lineage: &[Member]) -> Markup {
    let mut series = series(comparison, &cpus(records));
    series.retain(|series| grows(series, records));
    let tables: Vec<Markup> =
        series.iter().filter_map(|ladder| table(ladder, comparison)).collect();
    if tables.is_empty() {
        return Markup::default();
    }
    let title = "On growing machines";
    html! {
        section id="scaling" {
            h2 { "Scaling" }
            p class="aside" {
                "Medians over trials; bands are their "
                (format!("{:.0} %", comparison.confidence * 100.0))
                " intervals. A rate is divided by the number of CPUs: a scheduler that scales \
                 keeps a level line. The chart shows the cell and the measure chosen under \
                 Pictures."
            }
            div class="figures" {
                figure id="figure-scaling" hidden {
                    h3 { (title) }
                    div class="chart" id="chart-scaling" role="img" aria-label=(title) {}
                    (save_buttons())
                }
            }
            @for ladder in &series { (kept(ladder, comparison).unwrap_or_default()) }
            @for table in &tables { (table) }
            (queues(comparison, records, lineage))
        }
    }
}

/// Whether the workload has more tasks on larger machines; else there is nothing to scale. The
/// tasks of a real program are unknown, so it counts as growing.
fn grows(series: &MachineLadder, records: &[Record]) -> bool {
    let tasks = |cell: &Cell| {
        let ours = |record: &&Record| crate::cells::label_of(record) == cell.label();
        let workload = &records.iter().find(ours)?.trial.workload;
        Some(workload.tasks.iter().map(|group| u64::from(group.count)).sum::<u64>())
    };
    let ends = series.first().zip(series.last());
    ends.is_some_and(|((_, small), (_, large))| {
        let many = tasks(large);
        many > tasks(small) || many == Some(0)
    })
}

/// The throughput of each CPU of the largest machine, compared with that of the smallest.
fn kept(series: &MachineLadder, comparison: &Comparison) -> Option<Markup> {
    let ((few, first), (many, last)) = (series.first()?, series.last()?);
    let rate = first.headline().find(|row| row.unit == Unit::PerSecond)?;
    let largest = last.rows.iter().find(|row| row.measure == rate.measure)?;
    let part = |at: usize| {
        let each = |row: &Row, cpus: u32| Some(row.entries.get(at)?.median? / f64::from(cpus));
        let alone = each(rate, *few).filter(|&alone| alone > 0.0)?;
        Some((at, each(largest, *many)? / alone))
    };
    let mut parts: Vec<(usize, f64)> = (0..comparison.contestants.len()).filter_map(part).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words = |(at, part): (usize, f64)| {
        let percent = 100.0 * part;
        let places = usize::from(percent < 10.0);
        html! { (name(&comparison.contestants[at])) (format!(" {percent:.places$} %")) }
    };
    Some(html! {
        p {
            i { (first.name) } ": throughput per CPU on " (many) " CPUs, in percent of that on "
            (few) ": " (joined(parts.into_iter().map(words), ", ")) "."
        }
    })
}

/// The explanation: what the schedulers' headers say about their queues.
fn queues(comparison: &Comparison, records: &[Record], lineage: &[Member]) -> Markup {
    let queue = |name: &str| {
        let ours = records.iter().find(|record| record.trial.contestant.name == name)?;
        let SchedulerChoice::File { file, .. } = &ours.trial.contestant.scheduler else {
            return None;
        };
        let member = lineage.iter().find(|known| known.name == *file)?;
        (!member.queue.is_empty()).then_some(member.queue.as_str())
    };
    let contestants = comparison.contestants.iter();
    let queues: Vec<(&str, &str)> =
        contestants.filter_map(|name| Some((name.as_str(), queue(name)?))).collect();
    html! {
        @if !queues.is_empty() {
            p {
                "A possible reason: only one CPU at a time holds the lock of a run queue, and the \
                 others wait for it; the longer a decision searches the queue, the longer they \
                 wait. With one queue for all CPUs, both grow with the machine. The run queues, \
                 with n tasks:"
            }
            dl class="facts" {
                @for (contestant, queue) in queues { (fact_item(name(contestant), queue)) }
            }
        }
    }
}

/// One cell on machines of growing size.
type MachineLadder<'a> = Vec<(u32, &'a Cell)>;

fn series<'a>(comparison: &'a Comparison, cpus: &BTreeMap<&str, u32>) -> Vec<MachineLadder<'a>> {
    let mut all: BTreeMap<(&str, Backend), MachineLadder> = BTreeMap::new();
    for cell in &comparison.cells {
        if let Some(&cpus) = cpus.get(cell.machine.as_str()) {
            all.entry((&cell.name, cell.backend)).or_default().push((cpus, cell));
        }
    }
    let mut all: Vec<MachineLadder> = all.into_values().collect();
    for series in &mut all {
        series.sort_by_key(|(cpus, _)| *cpus);
        series.dedup_by_key(|(cpus, _)| *cpus);
    }
    all.retain(|series| series.len() >= SIZES_MIN);
    all
}

/// The first rate among the headline measures, by size and contestant.
fn table(series: &MachineLadder, comparison: &Comparison) -> Option<Markup> {
    let (_, first) = series.first()?;
    let rate = first.headline().find(|row| row.unit == Unit::PerSecond)?;
    Some(html! {
        div class="scroll" {
            table class="data" {
                caption {
                    (first.name) " "
                    small {
                        (units::measure(&rate.measure))
                        ", per CPU; in brackets compared with the smallest machine"
                    }
                }
                thead {
                    tr {
                        th scope="col" { "CPUs" }
                        @for name in &comparison.contestants {
                            th scope="col" class="n" { (name) }
                        }
                    }
                }
                tbody { @for point in series { (line(point, first, &rate.measure)) } }
            }
        }
    })
}

fn line((cpus, cell): &(u32, &Cell), first: &Cell, measure: &MeasureKey) -> Markup {
    let entries = |cell: &'_ Cell| -> Vec<Entry> {
        let row = cell.rows.iter().find(|row| row.measure == *measure);
        row.map(|row| row.entries.clone()).unwrap_or_default()
    };
    let smallest = entries(first);
    html! {
        tr {
            th scope="row" { (cpus) " " small { (cell.machine) } }
            @for (at, entry) in entries(cell).iter().enumerate() {
                td class="n" { (per_cpu(entry, *cpus, smallest.get(at))) }
            }
        }
    }
}

/// The throughput of each CPU, also as a part of that on the smallest machine.
fn per_cpu(entry: &Entry, cpus: u32, smallest: Option<&Entry>) -> Markup {
    let Some(median) = entry.median else { return html! { "–" } };
    let each = median / f64::from(cpus);
    let alone = smallest.and_then(|entry| entry.median).filter(|&alone| alone > 0.0);
    html! {
        (units::number(each, Unit::PerSecond))
        @if let Some(percent) = alone.map(|alone| 100.0 * each / alone) {
            " " small { (format!("({percent:.0$} %)", usize::from(percent < 1.0))) }
        }
    }
}
