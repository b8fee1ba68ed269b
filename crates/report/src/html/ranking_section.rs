// SPDX-License-Identifier: GPL-2.0-only
//! The ranking over all cells as a critical-difference diagram: mean ranks, and bars that join
//! contestants that are not distinguishable. It is vertical, so that it fits a telephone.

use stats::Comparison;
use stats::rank::holm::ALPHA;
use stats::view::ranking::{Ranking, rankings};

use super::escape::text;
use super::figure::{Figure, Numbers, field, line, point, short, words};
use crate::units;

/// Where the axis of ranks begins and ends.
const AXIS: (f64, f64) = (112.0, 300.0);

// The first row, the distance of rows, and that of bars.
const TOP: f64 = 56.0;
const ROW: f64 = 21.0;
const BAR: f64 = 9.0;

/// The section; empty where there is too little to rank.
pub fn section(comparison: &Comparison) -> String {
    let rankings = rankings(comparison);
    let Some((first, others)) = rankings.split_first() else { return String::new() };
    let others: String = others.iter().map(figure).collect();
    let others = if others.is_empty() {
        others
    } else {
        format!(
            "<details class=\"more\"><summary>The same for each kind of measure</summary><div \
             class=\"figures\">{others}</div></details>"
        )
    };
    format!(
        "<section id=\"ranking\"><h2>Ranking</h2><p class=\"aside\">In each cell the contestants \
         are ranked by their medians, and the ranks are averaged: every combination of workload \
         and machine counts once, however large its differences are. A lower \
         mean rank is better. Bars join contestants whose mean ranks differ by less than the \
         critical difference: \
         they are not distinguishable (Friedman’s test, then Nemenyi’s at {:.0} %; Demšar \
         2006).</p><div \
         class=\"figures\">{}</div>{others}</section>\n",
        100.0 * ALPHA,
        figure(first)
    )
}

fn subject(ranking: &Ranking) -> String {
    let Some(measure) = &ranking.measure else { return "each cell’s first measure".into() };
    measure.parse().map_or_else(|_| measure.clone(), |key| units::measure(&key))
}

fn figure(ranking: &Ranking) -> String {
    let result = &ranking.result;
    let rows = result.order().len() as f64;
    let title = format!("Mean rank, {}", subject(ranking));
    let marks = [axis(ranking), names(ranking), bars(ranking)].concat();
    let width = AXIS.1 + 16.0 + BAR * result.groups().len().max(4) as f64;
    Figure {
        title: &title,
        label: &format!("{title}, over {} cells. {}", result.cells, test(ranking)),
        size: (width, TOP + ROW * rows),
        marks: &marks,
        numbers: Numbers::Here(&csv(ranking)),
        caption: &caption(ranking),
    }
    .html()
}

fn at(ranking: &Ranking, rank: f64) -> f64 {
    let last = ranking.contestants.len() as f64;
    AXIS.0 + (AXIS.1 - AXIS.0) * (rank - 1.0) / (last - 1.0)
}

/// Ticks of whole ranks, and the critical difference as a length.
fn axis(ranking: &Ranking) -> String {
    let last = ranking.contestants.len();
    let bottom = TOP + ROW * (last as f64 - 0.5);
    let step = if last > 8 { 2 } else { 1 };
    let tick = |rank: usize| {
        let x = at(ranking, rank as f64);
        line("grid", (x, TOP - ROW * 0.7), (x, bottom))
            + &words("tick", (x, TOP - ROW * 0.9), "middle", &rank.to_string())
    };
    let ticks: String = (1..=last).step_by(step).map(tick).collect();
    let difference = ranking.result.difference.min(last as f64 - 1.0);
    let (from, to) = (AXIS.0, at(ranking, 1.0 + difference));
    let label = format!("critical difference {:.2}", ranking.result.difference);
    ticks
        + &line("cd", (from, 10.0), (to, 10.0))
        + &line("cd", (from, 6.0), (from, 14.0))
        + &line("cd", (to, 6.0), (to, 14.0))
        + &words("tick", (from, 25.0), "start", &label)
}

fn names(ranking: &Ranking) -> String {
    let row = |(place, at_input): (usize, usize)| {
        let (name, rank) = (&ranking.contestants[at_input], ranking.result.mean_ranks[at_input]);
        let (x, y) = (at(ranking, rank), TOP + ROW * place as f64);
        line("grid", (AXIS.0, y), (x, y))
            + &words("contestant", (AXIS.0 - 8.0, y + 4.0), "end", &short(name, 15))
            + &point("dot", (x, y), 4.5, &format!("{name}: mean rank {rank:.2}"))
    };
    ranking.result.order().into_iter().enumerate().map(row).collect()
}

/// One bar for each group, from its first to its last row.
fn bars(ranking: &Ranking) -> String {
    let bar = |(index, (first, last)): (usize, (usize, usize))| {
        let x = AXIS.1 + 14.0 + BAR * index as f64;
        let y = |place: usize| TOP + ROW * place as f64;
        line("tied", (x, y(first) - 5.0), (x, y(last) + 5.0))
    };
    ranking.result.groups().into_iter().enumerate().map(bar).collect()
}

fn test(ranking: &Ranking) -> String {
    let result = &ranking.result;
    let chance = match result.chance {
        chance if chance < 0.001 => "p < 0.001".into(),
        chance => format!("p = {chance:.3}"),
    };
    let verdict = if result.tells() { "they differ" } else { "no difference is shown" };
    format!("Friedman’s χ² = {:.1}, {chance}: {verdict}.", result.statistic)
}

fn caption(ranking: &Ranking) -> String {
    let cells: String =
        ranking.cells.iter().map(|cell| format!("<li>{}</li>", text(cell))).collect();
    let left_out = match ranking.left_out.as_slice() {
        [] => String::new(),
        left_out => {
            let name = |(name, cells): &(String, usize)| {
                format!("<b class=\"name\">{}</b> ({cells})", text(name))
            };
            let names: Vec<String> = left_out.iter().map(name).collect();
            format!(" Not ranked, because a number is missing in (cells): {}.", names.join(", "))
        }
    };
    let without: String =
        ranking.cells_left_out.iter().map(|cell| format!("<li>{}</li>", text(cell))).collect();
    let (without, not) = match ranking.cells_left_out.len() {
        0 => (without, String::new()),
        not => (
            format!(
                "<p>Left out, because several contestants have no number:</p><ul>{without}</ul>"
            ),
            format!(", {not} left out"),
        ),
    };
    format!(
        "{}{left_out}<details><summary>The {} cells{not}</summary><ul>{cells}</ul>{without}\
         </details>",
        text(&test(ranking)),
        ranking.cells.len()
    )
}

fn csv(ranking: &Ranking) -> String {
    let mut csv = String::from("contestant,mean_rank,cells,critical_difference\n");
    for at in ranking.result.order() {
        csv += &format!(
            "{},{:.4},{},{:.4}\n",
            field(&ranking.contestants[at]),
            ranking.result.mean_ranks[at],
            ranking.result.cells,
            ranking.result.difference
        );
    }
    csv
}
