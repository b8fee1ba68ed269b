// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of echo's lists, from the patch for Linux 6.12 (`bs.c`): the order of a round.

use model::Record;

use crate::look::{Stint, same, stints, within};
use crate::oracle::{Oracle, Run, Where};

/// A task that wakes up waits for its place.
const NO_PREEMPTION: &str = "echo wakeup_preemption=false";

/// Who runs for a burst alone, and wakes up when a hog runs.
macro_rules! burst {
    ($name:literal $delay:literal $us:literal $wakes:literal) => {
        concat!(
            "[[task]]\nname = \"",
            $name,
            "\"\nrepeat = 1\ndelay_us = ",
            $delay,
            "\n",
            "steps = [{ run_us = ",
            $us,
            " }, { timer = { period_us = ",
            $wakes,
            " } }, ",
            "{ run_us = 200 }]\n"
        )
    };
}

macro_rules! bursts {
    ($($more:expr)?) => {
        concat!(
            "duration_us = 220000\n",
            burst!("five" 0 5000 203000),
            burst!("three" 20000 3000 183050),
            burst!("nine" 40000 9000 163100),
            $($more,)?
            "[[task]]\nname = \"hog\"\ndelay_us = 80000\nsteps = [{ run_us = 900000 }]\n"
        )
    };
}

const EQUALS: &str = "
duration_us = 10000
[[task]]
name = \"hog\"
delay_us = 500
steps = [{ run_us = 900000 }]
[[task]]
name = \"a\"
repeat = 1
delay_us = 1000
steps = [{ run_us = 300 }]
[[task]]
name = \"b\"
repeat = 1
delay_us = 1030
steps = [{ run_us = 300 }]
[[task]]
name = \"c\"
repeat = 1
delay_us = 1060
steps = [{ run_us = 300 }]
";

const THREE_HOGS: &str = "
duration_us = 600000
[[task]]
name = \"a\"
steps = [{ run_us = 900000 }]
[[task]]
name = \"b\"
steps = [{ run_us = 900000 }]
[[task]]
name = \"c\"
steps = [{ run_us = 900000 }]
";

/// One with an estimate of 0.2 ms / 4, and hogs that begin 13 ms before it wakes up.
const LATE: &str = "
duration_us = 60000
[[task]]
name = \"late\"
repeat = 1
steps = [{ run_us = 200 }, { timer = { period_us = 24000 } }, { run_us = 1200 }]
[[task]]
name = \"a\"
delay_us = 10500
steps = [{ run_us = 900000 }]
[[task]]
name = \"b\"
delay_us = 10500
steps = [{ run_us = 900000 }]
[[task]]
name = \"c\"
delay_us = 10500
steps = [{ run_us = 900000 }]
";

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
        Oracle {
            name: "echo 4",
            claim: "those that come with estimates of 5, 3 and 9 run in the order 3, 5, 9",
            place: Where::Everywhere,
            runs: vec![Run::new(NO_PREEMPTION, bursts!())],
            holds: |records| {
                same("the order", after_hog(&records[0], 202, 3), names("three five nine"))
            },
        },
        Oracle {
            name: "echo 4, equals",
            claim: "another 5 goes before the 5 that is there; of equals the first stays first, \
                    and the newest of the others is next",
            place: Where::Simulator,
            runs: vec![
                Run::new(NO_PREEMPTION, bursts!(burst!("again" 60000 5000 143150))),
                Run::new(NO_PREEMPTION, EQUALS),
            ],
            holds: |records| {
                let order = after_hog(&records[0], 202, 4);
                same("the order", order, names("three again five nine"))?;
                same("equals", after_hog(&records[1], 1, 3), names("a c b"))
            },
        },
        Oracle {
            name: "echo 5",
            claim: "each hog has one turn before any has two",
            place: Where::Everywhere,
            runs: vec![Run::new("echo", THREE_HOGS)],
            holds: |records| {
                let turns = turns(&records[0]);
                match are_rounds(&turns) {
                    true => Ok(()),
                    false => Err(format!("the turns were {turns:?}")),
                }
            },
        },
    ]
}

fn present_estimates() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "echo 4, present estimates",
            claim: "who wakes up runs before hogs that have a larger estimate by now, though they \
                    were queued with a smaller one",
            place: Where::Everywhere,
            runs: vec![Run::new("echo", LATE)],
            holds: |records| {
                // Where a tick ends it soon after, it is a short turn.
                let is_it = |stint: &Stint| stint.who == "late" && stint.from_ns > 10_000_000;
                let turn = stints(&records[0]).into_iter().find(is_it);
                let turn = turn.ok_or("late never had the CPU again")?;
                within("the start of its turn, us", turn.from_ns / 1000, 23_900, 24_300)
            },
        },
        Oracle {
            name: "echo 4, put back",
            claim: "the last of a round is put behind the first of the next one, before its equals",
            place: Where::Simulator,
            runs: vec![Run::new("echo estimate=false", THREE_HOGS)],
            holds: |records| {
                let turns = turns(&records[0]);
                match alternate(&turns) {
                    true => Ok(()),
                    false => Err(format!("the turns were {turns:?}")),
                }
            },
        },
    ]
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}
