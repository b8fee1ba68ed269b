// SPDX-License-Identifier: GPL-2.0-only
//! Records to a comparison. The same records and options always give the same bytes.

pub mod comparison;
pub mod evidence;
pub mod leaders;
mod notes;
pub mod shift;
pub mod shift_function;
pub mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use model::{Clock, MeasureKey, Record, Scatter, Seed, Trial};

use crate::compare::comparison::{Cell, Comparison, Entry, OutcomeCount, Row, correct, judge_all};
use crate::compare::evidence::{PValue, noise};
use crate::compare::leaders::leaders;
use crate::compare::notes::notes;
use crate::compare::shift::{Shift, median_interval, p_value, shift};
use crate::compare::verdict::{Verdict, judge};
use crate::number::interval::{CONFIDENCE, TRIALS_NEEDED};
use crate::number::quantile::median;
use crate::records::columns::{CellKey, Column, Numbers, boots, cells, headlines};
use crate::records::pairing::{MatchedPairs, SeedCounts};

#[derive(Clone, Debug)]
pub struct Options {
    pub baseline: String,
    pub seed: Seed,
    /// Bootstrap resamples behind every interval.
    pub resamples: u32,
    /// The order of contestants in tables; the others follow alphabetically.
    pub order: Vec<String>,
    /// The scatter of earlier A/A trials.
    pub scatter: Vec<Scatter>,
    /// Compare headline measures only. Their numbers do not change.
    pub headlines_only: bool,
}

impl Options {
    pub fn against(baseline: &str) -> Options {
        Options {
            baseline: baseline.into(),
            seed: Seed(1),
            resamples: 2_000,
            order: Vec::new(),
            scatter: Vec::new(),
            headlines_only: false,
        }
    }
}

pub fn compare(records: &[Record], options: &Options) -> Comparison {
    let own = own(records);
    let contestants = contestants(records, &own, options);
    let mut cells: Vec<Cell> = cells(records)
        .into_iter()
        .map(|(key, records)| compare_cell(key, &records, &contestants, options))
        .collect();
    correct(&mut cells);
    judge_all(&mut cells);
    Comparison {
        notes: notes(records, &cells, &options.baseline),
        baseline: options.baseline.clone(),
        own: contestants.iter().filter(|name| own.contains(name)).cloned().collect(),
        contestants,
        cells,
        records: records.len(),
        confidence: CONFIDENCE,
        resamples: options.resamples,
        seed: options.seed,
    }
}

/// The baseline, then the user's own, then the requested order, then the rest; only contestants
/// with records.
fn contestants(records: &[Record], own: &BTreeSet<&String>, options: &Options) -> Vec<String> {
    let Options { baseline, order, .. } = options;
    let mut rest: BTreeSet<&str> =
        records.iter().map(|r| r.trial.contestant.name.as_str()).collect();
    let own_in_order = order.iter().filter(|name| own.contains(name)).chain(own.iter().copied());
    let wished = std::iter::once(baseline).chain(own_in_order).chain(order);
    let mut names: Vec<String> = wished.filter(|n| rest.remove(n.as_str())).cloned().collect();
    names.extend(rest.into_iter().map(String::from));
    names
}

/// The contestants that are files of the user's own.
fn own(records: &[Record]) -> BTreeSet<&String> {
    let contestants = records.iter().map(|record| &record.trial.contestant);
    let own = contestants.filter(|contestant| contestant.scheduler.is_own_file());
    own.map(|contestant| &contestant.name).collect()
}

fn compare_cell(
    key: CellKey,
    records: &[&Record],
    contestants: &[String],
    options: &Options,
) -> Cell {
    let trial = &records[0].trial;
    let clock = records[0].trial.clock();
    let headlines = headlines(records);
    let judge = Judge { contestants, options, clock, scatter: scatter(options, trial) };
    let wanted = |measure: &MeasureKey| !options.headlines_only || headlines.contains(measure);
    let numbers = Numbers::new(records);
    let mut rows: Vec<Row> = numbers
        .keys()
        .into_iter()
        .filter(wanted)
        .map(|measure| {
            let columns = numbers.columns(&measure);
            judge.row(measure, &columns, &headlines)
        })
        .collect();
    rows.sort_by_cached_key(|row| {
        let place = headlines.iter().position(|headline| *headline == row.measure);
        (place.unwrap_or(headlines.len()), row.measure.order())
    });
    Cell {
        name: trial.workload.cell(),
        workload: key.workload,
        about: trial.workload.about.clone(),
        parameters: key.parameters,
        machine: key.machine,
        backend: key.backend,
        clock,
        rows,
        outcomes: outcomes(records, contestants),
    }
}

