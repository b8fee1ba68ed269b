// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of tt: what its patches for Linux 5.15 and 6.1 compute, and what follows from that.
//!
//! Numbers that no workload shows one by one are asked of the file's own functions, by a scheduler that
//! includes it.

use model::Record;
use model::trace::{TraceEvent, What};

use crate::loads::{LONG_SLEEPER, SHORT};
use crate::look::{Stint, histogram, near, printed_each, share, stints, value, within};
use crate::oracle::{Oracle, Run, Where};

/// Asks tt's functions and prints their answers.
const FACTS: &str = "./tests/schedulers/tt_facts.bpf.c";
const FACTS_6_1: &str = "./tests/schedulers/tt_facts.bpf.c era=60100";

const NICE_0_AND_19: &str = "
duration_us = 2000000
[[task]]
name = \"zero\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"last\"
policy = { class = \"other\", nice = 19 }
steps = [{ run_us = 100000 }]
";

const SLEEPER: &str = "
duration_us = 600000
[[task]]
name = \"hog\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"sleeper\"
steps = [{ sleep_us = 9300 }, { run_us = 1000 }]
";

/// Two tasks that may not leave CPU 1 drive the others to CPU 0, and then go.
const CROWDED: &str = "
duration_us = 1000000
[[task]]
name = \"pinned\"
count = 2
affinity = [1]
repeat = 1
steps = [{ run_us = 100000 }]
[[task]]
name = \"a\"
delay_us = 20000
steps = [{ run_us = 100000 }]
[[task]]
name = \"b\"
delay_us = 21000
steps = [{ run_us = 100000 }]
[[task]]
name = \"c\"
affinity = [1]
delay_us = 22000
steps = [{ run_us = 100000 }]
[[task]]
name = \"d\"
delay_us = 23000
steps = [{ run_us = 100000 }]
";

/// Three hogs, one of which a task with a 1 kHz timer interrupts again and again.
const INTERRUPTED: &str = "
duration_us = 1000000
[[task]]
name = \"a\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"b\"
delay_us = 2000
steps = [{ run_us = 100000 }]
[[task]]
name = \"c\"
delay_us = 2000
steps = [{ run_us = 100000 }]
[[task]]
name = \"waker\"
delay_us = 3000
steps = [{ sleep_us = 990 }, { run_us = 10 }]
";

/// Somebody who has run all its life before the hogs came, and who now needs little.
const LATE_HOGS: &str = "
duration_us = 620000
[[task]]
name = \"hog\"
count = 3
delay_us = 310000
steps = [{ run_us = 100000 }]
[[task]]
name = \"sleeper\"
repeat = 1
steps = [
    { run_us = 300000 },
    { loop = { count = 5, steps = [{ sleep_us = 50500 }, { run_us = 500 }] } },
]
";

/// Nine hogs, and somebody who wakes up 0 to 4 ms after one of them has been picked.
const CHANCE: &str = "
duration_us = 2000000
[[task]]
name = \"hog\"
count = 9
steps = [{ run_us = 100000 }]
[[task]]
name = \"waker\"
steps = [{ sleep_us = 5000 }, { run_us = 10 }]
";

const TWO_HOGS: &str = "
duration_us = 4000000
[[task]]
name = \"a\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"b\"
steps = [{ run_us = 100000 }]
";

const YIELDER: &str = "
duration_us = 300000
[[task]]
name = \"hog\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"yielder\"
delay_us = 200000
steps = [{ run_us = 1000 }, \"yield\"]
";

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), types(), behaviour(), choice()].concat()
}

/// An oracle of the file's own functions, in 5.15 and 6.1.
fn facts(
    name: &'static str,
    claim: &'static str,
    holds: fn(&[Record]) -> Result<(), String>,
) -> Oracle {
    let runs = vec![Run::new(FACTS, SHORT), Run::new(FACTS_6_1, SHORT)];
    Oracle { name, claim, place: Where::Simulator, runs, holds }
}

/// Both eras have printed these numbers.
fn both(records: &[Record], wanted: &[(&str, i64)]) -> Result<(), String> {
    printed_each(records, &[wanted, wanted])
}

