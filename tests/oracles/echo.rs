// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of echo's lists, from the patch for Linux 6.12 (`bs.c`): the order of a round.

use model::Record;

use crate::observations::{order, same, stints, turn_of, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// A task that wakes up waits for its place.
const NO_PREEMPTION: &str = "echo wakeup_preemption=false";

/// They come after a hog's turn that is over `from_ms` after the start or later, in this order.
fn come_after_hog(record: &Record, from_ms: u64, wanted: &str) -> Result<(), String> {
    let wanted: Vec<String> = wanted.split(' ').map(String::from).collect();
    let late = |stint: &crate::observations::Stint| stint.to_ns >= from_ms * 1_000_000;
    let mut found = order(record, late);
    found.retain(|who| who != "hog");
    found.truncate(wanted.len());
    same("the order", found, wanted)
}

/// The turns of hogs, one by one: a hog that has two in a row has them in one stint.
fn turns(record: &Record) -> Vec<String> {
    let count = |ns: u64| (ns.saturating_sub(300_000)).div_ceil(4_000_000).max(1) as usize;
    let all = stints(record).into_iter();
    all.flat_map(|stint| vec![stint.who.clone(); count(stint.to_ns - stint.from_ns)]).collect()
}

/// From some turn on, the turns are rounds: each three are of all three.
fn are_rounds(turns: &[String]) -> bool {
    let is_round =
        |three: &[String]| three[0] != three[1] && three[1] != three[2] && three[0] != three[2];
    (0..6).any(|first| turns[first..].chunks_exact(3).all(is_round))
}

/// From some turn on, the last two of each round are the other way round in the next one.
fn alternate(turns: &[String]) -> bool {
    let is_swapped = |two: &[String]| two[0] == two[3] && two[1] == two[5] && two[2] == two[4];
    are_rounds(turns) && (0..3).any(|first| turns[first..].windows(6).step_by(3).all(is_swapped))
}

fn turns_are(record: &Record, fit: fn(&[String]) -> bool) -> Result<(), String> {
    let turns = turns(record);
    if fit(&turns) { Ok(()) } else { Err(format!("the turns were {turns:?}")) }
}

pub fn oracles() -> Vec<Oracle> {
    vec![
        everywhere(
            "echo 4",
            "those that come with estimates of 5, 3 and 9 run in the order 3, 5, 9",
            vec![Run::new(NO_PREEMPTION, "echo.bursts")],
            |records| come_after_hog(&records[0], 202, "three five nine"),
        ),
        simulated(
            "echo 4, equals",
            "another 5 goes before the 5 that is there; of equals the first stays first, and the \
             newest of the others is next",
            vec![Run::new(NO_PREEMPTION, "echo.again"), Run::new(NO_PREEMPTION, "echo.equals")],
            |records| {
                come_after_hog(&records[0], 202, "three again five nine")?;
                come_after_hog(&records[1], 1, "a c b")
            },
        ),
        simulated(
            "echo 4, put back",
            "the last of a round is put behind the first of the next one, before its equals",
            vec![Run::new("echo estimate=false", "echo.three_hogs")],
            |records| turns_are(&records[0], alternate),
        ),
        everywhere(
            "echo 5",
            "each hog has one turn before any has two",
            vec![Run::new("echo", "echo.three_hogs")],
            |records| turns_are(&records[0], are_rounds),
        ),
        everywhere(
            "echo 8",
            "a forked task, with an estimate of 0, runs at once, before its parent and a hog",
            vec![Run::new("echo", "echo.fork")],
            |records| {
                let child = turn_of(&records[0], "child", 0)?;
                let parent = stints(&records[0]).into_iter().filter(|stint| {
                    stint.who == "parent" && stint.to_ns <= child.from_ns + 100_000
                });
                let ran_us: u64 = parent.map(|stint| (stint.to_ns - stint.from_ns) / 1000).sum();
                within("what its parent has run before, us", ran_us, 10_400, 12_500)
            },
        ),
    ]
}
