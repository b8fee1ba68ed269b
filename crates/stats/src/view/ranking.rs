// SPDX-License-Identifier: GPL-2.0-only
//! The ranking of contestants over all cells, by [`critical_difference`]. There is no other
//! ranking, because a score that weighs workloads against each other answers no user's question.

use model::metric::Direction;

use crate::compare::comparison::{Cell, Comparison, Row};
use crate::decide::margin::PERCENT_THAT_MATTERS;
use crate::rank::critical_difference::{CriticalDifference, critical_difference};
use crate::view::complete_table::complete;

/// The fewest contestants and cells that make a ranking.
const LEAST: usize = 3;

/// A ranking with its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The measure that was ranked, with its statistic and for all groups; `None`: of each cell the
    /// first measure that its workload names.
    pub measure: Option<String>,
    /// The ranked contestants.
    pub contestants: Vec<String>,
    /// The ranked cells and measures.
    pub cells: Vec<String>,
    /// Contestants without a number in some of the cells, which therefore have no mean rank, and in
    /// how many.
    pub left_out: Vec<(String, usize)>,
    /// Cells in which too many contestants have no number.
    pub cells_left_out: Vec<String>,
    /// Ranks and test, in the order of `contestants`.
    pub result: CriticalDifference,
}

/// First the ranking by each cell's first measure, then one for each kind of headline measure that
/// enough cells have.
pub fn rankings(comparison: &Comparison) -> Vec<Ranking> {
    let cells = counted(comparison);
    let first: Vec<(&Cell, &Row)> =
        cells.iter().filter_map(|cell| Some((*cell, cell.primary()?))).collect();
    let judging = |cell: &'_ &&Cell| -> Vec<Row> {
        cell.headline().filter(|row| row.judges()).cloned().collect()
    };
    let mut kinds: Vec<String> = Vec::new();
    for row in cells.iter().flat_map(|cell| judging(&cell)) {
        let kind = row.measure.statistic_name();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let of_kind = |kind: String| {
        let rows = cells.iter().flat_map(|cell| cell.headline().map(move |row| (*cell, row)));
        let rows = rows
            .filter(|(_, row)| row.judges() && row.is_measured())
            .filter(|(_, row)| row.measure.statistic_name() == kind);
        ranking(Some(kind.clone()), rows.collect())
    };
    let whole = ranking(None, first);
    let alone = kinds.len() < 2;
    whole.into_iter().chain(kinds.into_iter().filter(|_| !alone).filter_map(of_kind)).collect()
}

/// The cells that count: if a real kernel and the simulator ran the same cell, that of the kernel.
pub fn counted(comparison: &Comparison) -> Vec<&Cell> {
    let real = |cell: &Cell| !cell.backend.is_model();
    let has_twin = |cell: &Cell| {
        let mut others = comparison.cells.iter().filter(|other| real(other));
        others.any(|other| (&other.name, &other.machine) == (&cell.name, &cell.machine))
    };
    comparison.cells.iter().filter(|cell| real(cell) || !has_twin(cell)).collect()
}

fn ranking(measure: Option<String>, rows: Vec<(&Cell, &Row)>) -> Option<Ranking> {
    let all = rows.first()?.1.entries.len();
    let has = |row: usize, at: usize| rows[row].1.entries[at].median.is_some();
    let (cells, kept) = complete(rows.len(), all, has);
    if kept.len() < LEAST || cells.len() < LEAST {
        return None;
    }
    let name = |at: usize| rows[0].1.entries[at].contestant.clone();
    let label = |(cell, row): &(&Cell, &Row)| format!("{}: {}", cell.label(), row.measure);
    let missing = |at: usize| (0..rows.len()).filter(|&row| !has(row, at)).count();
    let left_out = (0..all).filter(|at| !kept.contains(at)).map(|at| (name(at), missing(at)));
    let cells_left_out = (0..rows.len()).filter(|row| !cells.contains(row));
    let values: Vec<Vec<f64>> = cells.iter().map(|&row| places(rows[row].1, &kept)).collect();
    Some(Ranking {
        measure,
        contestants: kept.iter().map(|&at| name(at)).collect(),
        cells: cells.iter().map(|&row| label(&rows[row])).collect(),
        left_out: left_out.collect(),
        cells_left_out: cells_left_out.map(|row| label(&rows[row])).collect(),
        result: critical_difference(&values)?,
    })
}

/// The medians as places, the lowest best. Medians that differ by less than
/// [`PERCENT_THAT_MATTERS`] from the first of their place share it.
fn places(row: &Row, kept: &[usize]) -> Vec<f64> {
    let sign = if row.direction == Direction::Higher { -1.0 } else { 1.0 };
    let value = |&at: &usize| sign * row.entries[at].median.unwrap_or_default();
    let values: Vec<f64> = kept.iter().map(value).collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let margin = PERCENT_THAT_MATTERS / 100.0;
    sorted.dedup_by(|next, first| *next - *first <= margin * next.abs().max(first.abs()));
    let place = |value: &f64| sorted.partition_point(|first| first <= value) as f64;
    values.iter().map(place).collect()
}
