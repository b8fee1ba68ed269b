// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of cacule: what its patches for Linux 5.9 to 5.14 compute, and what follows from that.
//!
//! Numbers that no workload shows one by one are asked of the file's own functions, by a scheduler
//! that includes it.

use model::Record;

use crate::look::{histogram, near, order, printed_each, same, share, stints, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// Asks cacule's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/cacule_facts.bpf.c";
const FULL: &str =
    "../../tests/oracles/facts/cacule_facts.bpf.c cache_factor=13107 starve_factor=19660";

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), ties(), wakeups(), histories()].concat()
}

/// An oracle of the file's own functions.
fn facts(
    name: &'static str,
    claim: &'static str,
    file: &'static str,
    holds: fn(&[Record]) -> Result<(), String>,
) -> Oracle {
    simulated(name, claim, vec![Run::new(file, "short")], holds)
}

fn arithmetic() -> Vec<Oracle> {
    vec![
        facts("cacule 1", "the score of who has run so many ms of 10 s", FACTS, |records| {
            printed_each(records, &[&SCORES])
        }),
        facts("cacule 2", "who is just born has run as long as not", FACTS, |records| {
            printed_each(records, &[&[("just born", 32768), ("yielded", 65536)]])
        }),
        facts("cacule 3", "a window that is cut keeps its share of CPU time", FACTS, |records| {
            let wanted = [
                ("half of a window", 5_769_985_375),
                ("a quarter of a window", 2_884_288_171),
                ("all of a window", 11_545_611_010),
            ];
            printed_each(records, &[&wanted])
        }),
        facts(
            "cacule 8",
            "the full variant adds scores for cache and starvation",
            FULL,
            |records| {
                printed_each(records, &[&COLD]).and_then(|()| printed_each(records, &[&STARVED]))
            },
        ),
        facts("cacule 10", "only a score that is lower, be it by 1, preempts", FACTS, |records| {
            let wanted = [("32 against 32", 0), ("32 against 33", 1), ("33 against 32", 0)];
            printed_each(records, &[&wanted])
        }),
    ]
}

const SCORES: [(&str, i64); 10] = [
    ("ran 100", 334),
    ("ran 500", 1820),
    ("ran 1000", 4096),
    ("ran 2000", 10922),
    ("ran 2500", 16384),
    ("ran 5000", 32768),
    ("ran 7500", 54614),
    ("ran 8000", 57344),
    ("ran 9000", 61896),
    ("ran 10000", 65536),
];

const COLD: [(&str, i64); 10] = [
    ("cold after 0", 0),
    ("cold after 100", 1456),
    ("cold after 500", 13107),
    ("cold after 1000", 13107),
    ("cold after 1500", 13107),
    ("cold after 2000", 19661),
    ("cold after 3000", 21845),
    ("cold after 6000", 24030),
    ("cold after 10000", 24904),
    ("cold after 30000", 25778),
];

const STARVED: [(&str, i64); 10] = [
    ("starved after 0", 39320),
    ("starved after 100", 38643),
    ("starved after 500", 35388),
    ("starved after 1000", 29490),
    ("starved after 1500", 19660),
    ("starved after 2000", 19660),
    ("starved after 3000", 19660),
    ("starved after 6000", 9830),
    ("starved after 10000", 6553),
    ("starved after 30000", 1966),
];

/// How many turns begin in the second that begins a second after the start.
fn turns(record: &Record) -> u64 {
    let within = |ns: &u64| (1_000_000_000..2_000_000_000).contains(ns);
    stints(record).iter().map(|stint| stint.from_ns).filter(within).count() as u64
}

fn ties() -> Vec<Oracle> {
    vec![
        simulated(
            "cacule 4",
            "two hogs are always tied, share equally, and change places at every tick: 250 times \
             a second, or 1,000 at 1,000 Hz",
            vec![
                Run::new("cacule", "two_hogs us=2000000"),
                Run { hz: 1000, ..Run::new("cacule", "two_hogs us=2000000") },
            ],
            |records| {
                near("a's share", share(&records[0], "a"), 0.5, 0.02)?;
                within("turns at 250 Hz", turns(&records[0]), 245, 251)?;
                within("turns at 1,000 Hz", turns(&records[1]), 990, 1001)
            },
        ),
        everywhere(
            "cacule 4, anywhere",
            "two hogs change places at nearly every one of 250 ticks a second",
            vec![Run::new("cacule", "two_hogs us=2000000")],
            |records| {
                near("a's share", share(&records[0], "a"), 0.5, 0.05)?;
                within("turns", turns(&records[0]), 220, 270)
            },
        ),
        everywhere(
            "cacule fair_group_sched",
            "where who runs wins ties, two hogs change places only when one has run for two \
             thirds of its life",
            vec![Run::new("cacule fair_group_sched=false", "two_hogs us=2000000")],
            |records| within("turns", turns(&records[0]), 0, 60),
        ),
        simulated(
            "cacule 7",
            "of equals the last in is the first out, though a tick may come between",
            vec![Run::new("cacule", "cacule.arrivals")],
            |records| {
                let mut firsts: Vec<String> = Vec::new();
                for who in order(&records[0]) {
                    if !firsts.contains(&who) {
                        firsts.push(who);
                    }
                }
                same("who comes first", firsts, ["rt", "c", "b", "a"].map(str::to_owned).to_vec())
            },
        ),
    ]
}

