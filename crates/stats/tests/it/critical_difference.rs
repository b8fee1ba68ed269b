// SPDX-License-Identifier: GPL-2.0-only
//! Friedman's test and Nemenyi's critical difference against SciPy's figures, which are kept as data
//! with the commands that made them.

use proptest::prelude::*;
use serde::Deserialize;
use stats::rank::critical_difference::{critical_difference, nemenyi};

#[derive(Deserialize)]
struct Known {
    friedman: Vec<Friedman>,
    /// Contestants, cells, critical difference.
    nemenyi: Vec<(usize, usize, f64)>,
}

#[derive(Deserialize)]
struct Friedman {
    cells: Vec<Vec<f64>>,
    statistic: f64,
    p: f64,
    mean_ranks: Vec<f64>,
}

fn known() -> Known {
    serde_json::from_str(include_str!("../data/scipy.json")).expect("the data are JSON")
}

#[test]
fn friedman_is_scipys() {
    for known in known().friedman {
        let ours = critical_difference(&known.cells).expect("a ranking");
        assert!((ours.statistic - known.statistic).abs() < 1e-9, "{}", ours.statistic);
        assert!((ours.chance - known.p).abs() < 1e-9, "{} {}", ours.chance, known.p);
        for (ours, theirs) in ours.mean_ranks.iter().zip(&known.mean_ranks) {
            assert!((ours - theirs).abs() < 1e-12);
        }
    }
}

#[test]
fn nemenyis_difference_is_scipys() {
    for (contestants, cells, difference) in known().nemenyi {
        let ours = nemenyi(contestants, cells);
        assert!((ours - difference).abs() < 1e-9, "{contestants} {cells}: {ours} {difference}");
    }
}

/// Demšar's example (tables 2 and 5): four classifiers over 14 data sets, q = 2.569, CD = 1.25.
#[test]
fn demsars_example() {
    assert!((nemenyi(4, 14) - 1.25).abs() < 0.005);
}

#[test]
fn nothing_to_rank_is_no_ranking() {
    assert_eq!(critical_difference(&[]), None);
    assert_eq!(critical_difference(&[vec![1.0]]), None);
    assert_eq!(critical_difference(&[vec![1.0, 2.0], vec![1.0]]), None);
    let ties = critical_difference(&[vec![1.0; 3], vec![2.0; 3]]).expect("a ranking");
    assert!((ties.statistic, ties.chance) == (0.0, 1.0) && ties.groups() == [(0, 2)]);
}

proptest! {
    #[test]
    fn ranks_add_up_and_groups_hold_together(
        cells in (2usize..9, 1usize..20).prop_flat_map(|(k, n)| {
            prop::collection::vec(prop::collection::vec(0.0f64..9.0, k), n)
        }),
    ) {
        let ours = critical_difference(&cells).expect("a ranking");
        let k = ours.mean_ranks.len() as f64;
        prop_assert!((ours.mean_ranks.iter().sum::<f64>() - k * (k + 1.0) / 2.0).abs() < 1e-9);
        let order = ours.order();
        for (first, last) in ours.groups() {
            let rank = |place: usize| ours.mean_ranks[order[place]];
            prop_assert!(rank(last) - rank(first) < ours.difference);
            prop_assert!(first == 0 || rank(last) - rank(first - 1) >= ours.difference);
        }
    }
}
