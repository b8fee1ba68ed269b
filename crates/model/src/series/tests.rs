// SPDX-License-Identifier: GPL-2.0-only
//! Intervals, and what is counted in them.

use super::*;

const MS: u64 = 1_000_000;

#[test]
fn places_tile_the_time() {
    let mut time_ns = 0;
    for at in 0..PLACES {
        let (begin_ns, end_ns) = bounds(at);
        assert_eq!(begin_ns, time_ns, "place {at}");
        assert_eq!((place(begin_ns), place(end_ns - 1)), (at, at));
        time_ns = end_ns;
    }
    assert!(time_ns > 21 * 3600 * 1_000 * MS);
    assert_eq!(place(u64::MAX), PLACES - 1);
    assert_eq!([10, 20].map(|width| bounds(place(width * 120 * MS)).1 / MS), [1220, 2440]);
}

#[test]
fn intervals_double_with_the_run() {
    let length = |run_ms: u64| {
        let (interval_ns, equal) = Counts::default().equal_intervals(run_ms * MS);
        (interval_ns / MS, equal.len())
    };
    assert_eq!(length(1), (10, 1));
    assert_eq!(length(14), (10, 1));
    assert_eq!(length(15), (10, 2));
    assert_eq!(length(1_200), (10, 120));
    assert_eq!(length(1_204), (10, 120));
    assert_eq!(length(1_206), (20, 60));
    assert_eq!(length(28_000), (320, 88));
    assert_eq!(length(3_600_000), (40_960, 88));
}

#[test]
fn a_span_is_spread_and_its_sum_kept() {
    let mut counts = Counts::default();
    counts.ran(2 * MS, 7 * MS);
    counts.ran(7 * MS, 1_215 * MS);
    counts.waited(1_216 * MS, 1_219 * MS);
    counts.waited(9 * MS, 31 * MS);
    counts.runs_at_end(1_215 * MS, 1_230 * MS);
    counts.forked(1_229 * MS);
    let (interval_ns, equal) = counts.equal_intervals(1_230 * MS);
    assert_eq!((interval_ns, equal.len()), (20 * MS, 62));
    let busy: Vec<u64> = equal.iter().map(|at| at.busy_ns / MS).collect();
    assert_eq!((busy[0], &busy[1..61], busy[61]), (18, &[20; 60][..], 10));
    let waiting: Vec<u64> = equal.iter().map(|at| at.waiting_ns / MS).collect();
    assert_eq!((waiting[0], waiting[1], waiting[60]), (11, 11, 3));
    assert_eq!((equal[0].switches, equal[60].switches, equal[61].forks), (1, 1, 1));
}

#[test]
fn clocks_that_differ_between_cpus_lose_nothing() {
    let mut counts = Counts::default();
    // One CPU is ahead of the other where an interval ends.
    for (from, to) in [(0, 11), (3, 9), (11, 12), (9, 10), (10, 10), (2, 1)] {
        counts.ran(from * MS, to * MS);
        counts.waited(from * MS, to * MS);
    }
    let (_, equal) = counts.equal_intervals(20 * MS);
    let expected = [(17, 17, 2), (2, 2, 4)];
    let found = [0, 1]
        .map(|at: usize| (equal[at].busy_ns / MS, equal[at].waiting_ns / MS, equal[at].switches));
    let sums = |list: [(u64, u64, u64); 2]| {
        (list[0].0 + list[1].0, list[0].1 + list[1].1, list[0].2 + list[1].2)
    };
    assert_eq!(sums(found), (19, 19, 6));
    assert_eq!((found[0].0, found[0].1), (expected[0].0, expected[0].1));
}

#[test]
fn values_have_their_units() {
    let mut counts = Counts::default();
    (0..3).for_each(|nth| counts.ran(10 * nth * MS, (10 * nth + 3) * MS));
    (0..3).for_each(|nth| counts.waited(10 * nth * MS, (10 * nth + 5) * MS));
    counts.forked(29 * MS);
    let series = counts.series(30 * MS, 2);
    assert_eq!(
        series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(),
        ["busy_share", "waiting_tasks", "switches_per_second", "forks_per_second"]
    );
    assert_eq!(series[0].values, [0.15; 3]);
    assert_eq!(series[1].values, [0.5; 3]);
    assert_eq!(series[2].values, [100.0; 3]);
    assert_eq!(series[3].values, [0.0, 0.0, 100.0]);
}

#[test]
fn the_last_interval_is_as_long_as_it_is() {
    let mut counts = Counts::default();
    counts.runs_at_end(0, 32 * MS);
    let series = &counts.series(32 * MS, 1)[0];
    assert_eq!((series.interval(1), series.interval(2)), ((10 * MS, 20 * MS), (20 * MS, 32 * MS)));
    assert_eq!(series.values, [1.0; 3]);
    let none = &Counts::default().series(0, 1)[0];
    assert!(none.values.is_empty() && none.missing.is_some());
}
