// SPDX-License-Identifier: GPL-2.0-only
//! Pairs of contestants and the measure that distinguishes them best, as text.

use stats::decide::separation::Separation;

use crate::units;

/// A line for each pair, and how many are distinguishable.
pub fn pairs(pairs: &[Separation]) -> String {
    let named = |pair: &Separation| format!("{} | {}", pair.one, pair.other);
    let width = pairs.iter().map(|pair| named(pair).chars().count()).max().unwrap_or(0);
    let lines: String =
        pairs.iter().map(|pair| format!("{:width$}  {}\n", named(pair), evidence(pair))).collect();
    let apart = pairs.iter().filter(|pair| pair.evidence.is_some()).count();
    format!("{lines}\n{apart} of {} pairs are distinguishable\n", pairs.len())
}

fn evidence(pair: &Separation) -> String {
    let Some(found) = &pair.evidence else {
        return format!("not distinguishable ({} measures)", pair.looked_at);
    };
    format!(
        "{} | {}  {}, {}",
        units::number(found.one, found.unit),
        units::number(found.other, found.unit),
        units::measure(&found.measure),
        found.cell
    )
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
        let text = pairs(&[pair("bc", Some(evidence)), pair("d", None)]);
        let expected = "a | bc  1.00 ms | 2.50 s  longest wait, nice on one (sim)\n\
                        a | d   not distinguishable (7 measures)\n\n\
                        1 of 2 pairs are distinguishable\n";
        assert_eq!(text, expected);
    }
}
