// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of tt: what its patches for Linux 5.15 and 6.1 compute, and what follows from that.
//!
//! Numbers that no workload shows one by one are asked of the file's own functions, by a scheduler
//! that includes it.

use model::Record;

use crate::look::{histogram, near, printed_each, share, stints, value, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// Asks tt's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/tt_facts.bpf.c";
const FACTS_6_1: &str = "../../tests/oracles/facts/tt_facts.bpf.c era=60100";

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), types(), behaviour()].concat()
}

/// An oracle of the file's own functions, in 5.15 and 6.1.
pub fn facts(
    name: &'static str,
    claim: &'static str,
    holds: fn(&[Record]) -> Result<(), String>,
) -> Oracle {
    let runs = vec![Run::new(FACTS, "short"), Run::new(FACTS_6_1, "short")];
    simulated(name, claim, runs, holds)
}

/// Both eras have printed these numbers.
fn both(records: &[Record], wanted: &[(&str, i64)]) -> Result<(), String> {
    printed_each(records, &[wanted, wanted])
}

fn arithmetic() -> Vec<Oracle> {
    vec![
        facts(
            "tt 1",
            "1 s of 4 s are 250 thousandths, less what makes the life odd; 6.1 loses the mark of \
             who has yielded (HRRN_PERCENT)",
            |records| {
                let marked = |yielded| {
                    [("1 s of 4 s", 249), ("1 s of 1 ns less", 250), ("yielded", yielded)]
                };
                printed_each(records, &[&marked(1), &marked(0)])
            },
        ),
        facts("tt 2", "a nice level costs or saves a fortieth of a tick", |records| {
            let wanted = [
                ("4 ms at -20, 250 Hz", 2_000_000),
                ("4 ms at -10, 250 Hz", 3_000_000),
                ("4 ms at 0, 250 Hz", 4_000_000),
                ("4 ms at 5, 250 Hz", 4_500_000),
                ("4 ms at 19, 250 Hz", 5_900_000),
                ("1 ms at -20, 1000 Hz", 500_000),
                ("1 ms at -10, 1000 Hz", 750_000),
                ("1 ms at 0, 1000 Hz", 1_000_000),
                ("1 ms at 5, 1000 Hz", 1_125_000),
                ("1 ms at 19, 1000 Hz", 1_475_000),
            ];
            both(records, &wanted)
        }),
        facts("tt 3", "nobody pays less than 1 ns", |records| {
            both(records, &[("0.5 ms at -20, 250 Hz", 1)])
        }),
        facts("tt 8", "a window that is cut keeps its share of CPU time", |records| {
            let wanted = [
                ("half of a window", 5_769_985_375),
                ("a quarter of a window", 2_884_288_171),
                ("a tenth of a window", 1_153_546_251),
                ("all of a window", 11_545_611_011),
            ];
            both(records, &wanted)
        }),
    ]
}

const REALTIME: i64 = 0;
const INTERACTIVE: i64 = 1;
pub const CPU_BOUND: i64 = 3;
pub const BATCH: i64 = 4;

fn types() -> Vec<Oracle> {
    vec![
        facts(
            "tt 4",
            "who has run four fifths of its life is CPU_BOUND in 5.15, BATCH in 6.1",
            |records| {
                let type_at = |middle| {
                    [
                        ("type without sleep", CPU_BOUND),
                        ("type at 80 %", middle),
                        ("type at 60 %", BATCH),
                        ("type at 33 %", INTERACTIVE),
                    ]
                };
                printed_each(records, &[&type_at(CPU_BOUND), &type_at(BATCH)])
            },
        ),
        facts(
            "tt 5",
            "a task that sleeps and runs regularly and briefly is REALTIME, from 0.5 s on",
            |records| {
                let wanted = [
                    ("10.5 ms, 2 ms", 1),
                    ("10.9 ms, 2 ms", 0),
                    ("10.5 ms, 2 ms, age 0.4 s", 0),
                    ("10.5 ms, 4.1 ms", 0),
                ];
                both(records, &wanted)
            },
        ),
        facts("tt 6", "who was REALTIME stays so for four failures", |records| {
            let wanted = [
                ("type after 1 failures", REALTIME),
                ("type after 4 failures", REALTIME),
                ("type after 5 failures", CPU_BOUND),
            ];
            both(records, &wanted)
        }),
        facts("tt 9", "who is CPU_BOUND and falls asleep is BATCH", |records| {
            both(records, &[("type of a sleeper", BATCH)])
        }),
    ]
}

/// What nice 0 has beside nice 19, percent.
fn zero(record: &Record, percent: f64) -> Result<(), String> {
    near("the share of nice 0", share(record, "zero") * 100.0, percent, 2.0)
}

/// A part of the sleeper's waits that was at most this long, nanoseconds.
fn wait_ns(record: &Record, part: f64) -> u64 {
    histogram(record, "wakeup_latency_ns", "sleeper").quantile(part).unwrap_or(0)
}

fn behaviour() -> Vec<Oracle> {
    vec![
        everywhere(
            "tt 7",
            "hogs of nice 0 and 19 share as 59.6 : 40.4 in 5.15, and equally in 6.1, where both \
             are CPU_BOUND; without types 6.1 shares as 66.2 : 33.8, because the end of a turn of \
             4 ms is an account, too: 7.8 ms : 4 ms (put_prev_entity)",
            vec![
                Run::new("tt", "tt.nice_0_and_19"),
                Run::new("tt era=60100", "tt.nice_0_and_19"),
                Run::new("tt era=60100 task_types=false", "tt.nice_0_and_19"),
            ],
            |records| {
                zero(&records[0], 59.6)?;
                zero(&records[1], 50.0)?;
                zero(&records[2], 66.2)
            },
        ),
        simulated(
            "tt 10",
            "CPU 0's tick evens out three tasks here and one there, to two each; without it a \
             task that may not leave has a CPU alone",
            vec![
                Run { cpus: 2, ..Run::new("tt", "tt.crowded") },
                Run { cpus: 2, ..Run::new("tt tt_balancer_opt=2", "tt.crowded") },
            ],
            |records| {
                let alone = |record| value(record, "cpu_time_ns", "c") / 1e9;
                near("with it", alone(&records[0]), 0.445, 0.03)?;
                near("without it", alone(&records[1]), 0.80, 0.05)
            },
        ),
        everywhere(
            "tt wakeup_preemption",
            "5.15: a lower value preempts at once; without preemption it waits for a tick",
            vec![
                Run::new("tt", "light_sleeper us=600000"),
                Run::new("tt wakeup_preemption=false", "light_sleeper us=600000"),
            ],
            |records| {
                within("nine tenths took, ns", wait_ns(&records[0], 0.9), 0, 100_000)?;
                within("half took, ns", wait_ns(&records[1], 0.5), 500_000, 4_100_000)
            },
        ),
        simulated(
            "tt long sleeper",
            "who has slept for 10 s and then computes has the CPU alone for 5 s, until it has run \
             as much of its life as two hogs have of theirs",
            vec![Run::new("tt", "long_sleeper")],
            |records| {
                let all = stints(&records[0]);
                let turn = all.iter().find(|stint| stint.who == "sleeper" && stint.ms() > 0);
                within("its first turn, ms", turn.map_or(0, |turn| turn.ms()), 4_900, 5_100)
            },
        ),
    ]
}
