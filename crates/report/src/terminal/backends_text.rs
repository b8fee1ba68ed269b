// SPDX-License-Identifier: GPL-2.0-only
//! One cell on two backends: both medians in one table, each with its shift against the baseline.

use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use super::bad_outcomes;
use super::layout::{COLUMNS, Paint, fit};
use crate::table::Align::{Left, Right};
use crate::table::{Field, Table};
use crate::{agreement, cells, units};

/// Characters of a contestant's name that fit next to two backends.
const NAME: usize = 17;

const MEDIAN: usize = 9;

/// The width of a shift with its interval and verdict.
const SHIFT: usize = 26;

/// The width of an error with its mark.
const ERROR: usize = 12;

/// The legend of the signs.
pub const LEGEND: &str = "+ better and − worse than the baseline; ✓ within the tolerance, (✓) only \
                          by its allowance for small numbers, ✗ outside";

/// A block per headline measure, then what did not end well.
pub fn tables(
    comparison: &Comparison,
    cells: &[&Cell],
    agreement: &Agreement,
    paint: Paint,
) -> String {
    let words: Vec<&str> = cells.iter().map(|cell| cell.backend.word()).collect();
    let title = format!("{} on {} ({})", cells[0].name, cells[0].machine, words.join(" and "));
    let mut text = format!("{}\n", paint.bold(&fit(&title, COLUMNS)));
    for row in cells[0].headline() {
        text += &table(comparison, cells, row, agreement, paint);
    }
    for cell in cells {
        text += &bad_outcomes(cell, &format!("{}: ", cell.backend.word()), paint);
    }
    text + "\n"
}

fn table(
    comparison: &Comparison,
    cells: &[&Cell],
    row: &Row,
    agreement: &Agreement,
    paint: Paint,
) -> String {
    let title = units::title(&row.measure.to_string(), row.direction);
    let text = format!("  {}\n", fit(&title, COLUMNS - 2));
    if !cells::is_measured(cells, row) {
        return text + "    no trial has enough samples\n";
    }
    let against = format!("against {}", fit(&comparison.baseline, NAME));
    let error = format!("sim − {}", agreement.reference.word());
    let sides = cells.iter().flat_map(|cell| [(cell.backend.word(), Right), (&against, Left)]);
    let columns = [("contestant", Left)].into_iter().chain(sides).chain([(error.as_str(), Right)]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    let takes_part = |name: &&String| cells.iter().any(|cell| cells::takes_part(cell, name));
    for name in comparison.contestants.iter().filter(takes_part) {
        let sides = cells.iter().flat_map(|cell| {
            if cells::is_elsewhere(comparison, cell, name) {
                let words = Field::judged(cells::not_here(cell), Verdict::NotMeasured);
                return [String::new().into(), words];
            }
            side(row, cells::twin_entry(cell, row, name))
        });
        let figure = agreement::figure(agreement, cells[0], row, name);
        let error = figure.map_or(String::new(), |figure| {
            format!("{} {}", agreement::error(figure), agreement::mark(figure.within))
        });
        let name = Field::from(fit(name, NAME));
        table.add([name].into_iter().chain(sides).chain([error.into()]));
    }
    let sides = cells.iter().flat_map(|_| [MEDIAN, SHIFT]);
    let widths: Vec<usize> = [NAME].into_iter().chain(sides).chain([ERROR]).collect();
    text + &table.terminal("    ", &widths, paint).concat()
}

/// A backend's median, and its shift with the interval and a sign for the verdict.
fn side(row: &Row, entry: Option<&Entry>) -> [Field; 2] {
    let Some(entry) = entry else { return ["–", ""].map(|text| String::from(text).into()) };
    let (shift, interval) =
        entry.shift.map(|shift| units::shift(&shift, row.unit)).unwrap_or_default();
    let words = match entry.verdict {
        Verdict::Better => format!("{shift} {interval} +"),
        Verdict::Worse => format!("{shift} {interval} −"),
        Verdict::More | Verdict::Less => format!("{shift} {interval}"),
        verdict => verdict.words().into(),
    };
    let median = units::number_or_dash(entry.median, row.unit);
    [median.into(), Field::judged(fit(&words, SHIFT), entry.verdict)]
}
