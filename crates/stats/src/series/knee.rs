// SPDX-License-Identifier: GPL-2.0-only
//! The knee of a ramp: the setting at which the slope of a measure changes.
//!
//! Two straight lines that meet are fitted by least squares (Hudson, "Fitting segmented curves
//! whose join points have to be estimated", JASA 61(316), 1966): for each pair of neighbouring
//! settings the best lines left and right, if they meet between these two, else lines that meet at
//! a setting. If two lines are hardly better than one there is no knee.
//!
//! The interval comes from resampling whole passes over the ramp (blocks), because the settings of
//! one pass share the state of the machine.

use model::Seed;

use crate::number::interval::{Interval, expanded_percentile};
use crate::number::median::median;

/// Two lines must leave less than this part of one line's sum of squares.
const WORTH: f64 = 0.5;

/// The fewest settings: two lines have four parameters.
pub const SETTINGS_NEEDED: usize = 5;

/// Where two lines meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    pub at: f64,
    /// The slope below, in the measure's unit per unit of the setting.
    pub below: f64,
    pub above: f64,
    /// The sum of squares that the lines leave.
    pub squares: f64,
}

/// The knee of a ramp: ascending settings and a number for each. `None` with too few settings, or
/// if one line fits as well.
pub fn knee(settings: &[f64], values: &[f64]) -> Option<Knee> {
    if settings.len() < SETTINGS_NEEDED || settings.len() != values.len() {
        return None;
    }
    let apart = (2..=settings.len() - 2).filter_map(|cut| meeting_between(settings, values, cut));
    let joined =
        (1..settings.len() - 1).filter_map(|at| meeting_at(settings, values, settings[at]));
    let best = apart.chain(joined).min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    let one_line = StraightLine::through(settings, values)?.squares;
    let rounding = 1e-18 * values.iter().map(|value| value * value).sum::<f64>();
    (one_line > rounding && best.squares < WORTH * one_line).then_some(best)
}

/// The knee of the medians over all passes, and its interval. `passes` holds, for each block, a
/// number for each setting. No interval unless the knee is there in at least 95 % of the resamples.
pub fn with_interval(
    settings: &[f64],
    passes: &[Vec<f64>],
    resamples: u32,
    mut seed: Seed,
) -> Option<(Knee, Option<Interval>)> {
    let whole = passes.iter().filter(|pass| pass.len() == settings.len()).collect::<Vec<_>>();
    let knee_of = |drawn: &[&Vec<f64>]| {
        let middle = |at: usize| median(&drawn.iter().map(|pass| pass[at]).collect::<Vec<_>>());
        let medians: Option<Vec<f64>> = (0..settings.len()).map(middle).collect();
        knee(settings, &medians?)
    };
    let found = knee_of(&whole)?;
    let draw = |_| {
        let pass = |_| whole[seed.below(whole.len() as u64) as usize];
        knee_of(&(0..whole.len()).map(pass).collect::<Vec<_>>()).map(|knee| knee.at)
    };
    let mut replicates: Vec<f64> = (0..resamples).filter_map(draw).collect();
    let steady = replicates.len() as f64 >= 0.95 * f64::from(resamples);
    let interval = steady.then(|| expanded_percentile(&mut replicates, whole.len())).flatten();
    Some((found, interval))
}

/// A straight line by least squares.
struct StraightLine {
    intercept: f64,
    slope: f64,
    squares: f64,
}

impl StraightLine {
    fn through(settings: &[f64], values: &[f64]) -> Option<StraightLine> {
        let n = settings.len() as f64;
        let (x, y) = (settings.iter().sum::<f64>() / n, values.iter().sum::<f64>() / n);
        let pairs = || settings.iter().zip(values).map(|(a, b)| (a - x, b - y));
        let spread: f64 = pairs().map(|(a, _)| a * a).sum();
        let slope = pairs().map(|(a, b)| a * b).sum::<f64>() / spread;
        let squares = pairs().map(|(a, b)| (b - slope * a).powi(2)).sum();
        (spread > 0.0).then_some(StraightLine { intercept: y - slope * x, slope, squares })
    }
}

