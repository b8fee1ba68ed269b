// SPDX-License-Identifier: GPL-2.0-only
//! Whether two backends give the same answer to the same question: the simulator compared with a
//! kernel.
//!
//! A figure is one number of one contestant in one cell: the median over the trials of each
//! backend. It is within its tolerance strictly, by the relative error alone, or by an allowance:
//! an absolute error that is forgiven where small numbers make relative errors large. The two are
//! reported separately, because the allowance of one tick forgives every error of a latency that is
//! shorter than a tick.

use std::collections::BTreeMap;

use model::metric::Unit;
use model::{Backend, Clock, MeasureKey, Record, Statistic};
use serde::{Deserialize, Serialize};

use crate::compare::comparison::{Comparison, Entry};
use crate::compare::verdict::Verdict;
use crate::number::quantile::median;
use crate::records::columns::{CellKey, Column, Columns, cells, columns};

/// Of shares (CPU shares, Jain's index, the part of missed deadlines): 1 % of the share itself.
const SHARE_RELATIVE: f64 = 0.01;
/// … or one percentage point of the whole: a task that needs 0.4 % of a CPU may err by more than
/// 0.004 points without any task getting less.
const SHARE_POINTS: f64 = 0.01;
/// Of context switches: 5 %.
const SWITCHES_RELATIVE: f64 = 0.05;
/// … or one switch: between 3 and 4 there is no 5 %.
const SWITCHES_EVENTS: f64 = 1.0;
/// Of latencies and turn-around: 10 %. The allowance is one tick of the machine, the resolution of
/// every decision about slices.
const TIME_RELATIVE: f64 = 0.10;
/// Of rates: 5 %, without allowance.
const RATE_RELATIVE: f64 = 0.05;

/// The kind of a figure, which decides its tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    Shares,
    Switches,
    /// Waits, as the kernel or the task sees them.
    Latency,
    Turnaround,
    Rate,
}

impl Aspect {
    pub const ALL: [Aspect; 5] =
        [Self::Shares, Self::Switches, Self::Latency, Self::Turnaround, Self::Rate];

    /// The kind of a measure; `None` for measures that are not compared: counts that follow from
    /// the workload, sums that shares repeat, and extremes, which grow with the number of samples.
    pub fn from_measure(measure: &MeasureKey) -> Option<Aspect> {
        let is_extreme = matches!(measure.statistic, Some(Statistic::P999 | Statistic::Max));
        match measure.name.as_str() {
            "cpu_share" | "jain_index" | "deadline_miss_ratio" | "stutter_ratio" => {
                Some(Aspect::Shares)
            }
            "voluntary_switches" | "involuntary_switches" | SWITCHES => Some(Aspect::Switches),
            "completion_ns" => Some(Aspect::Turnaround),
            "iterations_per_second" => Some(Aspect::Rate),
            _ if is_extreme => None,
            "wakeup_latency_ns" | "run_delay_ns" | "timer_lateness_ns" | "response_time_ns"
            | "span_ns" | "frame_time_ns" => Some(Aspect::Latency),
            "turnaround_ns" => Some(Aspect::Turnaround),
            _ => None,
        }
    }

    pub fn tolerance(self, tick_ns: f64) -> Tolerance {
        let (relative, allowance) = match self {
            Aspect::Shares => (SHARE_RELATIVE, SHARE_POINTS),
            Aspect::Switches => (SWITCHES_RELATIVE, SWITCHES_EVENTS),
            Aspect::Latency | Aspect::Turnaround => (TIME_RELATIVE, tick_ns),
            Aspect::Rate => (RATE_RELATIVE, 0.0),
        };
        Tolerance { relative, allowance }
    }
}

/// The sum of voluntary and involuntary switches, which no record holds by itself.
const SWITCHES: &str = "switches";

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// As part of the reference's number.
    pub relative: f64,
    /// In the figure's unit: an error up to this is forgiven whatever its relative size.
    pub allowance: f64,
}

