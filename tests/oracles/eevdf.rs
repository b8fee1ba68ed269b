// SPDX-License-Identifier: GPL-2.0-only
//! EEVDF's bounds of lag, for random sets of hogs.

use model::Record;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::look::stints;
use crate::oracle::Run;

/// A hog of a random task set.
#[derive(Clone, Debug)]
struct Hog {
    nice: i32,
    /// 0: the default.
    slice_us: u64,
}

fn hog() -> impl Strategy<Value = Hog> {
    let slice_us = prop_oneof![Just(0u64), 100u64..10_000];
    (-10..=10i32, slice_us).prop_map(|(nice, slice_us)| Hog { nice, slice_us })
}

/// The kernel's weights from nice -10 to 10.
const WEIGHTS: [f64; 21] = [
    9548.0, 7620.0, 6100.0, 4904.0, 3906.0, 3121.0, 2501.0, 1991.0, 1586.0, 1277.0, 1024.0, 820.0,
    655.0, 526.0, 423.0, 335.0, 272.0, 215.0, 172.0, 137.0, 110.0,
];

/// The kernel's weight of a nice value, -10 to 10.
pub fn weight_of(nice: i32) -> f64 {
    WEIGHTS[(nice + 10) as usize]
}

fn weight(hog: &Hog) -> f64 {
    weight_of(hog.nice)
}

fn task_set(hogs: &[Hog]) -> String {
    let mut text = "duration_us = 400000\n".to_owned();
    for (number, Hog { nice, slice_us }) in hogs.iter().enumerate() {
        text += &format!(
            "[[task]]\nname = \"t{number}\"\nsteps = [{{ run_us = 100000 }}]\n\
             policy = {{ class = \"other\", nice = {nice}, runtime_us = {slice_us} }}\n"
        );
    }
    text
}

/// The least and the greatest lag of each task in milliseconds, over the whole trial: its fair part
/// of the time that has passed, less what it has had.
fn lags_ms(record: &Record, hogs: &[Hog]) -> Vec<(f64, f64)> {
    let total: f64 = hogs.iter().map(weight).sum();
    let mut had = vec![0.0; hogs.len()];
    let mut lags = vec![(0.0f64, 0.0f64); hogs.len()];
    for stint in stints(record) {
        let runs: usize = stint.who[1..].parse().expect("a task's number");
        had[runs] += (stint.to_ns - stint.from_ns) as f64 / 1e6;
        for (number, hog) in hogs.iter().enumerate() {
            let lag = stint.to_ns as f64 / 1e6 * weight(hog) / total - had[number];
            lags[number] = (lags[number].0.min(lag), lags[number].1.max(lag));
        }
    }
    lags
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        // The same sets on every machine: a test that fails now and then proves nothing.
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Stoica and Abdel-Wahab: -r_max < lag < max(r_max, q). Here a request ends at a tick, so it
    /// is as long as the slice and a tick; and one tick more, because the trial begins inside of
    /// the first request, with tasks that join one after the other.
    #[test]
    fn lag_is_bounded(
        hogs in prop::collection::vec(hog(), 2..7),
        hz in prop_oneof![Just(250), Just(1000)],
    ) {
        let workload: &'static str = Box::leak(task_set(&hogs).into_boxed_str());
        let record = &crate::arms::records(&[Run { hz, ..Run::new("eevdf", workload) }])[0];
        let longest_us = hogs.iter().map(|hog| hog.slice_us.max(700)).max().unwrap_or(0);
        let bound_ms = longest_us as f64 / 1e3 + 2.0 * 1e3 / f64::from(hz) + 0.001;
        for (number, (least, most)) in lags_ms(record, &hogs).into_iter().enumerate() {
            let holds = -bound_ms <= least && most <= bound_ms;
            prop_assert!(holds, "t{number}: {least} … {most} ms of ±{bound_ms}");
        }
    }
}
