// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of orders: who runs after whom, and where.

use model::Record;

use crate::observations::{Stint, begins_ms, near, order, same, stints, turn_of, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

pub fn oracles() -> Vec<Oracle> {
    [real_time(), deadlines(), queues(), arrivals(), balanced(), at_once()].concat()
}

/// They ran in this order, for about so many milliseconds each; what comes later is not looked at.
fn turns(record: &Record, wanted: &[(&str, u64)], by_ms: u64) -> Result<(), String> {
    // A task that starts with a delay or ends runs for a moment, which is no turn.
    let mut found: Vec<(String, u64)> = Vec::new();
    for stint in stints(record).into_iter().filter(|stint| stint.ms() > 0) {
        match found.last_mut() {
            Some((who, ms)) if *who == stint.who => *ms += stint.ms(),
            _ => found.push((stint.who.clone(), stint.ms())),
        }
    }
    let fits = |(found, wanted): (&(String, u64), &(&str, u64))| {
        found.0 == wanted.0 && found.1.abs_diff(wanted.1) <= by_ms
    };
    if found.len() >= wanted.len() && found.iter().zip(wanted).all(fits) {
        Ok(())
    } else {
        Err(format!("the turns were {found:?}, not {wanted:?}"))
    }
}

macro_rules! turns {
    ($name:literal, $claim:literal, $workload:expr, $by:literal: $($who:literal $ms:literal),*) => {
        everywhere($name, $claim, vec![Run::new("rr", $workload)], |records| {
            turns(&records[0], &[$(($who, $ms)),*], $by)
        })
    };
}

fn real_time() -> Vec<Oracle> {
    vec![
        turns!("rt 1", "an equal priority waits until the first blocks; waking it waits, too",
            "rt.blocks", 1: "a" 20, "b" 30, "a" 10),
        turns!("rt 2", "SCHED_RR takes turns of 100 ms",
            "rt.round_robin", 4: "a" 100, "b" 100, "c" 100, "a" 100, "b" 100, "c" 100),
        turns!("rt 3", "a preempted SCHED_RR task keeps its place and what is left of its quantum",
            "rt.interrupted", 4: "a" 40, "c" 5, "a" 60, "b" 100),
        turns!("rt 4", "a higher priority runs at once; then the one that it preempted, before its \
            equals", "rt.higher", 1: "a" 10, "c" 5, "a" 20, "b" 10),
        turns!("rt 5", "a task that yields goes behind its equals, and on if there are none",
            "rt.yield", 1: "a" 5, "b" 5, "a" 10),
        turns!("rt 9", "a task that lowers its own priority goes before those that have it already",
            "rt.lowered", 1: "a" 10, "b" 5),
        turns!("rt 10", "the highest list first, each in order of arrival",
            "rt.lists", 1: "z" 20, "c" 5, "a" 5, "b" 5, "d" 5),
    ]
}

/// When the task's stints began and ended, whole milliseconds.
fn times(record: &Record) -> Vec<(u64, u64)> {
    let rounded = |ns: u64| (ns + 500_000) / 1_000_000;
    stints(record).iter().map(|stint| (rounded(stint.from_ns), rounded(stint.to_ns))).collect()
}

fn deadlines() -> Vec<Oracle> {
    vec![
        simulated(
            "deadline 3",
            "a task that wakes up too late to use its budget by its deadline gets a new one; one \
             that wakes up in time goes on with the old one (CBS)",
            ["deadline.late", "deadline.soon"]
                .map(|load| Run { hz: 1000, ..Run::new("rr", load) })
                .to_vec(),
            |records| {
                same("at 5 ms", times(&records[0]), vec![(0, 2), (5, 9)])?;
                same("at 3 ms", times(&records[1]), vec![(0, 2), (3, 5), (8, 10)])
            },
        ),
        simulated(
            "deadline 4",
            "an overrun, up to a tick, is taken from the next budget",
            vec![Run::new("rr", "deadline.hog")],
            |records| {
                let length = |stint: Stint| (stint.to_ns - stint.from_ns) as f64 / 1e6;
                let turns: Vec<f64> = stints(&records[0]).into_iter().map(length).collect();
                near("the first turn", turns[0], 12.0, 2.0)?;
                near("five turns", turns[..5].iter().sum(), 52.0, 2.0)
            },
        ),
        everywhere(
            "deadline 5",
            "the earliest deadline runs, and preempts",
            vec![Run::new("rr", "deadline.order")],
            |records| {
                // A task that starts with a delay runs for a moment to ask for it.
                same("the order", order(&records[0], |stint| stint.ms() > 0), names("b d b c a"))
            },
        ),
        everywhere(
            "deadline 7",
            "a task that yields after 2 of 10 ms has a full budget in the next period",
            vec![Run::new("rr", "deadline.yield")],
            |records| {
                let [first, second] = times(&records[0])[..] else {
                    return Err(format!("it ran at {:?} ms", times(&records[0])));
                };
                within("its first turn begins", first.0, 0, 1)?;
                within("its first turn ends", first.1, 1, 3)?;
                within("its second turn begins", second.0, 99, 101)?;
                within("its second turn ends", second.1, 109, 111)
            },
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
    if wrong == 0 && count > 40 {
        Ok(())
    } else {
        Err(format!("{wrong} of {count} turns are out of order"))
    }
}

fn queues() -> Vec<Oracle> {
    vec![
        simulated(
            "cfs 10",
            "equal vruntimes are served in order of arrival: equal hogs rotate",
            vec![Run::new("cfs", "cfs.three_hogs")],
            |records| {
                let order: Vec<String> = order(&records[0], |_| true).split_off(6);
                let repeats = order.windows(4).filter(|turns| turns[0] == turns[3]).count();
                same("how many turns repeat after three", repeats, order.len() - 3)
            },
        ),
        simulated(
            "baby 1, order",
            "the same order from round to round (rr)",
            vec![Run::new("baby variant=1", "baby.three_hogs")],
            |records| rotate(&records[0], &["a", "b", "c"]),
        ),
        simulated(
            "baby 2",
            "D wakes up while A runs and B and C wait: A has to go, but B runs, then C, D and A \
             (rr)",
            vec![Run::new("baby variant=1", "baby.three_and_late")],
            |records| {
                let mut all = stints(&records[0]);
                all.retain(|stint| stint.to_ns > 98_900_000);
                let names: Vec<&str> = all.iter().map(|stint| &*stint.who).collect();
                let ring = ["a", "b", "c", "a", "b", "c"];
                let first = ring.iter().position(|who| *who == names[0]).unwrap_or(0);
                let wanted = [ring[first], ring[first + 1], ring[first + 2], "d", ring[first]];
                within("the end of the first, us", all[0].to_ns / 1000, 98_999, 99_001)?;
                same("the order", &names[..5], &wanted[..])
            },
        ),
        everywhere(
            "o1 8",
            "the active ones run first, the better of them (C) before those that have waited (A, \
             B); then D, which is better than all but has expired",
            vec![Run::new("o1", "o1.order")],
            |records| {
                let is_late = |stint: &Stint| stint.to_ns > 1_000_000_000 && stint.ms() > 5;
                let mut order = order(&records[0], is_late);
                order.dedup();
                same("the order", order, names("d c a b d"))
            },
        ),
    ]
}

/// Who runs first on CPU 0 once its real-time task is done.
fn first_after(record: &Record) -> Option<String> {
    let is_late = |stint: &Stint| stint.cpu == 0 && stint.who != "rt0" && begins_ms(stint) >= 110;
    order(record, is_late).into_iter().next()
}

fn arrivals() -> Vec<Oracle> {
    let two_cpus = |scheduler, load| Run { cpus: 2, ..Run::new(scheduler, load) };
    vec![
        simulated(
            "cacule 7",
            "of equals the last in is the first out, though a tick may come between",
            vec![Run::new("cacule", "cacule.arrivals")],
            |records| {
                let mut firsts: Vec<String> = Vec::new();
                for who in order(&records[0], |_| true) {
                    if !firsts.contains(&who) {
                        firsts.push(who);
                    }
                }
                same("who comes first", firsts, names("rt c b a"))
            },
        ),
        simulated(
            "bfs 6",
            "of A, then B and C with an earlier deadline that is the same, and D with a later \
             one, the order is B C A D",
            vec![Run::new("bfs", "bfs.four")],
            |records| {
                let is_late = |stint: &Stint| begins_ms(stint) >= 110 && stint.who != "parent";
                let mut order = order(&records[0], is_late);
                order.truncate(4);
                same("the order", order, names("b c a d"))
            },
        ),
        simulated(
            "muqss 5",
            "a CPU takes the earliest of all queues, here another's",
            vec![
                two_cpus("muqss rqshare=0", "muqss.two_queues"),
                two_cpus("muqss rqshare=0 peeking=false", "muqss.two_queues"),
            ],
            |records| {
                same("the first", first_after(&records[0]), Some("far".into()))?;
                same("without looking", first_after(&records[1]), Some("near".into()))
            },
        ),
        simulated(
            "muqss 6",
            "if not interactive, a CPU takes its own unless more wait elsewhere",
            vec![
                two_cpus("muqss rqshare=0 interactive=false", "muqss.two_queues"),
                two_cpus("muqss rqshare=0 interactive=false", "muqss.three_queued"),
            ],
            |records| {
                same("of equal queues", first_after(&records[0]), Some("near".into()))?;
                let longer = first_after(&records[1]).unwrap_or_default();
                same("of a longer one", longer.starts_with("far"), true)
            },
        ),
    ]
}

/// The CPUs of those that run from a time on, each task once for each.
fn cpus_from(record: &Record, ns: u64) -> Vec<u32> {
    let late = stints(record).into_iter().filter(|stint| stint.to_ns > ns);
    let mut found: Vec<(u32, String)> = late.map(|stint| (stint.cpu, stint.who)).collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(cpu, _)| cpu).collect()
}

fn balanced() -> Vec<Oracle> {
    vec![
        simulated(
            "baby 10",
            "CPU 0's tick makes 2 and 2 of 3 and 1 runnable tasks, and leaves 2 and 1",
            ["baby.three_and_one", "baby.two_and_one"]
                .map(|load| Run { cpus: 2, ..Run::new("baby variant=2", load) })
                .to_vec(),
            |records| {
                let cpus = [0, 1].map(|at| cpus_from(&records[at], 62_000_000));
                same("the CPUs of those that run", cpus, [vec![0, 0, 1, 1], vec![0, 0, 1]])
            },
        ),
        simulated(
            "echo 9",
            "CPU 0's tick makes 2, 2 and 1 of 4, 1 and 0 runnable tasks",
            vec![Run { cpus: 3, ..Run::new("echo", "echo.unequal") }],
            |records| {
                let cpus = cpus_from(&records[0], 54_000_000);
                same("the CPUs of those that run", cpus, vec![0, 0, 1, 1, 2])
            },
        ),
    ]
}

/// A task that preempts without an interrupt has left the order, yet the order is as if it had not
/// (`include/common.h`): the better one has its turn first, with each of the schedulers.
fn good_is_first(records: &[Record]) -> Result<(), String> {
    records.iter().try_for_each(|record| {
        let (good, fair) = (turn_of(record, "good", 1)?, turn_of(record, "fair", 1)?);
        let scheduler = &record.trial.contestant.name;
        if good.from_ns < fair.from_ns {
            Ok(())
        } else {
            Err(format!("with {scheduler} it comes after the other"))
        }
    })
}

fn at_once() -> Vec<Oracle> {
    let runs = |workload| {
        ["bmq era=61200", "pds era=60600", "eevdf era=61200", "eevdf", "bore"]
            .map(|scheduler| Run::new(scheduler, workload))
            .to_vec()
    };
    vec![
        simulated(
            "at once 1",
            "one that wakes up runs before another that has preempted just before, but has not \
             run yet, if it is better",
            runs("at_once_better"),
            good_is_first,
        ),
        simulated(
            "at once 2",
            "and so it does if it wakes up while a real-time task keeps the other from running",
            runs("at_once_real_time"),
            good_is_first,
        ),
    ]
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}
