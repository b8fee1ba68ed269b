// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of the charts and of the table of trials, once, as compact JSON; not whole records.

use std::collections::BTreeMap;

use model::metric::{Direction, Unit, measure};
use model::{Clock, Histogram, Record};
use serde::{Serialize, Serializer};
use stats::records::columns::MeasureNumbers;
use stats::{Cell, Comparison, Row};

use super::detail_level::DetailLevel;
use super::provenance;
use super::shift_functions::{self, Shifts};
use super::timeline::{Timeline, timelines};
use crate::{reading, units};

#[derive(Serialize)]
struct PageData<'a> {
    baseline: &'a str,
    contestants: &'a [String],
    /// The cell that the charts open with.
    start: usize,
    cells: Vec<CellData<'a>>,
    definitions: BTreeMap<&'a str, &'static str>,
    /// [`units::STEP_BEGINS`] and [`units::SCALES`], for the scripts.
    scales: (f64, [(Unit, units::Steps); 5]),
    bins_per_decade: f64,
    shift_quantiles: &'static [f64],
    trials: Vec<TrialData>,
    /// Reasons and notes, to which trials refer by index.
    texts: Vec<&'a str>,
    timelines: Vec<Timeline>,
    /// Figures refer to them by index.
    numbers: &'a [String],
}

#[derive(Serialize)]
struct CellData<'a> {
    label: String,
    name: &'a str,
    workload: &'a str,
    machine: &'a str,
    backend: &'static str,
    clock: Clock,
    parameters: &'a BTreeMap<String, i64>,
    /// Indexes of the cell's trials; the rows' values have this order.
    trials: Vec<usize>,
    rows: Vec<RowData>,
    distributions: Vec<Distribution>,
    shifts: &'a [Shifts],
}

#[derive(Serialize)]
struct RowData {
    key: String,
    name: String,
    group: String,
    label: String,
    unit: Unit,
    direction: Direction,
    headline: bool,
    entries: Vec<EntryData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Option<Short>>>,
}

/// Median, its interval, shift in percent.
type EntryData = (Option<Short>, Option<[Short; 2]>, Option<Short>);

/// Identity, cell, contestant, outcome, place of the reason, boot, block, position, seed, position
/// in the boot, environment, host time in ms, start in seconds since 1970, places of the notes.
type TrialData =
    (String, usize, usize, &'static str, usize, [u32; 3], String, u32, usize, [u64; 2], Vec<usize>);

/// Texts without repeats.
#[derive(Default)]
struct TextPool<'a> {
    places: BTreeMap<&'a str, usize>,
    list: Vec<&'a str>,
}

impl<'a> TextPool<'a> {
    fn place(&mut self, text: &'a str) -> usize {
        let next = self.list.len();
        let place = *self.places.entry(text).or_insert(next);
        if place == next {
            self.list.push(text);
        }
        place
    }
}

/// Resampling results of the charts, which are the same for every level of detail.
pub struct Resampled {
    places: RecordPlaces,
    shifts: Vec<Vec<Shifts>>,
}

impl Resampled {
    /// Of all cells.
    pub fn new(comparison: &Comparison, records: &[Record]) -> Resampled {
        let places = RecordPlaces::new(comparison, records);
        let own = |trials: &Vec<usize>| trials.iter().map(|&index| &records[index]).collect();
        let records_of: Vec<Vec<&Record>> = places.trials_of.iter().map(own).collect();
        let shifts = shift_functions::shifts(comparison, &records_of);
        Resampled { shifts, places }
    }

    pub fn has_shifts(&self, cell: usize) -> bool {
        self.shifts.get(cell).is_some_and(|shifts| !shifts.is_empty())
    }

    pub fn trials(&self, cell: usize) -> impl Iterator<Item = usize> {
        self.places.trials_of.get(cell).into_iter().flatten().copied()
    }
}

