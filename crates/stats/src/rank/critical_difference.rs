// SPDX-License-Identifier: GPL-2.0-only
//! Which of several contestants differ in rank over many cells: Friedman's test, and Nemenyi's
//! critical difference of mean ranks (Demšar, "Statistical Comparisons of Classifiers over Multiple
//! Data Sets", Journal of Machine Learning Research 7, 2006, section 3.2).
//!
//! Ranks need no common unit, so cells with different measures count alike; how large a difference
//! is does not count at all.

use crate::number::special::{chi_squared_above, range_exceeded};
use crate::rank::holm::ALPHA;
use crate::rank::rank_sum::doubled_ranks;

/// Mean ranks and their tests.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalDifference {
    /// One per contestant, in the order of the input; 1 is best.
    pub mean_ranks: Vec<f64>,
    /// Cells that were ranked.
    pub cells: usize,
    /// Friedman's χ², corrected for ties.
    pub statistic: f64,
    /// The chance of so large a χ² if all contestants were alike.
    pub chance: f64,
    /// Contestants whose mean ranks differ by less are not distinguishable.
    pub difference: f64,
}

/// The ranking of k ≥ 2 contestants over cells. Each cell is a list of k numbers, where lower is
/// better; `None` when there is nothing to rank.
pub fn critical_difference(cells: &[Vec<f64>]) -> Option<CriticalDifference> {
    let k = cells.first().map_or(0, Vec::len);
    if k < 2 || cells.iter().any(|cell| cell.len() != k) {
        return None;
    }
    let ranks: Vec<Vec<f64>> = cells.iter().map(|cell| ranks(cell)).collect();
    let sum = |at: usize| ranks.iter().map(|cell| cell[at]).sum::<f64>();
    let sums: Vec<f64> = (0..k).map(sum).collect();
    let n = cells.len() as f64;
    let statistic = friedman(&sums, &ranks);
    Some(CriticalDifference {
        mean_ranks: sums.iter().map(|sum| sum / n).collect(),
        cells: cells.len(),
        statistic,
        chance: chi_squared_above(statistic, k as f64 - 1.0),
        difference: nemenyi(k, cells.len()),
    })
}

fn ranks(values: &[f64]) -> Vec<f64> {
    doubled_ranks(values).into_iter().map(|rank| rank as f64 / 2.0).collect()
}

/// Friedman's statistic with the correction for ties (Conover, "Practical Nonparametric
/// Statistics", third edition, 1999, section 5.8); 0 where every cell is one tie.
fn friedman(sums: &[f64], ranks: &[Vec<f64>]) -> f64 {
    let (k, n) = (sums.len() as f64, ranks.len() as f64);
    let middle = n * (k + 1.0) / 2.0;
    let between: f64 = sums.iter().map(|sum| (sum - middle).powi(2)).sum();
    let within: f64 = ranks.iter().flatten().map(|rank| (rank - (k + 1.0) / 2.0).powi(2)).sum();
    if within > 0.0 { (k - 1.0) * between / within } else { 0.0 }
}

/// `q √(k (k + 1) / 6 N)`, where q is the range of k normal variables divided by √2.
pub fn nemenyi(contestants: usize, cells: usize) -> f64 {
    let k = contestants as f64;
    let q = range_exceeded(ALPHA, contestants as u32) / 2.0f64.sqrt();
    q * (k * (k + 1.0) / (6.0 * cells as f64)).sqrt()
}

impl CriticalDifference {
    /// The contestants' places in the input, best first.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.mean_ranks.len()).collect();
        order.sort_by(|&a, &b| self.mean_ranks[a].total_cmp(&self.mean_ranks[b]));
        order
    }

    /// Whether Friedman's test finds any difference.
    pub fn tells(&self) -> bool {
        self.chance < ALPHA
    }

    /// The largest groups that are not distinguishable, as first and last place of [`Self::order`];
    /// groups of one are left out.
    pub fn groups(&self) -> Vec<(usize, usize)> {
        let order = self.order();
        let rank = |place: usize| self.mean_ranks[order[place]];
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for first in 0..order.len() {
            let alike = |&last: &usize| rank(last) - rank(first) < self.difference;
            let last = (first..order.len()).take_while(alike).last().unwrap_or(first);
            if last > first && groups.last().is_none_or(|&(_, known)| last > known) {
                groups.push((first, last));
            }
        }
        groups
    }
}