impl Tolerance {
    pub fn judge(&self, reference: f64, model: f64) -> Within {
        let error = (model - reference).abs();
        if error <= self.relative * reference.abs() {
            Within::Strictly
        } else if error <= self.allowance {
            Within::ByAllowance
        } else {
            Within::Outside
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// By the relative tolerance alone.
    Strictly,
    /// Only by the absolute allowance.
    ByAllowance,
    Outside,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The cell's name, `wake_under_hogs hogs=24`.
    pub cell: String,
    pub machine: String,
    /// The clock that the reference counted with.
    pub clock: Clock,
    pub contestant: String,
    /// The measure; `switches` is a sum made here.
    pub measure: MeasureKey,
    pub unit: Unit,
    pub aspect: Aspect,
    /// The median over the reference's trials.
    pub reference: f64,
    /// The median over the model's trials.
    pub model: f64,
    /// The number of trials of the reference and of the model.
    pub trials: [usize; 2],
    pub tolerance: Tolerance,
    pub within: Within,
}

impl Figure {
    /// Model minus reference, in the figure's unit.
    pub fn error(&self) -> f64 {
        self.model - self.reference
    }

    /// The error as part of the reference; `None` when that is 0.
    pub fn relative_error(&self) -> Option<f64> {
        (self.reference != 0.0).then(|| self.error() / self.reference.abs())
    }
}

/// The verdicts of both backends on one contestant, in a measure with a better direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    pub cell: String,
    pub machine: String,
    pub contestant: String,
    pub measure: MeasureKey,
    /// `Better` or `Worse`, as the reference says.
    pub reference: Verdict,
    /// `Better` or `Worse`, as the model says.
    pub model: Verdict,
}

impl Sign {
    pub fn agrees(&self) -> bool {
        self.reference == self.model
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    pub reference: Backend,
    pub model: Backend,
    /// Every number that both have, ordered by cell, machine, contestant, measure.
    pub figures: Vec<Figure>,
    /// Every claim that both make.
    pub signs: Vec<Sign>,
}

impl Agreement {
    /// How many of the selected figures agree.
    pub fn tally(&self, wanted: impl Fn(&Figure) -> bool) -> Tally {
        let wanted = self.figures.iter().filter(|figure| wanted(figure));
        wanted.fold(Tally::default(), Tally::with)
    }

    /// How many claims agree, and how many there are.
    pub fn signs_agreeing(&self) -> (usize, usize) {
        (self.signs.iter().filter(|sign| sign.agrees()).count(), self.signs.len())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub figures: usize,
    /// Within the relative tolerance alone.
    pub strictly: usize,
    /// Within the relative tolerance or the allowance.
    pub within: usize,
}

impl Tally {
    pub fn with(mut self, figure: &Figure) -> Tally {
        self.figures += 1;
        self.strictly += usize::from(figure.within == Within::Strictly);
        self.within += usize::from(figure.within != Within::Outside);
        self
    }

    /// The part within, 0 … 1; `None` without figures.
    pub fn share(&self) -> Option<f64> {
        (self.figures > 0).then(|| self.within as f64 / self.figures as f64)
    }