/// The JSON. `numbers` are those of pictures that are drawn without scripts, as CSV.
pub fn json(
    comparison: &Comparison,
    records: &[Record],
    resampled: &Resampled,
    detail: &DetailLevel,
    numbers: &[String],
) -> String {
    let places = &resampled.places;
    let mut texts = TextPool::default();
    let trials = places.trials(comparison, records, &mut texts);
    let cells = comparison.cells.iter().zip(&places.trials_of).zip(&resampled.shifts);
    let cells = cells.map(|((cell, trials), shifts)| CellData {
        shifts: if detail.shifts { shifts } else { &[] },
        ..cell_data(comparison, cell, trials, records, detail)
    });
    let data = PageData {
        baseline: &comparison.baseline,
        contestants: &comparison.contestants,
        start: reading::most_decided(comparison),
        cells: cells.collect(),
        definitions: definitions(comparison),
        scales: (units::STEP_BEGINS, units::SCALES),
        bins_per_decade: BINS_PER_DECADE,
        shift_quantiles: &shift_functions::QUANTILES,
        trials,
        texts: texts.list,
        timelines: timelines(records, detail.slices),
        numbers,
    };
    // Plain data with text keys always has a JSON form.
    serde_json::to_string(&data).unwrap_or_else(|_| "{}".into())
}

fn definitions(comparison: &Comparison) -> BTreeMap<&str, &'static str> {
    let rows = comparison.cells.iter().flat_map(|cell| &cell.rows);
    let known = |row: &'_ Row| measure(&row.measure.name).map(|m| (m.name, m.definition));
    rows.filter_map(known).collect()
}

/// Where each record belongs.
struct RecordPlaces {
    cell_of: Vec<usize>,
    trials_of: Vec<Vec<usize>>,
}

impl RecordPlaces {
    fn new(comparison: &Comparison, records: &[Record]) -> RecordPlaces {
        let cells = comparison.cells.iter().enumerate();
        let labels: BTreeMap<String, usize> =
            cells.map(|(index, cell)| (cell.label(), index)).collect();
        let mut places =
            RecordPlaces { cell_of: Vec::new(), trials_of: vec![Vec::new(); labels.len()] };
        for (index, record) in records.iter().enumerate() {
            let cell = labels.get(&reading::label_of(record)).copied().unwrap_or_default();
            places.cell_of.push(cell);
            if let Some(trials) = places.trials_of.get_mut(cell) {
                trials.push(index);
            }
        }
        places
    }

    fn trials<'a>(
        &self,
        comparison: &Comparison,
        records: &'a [Record],
        texts: &mut TextPool<'a>,
    ) -> Vec<TrialData> {
        let environments = provenance::environments(records);
        let places = self.cell_of.iter().zip(&environments.of_record);
        let trial = |(record, (&cell, &environment)): (&'a Record, (&usize, &usize))| {
            let Record { trial, provenance, outcome, .. } = record;
            let name = &trial.contestant.name;
            let contestant = comparison.contestants.iter().position(|known| known == name);
            (
                trial.id(),
                cell,
                contestant.unwrap_or_default(),
                outcome.word(),
                texts.place(outcome.reason()),
                [trial.boot, trial.block, trial.position],
                trial.seed.0.to_string(),
                provenance.boot_position,
                environment,
                [provenance.wall_ms, provenance.started_unix_s],
                provenance.notes.iter().map(|note| texts.place(note)).collect(),
            )
        };
        records.iter().zip(places).map(trial).collect()
    }
}

fn cell_data<'a>(
    comparison: &Comparison,
    cell: &'a Cell,
    trials: &[usize],
    records: &[Record],
    detail: &DetailLevel,
) -> CellData<'a> {
    let ours: Vec<&Record> = trials.iter().map(|&index| &records[index]).collect();
    let numbers = MeasureNumbers::new(ours.iter().copied());
    let row = |row: &Row| row_data(row, &numbers, detail.all_trials || row.headline);
    CellData {
        label: cell.label(),
        name: &cell.name,
        workload: &cell.workload,
        machine: &cell.machine,
        backend: cell.backend.word(),
        clock: cell.clock,
        parameters: &cell.parameters,
        trials: trials.to_vec(),
        rows: cell.rows.iter().filter(|row| row.is_measured()).map(row).collect(),
        distributions: distributions(&ours, &comparison.contestants, &|histogram| {
            detail.all_distributions || is_headline(cell, histogram)
        }),
        shifts: &[],
    }
}