/// The best lines through the settings before and from `cut`, if they meet between the neighbours.
fn meeting_between(settings: &[f64], values: &[f64], cut: usize) -> Option<Knee> {
    let low = StraightLine::through(&settings[..cut], &values[..cut])?;
    let high = StraightLine::through(&settings[cut..], &values[cut..])?;
    let at = (low.intercept - high.intercept) / (high.slope - low.slope);
    let inside = settings[cut - 1] <= at && at <= settings[cut];
    let squares = low.squares + high.squares;
    inside.then_some(Knee { at, below: low.slope, above: high.slope, squares })
}

/// The best lines that meet at a setting: y = a + b·min(x − k, 0) + c·max(x − k, 0), by the normal
/// equations of the three.
fn meeting_at(settings: &[f64], values: &[f64], at: f64) -> Option<Knee> {
    let n = settings.len() as f64;
    let (mut l, mut h, mut ll, mut hh) = (0.0, 0.0, 0.0, 0.0);
    let (mut y, mut ly, mut hy) = (0.0, 0.0, 0.0);
    for (setting, value) in settings.iter().zip(values) {
        let (low, high) = ((setting - at).min(0.0), (setting - at).max(0.0));
        l += low;
        h += high;
        ll += low * low;
        hh += high * high;
        y += value;
        ly += low * value;
        hy += high * value;
    }
    // A number is below or above, never both, so that l·h has no term of its own.
    let height = (y - l * ly / ll - h * hy / hh) / (n - l * l / ll - h * h / hh);
    let (below, above) = ((ly - height * l) / ll, (hy - height * h) / hh);
    let line =
        |setting: f64| height + below * (setting - at).min(0.0) + above * (setting - at).max(0.0);
    let squares = settings.iter().zip(values).map(|(x, y)| (y - line(*x)).powi(2)).sum::<f64>();
    squares.is_finite().then_some(Knee { at, below, above, squares })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bent(at: f64, below: f64, above: f64, setting: f64) -> f64 {
        3.0 + below * (setting - at).min(0.0) + above * (setting - at).max(0.0)
    }

    #[test]
    fn a_straight_ramp_has_no_knee() {
        let settings: Vec<f64> = (1..9).map(f64::from).collect();
        assert_eq!(knee(&settings, &settings), None);
        assert_eq!(knee(&settings, &[7.0; 8]), None);
        assert_eq!(knee(&settings[..4], &[1.0, 1.0, 5.0, 9.0]), None);
    }

    #[test]
    fn passes_give_an_interval_about_the_knee() {
        let settings: Vec<f64> = (1..13).map(f64::from).collect();
        let pass = |p: usize| -> Vec<f64> {
            let noise = |i: usize| [0.1, -0.2, 0.15, -0.05, 0.02][(i * 3 + p * 2) % 5];
            settings.iter().enumerate().map(|(i, x)| bent(6.5, 0.1, 4.0, *x) + noise(i)).collect()
        };
        let passes: Vec<Vec<f64>> = (0..8).map(pass).collect();
        let (knee, interval) = with_interval(&settings, &passes, 500, Seed(1)).unwrap();
        let interval = interval.unwrap();
        assert!((knee.at - 6.5).abs() < 0.1, "{knee:?}");
        assert!(interval.low <= knee.at && knee.at <= interval.high, "{interval:?}");
        assert!(interval.high - interval.low < 0.5, "{interval:?}");
        assert_eq!(with_interval(&settings, &[], 10, Seed(1)), None);
    }

    proptest! {
        #[test]
        fn a_planted_knee_is_found(at in 3.1..8.9f64, below in -2.0..2.0f64, by in 1.0..9.0f64) {
            let settings: Vec<f64> = (1..12).map(f64::from).collect();
            let curve = |x: &f64| bent(at, below, below + by, *x);
            let values: Vec<f64> = settings.iter().map(curve).collect();
            let knee = knee(&settings, &values).unwrap();
            prop_assert!((knee.at - at).abs() < 1e-6, "{:?}", knee);
            prop_assert!((knee.above - below - by).abs() < 1e-6);
        }
    }
}
