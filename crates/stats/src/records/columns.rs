// SPDX-License-Identifier: GPL-2.0-only
//! Records sorted into cells, and their numbers into columns of one measure and one contestant.

use std::collections::{BTreeMap, BTreeSet};

use model::{Backend, Clock, Histogram, MeasureKey, Record, Seed, Statistic};

use crate::number::quantile::quantile;
use crate::resample::bootstrap::Clusters;

/// The cell of a trial; trials of one cell are comparable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellKey {
    pub workload: String,
    pub parameters: BTreeMap<String, i64>,
    /// Before the name, so that machines are sorted by size.
    pub cpus: u32,
    pub machine: String,
    pub backend: Backend,
}

impl CellKey {
    pub fn from_record(record: &Record) -> CellKey {
        let trial = &record.trial;
        CellKey {
            workload: trial.workload.name.clone(),
            parameters: trial.workload.parameters.clone(),
            cpus: trial.machine.cpus,
            machine: trial.machine.name.clone(),
            backend: trial.backend,
        }
    }

    /// The cell with its machine and backend as tables name it; `record` is one of the cell's.
    pub fn label(&self, record: &Record) -> String {
        let cell = record.trial.workload.cell();
        format!("{cell} on {} ({})", self.machine, self.backend.word())
    }
}

/// Records by cell, in the order of tables; those of one cell in the order of the plan, whatever
/// the order of all records.
pub(crate) fn cells(records: &[Record]) -> BTreeMap<CellKey, Vec<&Record>> {
    let mut cells: BTreeMap<CellKey, Vec<&Record>> = BTreeMap::new();
    for record in records {
        cells.entry(CellKey::from_record(record)).or_default().push(record);
    }
    for of_cell in cells.values_mut() {
        of_cell.sort_by(|a, b| in_plan(a).cmp(&in_plan(b)));
    }
    cells
}

fn in_plan(record: &Record) -> (u32, u64, &str, &str) {
    let trial = &record.trial;
    (trial.position, trial.seed.0, &trial.contestant.name, &record.provenance.boot_id)
}

/// The headline measures of the cell's workloads, in their order.
pub fn headlines(records: &[&Record]) -> Vec<MeasureKey> {
    let mut headlines = Vec::new();
    for text in records.iter().flat_map(|record| &record.trial.workload.headline) {
        if let Ok(key) = text.parse()
            && !headlines.contains(&key)
        {
            headlines.push(key);
        }
    }
    headlines
}

/// The names of the contestants that the records are of, sorted.
pub(crate) fn contestants<'a>(records: &[&'a Record]) -> Vec<&'a str> {
    let mut names: Vec<&str> = records.iter().map(|r| r.trial.contestant.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A trial's number with its boot, block and seed. A cell may have millions.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// The place of its boot among those of the cell, in their order.
    pub boot: u32,
    /// Of the planned block, see [`model::Trial::pairing_key`].
    pub block: Option<u32>,
    pub seed: Seed,
    pub value: f64,
}

/// One measure of one contestant.
#[derive(Default)]
pub(crate) struct Column {
    pub samples: Vec<Sample>,
    pub missing: BTreeMap<String, u32>,
}

impl Column {
    pub fn values(&self) -> Vec<f64> {
        sample_values(&self.samples)
    }

    /// One number for each independent unit: a seed under a virtual clock, a boot under a real one
    /// (the trials themselves if all belong to one boot). Trials of one seed are the same trial,
    /// and those of one boot resemble each other.
    pub fn independent_values(&self, clock: Clock) -> Vec<f64> {
        self.clusters(clock).unit_values(&self.values())
    }

    /// How many seeds a virtual clock has measured, or from how many boots a real clock's numbers
    /// come.
    pub fn seeds_or_boots(&self, clock: Clock) -> usize {
        self.clusters(clock).boots()
    }

    fn clusters(&self, clock: Clock) -> Clusters {
        match clock {
            Clock::Virtual => Clusters::new(self.samples.iter().map(|sample| sample.seed.0)),
            Clock::Real => boots(&self.samples),
        }
    }
}