fn is_headline(cell: &Cell, histogram: &Histogram) -> bool {
    cell.headline()
        .any(|row| row.measure.name == histogram.name && row.measure.group == histogram.group)
}

/// The numbers of trials that did not end well are shown and not compared.
fn row_data(row: &Row, numbers: &MeasureNumbers<'_>, with_values: bool) -> RowData {
    let short = |interval: stats::Interval| [Short(interval.low), Short(interval.high)];
    let entry = |entry: &stats::Entry| {
        let shift = entry.shift;
        (
            entry.median.map(Short),
            entry.interval.map(short),
            shift.and_then(|shift| shift.percent).map(Short),
        )
    };
    RowData {
        key: row.measure.to_string(),
        name: row.measure.name.to_string(),
        group: row.measure.group.to_string(),
        label: units::measure(&row.measure),
        unit: row.unit,
        direction: row.direction,
        headline: row.headline,
        entries: row.entries.iter().map(entry).collect(),
        values: with_values
            .then(|| numbers.of(&row.measure).map(|value| value.map(Short)).collect()),
    }
}

/// A number with five significant digits, without a needless fraction.
#[derive(Clone, Copy)]
pub(super) struct Short(pub f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded: f64 = format!("{:.4e}", self.0).parse().unwrap_or(self.0);
        match rounded {
            whole if whole.fract() == 0.0 && whole.abs() < 9e15 => {
                serializer.serialize_i64(whole as i64)
            }
            fraction => serializer.serialize_f64(fraction),
        }
    }
}

pub const BINS_PER_DECADE: f64 = 12.0;

/// One distribution measure of one task group in one cell.
#[derive(Serialize)]
pub struct Distribution {
    name: String,
    group: String,
    /// One per contestant in the comparison's order; empty where there is none.
    contestants: Vec<Pooled>,
}

/// All trials of a contestant together.
#[derive(Default, Serialize)]
struct Pooled {
    /// Bin number (bin `i` starts at `10^(i/12)` ns) and samples; values below 1 are in bin 0.
    bins: Vec<(i32, u64)>,
}

/// The distributions of a cell's `ok` records. Those that lost samples are left out, as in the
/// tables.
pub fn distributions(
    records: &[&Record],
    contestants: &[String],
    wanted: &dyn Fn(&Histogram) -> bool,
) -> Vec<Distribution> {
    let mut pooled: BTreeMap<(&str, &str), Vec<Bins>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.outcome.is_ok()) {
        let name = &record.trial.contestant.name;
        let Some(place) = contestants.iter().position(|known| known == name) else { continue };
        let complete = record.measured.histograms.iter().filter(|h| h.is_complete() && h.count > 0);
        for histogram in complete.filter(|histogram| wanted(histogram)) {
            let key = (histogram.name.as_str(), histogram.group.as_str());
            let by_contestant =
                pooled.entry(key).or_insert_with(|| vec![Bins::new(); contestants.len()]);
            add(&mut by_contestant[place], histogram);
        }
    }
    let distribution = |((name, group), pooled): ((&str, &str), Vec<Bins>)| Distribution {
        name: name.into(),
        group: group.into(),
        contestants: pooled
            .into_iter()
            .map(|bins| Pooled { bins: bins.into_iter().collect() })
            .collect(),
    };
    pooled.into_iter().map(distribution).collect()
}

/// The samples in each bin.
type Bins = BTreeMap<i32, u64>;

fn add(bins: &mut Bins, histogram: &Histogram) {
    for (value, samples) in histogram.buckets.iter() {
        let bin = ((value.max(1) as f64).log10() * BINS_PER_DECADE).floor() as i32;
        *bins.entry(bin).or_default() += samples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_keep_every_sample() {
        let samples: Vec<u64> = (0..3_000).collect();
        let mut bins = Bins::new();
        add(&mut bins, &Histogram::from_samples("latency", "all", &samples));
        assert_eq!(bins.values().sum::<u64>(), 3_000);
        assert_eq!(bins[&0], 2, "0 and 1 ns share the first bin");
    }
}
