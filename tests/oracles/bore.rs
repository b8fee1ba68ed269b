// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of bore and bore_cfs: what BORE 1.7.14, 5.9.6 and 6.7.3 compute, and what follows.
//!
//! Numbers that no workload shows one by one are asked of the file's own functions, by a scheduler
//! that includes it.

use model::Record;

use crate::look::{histogram, near, printed, printed_each, same, share, value, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// Asks the functions of bore_cfs and bore, and prints their answers.
const FACTS: [&str; 3] = [
    "../../tests/oracles/facts/bore_cfs_facts.bpf.c",
    "../../tests/oracles/facts/bore_facts.bpf.c version=50906",
    "../../tests/oracles/facts/bore_facts.bpf.c version=60703",
];

const VERSIONS: [&str; 3] = ["bore_cfs", "bore version=50906", "bore version=60703"];

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), prices(), shares(), ablations(), inheritance(), bases()].concat()
}

fn ask(files: &[&'static str]) -> Vec<Run> {
    files.iter().map(|file| Run::new(file, "short")).collect()
}

/// The scores of bursts of so many nanoseconds.
fn scores(record: &Record, wanted: &[(u64, i64)]) -> Result<(), String> {
    wanted.iter().try_for_each(|(burst_ns, score)| {
        let what = format!("score of {burst_ns}");
        same(&what, printed(record, &what)?, *score)
    })
}

const MS: u64 = 1_000_000;

/// The steps of BORE 1, 5 and 6.
const STEPS: [&[(u64, i64)]; 3] = [
    &[
        (0, 0),
        (4095, 1),
        (8192, 2),
        (MS / 10, 6),
        (MS, 11),
        (4 * MS, 13),
        (10 * MS, 15),
        (20 * MS, 16),
        (100 * MS, 19),
        (500 * MS, 22),
        (1_000 * MS, 23),
        (10_000 * MS, 27),
        (100_000 * MS, 31),
    ],
    &[
        (8_388_607, 0),
        (8_388_608, 0),
        (16_777_216, 1),
        (20 * MS, 1),
        (50 * MS, 3),
        (100 * MS, 4),
        (500 * MS, 7),
        (1_000 * MS, 8),
        (5_000 * MS, 11),
        (10_000 * MS, 12),
        (60_000 * MS, 15),
        (100_000 * MS, 16),
    ],
    &[
        (8_388_608, 0),
        (16_777_216, 1),
        (20 * MS, 1),
        (50 * MS, 3),
        (100 * MS, 5),
        (500 * MS, 8),
        (1_000 * MS, 10),
        (5_000 * MS, 13),
        (10_000 * MS, 15),
        (60_000 * MS, 19),
        (100_000 * MS, 20),
    ],
];

/// An oracle of the file's own functions.
fn oracle(
    name: &'static str,
    claim: &'static str,
    runs: Vec<Run>,
    holds: fn(&[Record]) -> Result<(), String>,
) -> Oracle {
    simulated(name, claim, runs, holds)
}

fn arithmetic() -> Vec<Oracle> {
    let oracle = |name, claim, runs, holds| simulated(name, claim, runs, holds);
    vec![
        oracle(
            "bore 1, 2 and 3",
            "a score rises in steps with the logarithm of a burst",
            ask(&FACTS),
            |records| {
                records.iter().zip(STEPS).try_for_each(|(record, steps)| scores(record, steps))
            },
        ),
        oracle(
            "bore 4",
            "5.9.6: a score counts as so many nice levels, down to nice 19",
            ask(&FACTS[1..2]),
            |records| {
                let wanted = [
                    ("weight of nice 0, score 8", 172),
                    ("weight of nice 0, score 12", 70),
                    ("weight of nice 0, score 15", 36),
                    ("weight of nice 15, score 12", 15),
                    ("weight of nice -20, score 12", 6100),
                ];
                printed_each(records, &[&wanted])
            },
        ),
        oracle(
            "bore 5",
            "1.7.14 forgets by a quarter; 5.9.6 and 6.7.3 learn by a half and forget at once",
            ask(&FACTS),
            |records| {
                let quarters = [
                    ("8 ms and bursts of 0 1", 6_000_000),
                    ("8 ms and bursts of 0 2", 4_500_000),
                    ("8 ms and bursts of 0 3", 3_375_000),
                ];
                let halves = [
                    ("0 and bursts of 40 1", 20),
                    ("0 and bursts of 40 2", 30),
                    ("0 and bursts of 40 3", 35),
                    ("40 and bursts of 0 1", 0),
                ];
                let rounded_up = [
                    ("0 and bursts of 5 1", 3),
                    ("0 and bursts of 5 2", 4),
                    ("0 and bursts of 5 3", 5),
                    ("40 and bursts of 0 1", 0),
                ];
                printed_each(records, &[&quarters, &halves, &rounded_up])
            },
        ),
    ]
}

fn prices() -> Vec<Oracle> {
    vec![
        oracle(
            "bore 6",
            "1.7.14: what 1 ms costs at scores 11, 20 and 23",
            ask(&FACTS[..1]),
            |records| {
                let wanted = [
                    ("price of score 11", 134_383),
                    ("price of score 20", 1_000_000),
                    ("price of score 23", 1_946_768),
                ];
                printed_each(records, &[&wanted])
            },
        ),
        oracle(
            "bore 7",
            "a slice is a whole number of ticks, 2 ms at least: at 1,000, 625, 500, 300, 250 and \
             100 Hz 2, 3.2, 2, 3.3, 4 and 10 ms",
            [1000, 625, 500, 300, 250, 100]
                .map(|hz| Run { hz, ..Run::new(FACTS[1], "short") })
                .to_vec(),
            |records| {
                let wanted = [2_000_000, 3_200_000, 2_000_000, 3_333_333, 4_000_000, 10_000_000];
                let mut slices = records.iter().zip(wanted);
                slices.try_for_each(|(record, slice)| {
                    same("a slice", printed(record, "slice")?, slice)
                })
            },
        ),
        oracle(
            "bore 10",
            "a kernel thread of 10 s has no score, from BORE 5 on",
            ask(&FACTS),
            |records| {
                let wanted: [&[(&str, i64)]; 3] = [
                    &[("score of a thread", 27), ("score of a kernel thread", 27)],
                    &[("score of a thread", 12), ("score of a kernel thread", 0)],
                    &[("score of a thread", 15), ("score of a kernel thread", 0)],
                ];
                printed_each(records, &wanted)
            },
        ),
        oracle(
            "bore 20",
            "12 ms in which the score becomes 1 are charged by the new weight in 5.9.6, by the old \
             one in 6.7.3; the deadline that moves with it is no used-up slice",
            ask(&FACTS[1..]),
            |records| {
                let charged =
                    |us| [("microseconds for 12 ms", us), ("score then", 1), ("used up", 0)];
                printed_each(records, &[&charged(14_985), &charged(12_000)])
            },
        ),
    ]
}

/// What a group had of the last part of a trial, of this many milliseconds.
fn had(record: &Record, group: &str, ms: f64) -> f64 {
    value(record, "cpu_time_ns", group) / (ms * 1e6)
}

fn shares() -> Vec<Oracle> {
    vec![
        simulated(
            "bore 8",
            "beside a hog of 10 s somebody without a score has 93.6 % (5.9.6: 1024 : 70) or 96.6 \
             % (6.7.3: 1024 : 36) of the time in which it does not sleep, which is a ninetieth",
            VERSIONS[1..].iter().map(|version| Run::new(version, "bore.fresh")).collect(),
            |records| {
                near("beside 12", had(&records[0], "fresh", 1000.0), 0.936 * 0.988, 0.015)?;
                near("beside 15", had(&records[1], "fresh", 1000.0), 0.966 * 0.988, 0.015)
            },
        ),
        everywhere(
            "bore 9",
            "two hogs of equal age share equally",
            VERSIONS.map(|version| Run::new(version, "two_hogs us=1000000")).to_vec(),
            |records| {
                records.iter().try_for_each(|it| near("a's share", share(it, "a"), 0.5, 0.01))
            },
        ),
    ]
}

fn ablations() -> Vec<Oracle> {
    vec![
        everywhere(
            "bore sched_bore",
            "a hog that comes a second later has much more than half for a while, but half \
             without scores",
            vec![
                Run::new(VERSIONS[0], "bore.late"),
                Run::new(VERSIONS[1], "bore.late"),
                Run::new(VERSIONS[2], "bore.late"),
                Run::new("bore_cfs sched_bore=0", "bore.late"),
                Run::new("bore version=60703 sched_bore=0", "bore.late"),
            ],
            |records| {
                for record in &records[..3] {
                    near("with scores", had(record, "late", 400.0), 0.70, 0.06)?;
                }
                records[3..]
                    .iter()
                    .try_for_each(|it| near("without", had(it, "late", 400.0), 0.5, 0.04))
            },
        ),
        simulated(
            "bore burst_inherit_type",
            "a second child begins with the penalty of its sibling that has run for 2 s, and \
             shares equally; if children inherit nothing, it has three quarters",
            vec![
                Run::new(VERSIONS[0], "bore.siblings"),
                Run::new(VERSIONS[1], "bore.siblings"),
                Run::new(VERSIONS[2], "bore.siblings"),
                Run::new("bore burst_inherit_type=0", "bore.siblings"),
            ],
            |records| {
                for record in &records[..3] {
                    near("with its sibling's", had(record, "second", 500.0), 0.515, 0.02)?;
                }
                near("with nothing", had(&records[3], "second", 500.0), 0.755, 0.03)
            },
        ),
    ]
}

/// bore, which prints the score that each new task begins with.
macro_rules! bore {
    ($knobs:literal) => {
        concat!("../../tests/oracles/facts/bore_children.bpf.c ", $knobs)
    };
}

/// What is printed under BORE 6.7.3 and 5.9.6, and without inheritance or with parents only.
macro_rules! inherits {
    ($name:literal, $claim:literal, $workload:literal,
     $($knobs:literal: [$($fact:expr),*]),*) => {
        simulated($name, $claim, vec![$(Run::new(bore!($knobs), $workload)),*], |records| {
                let wanted: &[&[(&str, i64)]] = &[$(&[$($fact),*]),*];
                printed_each(records, wanted)
            })
    };
}

fn inheritance() -> Vec<Oracle> {
    vec![
        inherits!(
            "bore inherits, shell",
            "a child of a parent that only forks begins with the average of its siblings: with a \
             hog's score of 10 (5.9.6: 8), and with half of it when one of two sleeps",
            "bore.shell",
            "": [("child 2 of shell", 10), ("child 3 of shell", 5)],
            "version=50906": [("child 2 of shell", 8), ("child 3 of shell", 4)],
            "burst_inherit_type=0": [("child 2 of shell", 0), ("child 3 of shell", 0)]
        ),
        inherits!(
            "bore inherits, chains",
            "a child with one child counts as that, and a first child begins as its parent's \
             siblings do; not if only parents count",
            "bore.maker",
            "": [("child 2 of maker", 10), ("child 1 of sh", 10)],
            "version=50906": [("child 2 of maker", 8), ("child 1 of sh", 8)],
            "burst_inherit_type=1": [("child 2 of maker", 0), ("child 1 of sh", 0)]
        ),
        inherits!(
            "bore inherits, greedy parent",
            "a child begins with no less than its parent has: after 1.1 s a score of 10 (5.9.6: 8)",
            "bore.greedy",
            "": [("child 2 of greedy", 10)],
            "version=50906": [("child 2 of greedy", 8)],
            "burst_inherit_type=1": [("child 1 of greedy", 10), ("child 2 of greedy", 10)]
        ),
        inherits!(
            "bore inherits, lifetime",
            "what has been averaged is inherited for 75 ms",
            "bore.soon",
            "": [("child 2 of shell", 10), ("child 3 of shell", 10)],
            "burst_cache_lifetime_ns=40000000": [("child 2 of shell", 10), ("child 3 of shell", 5)]
        ),
    ]
}

/// The longest wait of the desktop.
fn longest_wait(record: &Record) -> u64 {
    histogram(record, "wakeup_latency_ns", "desktop").quantile(1.0).unwrap_or(0)
}

fn bases() -> Vec<Oracle> {
    vec![everywhere(
        "bore base_era",
        "on the EEVDF of 6.12 a woken task has half a slice until its deadline, and a hog is not \
         protected once its score has changed: nobody waits for its slice, as without BORE",
        vec![
            Run::new("bore base_era=61200", "bore.desktop"),
            Run::new("bore base_era=61200 sched_bore=0", "bore.desktop"),
        ],
        |records| {
            within("the longest wait, ns,", longest_wait(&records[0]), 0, 500_000)?;
            within("without BORE, ns,", longest_wait(&records[1]), 1_000_000, 8_000_000)
        },
    )]
}
