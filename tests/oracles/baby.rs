// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of baby, from its patches for Linux 5.14.

use model::{Backend, Record};

use crate::look::{Stint, near, same, share, stints, within};
use crate::oracle::{Oracle, Run, everywhere, facts, simulated};

const ROUND_ROBIN: &str = "baby variant=1";
const VIRTUAL_TIME: &str = "baby variant=2";

/// A hog; and who has slept for 200 ms, while that ran, and then computes.
/// Asks baby's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/baby_facts.bpf.c";

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), accounts(), orders(), shares(), balance()].concat()
}

fn arithmetic() -> Vec<Oracle> {
    vec![
        facts!(
            FACTS,
            "baby 3, cost",
            "at 250 ticks each second, one costs 2, 4 and 5.9 ms at nice -20, 0 and 19 (vrt)",
            ("cost of nice -20", 2_000_000),
            ("cost of nice 0", 4_000_000),
            ("cost of nice 19", 5_900_000),
        ),
        facts!(
            FACTS,
            "baby 4",
            "the ratio is an integer, whose divisor is odd; after 5 s life is 2.5 s long, of \
             which as large a part is runtime as before (hrrn)",
            ("ratio of 4 s", 3),
            ("ratio of 4 s, odd", 4),
            ("ratio of what has not run", 4_000_000_000),
            ("shortened life", 2_500_000_000),
            ("shortened runtime, ms", 1_250),
        ),
        facts!(
            FACTS,
            "baby 5",
            "deadlines are 100 us to 2.44 ms off, and jump between nice 0 and 1 (dl)",
            ("deadline of nice -20", 100_000),
            ("deadline of nice -11", 1_000_000),
            ("deadline of nice -10", 1_100_000),
            ("deadline of nice 0", 1_180_000),
            ("deadline of nice 1", 2_260_000),
            ("deadline of nice 19", 2_440_000),
        ),
        facts!(
            FACTS,
            "baby 6",
            "who is within 5 ms of the CPU time of its last window is guarded, if that is no \
             hog's (dl)",
            ("0, 7 is unguarded", 1),
            ("180, 0 is unguarded", 1),
            ("50, 10 is unguarded", 1),
            ("50, 46 is unguarded", 0),
            ("50, 45 is unguarded", 0),
            ("50, 44.9 is unguarded", 1),
            ("50, 50 is unguarded", 1),
        ),
    ]
}

fn accounts() -> Vec<Oracle> {
    vec![
        facts!(
            FACTS,
            "baby 7",
            "each sleep before the deadline is worth a nice level, down to -20, for good (dl)",
            ("nice after 3", -3),
            ("nice after 25", -20),
        ),
        facts!(
            "../../tests/oracles/facts/baby_facts.bpf.c adaptive_priority=false",
            "baby 7, off",
            "without the adaptive priority it is worth none",
            ("nice after 25", 0),
        ),
        facts!(
            FACTS,
            "baby 8",
            "of equal credits the higher bid offers more, is charged, and begins anew; who loses \
             bids more; one is paid at most a tenth of the cash (cr)",
            ("offer of 10", 10),
            ("offer of 20", 20),
            ("winner's credit", 80),
            ("winner's bid", 10),
            ("loser's bid", 20),
            ("credit of one", 100_000_080),
            ("credit of one of 20", 145_000_080),
            ("cash", 855_000_000),
        ),
        facts!(
            FACTS,
            "baby 9",
            "the CPU time of the last 5 s makes the level, and that the slice (mlfq)",
            ("level of 208.9", 1),
            ("level of 209", 2),
            ("level of 523", 4),
            ("level of 1140", 8),
            ("level of 2400", 16),
            ("level of the last window", 4),
            ("slice of level 16", 18_880_000),
        ),
    ]
}

/// Hogs' turns in the trial's middle: all follow `order`, which begins anew at its end.
fn rotate(record: &Record, order: &[&str]) -> Result<(), String> {
    let all = stints(record);
    let turns: Vec<&Stint> = all.iter().filter(|stint| order.contains(&&*stint.who)).collect();
    let place = |stint: &Stint| order.iter().position(|who| *who == stint.who);
    let pairs = turns[order.len() * 2..].windows(2);
    let wrong = pairs
        .filter(|pair| place(pair[1]) != place(pair[0]).map(|place| (place + 1) % order.len()));
    let (wrong, count) = (wrong.count(), turns.len());
    match wrong == 0 && count > 40 {
        true => Ok(()),
        false => Err(format!("{wrong} of {count} turns are out of order")),
    }
}

