// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of contestants: which are distinguishable, and the measure that shows it best.

use maud::{Markup, html};
use model::Record;
use stats::Comparison;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::decide::separation::{Separation, separations, trials_needed};
use stats::rank::rank_sum::ALPHA;

use crate::html::markup::{joined, name, percent};
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::terminal::layout::Paint;
use crate::units;

/// With more pairs than this, the table is folded.
const PAIRS_OPEN: usize = 15;

/// One line for each pair; empty without a comparison.
pub(crate) fn body(comparison: &Comparison, records: &[Record]) -> Markup {
    let pairs = separations(records, comparison);
    if !pairs.iter().any(|pair| pair.looked_at > 0) {
        return Markup::default();
    }
    html! {
        p { (summary(&pairs)) }
        p class="aside" {
            "Two contestants are distinguishable here if in one headline measure every trial of \
             the one is below every trial of the other, the medians differ by "
            (percent(MARGIN_PERCENT / 100.0)) " or more, and there are enough trials that \
             chance does this in less than " (percent(ALPHA)) " of pairs."
        }
        @if pairs.len() > PAIRS_OPEN {
            details { summary { "All " (pairs.len()) " pairs" } (table(&pairs)) }
        } @else {
            (table(&pairs))
        }
    }
}

fn summary(pairs: &[Separation]) -> Markup {
    let alike: Vec<&Separation> = pairs.iter().filter(|pair| pair.evidence.is_none()).collect();
    if alike.is_empty() {
        return html! { "Every pair is distinguishable." };
    }
    if alike.len() == pairs.len() {
        let measures = pairs.iter().map(|pair| pair.looked_at).max().unwrap_or_default();
        return html! {
            "No two contestants are distinguishable here. With " (measures) " measures, that takes "
            (trials_needed(measures)) " trials of each."
        };
    }
    let names = alike.iter().map(|pair| html! { (name(&pair.one)) " and " (name(&pair.other)) });
    html! {
        (pairs.len() - alike.len()) " of " (pairs.len()) " pairs are distinguishable. These are \
         not: " (joined(names, ", ")) "."
    }
}

fn table(pairs: &[Separation]) -> Table {
    let mut table = Table::new(&[
        ("A", Left),
        ("B", Left),
        ("where they differ most", Left),
        ("measure", Left),
        ("A", Right),
        ("B", Right),
    ]);
    for Separation { one, other, evidence, looked_at } in pairs {
        let [cell, measure, one_median, other_median] = match evidence {
            Some(found) => [
                found.cell.clone(),
                units::measure(&found.measure),
                units::number(found.one, found.unit),
                units::number(found.other, found.unit),
            ],
            None => {
                let alike = format!("not distinguishable in {looked_at} measures");
                [alike, String::new(), String::new(), String::new()]
            }
        };
        table.add([one.clone(), other.clone(), cell, measure, one_median, other_median]);
    }
    table
}

/// A line for each pair, and how many are distinguishable.
pub fn text(pairs: &[Separation]) -> String {
    let table = table(pairs);
    let lines = table.terminal("", &table.widths(), Paint(false)).concat();
    let apart = pairs.iter().filter(|pair| pair.evidence.is_some()).count();
    format!("{lines}\n{apart} of {} pairs are distinguishable\n", pairs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::Unit;
    use stats::decide::separation::Separator;

    #[test]
    fn each_pair_has_a_line_with_both_numbers() {
        let evidence = Separator {
            cell: "nice on one (sim)".into(),
            measure: "longest_wait_ns all".parse().expect("a measure"),
            unit: Unit::Nanoseconds,
            one: 1e6,
            other: 2.5e9,
        };
        let pair = |other: &str, evidence| Separation {
            one: "a".into(),
            other: other.into(),
            looked_at: 7,
            evidence,
        };
        let text = text(&[pair("bc", Some(evidence)), pair("d", None)]);
        let expected = "\
            A B  where they differ most            measure            A      B\n\
            a bc nice on one (sim)                 longest wait 1.00 ms 2.50 s\n\
            a d  not distinguishable in 7 measures\n\n\
            1 of 2 pairs are distinguishable\n";
        assert_eq!(text, expected);
    }
}
