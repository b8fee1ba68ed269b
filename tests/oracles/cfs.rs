// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of cfs: what Linux 6.5's `fair.c` computes, and what it is known for.
//!
//! Numbers that no workload shows one by one are asked of the file's own functions, by a scheduler
//! that includes it.

use model::Record;

use crate::look::{histogram, near, printed_each, same, share, stints};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// Asks cfs's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/cfs_facts.bpf.c";

/// What eight CPUs make of the constants, on one CPU.
const AS_ON_EIGHT: &str = "cfs sched_tunable_scaling=0 sched_latency_ns=24000000 \
                           sched_min_granularity_ns=3000000 sched_wakeup_granularity_ns=4000000";

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), rules(), shares(), turns(), wakeups(), forks(), eras()].concat()
}

/// An oracle of the file's own functions: on machines of so many CPUs, what they answer.
macro_rules! facts {
    ($name:literal, $claim:literal, $($cpus:literal: [$($fact:expr),* $(,)?]),*) => {
        simulated(
            $name,
            $claim,
            vec![$(Run { cpus: $cpus, ..Run::new(FACTS, "short") }),*],
            |records| {
                let wanted: &[&[(&str, i64)]] = &[$(&[$($fact),*]),*];
                printed_each(records, wanted)
            },
        )
    };
}

fn arithmetic() -> Vec<Oracle> {
    vec![
        facts!(
            "cfs 1",
            "1 ms of virtual time is as long as the kernel's fixed-point arithmetic says",
            8: [
                ("virtual 5", 3_056_716),
                ("virtual -20", 11_536),
                ("virtual 19", 68_266_666),
                ("virtual idle", 341_333_333),
            ]
        ),
        facts!(
            "cfs 4",
            "a slice is the period's part, 24 ms for up to 8 tasks on 8 CPUs, 6 ms on one, and at \
             least the minimum granularity (sched_slice)",
            8: [
                ("slice of 2", 12_000_000),
                ("slice of 8", 3_000_000),
                ("slice of 9", 3_000_000),
                ("slice of 10", 3_000_000),
                ("slice of nice 0 beside nice 5", 18_083_885),
                ("slice of nice 5 beside nice 0", 5_916_114),
                ("slice of nice 19 beside nice 0", 3_000_000),
            ],
            1: [("slice of 2", 3_000_000), ("slice of 8", 750_000), ("slice of 9", 750_000)]
        ),
        facts!(
            "cfs 5",
            "8 CPUs, min_vruntime 100 ms: sleepers come back at 88, 95 and, of SCHED_IDLE, 98.5 \
             ms, a new task at 112 ms (place_entity)",
            8: [
                ("woken at 50", 88_000_000),
                ("woken at 95", 95_000_000),
                ("idle woken at 50", 98_500_000),
                ("forked", 112_000_000),
            ]
        ),
    ]
}

fn rules() -> Vec<Oracle> {
    vec![
        facts!(
            "cfs 6",
            "8 CPUs, against 100 ms: only who is behind by more than 4 ms of its own virtual time \
             preempts (wakeup_preempt_entity)",
            8: [
                ("nice 0 at 96", 0),
                ("nice 0 at 95.999", 1),
                ("nice 5 at 88", 0),
                ("nice 4 at 88", 1),
                ("nice -5 at 98.6", 1),
                ("batch at 0", 0),
                ("normal at 1000 against idle", 1),
            ]
        ),
        facts!(
            "cfs 8",
            "8 CPUs, two hogs: the slice of 12 ms is over just after 12 ms, or after the minimum \
             granularity when more than a slice ahead (check_preempt_tick)",
            8: [
                ("ran 12", 0),
                ("ran 12.000001", 1),
                ("ran 2.9, 20 ahead", 0),
                ("ran 3.1, 12.1 ahead", 1),
                ("ran 24.1 of 30", 1),
            ]
        ),
        facts!(
            "cfs 9",
            "min_vruntime follows the lesser of the running and the first, and never goes back",
            8: [("floor of 9, 10, 8", 9), ("floor of 9, 10, 12", 10)]
        ),
    ]
}

