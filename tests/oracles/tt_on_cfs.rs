// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of tt from era 6.x on, where it is a part of CFS: what its patch for Linux 6.1 does, and
//! what distinguishes that from 5.15.

use model::Record;
use model::trace::{TraceEvent, What};

use crate::look::{Stint, histogram, near, printed_each, share, stints, value, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};
use crate::tt::{BATCH, CPU_BOUND, facts};

pub fn oracles() -> Vec<Oracle> {
    [accounts(), buddies(), choices()].concat()
}

fn accounts() -> Vec<Oracle> {
    vec![
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
        everywhere(
            "tt account",
            "6.1: a switch and a wake-up are accounts, each of which saves a CPU_BOUND task up to \
             15 / 40 of a tick, so that a hog that is interrupted each millisecond keeps the CPU \
             from two others for as long as its type lasts; without types they take turns",
            vec![
                Run::new("tt era=60100", "tt_on_cfs.interrupted"),
                Run::new("tt era=60100 task_types=false", "tt_on_cfs.interrupted"),
            ],
            |records| {
                // When a hog becomes CPU_BOUND, and loses that type, is a matter of single ticks.
                within("alone, ms", alone_ms(&records[0]), 150, 1000)?;
                within("alone without types, ms", alone_ms(&records[1]), 3, 20)?;
                near("the most without types, percent", most(&records[1]), 33.0, 2.0)
            },
        ),
    ]
}

/// The most that one of three hogs has, percent.
fn most(record: &Record) -> f64 {
    ["a", "b", "c"].map(|hog| share(record, hog) * 100.0).into_iter().fold(0.0, f64::max)
}

/// The longest time in which only one of three hogs runs, milliseconds.
fn alone_ms(record: &Record) -> u64 {
    let all = stints(record);
    let hogs: Vec<&Stint> = all.iter().filter(|stint| stint.who != "waker").collect();
    let turns = hogs.chunk_by(|one, next| one.who == next.who);
    turns.map(|turn| (turn[turn.len() - 1].to_ns - turn[0].from_ns) / 1_000_000).max().unwrap_or(0)
}

/// How often the sleeper runs after the hogs have come.
fn late_turns(record: &Record) -> u64 {
    let is_late = |stint: &&Stint| stint.who == "sleeper" && stint.from_ns > 320_000_000;
    stints(record).iter().filter(is_late).count() as u64
}

fn buddies() -> Vec<Oracle> {
    vec![
        everywhere(
            "tt next buddy",
            "6.1: who preempts by CFS's rule runs at once, although the others have lower values, \
             for it is a buddy (pick_next_entity); otherwise it has to wait",
            vec![
                Run::new("tt era=60100", "tt_on_cfs.late_hogs"),
                Run::new("tt era=60100 wakeup_preemption=false", "tt_on_cfs.late_hogs"),
            ],
            |records| {
                within("its turns", late_turns(&records[0]), 5, 5)?;
                within("its turns without preemption", late_turns(&records[1]), 0, 0)
            },
        ),
        simulated(
            "tt last buddy",
            "6.1: among nine hogs, who has just begun and is preempted goes on afterwards, \
             although the others have lower values (pick_next_entity)",
            vec![Run::new("tt era=60100 task_types=false", "tt_on_cfs.chance")],
            |records| {
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
        ),
    ]
}

fn choices() -> Vec<Oracle> {
    vec![
        everywhere(
            "tt first",
            "6.1: the first of the tree, which is sorted by value, sets the lower limit of all \
             vruntimes (update_min_vruntime), so that a woken task is far behind the hog with \
             the smallest and waits until a tick; in CFS it preempts",
            vec![
                Run::new("tt era=60100", "tt_on_cfs.heavy_and_light"),
                Run::new("cfs era=60100", "tt_on_cfs.heavy_and_light"),
            ],
            |records| {
                let wait = |at: usize| {
                    let waits = histogram(&records[at], "wakeup_latency_ns", "sleeper");
                    waits.quantile(0.9).unwrap_or(0)
                };
                within("90 % wait at most, ns,", wait(0), 1_500_000, 5_000_000)?;
                within("in CFS, ns,", wait(1), 0, 500_000)
            },
        ),
        simulated(
            "tt tie",
            "among equals the one that is put back wins: in 6.1 who runs goes on at the end of \
             its slice; in 5.15 it gives way at every tick",
            vec![
                Run::new("tt", "two_hogs us=4000000"),
                Run::new("tt era=60100", "two_hogs us=4000000"),
            ],
            |records| {
                within("turns in 5.15", stints(&records[0]).len() as u64, 990, 1_010)?;
                within("turns in 6.1", stints(&records[1]).len() as u64, 400, 900)
            },
        ),
        everywhere(
            "tt yield",
            "5.15: a task that yields to a hog waits until that sleeps; in 6.1 the mark is lost \
             (HRRN_PERCENT), and it waits only as long as CFS's skip buddy",
            vec![Run::new("tt", "late_yielder"), Run::new("tt era=60100", "late_yielder")],
            |records| {
                let ms = |record| (value(record, "cpu_time_ns", "yielder") / 1e6) as u64;
                within("of 100 ms in 5.15", ms(&records[0]), 0, 2)?;
                within("of 100 ms in 6.1", ms(&records[1]), 20, 50)
            },
        ),
    ]
}
