// SPDX-License-Identifier: GPL-2.0-only
//! Records sorted into cells, and their numbers into columns of one measure and one contestant.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::ALL;
use model::{
    Backend, Clock, Histogram, MeasureKey, Measured, Metric, Name, Record, Seed, Statistic,
};

use crate::number::quantile::quantile;
use crate::resample::Clusters;

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

/// The most measures that are shown of a workload without headlines.
pub const USUAL_MAX: usize = 6;

/// What is shown of a workload without headlines, such as rt-app's, of these measures: those of all
/// tasks together first, and of distributions the 99th percentile.
pub fn usual(mut measures: Vec<MeasureKey>) -> Vec<MeasureKey> {
    measures.retain(|measure| matches!(measure.statistic, None | Some(Statistic::P99)));
    measures.sort_by_key(|measure| measure.group != ALL);
    measures.truncate(USUAL_MAX);
    measures
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

pub(crate) fn boots(samples: &[Sample]) -> Clusters {
    Clusters::new(samples.iter().map(|sample| sample.boot))
}

pub(crate) type ByContestant = BTreeMap<String, Column>;

pub(crate) type Columns = BTreeMap<MeasureKey, ByContestant>;

/// The numbers of all `ok` records of a cell. Under a virtual clock a repeated trial is the same
/// measurement again and counts once.
pub(crate) fn columns(records: &[&Record]) -> Columns {
    let numbers = Numbers::new(records);
    let with_columns = |key: MeasureKey| {
        let columns = numbers.columns(&key);
        (key, columns)
    };
    numbers.keys().into_iter().map(with_columns).collect()
}

/// The records whose numbers count, and where each number is in them, so that those of one measure
/// can be had at a time: all measures of 100,000 trials need much memory.
pub(crate) struct Numbers<'a> {
    /// Each with the place of its form and of its boot.
    records: Vec<(&'a Record, usize, u32)>,
    forms: Forms,
}

impl<'a> Numbers<'a> {
    pub fn new(records: &[&'a Record]) -> Numbers<'a> {
        let boots: BTreeSet<_> = records.iter().map(|record| boot(record)).collect();
        let boots: BTreeMap<_, u32> = boots.into_iter().zip(0..).collect();
        let mut numbers = Numbers { records: Vec::new(), forms: Forms::default() };
        let mut seen = BTreeSet::new();
        for &record in records.iter().filter(|record| record.outcome.is_ok()) {
            if record.trial.clock() == Clock::Virtual && !seen.insert(repeated(record)) {
                continue;
            }
            let form = numbers.forms.place(&record.measured);
            numbers.records.push((record, form, boots[&boot(record)]));
        }
        numbers
    }

    /// Every measure that a record has a number of, or misses.
    pub fn keys(&self) -> BTreeSet<MeasureKey> {
        self.forms.0.iter().flat_map(|form| form.places.keys().cloned()).collect()
    }

    pub fn columns(&self, key: &MeasureKey) -> ByContestant {
        let mut columns = ByContestant::new();
        for &(record, form, boot) in &self.records {
            let places = self.forms.0[form].places.get(key);
            for &place in places.into_iter().flatten() {
                let name = &record.trial.contestant.name;
                if !columns.contains_key(name) {
                    columns.insert(name.clone(), Column::default());
                }
                let Some(column) = columns.get_mut(name) else { continue };
                let block = record.trial.pairing_key().map(|(block, _)| block);
                match value(&record.measured, place) {
                    Ok(value) => {
                        let seed = record.trial.seed;
                        column.samples.push(Sample { boot, block, seed, value });
                    }
                    Err(reason) => *column.missing.entry(reason).or_default() += 1,
                }
            }
        }
        columns
    }
}

/// Two objects of one scheduler are two contestants with one trial.
fn repeated(record: &Record) -> (String, &str) {
    (record.trial.id(), &record.trial.contestant.name)
}

/// Planned boot and real boot: a crash in between makes two.
fn boot(record: &Record) -> (u32, &str) {
    (record.trial.boot, &record.provenance.boot_id)
}

/// The numbers of one measure, a record each; `None` where it is missing. Those of trials that did
/// not end well are among them.
pub struct MeasureNumbers<'a> {
    /// Each with the place of its form.
    records: Vec<(&'a Record, usize)>,
    forms: Forms,
}

impl<'a> MeasureNumbers<'a> {
    pub fn new(records: impl IntoIterator<Item = &'a Record>) -> MeasureNumbers<'a> {
        let mut forms = Forms::default();
        let records = records.into_iter().map(|record| (record, forms.place(&record.measured)));
        MeasureNumbers { records: records.collect(), forms }
    }

    pub fn of(&self, key: &MeasureKey) -> impl Iterator<Item = Option<f64>> {
        self.records.iter().map(|&(record, form)| {
            let place = self.forms.0[form].places.get(key)?.last()?;
            value(&record.measured, *place).ok()
        })
    }
}

#[derive(Default)]
struct Forms(Vec<Form>);

impl Forms {
    fn place(&mut self, measured: &Measured) -> usize {
        let known = self.0.iter().position(|form| form.fits(measured));
        known.unwrap_or_else(|| {
            self.0.push(Form::new(measured));
            self.0.len() - 1
        })
    }
}

/// The measures that records have in one order, with their places in [`keys`].
struct Form {
    /// The names and groups of metrics, then those of histograms.
    names: Vec<(Name, Name)>,
    metrics: usize,
    places: BTreeMap<MeasureKey, Vec<usize>>,
}

impl Form {
    fn new(measured: &Measured) -> Form {
        let mut places: BTreeMap<MeasureKey, Vec<usize>> = BTreeMap::new();
        for (place, key) in keys(measured).enumerate() {
            places.entry(key).or_default().push(place);
        }
        let names = names(measured).map(|(name, group)| (name.clone(), group.clone()));
        let (names, metrics) = (names.collect(), measured.metrics.len());
        Form { names, metrics, places }
    }

    fn fits(&self, measured: &Measured) -> bool {
        let own = self.names.iter().map(|(name, group)| (name, group));
        self.metrics == measured.metrics.len() && names(measured).eq(own)
    }
}

fn names(measured: &Measured) -> impl Iterator<Item = (&Name, &Name)> {
    let metrics = measured.metrics.iter().map(|metric| (&metric.name, &metric.group));
    metrics.chain(measured.histograms.iter().map(|histogram| (&histogram.name, &histogram.group)))
}

/// What each number of a record is called.
fn keys(measured: &Measured) -> impl Iterator<Item = MeasureKey> + '_ {
    let metrics = measured.metrics.iter().map(|Metric { name, group, .. }| {
        // Imported records may have single quantiles of a distribution: `wakeup_latency_ns.p99`.
        let key = format!("{name} {group}").parse();
        let (name, group) = (name.clone(), group.clone());
        key.unwrap_or(MeasureKey { name, statistic: None, group })
    });
    let quantiles = measured.histograms.iter().flat_map(|Histogram { name, group, .. }| {
        Statistic::ALL.map(|statistic| {
            let (name, group) = (name.clone(), group.clone());
            MeasureKey { name, statistic: Some(statistic), group }
        })
    });
    metrics.chain(quantiles)
}

/// The number at a place of [`keys`], or why it is missing.
fn value(measured: &Measured, place: usize) -> Result<f64, String> {
    let Some(metric) = measured.metrics.get(place) else {
        let place = place - measured.metrics.len();
        let histogram = &measured.histograms[place / Statistic::ALL.len()];
        if !histogram.is_complete() {
            return Err("samples were lost: the histogram does not add up".into());
        }
        return value_in(Statistic::ALL[place % Statistic::ALL.len()], histogram);
    };
    let why = || metric.missing.as_deref().unwrap_or("missing without a reason").to_owned();
    metric.value.filter(|value| value.is_finite()).ok_or_else(why)
}

/// Every number of a record, or why it is missing.
pub fn values(record: &Record) -> Vec<(MeasureKey, Result<f64, String>)> {
    let measured = &record.measured;
    keys(measured).enumerate().map(|(place, key)| (key, value(measured, place))).collect()
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