fn orders() -> Vec<Oracle> {
    vec![
        everywhere(
            "baby 1",
            "hogs take turns of a tick, A B C A B C, and share equally whatever the nice (rr)",
            vec![Run::new(ROUND_ROBIN, "baby.three_nice")],
            |records| {
                for group in ["a", "b", "c"] {
                    near(group, share(&records[0], group), 1.0 / 3.0, 0.02)?;
                }
                let all = stints(&records[0]);
                let long = all[8..all.len() - 1].iter().filter(|stint| stint.ms() > 4);
                same("turns of more than a tick", long.count(), 0)
            },
        ),
        simulated(
            "baby 1, order",
            "the same order from round to round (rr)",
            vec![Run::new(ROUND_ROBIN, "baby.three_hogs")],
            |records| rotate(&records[0], &["a", "b", "c"]),
        ),
        simulated(
            "baby 2",
            "D wakes up while A runs and B and C wait: A has to go, but B runs, then C, D and A \
             (rr)",
            vec![Run::new(ROUND_ROBIN, "baby.three_and_late")],
            |records| {
                let all: Vec<Stint> =
                    stints(&records[0]).into_iter().filter(|s| s.to_ns > 98_900_000).collect();
                let names: Vec<&str> = all.iter().map(|stint| &*stint.who).collect();
                let ring = ["a", "b", "c", "a", "b", "c"];
                let first = ring.iter().position(|who| *who == names[0]).unwrap_or(0);
                let wanted = [ring[first], ring[first + 1], ring[first + 2], "d", ring[first]];
                within("the end of the first, us", all[0].to_ns / 1000, 98_999, 99_001)?;
                same("the order", &names[..5], &wanted[..])
            },
        ),
        everywhere(
            "baby 2, sleeper",
            "who has slept for 200 ms has the CPU alone for 200 ms, as its vruntime is old \
             (vrt)",
            vec![Run::new(VIRTUAL_TIME, "baby.rested")],
            |records| {
                let all = stints(&records[0]);
                let alone = all.iter().filter(|stint| stint.who == "rested").map(Stint::ms).max();
                // On a real kernel its own threads run meanwhile, and take from what it is behind.
                let is_real = records[0].trial.backend == Backend::Vm;
                within("alone, ms", alone.unwrap_or(0), if is_real { 120 } else { 185 }, 215)
            },
        ),
    ]
}

fn shares() -> Vec<Oracle> {
    vec![
        everywhere(
            "baby 3",
            "hogs of nice 0 and 19 share 59.6 : 40.4, 0 and 5 52.9 : 47.1, -20 and 0 66.7 : 33.3 \
             (vrt)",
            vec![
                Run::new(VIRTUAL_TIME, "hogs us=1200000 b=19"),
                Run::new(VIRTUAL_TIME, "hogs us=1200000 b=5"),
                Run::new(VIRTUAL_TIME, "hogs us=1200000 a=-20"),
            ],
            |records| {
                for (record, percent) in records.iter().zip([59.6, 52.9, 66.7]) {
                    near("A's share", share(record, "a"), percent / 100.0, 0.02)?;
                }
                Ok(())
            },
        ),
        everywhere(
            "baby, hogs",
            "hogs of one nice value share equally in all other variants",
            vec![
                Run::new("baby", "hogs us=1200000"),
                Run::new("baby variant=3", "hogs us=1200000"),
                Run::new("baby variant=4", "hogs us=1200000"),
                Run::new("baby variant=5", "hogs us=1200000"),
            ],
            |records| {
                // The turns of hrrn become longer with life.
                for (record, by) in records.iter().zip([0.03, 0.17, 0.03, 0.03]) {
                    near("A's share", share(record, "a"), 0.5, by)?;
                }
                Ok(())
            },
        ),
    ]
}

/// The CPUs of those that run from 62 ms on, each task once for each.
fn cpus_at_the_end(record: &Record) -> Vec<u32> {
    let late = stints(record).into_iter().filter(|stint| stint.to_ns > 62_000_000);
    let mut found: Vec<(u32, String)> = late.map(|stint| (stint.cpu, stint.who)).collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(cpu, _)| cpu).collect()
}

fn balance() -> Vec<Oracle> {
    vec![simulated(
        "baby 10",
        "CPU 0's tick makes 2 and 2 of 3 and 1 runnable tasks, and leaves 2 and 1",
        vec![
            Run { cpus: 2, ..Run::new(VIRTUAL_TIME, "baby.three_and_one") },
            Run { cpus: 2, ..Run::new(VIRTUAL_TIME, "baby.two_and_one") },
        ],
        |records| {
            let cpus = [cpus_at_the_end(&records[0]), cpus_at_the_end(&records[1])];
            same("the CPUs of those that run there", cpus, [vec![0, 0, 1, 1], vec![0, 0, 1]])
        },
    )]
}