    /// The part within the relative tolerance alone.
    pub fn strict_share(&self) -> Option<f64> {
        (self.figures > 0).then(|| self.strictly as f64 / self.figures as f64)
    }
}

/// Compares the records of two backends. `comparison` is of the same records, and brings the
/// claims.
pub fn agreement(
    records: &[Record],
    comparison: &Comparison,
    reference: Backend,
    model: Backend,
) -> Agreement {
    let cells = cells(records);
    let mut figures = Vec::new();
    for (key, theirs) in cells.iter().filter(|(key, _)| key.backend == reference) {
        let twin = CellKey { backend: model, ..key.clone() };
        if let Some(ours) = cells.get(&twin) {
            figures.extend(compare_cell(theirs, ours, str::to_owned));
        }
    }
    Agreement { reference, model, figures, signs: signs(comparison, reference, model) }
}

/// Does a scheduler's file behave as its counterpart, the kernel's own scheduler that it was
/// written after? Both run on the same backend, machines, workloads and seeds. A difference is the
/// sum of two: what the file does differently, and what sched_ext and another kernel cost. `pairs`
/// has the counterpart's name by the file's; the contestant of a figure is the file.
pub fn counterparts(
    records: &[Record],
    backend: Backend,
    pairs: &BTreeMap<String, String>,
) -> Agreement {
    let mut figures = Vec::new();
    for (_, all) in cells(records).into_iter().filter(|(key, _)| key.backend == backend) {
        for (file, counterpart) in pairs {
            let records_of = |name: &String| -> Vec<&Record> {
                let wanted = |record: &&&Record| record.trial.contestant.name == *name;
                all.iter().filter(wanted).copied().collect()
            };
            let (theirs, ours) = (records_of(counterpart), records_of(file));
            if !theirs.is_empty() && !ours.is_empty() {
                figures.extend(compare_cell(&theirs, &ours, |_| file.clone()));
            }
        }
    }
    Agreement { reference: backend, model: backend, figures, signs: Vec::new() }
}

/// The figures of a cell. `twin_of` gives the model's contestant for one of the reference.
fn compare_cell(
    theirs: &[&Record],
    ours: &[&Record],
    twin_of: impl Fn(&str) -> String,
) -> Vec<Figure> {
    let (reference, model) = (with_sums(columns(theirs)), with_sums(columns(ours)));
    let mut figures = Vec::new();
    for (measure, by_contestant) in &reference {
        let (Some(aspect), Some(twins)) = (Aspect::from_measure(measure), model.get(measure))
        else {
            continue;
        };
        for (contestant, column) in by_contestant {
            let contestant = twin_of(contestant);
            let twin = twins.get(&contestant);
            let figure = twin.and_then(|twin| figure(theirs[0], measure, aspect, column, twin));
            figures.extend(figure.map(|figure| Figure { contestant, ..figure }));
        }
    }
    figures.sort_by_cached_key(|figure| (figure.contestant.clone(), figure.measure.order()));
    figures
}

/// `None` if the contestant or the baseline has no number.
fn figure(
    record: &Record,
    measure: &MeasureKey,
    aspect: Aspect,
    column: &Column,
    twin: &Column,
) -> Option<Figure> {
    let trial = &record.trial;
    let (reference, model) = (median(&column.values())?, median(&twin.values())?);
    let tolerance = aspect.tolerance(1e9 / f64::from(trial.machine.hz.max(1)));
    Some(Figure {
        cell: trial.workload.cell(),
        machine: trial.machine.name.clone(),
        clock: record.trial.clock(),
        contestant: String::new(),
        measure: measure.clone(),
        unit: measure.unit_and_direction().0,
        aspect,
        reference,
        model,
        trials: [column.samples.len(), twin.samples.len()],
        tolerance,
        within: tolerance.judge(reference, model),
    })
}

/// Adds [`SWITCHES`]. Both columns of a contestant come from the same trials in the same order;
/// where one of them lacks trials there is no sum.
fn with_sums(mut columns: Columns) -> Columns {
    let switches_key = |name: &str, group: &str| MeasureKey {
        name: name.into(),
        statistic: None,
        group: group.into(),
    };
    let voluntary: Vec<MeasureKey> =
        columns.keys().filter(|key| key.name == "voluntary_switches").cloned().collect();
    for key in voluntary {
        let Some(others) = columns.get(&switches_key("involuntary_switches", &key.group)) else {
            continue;
        };
        let sums: BTreeMap<String, Column> = columns[&key]
            .iter()
            .filter_map(|(name, column)| Some((name.clone(), sum(column, others.get(name)?)?)))
            .collect();
        columns.insert(switches_key(SWITCHES, &key.group), sums);
    }
    columns
}

fn sum(one: &Column, other: &Column) -> Option<Column> {
    if one.samples.len() != other.samples.len() {
        return None;
    }
    let mut samples = one.samples.clone();
    for (sample, more) in samples.iter_mut().zip(&other.samples) {
        sample.value += more.value;
    }
    Some(Column { samples, ..Column::default() })
}

fn signs(comparison: &Comparison, reference: Backend, model: Backend) -> Vec<Sign> {
    let mut signs = Vec::new();
    for cell in comparison.cells.iter().filter(|cell| cell.backend == reference) {
        let twin = comparison.cells.iter().find(|other| {
            other.backend == model && (&other.name, &other.machine) == (&cell.name, &cell.machine)
        });
        let Some(twin) = twin else { continue };
        for row in &cell.rows {
            let Some(other) = twin.rows.iter().find(|other| other.measure == row.measure) else {
                continue;
            };
            let pairs = row.entries.iter().zip(&other.entries);
            signs.extend(pairs.filter_map(|(theirs, ours)| {
                claim(theirs, ours).map(|(reference, model)| Sign {
                    cell: cell.name.clone(),
                    machine: cell.machine.clone(),
                    contestant: theirs.contestant.clone(),
                    measure: row.measure.clone(),
                    reference,
                    model,
                })
            }));
        }
    }
    signs
}

/// Both verdicts, if both claim something.
fn claim(theirs: &Entry, ours: &Entry) -> Option<(Verdict, Verdict)> {
    let claims = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
    (claims(theirs.verdict) && claims(ours.verdict)).then_some((theirs.verdict, ours.verdict))
}
