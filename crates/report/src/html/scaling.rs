// SPDX-License-Identifier: GPL-2.0-only
//! How a load that grows with the machine fares on growing machines: a table of what each CPU gets
//! done, beside the chart that the scripts draw. Only where a cell ran on three sizes or more.

use std::collections::BTreeMap;

use model::metric::Unit;
use model::{Backend, Record};
use stats::{Cell, Comparison, Entry, MeasureKey};

use super::escape::text;
use crate::units;

/// Machines of fewer sizes make no curve.
const SIZES_MIN: usize = 3;

/// The CPUs of every machine that the records name.
pub(super) fn cpus(records: &[Record]) -> BTreeMap<&str, u32> {
    let machines = records.iter().map(|record| &record.trial.machine);
    machines.map(|machine| (machine.name.as_str(), machine.cpus)).collect()
}

/// The frame of the chart, and a table for each cell that ran on enough sizes; empty if none did.
pub fn section(comparison: &Comparison, records: &[Record]) -> String {
    let tables: String =
        series(comparison, &cpus(records)).iter().filter_map(|it| table(it, comparison)).collect();
    if tables.is_empty() {
        return String::new();
    }
    let title = "On growing machines";
    format!(
        "<section id=\"scaling\"><h2>Scaling</h2><p class=\"aside\">Medians over runs; bands are \
         their {:.0} % intervals. A rate is divided by the number of CPUs: who scales keeps a \
         level line. The chart shows the cell and the measure chosen under Pictures.</p>\
         <div class=\"figures\"><figure id=\"figure-scaling\" hidden><h3>{title}</h3>\
         <div class=\"chart\" id=\"chart-scaling\" \
         role=\"img\" aria-label=\"{title}\"></div></figure></div>{tables}\
         </section>\n",
        comparison.confidence * 100.0
    )
}

/// One cell on machines of growing size.
type Series<'a> = Vec<(u32, &'a Cell)>;

fn series<'a>(comparison: &'a Comparison, cpus: &BTreeMap<&str, u32>) -> Vec<Series<'a>> {
    let mut all: BTreeMap<(&str, Backend), Series> = BTreeMap::new();
    for cell in &comparison.cells {
        if let Some(&cpus) = cpus.get(cell.machine.as_str()) {
            all.entry((&cell.name, cell.backend)).or_default().push((cpus, cell));
        }
    }
    let mut all: Vec<Series> = all.into_values().collect();
    for series in &mut all {
        series.sort_by_key(|(cpus, _)| *cpus);
        series.dedup_by_key(|(cpus, _)| *cpus);
    }
    all.retain(|series| series.len() >= SIZES_MIN);
    all
}

/// The first rate among the headline measures, by size and contestant.
fn table(series: &Series, comparison: &Comparison) -> Option<String> {
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

/// What each CPU gets done, and how much of what one of the smallest machine does.
fn per_cpu(entry: &Entry, cpus: u32, smallest: Option<&Entry>) -> String {
    let Some(median) = entry.median else { return "<td class=\"n\">–</td>".into() };
    let each = median / f64::from(cpus);
    let alone = smallest.and_then(|entry| entry.median).filter(|&alone| alone > 0.0);
    let part = alone.map(|alone| format!(" <small>({:.0} %)</small>", 100.0 * each / alone));
    format!(
        "<td class=\"n\">{}{}</td>",
        text(&units::number(each, Unit::PerSecond)),
        part.unwrap_or_default()
    )
}
