// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of echo's lists, from the patch for Linux 6.12 (`bs.c`): the order of a round.

use model::Record;

use crate::look::{Stint, same, stints, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// A task that wakes up waits for its place.
const NO_PREEMPTION: &str = "echo wakeup_preemption=false";

pub fn oracles() -> Vec<Oracle> {
    [orders(), present_estimates()].concat()
}

/// Who comes after a hog's turn that is over `from_ms` after the start or later, in order.
fn after_hog(record: &Record, from_ms: u64, count: usize) -> Vec<String> {
    let late = stints(record).into_iter().skip_while(|stint| stint.to_ns < from_ms * 1_000_000);
    let names: Vec<String> = late.map(|stint| stint.who).filter(|who| who != "hog").collect();
    names.into_iter().take(count).collect()
}

/// The turns of hogs, one by one: who has two in a row has them in one stint.
fn turns(record: &Record) -> Vec<String> {
    let count = |ns: u64| (ns.saturating_sub(300_000)).div_ceil(4_000_000).max(1) as usize;
    let all = stints(record).into_iter();
    all.flat_map(|stint| vec![stint.who.clone(); count(stint.to_ns - stint.from_ns)]).collect()
}

/// From some turn on, the last two of each round are the other way round in the next one.
fn alternate(turns: &[String]) -> bool {
    let is_swapped = |two: &[String]| two[0] == two[3] && two[1] == two[5] && two[2] == two[4];
    are_rounds(turns) && (0..3).any(|first| turns[first..].windows(6).step_by(3).all(is_swapped))
}

/// From some turn on, the turns are rounds: each three are of all three.
fn are_rounds(turns: &[String]) -> bool {
    let is_round =
        |three: &[String]| three[0] != three[1] && three[1] != three[2] && three[0] != three[2];
    (0..6).any(|first| turns[first..].chunks_exact(3).all(is_round))
}

fn orders() -> Vec<Oracle> {
    vec![
        everywhere(
            "echo 4",
            "those that come with estimates of 5, 3 and 9 run in the order 3, 5, 9",
            vec![Run::new(NO_PREEMPTION, "echo_lists.bursts")],
            |records| same("the order", after_hog(&records[0], 202, 3), names("three five nine")),
        ),
        simulated(
            "echo 4, equals",
            "another 5 goes before the 5 that is there; of equals the first stays first, and the \
             newest of the others is next",
            vec![
                Run::new(NO_PREEMPTION, "echo_lists.again"),
                Run::new(NO_PREEMPTION, "echo_lists.equals"),
            ],
            |records| {
                let order = after_hog(&records[0], 202, 4);
                same("the order", order, names("three again five nine"))?;
                same("equals", after_hog(&records[1], 1, 3), names("a c b"))
            },
        ),
        everywhere(
            "echo 5",
            "each hog has one turn before any has two",
            vec![Run::new("echo", "echo_lists.three_hogs")],
            |records| {
                let turns = turns(&records[0]);
                match are_rounds(&turns) {
                    true => Ok(()),
                    false => Err(format!("the turns were {turns:?}")),
                }
            },
        ),
    ]
}

fn present_estimates() -> Vec<Oracle> {
    vec![
        everywhere(
            "echo 4, present estimates",
            "who wakes up runs before hogs that have a larger estimate by now, though they were \
             queued with a smaller one",
            vec![Run::new("echo", "echo_lists.late")],
            |records| {
                // Where a tick ends it soon after, it is a short turn.
                let is_it = |stint: &Stint| stint.who == "late" && stint.from_ns > 10_000_000;
                let turn = stints(&records[0]).into_iter().find(is_it);
                let turn = turn.ok_or("late never had the CPU again")?;
                within("the start of its turn, us", turn.from_ns / 1000, 23_900, 24_300)
            },
        ),
        simulated(
            "echo 4, put back",
            "the last of a round is put behind the first of the next one, before its equals",
            vec![Run::new("echo estimate=false", "echo_lists.three_hogs")],
            |records| {
                let turns = turns(&records[0]);
                match alternate(&turns) {
                    true => Ok(()),
                    false => Err(format!("the turns were {turns:?}")),
                }
            },
        ),
    ]
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}