/// What nice 0 has of one CPU.
fn zero(record: &Record, percent: f64, by: f64) -> Result<(), String> {
    near("the share of nice 0", share(record, "zero") * 100.0, percent, by)
}

fn shares() -> Vec<Oracle> {
    vec![
        everywhere(
            "cfs 2",
            "hogs of nice 0 and 5 share as 1024 : 335, within 1 % of that",
            vec![Run::new("cfs", "cfs.zero_and_five")],
            |records| {
                let found = share(&records[0], "five") / share(&records[0], "zero");
                near("nice 5 to nice 0", found, 335.0 / 1024.0, 0.01 * 335.0 / 1024.0)
            },
        ),
        everywhere(
            "cfs 2 nice 19",
            "nice 0 has 98.56 % beside nice 19",
            vec![Run::new("cfs", "cfs.zero_and_last")],
            |records| zero(&records[0], 98.56, 0.5),
        ),
        everywhere(
            "cfs 2 nice -5",
            "nice 0 has 24.7 % beside nice -5",
            vec![Run::new("cfs", "cfs.zero_and_more")],
            |records| zero(&records[0], 24.7, 0.5),
        ),
        everywhere(
            "cfs 3",
            "hogs of nice 0, 0 and 5 have 42.97, 42.97 and 14.06 %",
            vec![Run::new("cfs", "cfs.two_zeros_and_five")],
            |records| {
                let five = share(&records[0], "five") * 100.0;
                zero(&records[0], 42.97, 0.5)
                    .and_then(|()| near("the share of nice 5", five, 14.06, 0.5))
            },
        ),
    ]
}

/// The lengths of the stints, the first and the last left out: they are cut.
fn lengths(record: &Record) -> Vec<u64> {
    let all = stints(record);
    all[1..all.len() - 1].iter().map(|stint| stint.ms()).collect()
}

fn turns() -> Vec<Oracle> {
    vec![
        simulated(
            "cfs 4 ticks",
            "slices end at the first tick after them: 12 ms become 13 at 1,000 Hz, and 16 at 250 \
             Hz",
            [1000, 250].map(|hz| Run { hz, ..Run::new(AS_ON_EIGHT, "hogs us=1000000") }).to_vec(),
            |records| {
                let all = |record, ms| {
                    // The first turn begins before the common start, from which lengths count.
                    let found = lengths(record);
                    same("a turn", found.iter().skip(1).find(|&&length| length != ms), None)
                };
                all(&records[0], 13).and_then(|()| all(&records[1], 16))
            },
        ),
        simulated(
            "cfs 10",
            "equal vruntimes are served in order of arrival: equal hogs rotate",
            vec![Run::new("cfs", "cfs.three_hogs")],
            |records| {
                let order: Vec<String> =
                    stints(&records[0]).into_iter().map(|stint| stint.who).skip(6).collect();
                let repeats = order.windows(4).filter(|turns| turns[0] == turns[3]).count();
                same("how many turns repeat after three", repeats, order.len() - 3)
            },
        ),
        everywhere(
            "cfs yield",
            "sched_yield passes on the CPU but leaves the vruntime as it is: a task that yields \
             keeps its share",
            vec![Run::new("cfs", "cfs.yielder")],
            |records| near("the yielder's share", share(&records[0], "yielder"), 0.5, 0.02),
        ),
    ]
}

/// A part of the sleeper's waits that was at most this long, nanoseconds.
fn wait_ns(record: &Record, part: f64) -> u64 {
    histogram(record, "wakeup_latency_ns", "sleeper").quantile(part).unwrap_or(0)
}

/// The sleepers waited as long as a preemption takes; only their first start is another matter.
fn at_once(record: &Record) -> Result<(), String> {
    match wait_ns(record, 0.9) < 100_000 {
        true => Ok(()),
        false => Err(format!("a tenth of the wake-ups took {} ns", wait_ns(record, 0.9))),
    }
}

/// The sleepers waited for a tick, which now and then comes soon.
fn at_a_tick(record: &Record) -> Result<(), String> {
    match wait_ns(record, 0.1) > 100_000 {
        true => Ok(()),
        false => Err(format!("a tenth of the wake-ups took {} ns or less", wait_ns(record, 0.1))),
    }
}

