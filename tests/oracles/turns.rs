// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of turns: who goes on, and for how long, where a table has no word for it.

use model::Record;
use model::trace::{TraceEvent, What};

use crate::observations::{Stint, near, same, share, stints, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

pub fn oracles() -> Vec<Oracle> {
    [accounts(), continuing()].concat()
}

/// The most that one of three hogs has, percent.
fn most(record: &Record) -> f64 {
    ["a", "b", "c"].map(|hog| share(record, hog) * 100.0).into_iter().fold(0.0, f64::max)
}

/// The longest time in which only one of three hogs runs, milliseconds.
fn alone_ms(record: &Record) -> u64 {
    let mut hogs = stints(record);
    hogs.retain(|stint| stint.who != "waker");
    let turns = hogs.chunk_by(|turn, next| turn.who == next.who);
    turns.map(|turn| (turn[turn.len() - 1].to_ns - turn[0].from_ns) / 1_000_000).max().unwrap_or(0)
}

fn accounts() -> Vec<Oracle> {
    vec![
        everywhere(
            "tt account",
            "6.1: a switch and a wake-up are accounts, each of which saves a CPU_BOUND task up to \
             15 / 40 of a tick, so that a hog that is interrupted each millisecond keeps the CPU \
             from two others for as long as its type lasts; without types they take turns",
            vec![
                Run::new("tt era=60100", "tt.interrupted"),
                Run::new("tt era=60100 task_types=false", "tt.interrupted"),
            ],
            |records| {
                // When a hog becomes CPU_BOUND, and loses that type, is a matter of single ticks.
                within("alone, ms", alone_ms(&records[0]), 150, 1000)?;
                within("alone without types, ms", alone_ms(&records[1]), 3, 20)?;
                near("the most without types, percent", most(&records[1]), 33.0, 2.0)
            },
        ),
        everywhere(
            "linux24 10",
            "a task that yields to a hog without ticks starts an epoch, and the hog runs: it \
             yields after 5 ms each time, the hog runs until its ticks are used up",
            vec![Run::new("linux24 wakeup_preemption=false", "linux24.yielder_and_hog")],
            |records| {
                let stints = stints(&records[0]);
                let is_other = |stint: &&Stint| match stint.who.as_str() {
                    "yielder" => stint.ms() != 5,
                    _ => stint.ms().abs_diff(55) > 4,
                };
                let other = stints[4..stints.len() - 1].iter().filter(is_other).count();
                // A kernel thread at one yield makes two turns longer: this one and the next.
                same("more than two other turns", other > 2, false)
            },
        ),
    ]
}

/// A task that is preempted with some of its slice left goes on.
fn goes_on(record: &Record) -> Result<(), String> {
    let stints = stints(record);
    let breaks = stints.windows(3).filter(|turns| turns[1].who == "short" && turns[0].ms() < 4);
    let (same, other): (Vec<_>, Vec<_>) = breaks.partition(|turns| turns[0].who == turns[2].who);
    if same.len() >= 20 && other.len() * 10 <= same.len() {
        Ok(())
    } else {
        Err(format!("{} go on, {} do not", same.len(), other.len()))
    }
}

/// Of 100 breaks by the waker, those after which the interrupted task goes on.
fn returns(record: &Record) -> Result<u64, String> {
    let trace = record.trace.as_ref().ok_or("no trace")?;
    let next = |event: &TraceEvent| match event.what {
        What::Switch { next, .. } => Some(next),
        _ => None,
    };
    let order: Vec<u32> = trace.events.iter().filter_map(next).collect();
    let is_waker = |pid| trace.tasks.iter().any(|task| task.pid == pid && task.comm == "waker");
    let breaks: Vec<&[u32]> = order.windows(3).filter(|turns| is_waker(turns[1])).collect();
    let returns = breaks.iter().filter(|turns| turns[0] == turns[2]).count();
    Ok((returns * 100 / breaks.len()) as u64)
}

fn continuing() -> Vec<Oracle> {
    vec![
        everywhere(
            "bmq 7",
            "a task that is preempted goes on before others of its level",
            vec![Run::new("bmq", "bmq.interrupted")],
            |records| goes_on(&records[0]),
        ),
        simulated(
            "tt last buddy",
            "6.1: among nine hogs, a task that has just begun and is preempted goes on afterwards, \
             although the others have lower values (pick_next_entity)",
            vec![Run::new("tt era=60100 task_types=false", "tt.chance")],
            |records| {
                let percent = returns(&records[0])?;
                within("of 100 breaks, those after which it goes on", percent, 28, 40)
            },
        ),
    ]
}
