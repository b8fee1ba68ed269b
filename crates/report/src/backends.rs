// SPDX-License-Identifier: GPL-2.0-only
//! One cell on two backends: both medians in one table, each with its shift against the baseline;
//! `cells` are the same on a real kernel and in the simulator.

use stats::view::agreement::Agreement;
use stats::{Cell, Comparison, Entry, Row, Verdict};

use maud::{Markup, html};

use crate::table::Align::{Left, Right};
use crate::table::{Field, Table};
use crate::terminal::bad_outcomes;
use crate::terminal::layout::{COLUMNS, Paint, fit};
use crate::{agreement, reading, units};

/// Characters of a contestant's name that fit next to two backends on a terminal.
const NAME: usize = 17;

const MEDIAN: usize = 9;

/// The width of a shift with its interval and verdict.
const SHIFT: usize = 26;

/// The width of an error with its mark.
const ERROR: usize = 12;

/// The legend of the signs.
pub const LEGEND: &str = "+ better and − worse than the baseline; ✓ within the tolerance, (✓) only \
                          by its allowance for small numbers, ✗ outside";

/// For a terminal: a block per headline measure, then what did not end well.
pub fn text(
    comparison: &Comparison,
    cells: &[&Cell],
    agreement: &Agreement,
    paint: Paint,
) -> String {
    let words: Vec<&str> = cells.iter().map(|cell| cell.backend.word()).collect();
    let title = format!("{} on {} ({})", cells[0].name, cells[0].machine, words.join(" and "));
    let mut text = format!("{}\n", paint.bold(&fit(&title, COLUMNS)));
    for row in cells[0].headline() {
        text += &row_text(comparison, cells, row, agreement, paint);
    }
    for cell in cells {
        text += &bad_outcomes(cell, &format!("{}: ", cell.backend.word()), paint);
    }
    text + "\n"
}

/// For a page: a table per headline measure.
pub fn markup(comparison: &Comparison, cells: &[&Cell], agreement: &Agreement) -> Markup {
    html! {
        @for row in cells[0].headline() {
            p {
                b { (units::measure(&row.measure)) } " "
                small { (units::direction(row.direction).unwrap_or("neither is better")) }
                @if !reading::is_measured(cells, row) { ": no trial has enough samples." }
            }
            @if reading::is_measured(cells, row) { (table(comparison, cells, row, agreement)) }
        }
        p class="aside small" { (LEGEND) "." }
    }
}

fn row_text(
    comparison: &Comparison,
    cells: &[&Cell],
    row: &Row,
    agreement: &Agreement,
    paint: Paint,
) -> String {
    let title = units::title(&row.measure.to_string(), row.direction);
    let text = format!("  {}\n", fit(&title, COLUMNS - 2));
    if !reading::is_measured(cells, row) {
        return text + "    no trial has enough samples\n";
    }
    let any = usize::MAX;
    let table = table(comparison, cells, row, agreement);
    let table = table.fitted(&[NAME, any, SHIFT, any, SHIFT, any]);
    let widths = [NAME, MEDIAN, SHIFT, MEDIAN, SHIFT, ERROR];
    text + &table.terminal("    ", &widths, paint).concat()
}

fn table(comparison: &Comparison, cells: &[&Cell], row: &Row, agreement: &Agreement) -> Table {
    let against = format!("against {}", comparison.baseline);
    let error = format!("sim − {}", agreement.reference.word());
    let sides = cells.iter().flat_map(|cell| [(cell.backend.word(), Right), (&against, Left)]);
    let columns = [("contestant", Left)].into_iter().chain(sides).chain([(error.as_str(), Right)]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    let takes_part = |name: &&String| cells.iter().any(|cell| reading::takes_part(cell, name));
    for name in comparison.contestants.iter().filter(takes_part) {
        let sides = cells.iter().flat_map(|cell| {
            if reading::is_elsewhere(comparison, cell, name) {
                let words = Field::judged(reading::not_here(cell), Verdict::NotMeasured);
                return [String::new().into(), words];
            }
            side(row, reading::twin_entry(cell, row, name))
        });
        let figure = agreement::figure(agreement, cells[0], row, name);
        let error = figure.map_or(String::new(), |figure| {
            format!("{} {}", agreement::error(figure), agreement::mark(figure.within))
        });
        let name = Field::from(name.clone());
        table.add([name].into_iter().chain(sides).chain([error.into()]));
    }
    table
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
    [median.into(), Field::judged(words, entry.verdict)]
}
