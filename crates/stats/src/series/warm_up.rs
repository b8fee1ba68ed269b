// SPDX-License-Identifier: GPL-2.0-only
//! Whether the trials of a boot settle: flat, warming up, slowing down, or never steady.
//!
//! The classes are those of Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA
//! 2017, on the segments of [`change_points`](mod@crate::series::change_points). They are flags:
//! nothing is dropped.

use model::metric::Direction;

use crate::series::change_points::change_points;

/// Levels that differ by less than this part of the last one are one level.
const SAME_LEVEL: f64 = 0.01;

/// A series whose level still changes in its last quarter has no steady state.
const LAST_PART: f64 = 0.25;

/// How a series of trials behaves over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// One level.
    Flat,
    /// The last level is better than those before; it begins after this many trials.
    WarmUp(usize),
    /// The last level is worse than one before; it begins after this many trials.
    SlowDown(usize),
    /// The level still changes near the end.
    Unsteady,
}

/// The course of one boot's trials in their order. A direction that does not judge is taken as
/// “lower is better”.
pub fn course(values: &[f64], direction: Direction) -> Course {
    let cuts = change_points(values);
    let starts: Vec<usize> = std::iter::once(0).chain(cuts).collect();
    let ends = starts.iter().skip(1).copied().chain([values.len()]);
    let mean =
        |(from, to): (usize, usize)| values[from..to].iter().sum::<f64>() / (to - from) as f64;
    if values.is_empty() {
        return Course::Flat;
    }
    let levels: Vec<f64> = starts.iter().copied().zip(ends).map(mean).collect();
    let last = levels[levels.len() - 1];
    let differs = |level: &f64| (level - last).abs() > SAME_LEVEL * last.abs();
    let Some(before) = levels.iter().rposition(differs) else { return Course::Flat };
    let settled = starts[before + 1];
    let better =
        |level: &f64| if direction == Direction::Higher { *level > last } else { *level < last };
    if settled as f64 > (1.0 - LAST_PART) * values.len() as f64 {
        Course::Unsteady
    } else if levels.iter().filter(|level| differs(level)).any(better) {
        Course::SlowDown(settled)
    } else {
        Course::WarmUp(settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(levels: &[(f64, usize)]) -> Vec<f64> {
        let noise = |i: usize| 1.0 + [0.001, -0.002, 0.0015, -0.0005][i % 4];
        let level = |&(level, n): &(f64, usize)| (0..n).map(move |i| level * noise(i));
        levels.iter().flat_map(level).collect()
    }

    #[test]
    fn the_four_courses() {
        let lower = |levels: &[(f64, usize)]| course(&series(levels), Direction::Lower);
        assert_eq!(lower(&[(5.0, 20)]), Course::Flat);
        assert_eq!(lower(&[(9.0, 4), (5.0, 16)]), Course::WarmUp(4));
        assert_eq!(lower(&[(5.0, 4), (9.0, 16)]), Course::SlowDown(4));
        assert_eq!(lower(&[(5.0, 17), (9.0, 3)]), Course::Unsteady);
        assert_eq!(lower(&[(9.0, 4), (7.0, 4), (5.0, 12)]), Course::WarmUp(8));
        assert_eq!(course(&series(&[(5.0, 4), (9.0, 16)]), Direction::Higher), Course::WarmUp(4));
        assert_eq!(course(&[], Direction::Lower), Course::Flat);
    }

    proptest! {
        #[test]
        fn the_unit_does_not_count(
            values in prop::collection::vec(1.0..9.0f64, 2..30), scale in 1u32..5,
        ) {
            let factor = f64::from(1u32 << scale);
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let course_of = |values: &[f64]| course(values, Direction::Lower);
            prop_assert_eq!(course_of(&values), course_of(&scaled));
        }
    }
}
