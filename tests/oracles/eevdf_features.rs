// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of eevdf's features: what each does, seen on sleepers among hogs, and what happens
//! without it.

use model::Record;

use crate::look::{histogram, within};
use crate::oracle::{Oracle, Run, everywhere};

/// The sleeper typically preempts at once.
fn at_once(record: &Record) -> Result<(), String> {
    waits_typically(record, 0, 100_000)
}

/// What half of the sleeper's waits did not exceed.
fn waits_typically(record: &Record, from_ns: u64, to_ns: u64) -> Result<(), String> {
    let waits = histogram(record, "wakeup_latency_ns", "sleeper");
    within("the typical wait, ns,", waits.quantile(0.5).unwrap_or(0), from_ns, to_ns)
}

fn waits_at_most(record: &Record, from_ns: u64, to_ns: u64) -> Result<(), String> {
    let waits = histogram(record, "wakeup_latency_ns", "sleeper");
    within("the longest wait, ns,", waits.quantile(1.0).unwrap_or(0), from_ns, to_ns)
}

const SHORT_SLICE: &str =
    "eevdf_features.sleeper hogs=2 hog_us=30000 slice_us=100 sleep_us=33300 run_us=50";
const SAME_SLICE: &str =
    "eevdf_features.sleeper hogs=2 hog_us=30000 slice_us=30000 sleep_us=33300 run_us=50";
const ONE_HOG: &str =
    "eevdf_features.sleeper hogs=1 hog_us=2800 slice_us=2800 sleep_us=33300 run_us=50";
const DEBTOR: &str =
    "eevdf_features.sleeper hogs=2 hog_us=2800 slice_us=40000 sleep_us=100000 run_us=40000";

pub fn oracles() -> Vec<Oracle> {
    let oracle = |name, claim, with, without, workload, holds| {
        everywhere(name, claim, vec![Run::new(with, workload), Run::new(without, workload)], holds)
    };
    vec![
        oracle(
            "eevdf preempt_short",
            "who is owed nothing and asks for a short slice preempts even who is inside of a long \
             one; without PREEMPT_SHORT it waits for the end of that",
            "eevdf hrtick=0 place_lag=false",
            "eevdf hrtick=0 place_lag=false preempt_short=false",
            SHORT_SLICE,
            |records| {
                at_once(&records[0])?;
                waits_typically(&records[1], 10_000_000, 40_000_000)
            },
        ),
        oracle(
            "eevdf wakeup_preemption",
            "without wake-up preemption even a short slice waits",
            "eevdf hrtick=0 place_lag=false",
            "eevdf hrtick=0 place_lag=false wakeup_preemption=false",
            SHORT_SLICE,
            |records| {
                at_once(&records[0])?;
                waits_typically(&records[1], 500_000, 40_000_000)
            },
        ),
        oracle(
            "eevdf run_to_parity",
            "who asks for the same slice waits until the running one has had its own, or is not \
             eligible any more; without RUN_TO_PARITY for a base slice and the tick",
            "eevdf hrtick=0 place_lag=false preempt_short=false",
            "eevdf hrtick=0 place_lag=false preempt_short=false run_to_parity=false",
            SAME_SLICE,
            |records| {
                waits_typically(&records[0], 20_000_000, 70_000_000)?;
                waits_typically(&records[1], 500_000, 12_000_000)
            },
        ),
        oracle(
            "eevdf place_lag",
            "who is owed more than it needs preempts: with it V goes back, and the hog is not \
             eligible any more; without PLACE_LAG it waits for the tick",
            "eevdf hrtick=0",
            "eevdf hrtick=0 place_lag=false",
            ONE_HOG,
            |records| {
                at_once(&records[0])?;
                waits_typically(&records[1], 500_000, 8_000_000)
            },
        ),
        oracle(
            "eevdf delay_dequeue",
            "who has had 40 ms too much and sleeps for 100 has no debt any more; without \
             DELAY_DEQUEUE it owes as much as before",
            "eevdf hrtick=0",
            "eevdf hrtick=0 delay_dequeue=false",
            DEBTOR,
            |records| {
                waits_at_most(&records[0], 0, 20_000_000)?;
                waits_at_most(&records[1], 40_000_000, 120_000_000)
            },
        ),
    ]
}
