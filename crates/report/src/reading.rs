// SPDX-License-Identifier: GPL-2.0-only
//! What every form of a report reads from a comparison, computed once: which cells are the same on
//! different backends, which contestants each has, and what follows from them.

use model::Record;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::rank::rank_sum::ALPHA;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use crate::leaders::{WorkloadLeaders, lines};

/// A comparison with what follows from it.
pub(crate) struct Reading<'a> {
    pub comparison: &'a Comparison,
    /// Groups of cells that differ only in the backend, see [`same_question`].
    pub questions: Vec<Vec<&'a Cell>>,
    /// Whether cells differ in machine or backend, so that a cell's name alone is ambiguous.
    pub has_several_places: bool,
    pub has_several_backends: bool,
    pub headlines: Vec<WorkloadHeadline<'a>>,
    /// Nothing of a contestant alone.
    pub leaders: Vec<WorkloadLeaders>,
}

impl<'a> Reading<'a> {
    pub fn new(comparison: &'a Comparison) -> Reading<'a> {
        let has_several_backends = differ(comparison, |cell| cell.backend);
        let questions = same_question(comparison);
        let headlines = by_workload(&questions, has_several_backends);
        Reading {
            comparison,
            has_several_places: differ(comparison, |cell| (&cell.machine, cell.backend)),
            has_several_backends,
            leaders: match comparison.contestants.len() {
                0 | 1 => Vec::new(),
                _ => lines(&headlines, comparison, has_several_backends),
            },
            headlines,
            questions,
        }
    }

    /// The name of a cell, as long as it has to be.
    pub fn label(&self, cell: &Cell) -> String {
        if self.has_several_places { cell.label() } else { cell.name.clone() }
    }
}

fn differ<'a, T: PartialEq>(comparison: &'a Comparison, property: fn(&'a Cell) -> T) -> bool {
    let mut values = comparison.cells.iter().map(property);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// One headline measure of one workload on one machine, over all settings of its parameters.
#[derive(Clone)]
pub struct WorkloadHeadline<'a> {
    pub workload: &'a str,
    /// The machine; with its backend, if the comparison has only one.
    pub place: String,
    /// The cells, each with its row of the measure, in the order of the parameters. Cells that
    /// differ only in the backend are neighbours.
    pub rows: Vec<(&'a Cell, &'a Row)>,
}

/// Every headline measure of every workload and machine, in the comparison's order.
pub fn by_workload<'a>(
    questions: &[Vec<&'a Cell>],
    has_several_backends: bool,
) -> Vec<WorkloadHeadline<'a>> {
    let mut headlines: Vec<WorkloadHeadline<'a>> = Vec::new();
    for &cell in questions.iter().flatten() {
        let place = if has_several_backends {
            cell.machine.clone()
        } else {
            format!("{} ({})", cell.machine, cell.backend.word())
        };
        for row in cell.headline() {
            let same = |headline: &&mut WorkloadHeadline<'a>| {
                headline.workload == cell.workload
                    && headline.place == place
                    && headline.rows[0].1.measure == row.measure
            };
            match headlines.iter_mut().find(same) {
                Some(headline) => headline.rows.push((cell, row)),
                None => headlines.push(WorkloadHeadline {
                    workload: &cell.workload,
                    place: place.clone(),
                    rows: vec![(cell, row)],
                }),
            }
        }
    }
    headlines
}

/// Groups of cells that differ only in the backend, in the comparison's order: one or more each,
/// real kernels before the simulator.
pub fn same_question(comparison: &Comparison) -> Vec<Vec<&Cell>> {
    let mut questions: Vec<Vec<&Cell>> = Vec::new();
    for cell in &comparison.cells {
        match questions.iter_mut().find(|question| same(question[0], cell)) {
            Some(question) => question.push(cell),
            None => questions.push(vec![cell]),
        }
    }
    for question in &mut questions {
        question.sort_by_key(|cell| cell.backend.is_model());
    }
    questions
}

fn same(a: &Cell, b: &Cell) -> bool {
    (&a.name, &a.machine) == (&b.name, &b.machine)
}

/// The cells that count: if a real kernel and the simulator ran the same cell, that of the kernel.
pub fn counted(comparison: &Comparison) -> Vec<&Cell> {
    let real = |cell: &Cell| !cell.backend.is_model();
    let has_twin =
        |cell: &Cell| comparison.cells.iter().any(|other| real(other) && same(other, cell));
    comparison.cells.iter().filter(|cell| real(cell) || !has_twin(cell)).collect()
}

pub fn takes_part(cell: &Cell, contestant: &str) -> bool {
    cell.outcomes.iter().any(|count| count.contestant == contestant)
}

/// Whether the contestant has trials of this cell on another backend only.
pub fn is_elsewhere(comparison: &Comparison, cell: &Cell, contestant: &str) -> bool {
    let twins = comparison.cells.iter().filter(|other| same(other, cell));
    !takes_part(cell, contestant) && twins.into_iter().any(|twin| takes_part(twin, contestant))
}

/// What replaces a number that cannot exist: `not on sim`.
pub fn not_here(cell: &Cell) -> String {
    format!("not on {}", cell.backend.word())
}

/// The row of the same measure, and the contestant's entry in it.
pub fn twin_entry<'a>(cell: &'a Cell, row: &Row, contestant: &str) -> Option<&'a Entry> {
    let twin = cell.rows.iter().find(|other| other.measure == row.measure)?;
    twin.entries.iter().find(|entry| entry.contestant == contestant)
}

/// Whether any contestant has a number in the row, on any of the backends.
pub fn is_measured(cells: &[&Cell], row: &Row) -> bool {
    let mut rows = cells.iter().flat_map(|cell| &cell.rows);
    rows.any(|twin| twin.measure == row.measure && twin.is_measured())
}

/// The label of a record's cell, equal to [`Cell::label`].
pub(crate) fn label_of(record: &Record) -> String {
    let backend = record.trial.backend.word();
    format!("{} on {} ({backend})", record.trial.workload.cell(), record.trial.machine.name)
}

/// The index of the cell that a page opens first: the one with the most claims in its headline
/// measures, the last of equals.
pub(crate) fn most_decided(comparison: &Comparison) -> usize {
    let claims = |cell: &Cell| {
        let entries = cell.headline().flat_map(|row| &row.entries);
        entries.filter(|entry| entry.verdict.is_claim()).count()
    };
    let cells = comparison.cells.iter().enumerate();
    cells.max_by_key(|(_, cell)| claims(cell)).map_or(0, |(index, _)| index)
}

/// The verdict on a contestant: `not distinguishable, p 0.06` or `…, 1 % or less` if only this
/// prevents a claim. If the baseline lacks a number, the text says so.
pub(crate) fn verdict_words(entry: &Entry, baseline: &str) -> String {
    let words = entry.verdict.words();
    let interval = entry.shift.and_then(|shift| shift.shown_interval());
    let without_zero = interval.is_some_and(|ends| ends.low > 0.0 || ends.high < 0.0);
    match (entry.verdict, entry.p_value) {
        (Verdict::NotMeasured, _) if entry.median.is_some() => format!("{baseline} has no number"),
        (Verdict::NotDistinguishable, Some(p)) if without_zero && p.adjusted > ALPHA => {
            format!("{words}, p {:.2}", p.adjusted)
        }
        (Verdict::NotDistinguishable, Some(_)) if without_zero => {
            format!("{words}, {MARGIN_PERCENT} % or less")
        }
        _ => words.into(),
    }
}