fn outcomes(records: &[&Record], contestants: &[String]) -> Vec<OutcomeCount> {
    let mut counts: BTreeMap<(usize, &str, &str), usize> = BTreeMap::new();
    for record in records {
        let name = &record.trial.contestant.name;
        let place = contestants.iter().position(|c| c == name).unwrap_or(contestants.len());
        let key = (place, record.outcome.word(), record.outcome.reason());
        *counts.entry(key).or_default() += 1;
    }
    let count = |((place, outcome, reason), trials): ((usize, &str, &str), usize)| OutcomeCount {
        contestant: contestants.get(place).cloned().unwrap_or_default(),
        outcome: outcome.into(),
        reason: reason.into(),
        trials,
    };
    counts.into_iter().map(count).collect()
}

fn scatter<'a>(options: &'a Options, trial: &Trial) -> Vec<&'a Scatter> {
    let cell = trial.workload.cell();
    let here = |found: &&Scatter| {
        (found.backend, &found.machine, &found.cell) == (trial.backend, &trial.machine.name, &cell)
    };
    options.scatter.iter().filter(here).collect()
}

struct Judge<'a> {
    contestants: &'a [String],
    options: &'a Options,
    clock: Clock,
    scatter: Vec<&'a Scatter>,
}

impl Judge<'_> {
    fn row(
        &self,
        measure: MeasureKey,
        columns: &BTreeMap<String, Column>,
        headlines: &[MeasureKey],
    ) -> Row {
        let (unit, direction) = measure.unit_and_direction();
        let (absent, headline) = (Column::default(), headlines.contains(&measure));
        let baseline = columns.get(&self.options.baseline).unwrap_or(&absent);
        let entry = |name: &String| {
            let column = columns.get(name).unwrap_or(&absent);
            if *name == self.options.baseline {
                return self.alone(name, column, Verdict::Baseline, self.seed(&measure, name));
            }
            self.beside(name, &measure, column, baseline)
        };
        let entries = self.contestants.iter().map(entry).collect();
        let mut row =
            Row { measure, unit, direction, headline, entries, leaders: None, noise: None };
        if headline {
            let name = row.measure.to_string();
            let before = self.scatter.iter().find(|found| found.measure == name);
            row.leaders = leaders(columns, self.contestants, direction, self.clock);
            row.noise = noise(before.copied(), baseline, &row.measure, self.clock);
        }
        row
    }

    fn seed(&self, measure: &MeasureKey, contestant: &str) -> Seed {
        self.options.seed.derive(&format!("{measure} {contestant}"))
    }

    /// A contestant beside the baseline. The verdict is set once all comparisons of the family are
    /// known.
    fn beside(
        &self,
        name: &str,
        measure: &MeasureKey,
        column: &Column,
        baseline: &Column,
    ) -> Entry {
        let by_seed = (self.clock == Clock::Virtual)
            .then(|| SeedCounts::from_samples(&column.samples, &baseline.samples));
        let shift_of = |name: &str, ours: &Column, theirs: &Column| {
            let seed = self.seed(measure, name).derive("shift");
            shift_against(ours, theirs, self.options.resamples, seed)
        };
        let shift = shift_of(name, column, baseline);
        let p_value = p_against(column, baseline);
        let trials = column.samples.len().min(baseline.samples.len());
        let p = p_value.map(|p| p.raw);
        let verdict = judge(shift.as_ref(), p, by_seed, trials, measure.unit_and_direction().1);
        let turned = || shift_of(&self.options.baseline, baseline, column);
        Entry {
            shift,
            shift_from_baseline: verdict.needs_both_sides().then(turned).flatten(),
            p_value,
            by_seed,
            ..self.alone(name, column, Verdict::NotMeasured, self.seed(measure, name))
        }
    }

    fn alone(&self, name: &str, column: &Column, verdict: Verdict, seed: Seed) -> Entry {
        let median = median(&column.values());
        let verdict = if median.is_none() { Verdict::NotMeasured } else { verdict };
        Entry {
            contestant: name.into(),
            trials: column.samples.len(),
            boots: boots(&column.samples).boots(),
            median,
            interval: median_interval(column, self.options.resamples, seed),
            shift: None,
            shift_from_baseline: None,
            p_value: None,
            by_seed: None,
            verdict,
            missing: column.missing.clone(),
        }
    }
}

/// The shift against the baseline; `None` if the contestant or the baseline has no number.
fn shift_against(ours: &Column, baseline: &Column, resamples: u32, seed: Seed) -> Option<Shift> {
    let (ours, baseline) = (ours.samples.as_slice(), baseline.samples.as_slice());
    shift(ours, baseline, MatchedPairs::from_samples(ours, baseline).as_ref(), resamples, seed)
}

/// The p value of such a shift; `None` if there are too few trials.
fn p_against(ours: &Column, baseline: &Column) -> Option<PValue> {
    let (ours, baseline) = (ours.samples.as_slice(), baseline.samples.as_slice());
    let pairs = || MatchedPairs::from_samples(ours, baseline);
    let is_enough = ours.len().min(baseline.len()) >= TRIALS_NEEDED;
    is_enough.then(|| p_value(ours, baseline, pairs().as_ref())).flatten()
}