fn wakeups() -> Vec<Oracle> {
    let oracle = |name, claim, scheduler, workload, holds| {
        everywhere(name, claim, vec![Run::new(scheduler, workload)], holds)
    };
    let preempts: fn(&[Record]) -> Result<(), String> = |records| at_once(&records[0]);
    let waits: fn(&[Record]) -> Result<(), String> = |records| at_a_tick(&records[0]);
    vec![
        oracle(
            "cfs 6 nice 4",
            "a sleeper of nice 4 preempts a hog: its credit of 3 ms is more than 2.42 ms",
            "cfs",
            "cfs.sleeper nice=4",
            preempts,
        ),
        oracle(
            "cfs 6 nice 5",
            "a sleeper of nice 5 never does: its credit of 3 ms is less than 3.057 ms",
            "cfs",
            "cfs.sleeper nice=5",
            waits,
        ),
        oracle(
            "cfs gentle_fair_sleepers",
            "with a whole latency of credit even nice 5 preempts",
            "cfs gentle_fair_sleepers=false",
            "cfs.sleeper nice=5",
            preempts,
        ),
        oracle(
            "cfs wakeup_preemption",
            "without wake-up preemption nobody preempts",
            "cfs wakeup_preemption=false",
            "cfs.sleeper nice=0",
            waits,
        ),
        oracle(
            "cfs 2.6.24",
            "20 ms of credit are more than 10 ms of granularity at nice 0",
            "cfs era=20624",
            "cfs.sleeper nice=0",
            preempts,
        ),
        oracle(
            "cfs 2.6.24 nice 5",
            "20 ms of credit are less than 30.6 ms of granularity at nice 5",
            "cfs era=20624",
            "cfs.sleeper nice=5",
            waits,
        ),
        oracle(
            "cfs 7 batch",
            "SCHED_BATCH never preempts SCHED_OTHER",
            "cfs",
            "cfs.batch_sleeper",
            waits,
        ),
        oracle(
            "cfs 7 idle",
            "SCHED_OTHER always preempts SCHED_IDLE, at nice 19, too",
            "cfs",
            "cfs.beside_idle",
            preempts,
        ),
    ]
}

/// When the child runs first, in milliseconds after it was forked.
fn child_after_ms(record: &Record) -> f64 {
    let all = stints(record);
    let child = all.iter().find(|stint| stint.who == "child").expect("the child runs");
    child.from_ns as f64 / 1e6 - 21.0
}

fn forks() -> Vec<Oracle> {
    let oracle = |name, claim, scheduler, holds| {
        everywhere(name, claim, vec![Run::new(scheduler, "fork")], holds)
    };
    vec![
        oracle(
            "cfs start_debit",
            "a new task waits until its parent is a slice of 3 ms further, and for the tick",
            "cfs",
            |records| near("the child's start", child_after_ms(&records[0]), 5.5, 2.5),
        ),
        oracle(
            "cfs child_runs_first",
            "in 2.6.24 parent and child change places, and the child runs at once",
            "cfs era=20624",
            |records| near("the child's start", child_after_ms(&records[0]), 0.5, 0.5),
        ),
    ]
}

fn eras() -> Vec<Oracle> {
    vec![
        crate::oracle::facts!(
            "../../tests/oracles/facts/cfs_facts.bpf.c era=60100",
            "cfs limit",
            "6.3 was the first to limit a slice to the latency (check_preempt_tick)",
            ("ran 24.1 of 30", 0),
        ),
        crate::oracle::facts!(
            "../../tests/oracles/facts/cfs_facts.bpf.c era=50900",
            "cfs 5.9 base_slice",
            "a slice can be as short as the task's part of the latency (sched_slice)",
            ("slice of nice 19 beside nice 0", 86_621),
        ),
        crate::oracle::facts!(
            "../../tests/oracles/facts/cfs_facts.bpf.c era=51000",
            "cfs 5.10 base_slice",
            "5.10.y has taken over from later versions that no slice is shorter than the minimum \
             granularity (sched_slice)",
            ("slice of nice 19 beside nice 0", 750_000),
        ),
    ]
}