fn arithmetic() -> Vec<Oracle> {
    vec![
        facts(
            "tt 1",
            "1 s of 4 s are 250 thousandths, less what makes the life odd; 6.1 loses the mark of who \
             has yielded (HRRN_PERCENT)",
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
const CPU_BOUND: i64 = 3;
const BATCH: i64 = 4;

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
        facts(
            "tt last part",
            "6.1: what has been run since the last account belongs to the next burst, and costs \
             what a BATCH task pays, which then is CPU_BOUND again (dequeue_entity)",
            |records| {
                let after = |next, ran, kind| {
                    [
                        ("its burst", 7_000_000),
                        ("its next burst", next),
                        ("what it has run", ran),
                        ("its type", kind),
                    ]
                };
                let (older, newer) =
                    (after(0, 1_997_000_000, BATCH), after(3_000_000, 2_001_900_000, CPU_BOUND));
                printed_each(records, &[&older, &newer])
            },
        ),
        facts(
            "tt bursts",
            "6.1: bursts are real time; each account is one, even where nothing has been run, and \
             costs 1 ns at least (update_curr)",
            |records| {
                let paid = |burst, ns| [("a REALTIME burst", burst), ("paid in two accounts", ns)];
                printed_each(records, &[&paid(1, 1), &paid(1_000_000, 2)])
            },
        ),
        facts("tt moved", "6.1: who has moved has slept since the boot", |records| {
            let slept = "it has slept since the boot";
            printed_each(records, &[&[(slept, 0)], &[(slept, 1)]])
        }),
        facts("tt mark", "6.1: who has yielded is BATCH until it is picked", |records| {
            let marked = "type of who has yielded";
            printed_each(records, &[&[(marked, CPU_BOUND)], &[(marked, BATCH)]])
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
        Oracle {
            name: "tt 7",
            claim: "hogs of nice 0 and 19 share as 59.6 : 40.4 in 5.15, and equally in 6.1, where \
                    both are CPU_BOUND; without types 6.1 shares as 66.2 : 33.8, because the end \
                    of a turn of 4 ms is an account, too: 7.8 ms : 4 ms (put_prev_entity)",
            place: Where::Everywhere,
            runs: vec![
                Run::new("tt", NICE_0_AND_19),
                Run::new("tt era=60100", NICE_0_AND_19),
                Run::new("tt era=60100 task_types=false", NICE_0_AND_19),
            ],
            holds: |records| {
                zero(&records[0], 59.6)?;
                zero(&records[1], 50.0)?;
                zero(&records[2], 66.2)
            },
        },
        Oracle {
            name: "tt 10",
            claim: "CPU 0's tick evens out three tasks here and one there, to two each; without it \
                    a task that may not leave has a CPU alone",
            place: Where::Simulator,
            runs: vec![
                Run { cpus: 2, ..Run::new("tt", CROWDED) },
                Run { cpus: 2, ..Run::new("tt tt_balancer_opt=2", CROWDED) },
            ],
            holds: |records| {
                let alone = |record| value(record, "cpu_time_ns", "c") / 1e9;
                near("with it", alone(&records[0]), 0.445, 0.03)?;
                near("without it", alone(&records[1]), 0.80, 0.05)
            },
        },
        Oracle {
            name: "tt wakeup_preemption",
            claim: "5.15: a lower value preempts at once; without preemption it waits for a tick",
            place: Where::Everywhere,
            runs: vec![Run::new("tt", SLEEPER), Run::new("tt wakeup_preemption=false", SLEEPER)],
            holds: |records| {
                within("nine tenths took, ns", wait_ns(&records[0], 0.9), 0, 100_000)?;
                within("half took, ns", wait_ns(&records[1], 0.5), 500_000, 4_100_000)
            },
        },
        Oracle {
            name: "tt long sleeper",
            claim: "who has slept for 10 s and then computes has the CPU alone for 5 s, until it \
                    has run as much of its life as two hogs have of theirs",
            place: Where::Simulator,
            runs: vec![Run::new("tt", LONG_SLEEPER)],
            holds: |records| {
                let all = stints(&records[0]);
                let turn = all.iter().find(|stint| stint.who == "sleeper" && stint.ms() > 0);
                within("its first turn, ms", turn.map_or(0, |turn| turn.ms()), 4_900, 5_100)
            },
        },
    ]
}

/// The most that one of three hogs has, percent.
fn most(record: &Record) -> f64 {
    ["a", "b", "c"].map(|hog| share(record, hog) * 100.0).into_iter().fold(0.0, f64::max)
}

/// How often the sleeper runs after the hogs have come.
fn late_turns(record: &Record) -> u64 {
    let is_late = |stint: &&Stint| stint.who == "sleeper" && stint.from_ns > 320_000_000;
    stints(record).iter().filter(is_late).count() as u64
}

fn choice() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "tt account",
            claim: "6.1: a switch and a wake-up are accounts, each of which saves a CPU_BOUND task \
                    up to 15 / 40 of a tick, so that one of three hogs has all of the CPU as long \
                    as it is interrupted each millisecond; without types they share",
            place: Where::Everywhere,
            runs: vec![
                Run::new("tt era=60100", INTERRUPTED),
                Run::new("tt era=60100 task_types=false", INTERRUPTED),
            ],
            holds: |records| {
                within("the most, percent", most(&records[0]) as u64, 90, 100)?;
                near("the most without types, percent", most(&records[1]), 33.0, 2.0)
            },
        },
        Oracle {
            name: "tt next buddy",
            claim: "6.1: who preempts by CFS's rule runs at once, although the others have lower \
                    values, for it is a buddy (pick_next_entity); otherwise it has to wait",
            place: Where::Everywhere,
            runs: vec![
                Run::new("tt era=60100", LATE_HOGS),
                Run::new("tt era=60100 wakeup_preemption=false", LATE_HOGS),
            ],
            holds: |records| {
                within("its turns", late_turns(&records[0]), 5, 5)?;
                within("its turns without preemption", late_turns(&records[1]), 0, 0)
            },
        },
        Oracle {
            name: "tt last buddy",
            claim: "6.1: among nine hogs, who has just begun and is preempted goes on afterwards, \
                    although the others have lower values (pick_next_entity)",
            place: Where::Simulator,
            runs: vec![Run::new("tt era=60100 task_types=false", CHANCE)],
            holds: |records| {
                let Some(trace) = &records[0].trace else { return Err("no trace".into()) };
                let next = |event: &TraceEvent| match event.what {
                    What::Switch { next, .. } => Some(next),
                    _ => None,
                };
                let order: Vec<u32> = trace.events.iter().filter_map(next).collect();
                let is_waker = |pid| trace.tasks.iter().any(|t| t.pid == pid && t.comm == "waker");
                let breaks = order.windows(3).filter(|turns| is_waker(turns[1]));
                let (all, returns) = breaks.fold((0, 0), |(all, returns), turns| {
                    (all + 1, returns + u64::from(turns[0] == turns[2]))
                });
                within("of 100 breaks, those after which it goes on", returns * 100 / all, 28, 40)
            },
        },
        Oracle {
            name: "tt tie",
            claim: "among equals the one that is put back wins: in 6.1 who runs goes on at the end \
                    of its slice; in 5.15 it gives way at every tick",
            place: Where::Simulator,
            runs: vec![Run::new("tt", TWO_HOGS), Run::new("tt era=60100", TWO_HOGS)],
            holds: |records| {
                within("turns in 5.15", stints(&records[0]).len() as u64, 990, 1_010)?;
                within("turns in 6.1", stints(&records[1]).len() as u64, 400, 850)
            },
        },
        Oracle {
            name: "tt yield",
            claim: "5.15: who yields to a hog waits until that sleeps; in 6.1 the mark is lost \
                    (HRRN_PERCENT), and it waits only as long as CFS's skip buddy",
            place: Where::Everywhere,
            runs: vec![Run::new("tt", YIELDER), Run::new("tt era=60100", YIELDER)],
            holds: |records| {
                let ms = |record| (value(record, "cpu_time_ns", "yielder") / 1e6) as u64;
                within("of 100 ms in 5.15", ms(&records[0]), 0, 2)?;
                within("of 100 ms in 6.1", ms(&records[1]), 20, 50)
            },
        },
    ]
}
