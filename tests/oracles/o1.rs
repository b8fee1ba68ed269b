// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of o1, from Linux 2.6.20 (`kernel/sched.c`) and the mails of patch J7 (January 2002).
//!
//! A turn ends at this kernel's first tick (4 ms) after its end, and what was too long is taken
//! from the next, so that shares are exact and turns are not. On a real kernel, too, the first
//! turns are short: the tasks share the slice of the lab's main task, which forks them.

use model::Record;

use crate::look::{
    Stint, histogram, near, printed_each, same, share, stints, turn_of, value, within,
};
use crate::oracle::{Oracle, Run, everywhere, simulated};

const J7: &str = "o1 early=true";

/// Asks o1's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/o1_facts.bpf.c";
const FACTS_J7: &str = "../../tests/oracles/facts/o1_facts.bpf.c early=true";

/// The turns in the trial's middle last so long, give or take one of this kernel's ticks; another
/// task may fall into one of them.
fn turns_last(record: &Record, ms: u64) -> Result<(), String> {
    let stints = stints(record);
    let whole = &stints[4..stints.len() - 1];
    let other: Vec<&Stint> = whole.iter().filter(|turn| turn.ms().abs_diff(ms) > 4).collect();
    match whole.len() >= 8 && other.len() <= 1 {
        true => Ok(()),
        false => Err(format!("of {} turns not {ms} ms long are {other:?}", whole.len())),
    }
}

fn share_is(record: &Record, a: f64, b: f64) -> Result<(), String> {
    near(&format!("the share of {a} : {b}"), share(record, "a"), a / (a + b), 0.03)
}

fn slices() -> Vec<Oracle> {
    vec![
        everywhere(
            "o1 1",
            "2.6: two hogs of nice 0 take turns of 100 ms",
            vec![Run::new("o1", "hogs us=1400000")],
            |records| turns_last(&records[0], 100),
        ),
        everywhere(
            "o1 2",
            "2.6: hogs share as their slices do: nice 0 and 5 100 : 75, 0 and 19 100 : 5",
            vec![Run::new("o1", "hogs us=2200000 b=5"), Run::new("o1", "hogs us=1600000 b=19")],
            |records| {
                share_is(&records[0], 100.0, 75.0)?;
                share_is(&records[1], 100.0, 5.0)
            },
        ),
        // Slices are so long that an emulated kernel would take minutes to show it.
        simulated(
            "o1 2, below 0",
            "2.6: nice -20 and 0 share 800 : 100, -1 and 0 420 : 100",
            vec![Run::new("o1", "hogs us=6000000 a=-20"), Run::new("o1", "hogs us=6000000 a=-1")],
            |records| {
                share_is(&records[0], 800.0, 100.0)?;
                share_is(&records[1], 420.0, 100.0)
            },
        ),
        everywhere(
            "o1 3",
            "J7: hogs of nice 0 take turns of 150 ms; nice 0 and 5 share 150 : 110, 0 and 19 150 \
             : 10",
            vec![
                Run::new(J7, "hogs us=1900000"),
                Run::new(J7, "hogs us=2700000 b=5"),
                Run::new(J7, "hogs us=1900000 b=19"),
            ],
            |records| {
                turns_last(&records[0], 150)?;
                share_is(&records[1], 150.0, 110.0)?;
                share_is(&records[2], 150.0, 10.0)
            },
        ),
    ]
}

/// An oracle of the file's own functions: which facts answer what, on so many CPUs.
macro_rules! facts {
    ($name:literal, $claim:literal, $($facts:ident $cpus:literal: [$($fact:expr),* $(,)?]),*) => {
        simulated(
            $name,
            $claim,
            vec![$(Run { cpus: $cpus, ..Run::new($facts, "short") }),*],
            |records| {
                let wanted: &[&[(&str, i64)]] = &[$(&[$($fact),*]),*];
                printed_each(records, wanted)
            },
        )
    };
}

