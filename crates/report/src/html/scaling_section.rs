// SPDX-License-Identifier: GPL-2.0-only
//! The scaling of a workload that grows with the machine: a table of the throughput per CPU, and
//! the frame of the chart that the scripts draw. Only where a cell ran on three machine sizes or
//! more.

use std::collections::BTreeMap;

use model::metric::Unit;
use model::{Backend, Record, SchedulerChoice};
use stats::{Cell, Comparison, Entry, MeasureKey, Row};

use super::escape::text;
use super::figure::SAVE;
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
pub fn section(comparison: &Comparison, records: &[Record], lineage: &[Member]) -> String {
    let mut series = series(comparison, &cpus(records));
    series.retain(|series| grows(series, records));
    let tables: String = series.iter().filter_map(|it| table(it, comparison)).collect();
    let words: String = series.iter().filter_map(|it| kept(it, comparison)).collect();
    if tables.is_empty() {
        return String::new();
    }
    let title = "On growing machines";
    format!(
        "<section id=\"scaling\"><h2>Scaling</h2><p class=\"aside\">Medians over trials; bands \
         are their {:.0} % intervals. A rate is divided by the number of CPUs: a scheduler that \
         scales keeps a level line. The chart shows the cell and the measure chosen under \
         Pictures.</p>\
         <div class=\"figures\"><figure id=\"figure-scaling\" hidden><h3>{title}</h3>\
         <div class=\"chart\" id=\"chart-scaling\" \
         role=\"img\" aria-label=\"{title}\"></div>{SAVE}</figure></div>{words}{tables}{}\
         </section>\n",
        comparison.confidence * 100.0,
        queues(comparison, records, lineage)
    )
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
fn kept(series: &MachineLadder, comparison: &Comparison) -> Option<String> {
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
    let words = |(at, part): &(usize, f64)| {
        let percent = 100.0 * part;
        let places = usize::from(percent < 10.0);
        format!("<b class=\"name\">{}</b> {percent:.places$} %", text(&comparison.contestants[*at]))
    };
    let words: Vec<String> = parts.iter().map(words).collect();
    Some(format!(
        "<p><i>{}</i>: throughput per CPU on {many} CPUs, in percent of that on {few}: {}.</p>",
        text(&first.name),
        words.join(", ")
    ))
}

/// The explanation: what the schedulers' headers say about their queues.
fn queues(comparison: &Comparison, records: &[Record], lineage: &[Member]) -> String {
    let queue = |name: &String| {
        let ours = records.iter().find(|record| record.trial.contestant.name == *name)?;
        let SchedulerChoice::File { file, .. } = &ours.trial.contestant.scheduler else {
            return None;
        };
        let member = lineage.iter().find(|known| known.name == *file && !known.queue.is_empty())?;
        Some(format!(
            "<dt><b class=\"name\">{}</b></dt><dd>{}</dd>",
            text(name),
            text(&member.queue)
        ))
    };
    let queues: String = comparison.contestants.iter().filter_map(queue).collect();
    if queues.is_empty() {
        queues
    } else {
        format!(
            "<p>A possible reason: only one CPU at a time holds the lock of a run queue, and the \
             others wait for it; the \
             longer a decision searches the queue, the longer they wait. With one queue for all \
             CPUs, both grow with \
             the machine. The run queues, with n tasks:</p><dl \
             class=\"facts\">{queues}</dl>"
        )
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
fn table(series: &MachineLadder, comparison: &Comparison) -> Option<String> {
    let (_, first) = series.first()?;
    let rate = first.headline().find(|row| row.unit == Unit::PerSecond)?;
    let heads: String = comparison
        .contestants
        .iter()
        .map(|name| format!("<th scope=\"col\" class=\"n\">{}</th>", text(name)))
        .collect();
    let lines: String = series.iter().map(|point| line(point, first, &rate.measure)).collect();
    Some(format!(
        "<div class=\"scroll\"><table class=\"data\"><caption>{} <small>{}, per CPU; in brackets \
         compared with the smallest machine</small></caption><thead><tr><th scope=\"col\">CPUs</th>\
         {heads}</tr></thead><tbody>{lines}</tbody></table></div>\n",
        text(&first.name),
        text(&units::measure(&rate.measure)),
    ))
}

fn line((cpus, cell): &(u32, &Cell), first: &Cell, measure: &MeasureKey) -> String {
    let entries = |cell: &'_ Cell| -> Vec<Entry> {
        let row = cell.rows.iter().find(|row| row.measure == *measure);
        row.map(|row| row.entries.clone()).unwrap_or_default()
    };
    let smallest = entries(first);
    let entries = entries(cell).into_iter().enumerate();
    let cells: String =
        entries.map(|(at, entry)| per_cpu(&entry, *cpus, smallest.get(at))).collect();
    format!(
        "<tr><th scope=\"row\">{} <small>{}</small></th>{cells}</tr>",
        cpus,
        text(&cell.machine)
    )
}

/// The throughput of each CPU, also as a part of that on the smallest machine.
fn per_cpu(entry: &Entry, cpus: u32, smallest: Option<&Entry>) -> String {
    let Some(median) = entry.median else { return "<td class=\"n\">–</td>".into() };
    let each = median / f64::from(cpus);
    let alone = smallest.and_then(|entry| entry.median).filter(|&alone| alone > 0.0);
    let percent =
        |percent: f64| format!(" <small>({percent:.0$} %)</small>", usize::from(percent < 1.0));
    let part = alone.map(|alone| percent(100.0 * each / alone));
    format!(
        "<td class=\"n\">{}{}</td>",
        text(&units::number(each, Unit::PerSecond)),
        part.unwrap_or_default()
    )
}
