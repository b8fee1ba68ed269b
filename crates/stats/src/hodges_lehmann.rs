// SPDX-License-Identifier: GPL-2.0-only
//! The Hodges–Lehmann shift: the median of all differences between a value of one sample and a
//! value of the other. It needs no distribution, resists outliers, and is the shift that belongs to
//! the Mann–Whitney test (Hodges and Lehmann, "Estimates of location based on rank tests", Annals
//! of Mathematical Statistics 34(2), 1963).

use crate::median::weighted;

/// All differences `ours − baseline` in ascending order, each with the two runs that it comes from.
pub struct Differences {
    sorted: Vec<(f64, u32, u32)>,
}

impl Differences {
    /// Every pair of a value of ours and one of the baseline.
    pub fn new(ours: &[f64], baseline: &[f64]) -> Differences {
        let mut sorted = Vec::with_capacity(ours.len() * baseline.len());
        for (i, a) in ours.iter().enumerate() {
            sorted.extend(baseline.iter().enumerate().map(|(j, b)| (a - b, i as u32, j as u32)));
        }
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Differences { sorted }
    }

    /// The difference of a rank, counted from 1, and that of the same rank from the other end;
    /// `None` when there are not so many.
    pub fn ends(&self, rank: usize) -> Option<(f64, f64)> {
        let low = self.sorted.get(rank.checked_sub(1)?)?.0;
        let high = self.sorted.get(self.sorted.len().checked_sub(rank)?)?.0;
        Some((low, high))
    }

    /// The shift when every run counts as often as the weights say; `None` when a side has no
    /// weight.
    pub fn shift(&self, ours: &[u32], baseline: &[u32]) -> Option<f64> {
        let sum = |weights: &[u32]| weights.iter().map(|&w| u64::from(w)).sum::<u64>();
        let weigh = |&(difference, i, j): &(f64, u32, u32)| {
            (difference, u64::from(ours[i as usize]) * u64::from(baseline[j as usize]))
        };
        weighted(self.sorted.iter().map(weigh), sum(ours) * sum(baseline))
    }
}

/// The shift from the baseline to ours, in the values' unit; `None` when a sample is empty.
pub fn shift(ours: &[f64], baseline: &[f64]) -> Option<f64> {
    let differences = Differences::new(ours, baseline);
    differences.shift(&vec![1; ours.len()], &vec![1; baseline.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median::median;
    use proptest::prelude::*;

    /// Hollander and Wolfe, "Nonparametric Statistical Methods", 2nd edition 1999, example 4.1 (the
    /// permeability constants of human chorioamnion): the printed shift is −0.305.
    #[test]
    fn the_textbook_example() {
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks_12_to_26 = [1.15, 0.88, 0.90, 0.74, 1.21];
        let estimate = shift(&weeks_12_to_26, &at_term).unwrap();
        assert!((estimate - -0.305).abs() < 1e-12, "{estimate}");
    }

    #[test]
    fn small_cases_by_hand() {
        assert_eq!(shift(&[5.0], &[3.0]), Some(2.0));
        assert_eq!(shift(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), Some(0.0));
        assert_eq!(shift(&[], &[3.0]), None);
        assert_eq!(shift(&[3.0], &[]), None);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-1e6..1e6f64, 1..15)
    }

    proptest! {
        #[test]
        fn is_the_median_of_all_differences(a in sample(), b in sample()) {
            let all: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
            prop_assert_eq!(shift(&a, &b), median(&all));
        }

        #[test]
        fn changes_sign_with_the_sides(a in sample(), b in sample()) {
            prop_assert!((shift(&a, &b).unwrap() + shift(&b, &a).unwrap()).abs() < 1e-6);
        }

        #[test]
        fn finds_a_planted_shift(a in sample(), by in -1e6..1e6f64) {
            let moved: Vec<f64> = a.iter().map(|value| value + by).collect();
            let spread = shift(&a, &a).unwrap();
            prop_assert!((shift(&moved, &a).unwrap() - by - spread).abs() < 1e-6);
        }

        #[test]
        fn weights_are_repetitions(a in sample(), b in sample(), pick in 0usize..15) {
            let pick = pick % a.len();
            let mut weights = vec![1; a.len()];
            weights[pick] = 3;
            let repeated: Vec<f64> = a.iter().copied().chain([a[pick], a[pick]]).collect();
            let weighted = Differences::new(&a, &b).shift(&weights, &vec![1; b.len()]);
            prop_assert_eq!(weighted, shift(&repeated, &b));
        }
    }
}