fn priorities() -> Vec<Oracle> {
    vec![
        facts!(
            "o1 4",
            "2.6: which bonus, from +5 to -5, makes interactive (TASK_INTERACTIVE)",
            FACTS 1: [
                ("row of -20", 11_111_111_100),
                ("row of -10", 11_111_110_000),
                ("row of 0", 11_110_000_000),
                ("row of 10", 11_000_000_000),
                ("row of 19", 0),
            ]
        ),
        facts!(
            "o1 5",
            "2.6: one sleep of 1 s makes 799 ms of sleep_avg, bonus 7 and priority 118, which is \
             interactive (recalc_task_prio)",
            FACTS 1: [
                ("sleep of 1 s", 799_000_000),
                ("its bonus", 7),
                ("its prio", 118),
                ("is interactive", 1),
            ]
        ),
        facts!(
            "o1 6",
            "2.6: running 100 ms costs 10 ms of sleep_avg with bonus 10, and what it is with 1 or \
             0 (schedule)",
            FACTS 1: [
                ("100 ms cost bonus 10", 10_000_000),
                ("100 ms cost bonus 1", 100_000_000),
                ("50 ms cost bonus 0", 50_000_000),
            ]
        ),
        facts!(
            "o1 7",
            "a fully rested task of nice 19 is better than a hog of nice 0 in J7 (25 to 34), not \
             in 2.6 (34 to 25)",
            FACTS_J7 1: [("prio of rested 19", 25), ("prio of hog 0", 34)],
            FACTS 1: [("prio of rested 19", 34), ("prio of hog 0", 25)]
        ),
        facts!(
            "o1 9",
            "2.6: with three tasks the expired ones starve after 3 s, and at once beside one whose \
             nice value is worse than the best of theirs (expired_starving)",
            FACTS 1: [
                ("starving after 3000 ms", 0),
                ("starving after 3001 ms", 1),
                ("starving beside nice 0", 0),
                ("starving beside nice -1", 1),
            ]
        ),
        facts!(
            "o1 10",
            "J7: a busy CPU with one task takes one from another with four or three, none of two \
             (load_balance)",
            FACTS_J7 2: [("taken of 4", 1), ("taken of 3", 1), ("taken of 2", 0)]
        ),
        facts!(
            "o1 11",
            "2.6: of a slice of 7 ticks the child gets 4 and the parent keeps 3 (sched_fork)",
            FACTS 1: [("the child's slice", 4), ("the parent's slice", 3)]
        ),
    ]
}

/// What half of the sleeper's waits did not exceed, nanoseconds.
fn typical_wait_ns(record: &Record) -> u64 {
    histogram(record, "wakeup_latency_ns", "sleeper").quantile(0.5).unwrap_or(0)
}

fn preempts(record: &Record) -> Result<(), String> {
    within("half of the wake-ups took, ns,", typical_wait_ns(record), 0, 100_000)
}

fn waits(record: &Record) -> Result<(), String> {
    within("half of the wake-ups took, ns,", typical_wait_ns(record), 5_000_000, 120_000_000)
}

fn orders() -> Vec<Oracle> {
    vec![
        everywhere(
            "o1 7, asleep",
            "in J7 a rested task of nice 19 preempts a hog of nice 0, in 2.6 it waits for the end \
             of its slice",
            [J7, "o1"].map(|scheduler| Run::new(scheduler, "o1.sleeper nice=19")).to_vec(),
            |records| preempts(&records[0]).and_then(|()| waits(&records[1])),
        ),
        everywhere(
            "o1 batch",
            "2.6: sleep makes SCHED_OTHER better than a hog; SCHED_BATCH gains nothing by it and \
             waits among the expired",
            vec![Run::new("o1", "o1.sleeper nice=0"), Run::new("o1", "o1.batch_sleeper")],
            |records| preempts(&records[0]).and_then(|()| waits(&records[1])),
        ),
        everywhere(
            "o1 8",
            "the active ones run first, the better of them (C) before those that have waited (A, \
             B); then D, which is better than all but has expired",
            vec![Run::new("o1", "o1.order")],
            |records| {
                let late = |stint: &Stint| stint.to_ns > 1_000_000_000 && stint.ms() > 5;
                let turns = stints(&records[0]).into_iter().filter(late);
                let mut order: Vec<String> = turns.map(|stint| stint.who).collect();
                order.dedup();
                same("the order", order, ["d", "c", "a", "b", "d"].map(String::from).to_vec())
            },
        ),
    ]
}

/// It was started well before the end of the trial, and never ran.
fn starves(record: &Record) -> Result<(), String> {
    let waited_ms = value(record, "longest_wait_ns", "ps") / 1e6;
    near("its CPU time, ms,", value(record, "cpu_time_ns", "ps") / 1e6, 0.0, 0.001)?;
    match waited_ms > 700.0 {
        true => Ok(()),
        false => Err(format!("it has waited for {waited_ms} ms only")),
    }
}

fn newcomers() -> Oracle {
    everywhere(
        "o1 newcomer",
        "on a busy CPU a newly started process starves in J7: it inherits 95 % of its parent's \
         sleep, so that rested servers are all better (NetBench, 2002). In 2.6 it takes its \
         parent's place, runs at once and soon ends; without that it starves, too",
        vec![
            Run::new(J7, "o1.newcomer"),
            Run::new("o1", "o1.newcomer"),
            Run::new("o1 child_runs_first=false", "o1.newcomer"),
        ],
        |records| {
            starves(&records[0])?;
            starves(&records[2])?;
            let forked_ns = turn_of(&records[1], "ps", 0)?.from_ns;
            let ended = histogram(&records[1], "turnaround_ns", "ps");
            let ms = ended.quantile(1.0).ok_or(format!("begun at {forked_ns} ns, it has no end"));
            within("its end in 2.6, ms after its start,", ms? / 1_000_000, 10, 300)
        },
    )
}

pub fn oracles() -> Vec<Oracle> {
    [slices(), priorities(), orders(), vec![newcomers()]].concat()
}
