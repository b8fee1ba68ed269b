// SPDX-License-Identifier: GPL-2.0-only
//! The solver: costs that make a model's times those that were measured.
//!
//! Every time is nearly a weighted sum of costs, so a few rounds of linearised least
//! squares with the model in the loop are enough (Gauss and Newton's method). The squares are of
//! relative errors; costs are whole and never negative (coordinate descent on the normal
//! equations, which keeps to that bound: Franc, Hlaváč, Navara, "Sequential coordinate-wise
//! algorithm for the non-negative least squares problem", 2005). No randomness, no clock: the same
//! measurements give the same costs.

/// Rounds of linearisation; the result no longer changes in the last ones.
const ROUNDS: u32 = 8;
/// Sweeps over all costs within a round.
const SWEEPS: u32 = 4_000;
/// How many times its value, and how many nanoseconds more, a cost can become in a round: what is
/// far away is beyond what a linear model knows.
const REACH: (f64, f64) = (4.0, 4_000.0);
/// How strongly a round pulls a cost towards its present value, as a part of the error that a
/// change by its own size makes: a cost that no measurement depends on keeps its value.
const INERTIA: f64 = 1e-4;

/// Fits `start` to `measured` times; `model` gives the times of some costs, in the same order.
/// Returns the costs after the last round.
pub fn fit(start: &[u64], measured: &[f64], mut model: impl FnMut(&[u64]) -> Vec<f64>) -> Vec<u64> {
    let mut best = start.to_vec();
    let mut best_error = f64::INFINITY;
    let mut costs = start.to_vec();
    for _ in 0..ROUNDS {
        let here = model(&costs);
        let error = squares(&here, measured);
        if error < best_error {
            (best, best_error) = (costs.clone(), error);
        }
        let slopes: Vec<Vec<f64>> =
            (0..costs.len()).map(|cost| slope(&costs, cost, &here, measured, &mut model)).collect();
        let wanted: Vec<f64> =
            here.iter().zip(measured).map(|(here, measured)| 1.0 - here / measured).collect();
        costs = descend(&costs, &slopes, &wanted);
    }
    let error = squares(&model(&costs), measured);
    if error < best_error { costs } else { best }
}

/// The sum of squared relative errors.
pub fn squares(model: &[f64], measured: &[f64]) -> f64 {
    model.iter().zip(measured).map(|(model, measured)| (model / measured - 1.0).powi(2)).sum()
}

/// How every relative error changes with one nanosecond more of a cost.
fn slope(
    costs: &[u64],
    cost: usize,
    here: &[f64],
    measured: &[f64],
    model: &mut impl FnMut(&[u64]) -> Vec<f64>,
) -> Vec<f64> {
    let step = (costs[cost] / 8).max(40);
    let mut changed = costs.to_vec();
    changed[cost] += step;
    let there = model(&changed);
    let change =
        |((there, here), measured): ((&f64, &f64), &f64)| (there - here) / measured / step as f64;
    there.iter().zip(here).zip(measured).map(change).collect()
}

/// The costs for which the linearised model is nearest to the measured times.
fn descend(costs: &[u64], slopes: &[Vec<f64>], wanted: &[f64]) -> Vec<u64> {
    let start: Vec<f64> = costs.iter().map(|&cost| cost as f64).collect();
    let mut now = start.clone();
    let mut left = wanted.to_vec();
    for _ in 0..SWEEPS {
        for (cost, slope) in slopes.iter().enumerate() {
            let square: f64 = slope.iter().map(|slope| slope * slope).sum();
            if square == 0.0 {
                continue;
            }
            let pull = square * INERTIA;
            let gain: f64 = slope.iter().zip(&left).map(|(slope, left)| slope * left).sum();
            let change = (gain + pull * (start[cost] - now[cost])) / (square + pull);
            let most = REACH.0 * start[cost] + REACH.1;
            let change = change.clamp(-now[cost], most - now[cost]);
            now[cost] += change;
            left.iter_mut().zip(slope).for_each(|(left, slope)| *left -= change * slope);
        }
    }
    now.iter().map(|cost| cost.round() as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that are sums of costs, with one product so that it is not linear.
    fn times(costs: &[u64]) -> Vec<f64> {
        let [a, b, c] = [costs[0] as f64, costs[1] as f64, costs[2] as f64];
        vec![1_000.0 + a, a + 2.0 * b, 500.0 + b + a * b / 5_000.0, 4.0 * a + b + 0.0 * c]
    }

    #[test]
    fn known_costs_are_found() {
        let measured = times(&[700, 300, 0]);
        assert_eq!(fit(&[10, 2_000, 55], &measured, times), [700, 300, 55]);
    }

    #[test]
    fn a_round_does_not_go_far() {
        let most = 4 * (4 * 10 + 4_000) + 4_000;
        let two = descend(&descend(&[10], &[vec![1e-12]], &[1.0]), &[vec![1e-12]], &[1.0]);
        assert_eq!(two, [most]);
    }

    #[test]
    fn costs_are_never_negative() {
        let measured = [900.0, 500.0, 1.0, 0.5];
        let costs = fit(&[100, 100, 0], &measured, times);
        assert!(squares(&times(&costs), &measured) <= squares(&times(&[100, 100, 0]), &measured));
    }
}