pub(crate) fn sample_values(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

/// Which samples belong to which boot.
pub(crate) fn boots(samples: &[Sample]) -> Clusters {
    Clusters::new(samples.iter().map(|sample| sample.boot))
}

/// The columns of a cell, by measure and contestant.
pub(crate) type Columns = BTreeMap<MeasureKey, BTreeMap<String, Column>>;

/// The numbers of all `ok` records of a cell. Under a virtual clock a repeated trial is the same
/// measurement again and counts once.
pub(crate) fn columns(records: &[&Record]) -> Columns {
    let mut columns = Columns::new();
    let mut seen = BTreeSet::new();
    let boots: BTreeSet<_> = records.iter().map(|record| boot(record)).collect();
    let boots: BTreeMap<_, u32> = boots.into_iter().zip(0..).collect();
    for record in records.iter().filter(|record| record.outcome.is_ok()) {
        if record.trial.clock() == Clock::Virtual && !seen.insert(record.trial.id()) {
            continue;
        }
        let sample = |value| {
            let block = record.trial.pairing_key().map(|(block, _)| block);
            Sample { boot: boots[&boot(record)], block, seed: record.trial.seed, value }
        };
        for (key, value) in values(record) {
            let contestant = record.trial.contestant.name.clone();
            let column = columns.entry(key).or_default().entry(contestant).or_default();
            match value {
                Ok(value) => column.samples.push(sample(value)),
                Err(reason) => *column.missing.entry(reason).or_default() += 1,
            }
        }
    }
    columns
}

/// Planned boot and real boot: a crash in between makes two.
fn boot(record: &Record) -> (u32, &str) {
    (record.trial.boot, &record.provenance.boot_id)
}

/// Every number of a record, or why it is missing.
pub fn values(record: &Record) -> Vec<(MeasureKey, Result<f64, String>)> {
    let metrics = record.measured.metrics.iter().map(|metric| {
        // Imported records may have single quantiles of a distribution: `wakeup_latency_ns.p99`.
        let key = format!("{} {}", metric.name, metric.group).parse();
        let (name, group) = (metric.name.clone(), metric.group.clone());
        let key = key.unwrap_or(MeasureKey { name, statistic: None, group });
        let why = || metric.missing.clone().unwrap_or_else(|| "missing without a reason".into());
        let number = metric.value.filter(|value| value.is_finite());
        (key, number.ok_or_else(why))
    });
    metrics.chain(record.measured.histograms.iter().flat_map(quantiles)).collect()
}

fn quantiles(histogram: &Histogram) -> impl Iterator<Item = (MeasureKey, Result<f64, String>)> {
    Statistic::ALL.into_iter().map(|statistic| {
        let (name, group) = (histogram.name.clone(), histogram.group.clone());
        let value = if histogram.is_complete() {
            value_in(statistic, histogram)
        } else {
            Err("samples were lost: the histogram does not add up".into())
        };
        (MeasureKey { name, statistic: Some(statistic), group }, value)
    })
}

/// The statistic of one trial's distribution, or why there is none.
fn value_in(statistic: Statistic, histogram: &Histogram) -> Result<f64, String> {
    match statistic {
        Statistic::P50 => quantile(histogram, 0.5),
        Statistic::P90 => quantile(histogram, 0.9),
        Statistic::P99 => quantile(histogram, 0.99),
        Statistic::P999 => quantile(histogram, 0.999),
        Statistic::Max if histogram.count == 0 => Err("no samples".into()),
        Statistic::Max => Ok(histogram.max as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_quantiles_stand_beside_those_of_distributions() {
        let (trial, outcome) = (model::Trial::default(), model::Outcome::Ok);
        let mut record = Record::without_measurement(trial, outcome, Default::default());
        let number = model::Metric::number("wakeup_latency_ns.p99", "program", 7.0);
        record.measured.metrics.push(number);
        let key = "wakeup_latency_ns.p99 program".parse().unwrap();
        assert_eq!(values(&record), [(key, Ok(7.0))]);
    }
}
