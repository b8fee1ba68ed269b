// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of bmq, from Project C (`kernel/sched/bmq.h`, `alt_core.c`) for Linux 7.1. A slice is
//! 4 × 2^20 ns, 4.194 ms.

use model::Record;

use crate::look::{
    after_sleep_us, alternate, histogram, near, printed_all, printed_each, same, share, share_is,
    stints, turn_us, turns_last, value, within,
};
use crate::oracle::{Oracle, Run, everywhere, simulated};

const FACTS: &str = "../../tests/oracles/facts/bmq_facts.bpf.c";

/// `b` runs at the beginning, while `a` has not yet sunk to its level, and never again.
fn starves(record: &Record) -> Result<(), String> {
    let last = stints(record).iter().filter(|it| it.who == "b").map(|it| it.to_ns).max();
    within("b's last moment, ns", last.unwrap_or(0), 0, 500_000_000)?;
    near("a's share", share(record, "a"), 1.0, 0.06)
}

fn levels() -> Vec<Oracle> {
    vec![
        everywhere(
            "bmq 1",
            "two hogs of nice 0 alternate every 4.194 ms",
            vec![Run::new("bmq", "hogs")],
            |records| {
                alternate(&records[0])?;
                turns_last(&records[0], 4194)
            },
        ),
        everywhere(
            "bmq 2",
            "nice 0 and 1 share alike, being on one level; nice 0 starves nice 2, and -1 starves \
             0, totally, once its boost is as bad as the other's",
            vec![
                Run::new("bmq", "hogs b=1"),
                Run::new("bmq", "hogs b=2"),
                Run::new("bmq", "hogs a=-1"),
            ],
            |records| {
                share_is(&records[0], 1.0, 1.0)?;
                starves(&records[1])?;
                starves(&records[2])
            },
        ),
    ]
}

fn median_wait(record: &Record) -> u64 {
    histogram(record, "wakeup_latency_ns", "sleeper").quantile(0.5).unwrap_or(0)
}

fn longest_wait(record: &Record) -> u64 {
    histogram(record, "run_delay_ns", "sleeper").quantile(1.0).unwrap_or(0)
}

fn boosts() -> Vec<Oracle> {
    vec![
        everywhere(
            "bmq 3",
            "a fully boosted task of nice 19 (level 19) preempts a hog of nice 0 (22)",
            vec![Run::new("bmq", "bmq.sleeper nice=19 run_us=1000 sleep_us=20000")],
            |records| within("its usual wait, ns", median_wait(&records[0]), 0, 500_000),
        ),
        everywhere(
            "bmq 4",
            "who needs 3 ms between sleeps is better than a hog, and waits for it only when that \
             begins, which is at its best, too, but for no more than a slice; who needs 5 ms, \
             more than a slice, sinks to the hog's level, where it waits for its slices",
            vec![
                Run::new("bmq", "bmq.sleeper nice=0 run_us=3000 sleep_us=3000"),
                Run::new("bmq", "bmq.sleeper nice=0 run_us=5000 sleep_us=2600"),
            ],
            |records| {
                let waits = histogram(&records[0], "run_delay_ns", "sleeper");
                within("who needs 3 ms, ns", waits.quantile(0.99).unwrap_or(0), 0, 700_000)?;
                within("at the beginning, ns", longest_wait(&records[0]), 0, 4_800_000)?;
                within("who needs 5 ms, ns", longest_wait(&records[1]), 3_000_000, 60_000_000)
            },
        ),
        everywhere(
            "bmq 6",
            "who wakes up on the level of who runs does not preempt, and waits for at most the \
             slices that are queued before it",
            vec![Run::new("bmq boosts=false", "bmq.sleeper nice=0 run_us=1000 sleep_us=18000")],
            |records| {
                let waits = histogram(&records[0], "wakeup_latency_ns", "sleeper");
                let longest = waits.quantile(1.0).unwrap_or(0);
                within("the longest wait, ns", longest, 1_000_000, 4_800_000)
            },
        ),
    ]
}

/// A task that is preempted with some of its slice left goes on.
fn goes_on(record: &Record) -> Result<(), String> {
    let stints = stints(record);
    let breaks = stints.windows(3).filter(|it| it[1].who == "short" && it[0].ms() < 4);
    let (same, other): (Vec<_>, Vec<_>) = breaks.partition(|it| it[0].who == it[2].who);
    match same.len() >= 20 && other.len() * 10 <= same.len() {
        true => Ok(()),
        false => Err(format!("{} go on, {} do not", same.len(), other.len())),
    }
}

