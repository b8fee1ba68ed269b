// SPDX-License-Identifier: GPL-2.0-only
//! The knee of a ramp: the load from which a measure grows, or stops growing, faster.
//!
//! Two straight lines that meet are fitted by least squares (Hudson, "Fitting segmented curves
//! whose join points have to be estimated", JASA 61(316), 1966): for each pair of neighbouring
//! loads the best lines left and right, if they meet between these two, else lines that meet at a
//! load. If two lines are hardly better than one there is no knee.
//!
//! The interval comes from resampling whole passes over the ramp (blocks), because the loads of one
//! pass share the state of the machine.

use model::Seed;

use crate::number::interval::Interval;
use crate::number::interval::expanded_percentile;
use crate::number::median::median;

/// Two lines must leave less than this part of one line's sum of squares.
const WORTH: f64 = 0.5;

/// The fewest loads: two lines have four numbers.
pub const LOADS_NEEDED: usize = 5;

/// Where two lines meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The load, in the loads' unit.
    pub at: f64,
    /// The slope below, in the measure's unit per unit of load.
    pub below: f64,
    /// The slope above.
    pub above: f64,
    /// The sum of squares that the lines leave.
    pub squares: f64,
}

/// The knee of a ramp: ascending loads and a number for each. `None` with too few loads, or where
/// one line does as well.
pub fn knee(loads: &[f64], values: &[f64]) -> Option<Knee> {
    if loads.len() < LOADS_NEEDED || loads.len() != values.len() {
        return None;
    }
    let apart = (2..=loads.len() - 2).filter_map(|cut| meeting_between(loads, values, cut));
    let joined = (1..loads.len() - 1).filter_map(|at| meeting_at(loads, values, loads[at]));
    let best = apart.chain(joined).min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    let one_line = Line::through(loads, values)?.squares;
    let rounding = 1e-18 * values.iter().map(|value| value * value).sum::<f64>();
    (one_line > rounding && best.squares < WORTH * one_line).then_some(best)
}

/// The knee of the medians over all passes, and its interval. `passes` holds, for each block, a
/// number for each load. No interval unless the knee is there in at least 95 % of the resamples.
pub fn with_interval(
    loads: &[f64],
    passes: &[Vec<f64>],
    resamples: u32,
    mut seed: Seed,
) -> Option<(Knee, Option<Interval>)> {
    let whole = passes.iter().filter(|pass| pass.len() == loads.len()).collect::<Vec<_>>();
    let of = |drawn: &[&Vec<f64>]| {
        let middle = |at: usize| median(&drawn.iter().map(|pass| pass[at]).collect::<Vec<_>>());
        let medians: Option<Vec<f64>> = (0..loads.len()).map(middle).collect();
        knee(loads, &medians?)
    };
    let found = of(&whole)?;
    let draw = |_| {
        let one = |_| whole[seed.below(whole.len() as u64) as usize];
        of(&(0..whole.len()).map(one).collect::<Vec<_>>()).map(|knee| knee.at)
    };
    let mut replicates: Vec<f64> = (0..resamples).filter_map(draw).collect();
    let steady = replicates.len() as f64 >= 0.95 * f64::from(resamples);
    let interval = steady.then(|| expanded_percentile(&mut replicates, whole.len())).flatten();
    Some((found, interval))
}

/// A straight line by least squares.
struct Line {
    intercept: f64,
    slope: f64,
    squares: f64,
}

impl Line {
    fn through(loads: &[f64], values: &[f64]) -> Option<Line> {
        let n = loads.len() as f64;
        let (x, y) = (loads.iter().sum::<f64>() / n, values.iter().sum::<f64>() / n);
        let pairs = || loads.iter().zip(values).map(|(a, b)| (a - x, b - y));
        let spread: f64 = pairs().map(|(a, _)| a * a).sum();
        let slope = pairs().map(|(a, b)| a * b).sum::<f64>() / spread;
        let squares = pairs().map(|(a, b)| (b - slope * a).powi(2)).sum();
        (spread > 0.0).then_some(Line { intercept: y - slope * x, slope, squares })
    }
}

/// The best lines through the loads before and from `cut`, if they meet between the neighbours.
fn meeting_between(loads: &[f64], values: &[f64], cut: usize) -> Option<Knee> {
    let low = Line::through(&loads[..cut], &values[..cut])?;
    let high = Line::through(&loads[cut..], &values[cut..])?;
    let at = (low.intercept - high.intercept) / (high.slope - low.slope);
    let inside = loads[cut - 1] <= at && at <= loads[cut];
    let squares = low.squares + high.squares;
    inside.then_some(Knee { at, below: low.slope, above: high.slope, squares })
}

/// The best lines that meet at a load: y = a + b·min(x − k, 0) + c·max(x − k, 0), by the normal
/// equations of the three.
fn meeting_at(loads: &[f64], values: &[f64], at: f64) -> Option<Knee> {
    let n = loads.len() as f64;
    let (mut l, mut h, mut ll, mut hh) = (0.0, 0.0, 0.0, 0.0);
    let (mut y, mut ly, mut hy) = (0.0, 0.0, 0.0);
    for (load, value) in loads.iter().zip(values) {
        let (low, high) = ((load - at).min(0.0), (load - at).max(0.0));
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
    let line = |load: f64| height + below * (load - at).min(0.0) + above * (load - at).max(0.0);
    let squares = loads.iter().zip(values).map(|(x, y)| (y - line(*x)).powi(2)).sum::<f64>();
    squares.is_finite().then_some(Knee { at, below, above, squares })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bent(at: f64, below: f64, above: f64, load: f64) -> f64 {
        3.0 + below * (load - at).min(0.0) + above * (load - at).max(0.0)
    }

    #[test]
    fn a_straight_ramp_has_no_knee() {
        let loads: Vec<f64> = (1..9).map(f64::from).collect();
        assert_eq!(knee(&loads, &loads), None);
        assert_eq!(knee(&loads, &[7.0; 8]), None);
        assert_eq!(knee(&loads[..4], &[1.0, 1.0, 5.0, 9.0]), None);
    }

    #[test]
    fn passes_give_an_interval_about_the_knee() {
        let loads: Vec<f64> = (1..13).map(f64::from).collect();
        let pass = |p: usize| -> Vec<f64> {
            let noise = |i: usize| [0.1, -0.2, 0.15, -0.05, 0.02][(i * 3 + p * 2) % 5];
            loads.iter().enumerate().map(|(i, x)| bent(6.5, 0.1, 4.0, *x) + noise(i)).collect()
        };
        let passes: Vec<Vec<f64>> = (0..8).map(pass).collect();
        let (knee, interval) = with_interval(&loads, &passes, 500, Seed(1)).unwrap();
        let interval = interval.unwrap();
        assert!((knee.at - 6.5).abs() < 0.1, "{knee:?}");
        assert!(interval.low <= knee.at && knee.at <= interval.high, "{interval:?}");
        assert!(interval.high - interval.low < 0.5, "{interval:?}");
        assert_eq!(with_interval(&loads, &[], 10, Seed(1)), None);
    }

    proptest! {
        #[test]
        fn a_planted_knee_is_found(at in 3.1..8.9f64, below in -2.0..2.0f64, by in 1.0..9.0f64) {
            let loads: Vec<f64> = (1..12).map(f64::from).collect();
            let values: Vec<f64> = loads.iter().map(|x| bent(at, below, below + by, *x)).collect();
            let knee = knee(&loads, &values).unwrap();
            prop_assert!((knee.at - at).abs() < 1e-6, "{:?}", knee);
            prop_assert!((knee.above - below - by).abs() < 1e-6);
        }
    }
}