/// A part of the sleeper's waits that was at most this long, nanoseconds.
fn wait_ns(record: &Record, part: f64) -> u64 {
    histogram(record, "wakeup_latency_ns", "sleeper").quantile(part).unwrap_or(0)
}

fn wakeups() -> Vec<Oracle> {
    vec![
        everywhere(
            "cacule 5",
            "who runs for a tenth of its life preempts a hog whenever it wakes up",
            vec![Run::new("cacule", "light_sleeper us=1000000")],
            |records| {
                within(
                    "nine tenths of the wake-ups took, ns",
                    wait_ns(&records[0], 0.9),
                    0,
                    100_000,
                )
            },
        ),
        everywhere(
            "cacule wakeup_preemption",
            "without wake-up preemption it waits for a tick",
            vec![Run::new("cacule wakeup_preemption=false", "light_sleeper us=1000000")],
            |records| {
                let half = wait_ns(&records[0], 0.5);
                within("half of the wake-ups took, ns", half, 500_000, 4_100_000)
            },
        ),
        everywhere(
            "cacule fork",
            "a new task has the best score and preempts its parent",
            vec![Run::new("cacule", "fork")],
            |records| {
                let all = stints(&records[0]);
                let child = all.iter().find(|stint| stint.who == "child").expect("it runs");
                within("the child's start, µs", child.from_ns / 1000, 21_000, 22_500)
            },
        ),
    ]
}

fn histories() -> Vec<Oracle> {
    vec![
        simulated(
            "cacule 6",
            "who has slept for 10 s and then computes has the CPU alone for 5 s, until it has run \
             a third of its life",
            vec![Run::new("cacule", "long_sleeper")],
            |records| {
                let all = stints(&records[0]);
                let turn = all.iter().find(|stint| stint.who == "sleeper" && stint.ms() > 0);
                let turn = turn.ok_or("the sleeper never runs")?;
                within("its first turn begins, ms", turn.from_ns / 1_000_000, 10_000, 10_000)?;
                within("its first turn, ms", turn.ms(), 4_990, 5_010)
            },
        ),
        everywhere(
            "cacule 9",
            "a task that yields goes after a hog, whatever its score was",
            vec![Run::new("cacule", "late_yielder")],
            |records| {
                let own =
                    stints(&records[0]).into_iter().filter(|s| s.who == "yielder" && s.ms() > 0);
                let turns: Vec<u64> = own.map(|stint| stint.ms()).collect();
                within("the yielder's first turn, ms", turns.first().copied().unwrap_or(0), 1, 1)
            },
        ),
        everywhere(
            "cacule full, yield",
            "as 5.10 has it, the mark counts for one choice: who has yielded runs again at the \
             hog's next tick, not 23 s later",
            vec![Run::new("cacule full=true", "late_yielder"), Run::new("cacule", "late_yielder")],
            |records| {
                let turns = |record| stints(record).iter().filter(|s| s.who == "yielder").count();
                within("its turns", turns(&records[0]) as u64, 15, 60)?;
                within("those of the plain patch", turns(&records[1]) as u64, 1, 5)
            },
        ),
        everywhere(
            "cacule full, idle policy",
            "as 5.10 has it, an idle-policy task never runs while a normal one waits, whatever \
             their scores; as the plain patch has it, it does",
            vec![
                Run::new("cacule full=true", "cacule.idle_policy"),
                Run::new("cacule", "cacule.idle_policy"),
            ],
            |records| {
                let turns = |record| stints(record).iter().filter(|s| s.who == "idle").count();
                within("its turns", turns(&records[0]) as u64, 0, 2)?;
                within("those of the plain patch", turns(&records[1]) as u64, 20, 70)
            },
        ),
        everywhere(
            "cacule sched_cacule_yield",
            "without the mark, a task that yields goes on as long as its score is the lowest",
            vec![Run::new("cacule sched_cacule_yield=false", "late_yielder")],
            |records| {
                let own =
                    stints(&records[0]).into_iter().filter(|s| s.who == "yielder" && s.ms() > 0);
                let turns: Vec<u64> = own.map(|stint| stint.ms()).collect();
                within("the yielder's first turn, ms", turns.first().copied().unwrap_or(0), 50, 110)
            },
        ),
    ]
}
