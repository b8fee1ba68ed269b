// SPDX-License-Identifier: GPL-2.0-only
//! Damaged records: they are named and set aside, and never make the others unreadable.

use std::fmt;

use model::Measured;
use model::trial::hex16;
use rusqlite::ffi::ErrorCode;

/// A record, or a session, that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// `record` or `session`.
    pub what: &'static str,
    /// Its number in the store.
    pub id: i64,
    /// The identity of its trial; empty for a session, and where that is what cannot be read.
    pub trial_id: String,
    /// How it was noticed.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { what, id, trial_id, why } = self;
        let trial =
            if trial_id.is_empty() { String::new() } else { format!(" (trial {trial_id})") };
        write!(to, "{what} {id}{trial} is damaged: {why}")
    }
}

/// What a row that cannot be decoded is called; SQLite's own words are for programmers.
pub(crate) fn reason(error: &rusqlite::Error) -> String {
    use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType};
    match error {
        FromSqlConversionFailure(_, _, inner) => format!("a value is not what it was ({inner})"),
        InvalidColumnType(_, name, kind) => format!("its {name} is of type {kind}"),
        _ => "its part of the file cannot be read".into(),
    }
}

/// Whether an error is about what one row has, as opposed to the file being locked or unreadable.
pub(crate) fn is_of_row(error: &rusqlite::Error) -> bool {
    // A missing table or column has no code of its own.
    let code = error.sqlite_error_code();
    matches!(code, None | Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown))
}

/// The most zeros for [`was_negative_zero`] to try all combinations, and all pairs. Among more, it
/// tries each one alone, and all of them.
const COMBINED: usize = 10;
const PAIRED: usize = 50;

/// Whether numbers differ from those that were hashed in the sign of zeros alone: SQLite keeps −0
/// as 0, and earlier programs hashed it with its sign.
pub(crate) fn was_negative_zero(measured: &Measured, hash: &str) -> bool {
    let zeros: Vec<usize> = measured
        .metrics
        .iter()
        .enumerate()
        .filter(|(_, metric)| metric.value == Some(0.0))
        .map(|(index, _)| index)
        .collect();
    if zeros.is_empty() {
        return false;
    }
    let all_combinations = if zeros.len() <= COMBINED { 1u64 << zeros.len() } else { 0 };
    let of_bits = |bits: u64| {
        let chosen = zeros.iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 == 1);
        chosen.map(|(_, &index)| index).collect::<Vec<_>>()
    };
    let others = if zeros.len() <= PAIRED { zeros.as_slice() } else { &[] };
    let pairs = zeros.iter().flat_map(|&one| others.iter().map(move |&two| vec![one, two]));
    let likely = [zeros.clone()].into_iter().chain(zeros.iter().map(|&one| vec![one]));
    likely.chain((1..all_combinations).map(of_bits)).chain(pairs).any(|negative| {
        let mut candidate = measured.clone();
        negative.iter().for_each(|&index| candidate.metrics[index].value = Some(-0.0));
        hex16(&candidate) == hash
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Metric;

    #[test]
    fn lost_signs_of_zeros_are_found_and_nothing_else_is() {
        let measured = |values: &[f64]| Measured {
            metrics: values.iter().map(|&value| Metric::number("x", "all", value)).collect(),
            ..Measured::default()
        };
        let kept = measured(&[0.0, 1.0, 0.0, 0.0]);
        for was in [[-0.0, 1.0, 0.0, 0.0], [0.0, 1.0, -0.0, -0.0], [-0.0, 1.0, -0.0, -0.0]] {
            assert!(was_negative_zero(&kept, &measured(&was).hash()), "{was:?}");
        }
        for other in [[0.0, 2.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]] {
            assert!(!was_negative_zero(&kept, &measured(&other).hash()), "{other:?}");
        }
        let none = measured(&[1.0]);
        assert!(!was_negative_zero(&none, &none.hash()));
        let many = |first| measured(&[[first].as_slice(), &[0.0; 40]].concat());
        assert!(was_negative_zero(&many(0.0), &many(-0.0).hash()));
    }
}