fn queues() -> Vec<Oracle> {
    vec![
        everywhere(
            "bmq 7",
            "who is preempted goes on before others of its level",
            vec![Run::new("bmq", "bmq.interrupted")],
            |records| goes_on(&records[0]),
        ),
        simulated(
            "bmq sleeper's slice",
            "a task that goes to sleep with 0.04 ms of its slice left wakes up with a whole one, \
             and a step worse, which is all that its sleep has gained",
            vec![Run::new("bmq", "sleeps_after us=5198")],
            |records| {
                let us = after_sleep_us(&records[0])?;
                within("its turn ends within a slice, µs", us % 4194, 0, 10)
            },
        ),
        simulated(
            "bmq 8",
            "a parent whose second slice has 4 ms left keeps 2, and its child has 2; one with \
             0.15 ms left goes, and its child has a whole slice",
            vec![Run::new("bmq", "bmq.fork_at us=2291"), Run::new("bmq", "bmq.fork_at us=6137")],
            |records| {
                within("the parent's, µs", turn_us(&records[0], "parent", 0)?, 4287, 4297)?;
                within("the child's, µs", turn_us(&records[0], "child", 0)?, 1995, 2005)?;
                within("a whole slice, µs", turn_us(&records[1], "child", 0)?, 4190, 4200)
            },
        ),
    ]
}

fn facts() -> Vec<Oracle> {
    vec![
        simulated(
            "bmq 3, levels",
            "nice 0 is on level 10 at its best, 16, and 22 at its worst; nice 1 is on that of 0, \
             nice 2 is not; nice 19 is on 19 to 31, nice -20 on 0 at best",
            vec![Run::new(FACTS, "short")],
            |records| {
                let levels = [
                    ("nice 0 at best", 10),
                    ("nice 0", 16),
                    ("nice 1", 16),
                    ("nice 2", 17),
                    ("nice 0 at worst", 22),
                    ("nice 19 at best", 19),
                    ("nice 19 at worst", 31),
                    ("nice -20 at best", 0),
                ];
                printed_all(&records[0], &levels)
            },
        ),
        simulated(
            "bmq 5, 10",
            "each sleep is a step, however long it is, but none for a batch task's boost of 0; \
             as the patch means it, 100 ms of sleep are 23 steps more; a slice is a step back; \
             6.6 counts short and long runs, and 6.1 short ones and long sleeps, instead; 6.12 \
             deboosts idle tasks, and does not boost them",
            vec![
                Run::new(FACTS, "short"),
                Run::new(
                    "../../tests/oracles/facts/bmq_facts.bpf.c intended_wake_boost=true",
                    "short",
                ),
                Run::new("../../tests/oracles/facts/bmq_facts.bpf.c era=60600", "short"),
                Run::new("../../tests/oracles/facts/bmq_facts.bpf.c era=50900", "short"),
                Run::new("../../tests/oracles/facts/bmq_facts.bpf.c era=61200", "short"),
            ],
            |records| {
                let wanted: &[&[(&str, i64)]] = &[
                    &[
                        ("after a sleep", -1),
                        ("after a sleep at best", -12),
                        ("after a batch task's sleep", 0),
                        ("after an idle task's sleep", 5),
                        ("after a slice", 1),
                        ("after a slice at worst", 12),
                        ("a child of -5", -5),
                    ],
                    &[("after a sleep", -12), ("after a batch task's sleep", 0)],
                    &[
                        ("after short work and a sleep", -2),
                        ("after long work and a sleep", 0),
                        ("after a slice", 0),
                        ("a child of -5", 12),
                    ],
                    &[
                        ("after short work and a sleep", -2),
                        ("after long work and a sleep", -1),
                        ("after a slice", 1),
                        ("a child of -5", 2),
                        ("a child of 3", 7),
                    ],
                    &[("after an idle task's sleep", 5), ("after an idle task's slice", 1)],
                ];
                printed_each(records, wanted)
            },
        ),
    ]
}

fn heirs() -> Oracle {
    simulated(
        "bmq heirs",
        "tasks that were there before are at their best, -12, and so are their children, one of \
         which has a quarter of a slice and 23 more, 97.5 ms, until it is on its worst level",
        vec![Run::new("bmq", "bmq.children")],
        |records| {
            let ran = value(&records[0], "cpu_time_ns", "nicer") as u64;
            within("what the nicer one runs, µs", ran / 1000, 97_400, 97_700)
        },
    )
}

fn yields() -> Oracle {
    everywhere(
        "bmq 9",
        "a task that yields to another is as bad as a hog at once, so that after each ms of it \
         the hog has a slice; with yield_type 0 it goes on",
        vec![Run::new("bmq", "yielder"), Run::new("bmq yield_type=0", "yielder")],
        |records| {
            near("the yielder's share", share(&records[0], "a"), 1.0 / 5.194, 0.06)?;
            let more = share(&records[1], "a");
            same("more than a third", more > 0.33, true)
        },
    )
}

pub fn oracles() -> Vec<Oracle> {
    [levels(), boosts(), queues(), facts(), vec![heirs(), yields()]].concat()
}
