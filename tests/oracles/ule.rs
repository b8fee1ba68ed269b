// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of ule, from FreeBSD's `sched_ule.c`.

use model::Record;

use crate::look::{near, share, stints, waits, within};
use crate::oracle::{Oracle, Run, everywhere, facts};

/// Asks ule's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/ule_facts.bpf.c";

pub fn oracles() -> Vec<Oracle> {
    [scores(), places(), loads()].concat()
}

fn scores() -> Vec<Oracle> {
    vec![
        facts!(
            FACTS,
            "ule 1",
            "the score by the percentage of running, 50 where it is as much as sleeping",
            ("score of 1", 0),
            ("score of 10", 5),
            ("score of 25", 16),
            ("score of 30", 21),
            ("score of 37", 29),
            ("score of 38", 30),
            ("score of 40", 33),
            ("score of 50", 50),
            ("score of 60", 67),
            ("score of 75", 84),
            ("score of 90", 95),
            ("score of 99", 100),
        ),
        facts!(
            FACTS,
            "ule 2",
            "who has done nothing has score 0, and who has run and slept as much 50",
            ("score of nothing", 0),
            ("score of 5 and 5", 50),
        ),
        facts!(
            FACTS,
            "ule 3",
            "interactive is whose score and nice value are below 30: up to 37 % of running at nice \
             0, 33 % at 5, 28 % at 10",
            ("37 is interactive", 1),
            ("38 is interactive", 0),
            ("33 of nice 5 is interactive", 1),
            ("34 of nice 5 is interactive", 0),
            ("28 of nice 10 is interactive", 1),
            ("29 of nice 10 is interactive", 0),
        ),
        facts!(
            FACTS,
            "ule 4",
            "of more than 5 s four fifths are remembered, of more than 6 s halves, of more than \
             10 s only the larger part",
            ("runtime of 1.1", 72),
            ("sleep of 1.1", 16),
            ("runtime of 1.3", 35),
            ("sleep of 1.3", 30),
            ("runtime of 2.3", 100),
            ("sleep of 2.3", 1),
        ),
        facts!(
            FACTS,
            "ule 5",
            "a child remembers half a second in its parent's ratio: 3 s and 1 s are 0.375 and \
             0.125 s",
            ("child's runtime", 384_000),
            ("child's sleep", 128_000),
        ),
    ]
}

fn places() -> Vec<Oracle> {
    vec![
        facts!(
            FACTS,
            "ule 6",
            "a slice of 12 ticks is divided by the other tasks, down to 2",
            ("slice beside 0", 12),
            ("slice beside 1", 12),
            ("slice beside 2", 6),
            ("slice beside 3", 4),
            ("slice beside 4", 3),
            ("slice beside 5", 2),
            ("slice beside 6", 2),
            ("slice beside 7", 2),
        ),
        facts!(
            FACTS,
            "ule 8",
            "the calendar has better priorities first, and who is put into it again goes behind a \
             worse one when the index has advanced by more than their distance",
            ("0 before 5", 1),
            ("5 before 10", 1),
            ("0 before an older 10", 1),
            ("0 before a much older 10", 0),
            ("last", 163),
        ),
    ]
}

/// The sleeper's median wait after waking up, us, once what it inherited counts no more: up to
/// half a second of its maker's sleep, for which 55 % of running are interactive until 1.07 s, and
/// 30 % of nice 19 until 0.75 s.
fn median_wait_us(record: &Record) -> u64 {
    const HISTORY_NS: u64 = 1_200_000_000;
    let mut waits: Vec<u64> = waits(record, "sleeper", HISTORY_NS);
    waits.sort_unstable();
    waits.get(waits.len() / 2).map_or(u64::MAX, |wait_ns| wait_ns / 1000)
}

/// What the hog has run after the first half of 8 s, ms.
fn late_ms(record: &Record) -> u64 {
    const HALF_NS: u64 = 4_000_000_000;
    let late = stints(record).into_iter().filter(|it| it.who == "hog" && it.to_ns > HALF_NS);
    late.map(|it| it.to_ns - it.from_ns.max(HALF_NS)).sum::<u64>() / 1_000_000
}

/// The median length of turns, ms; a turn that somebody else has broken is two.
fn median_turn_ms(record: &Record) -> u64 {
    let mut turns: Vec<u64> = stints(record).iter().map(|stint| stint.ms()).collect();
    turns.sort_unstable();
    turns[turns.len() / 2]
}

fn loads() -> Vec<Oracle> {
    vec![
        everywhere(
            "ule starves",
            "interactive tasks that fill the CPU together, each below the cut, starve a hog: it \
             has nothing of the last seconds; without the class it has its turns",
            vec![
                Run::new("ule", "ule.crowded"),
                Run::new("ule interactivity=false", "ule.crowded"),
            ],
            |records| {
                within("the hog's last seconds, ms", late_ms(&records[0]), 0, 40)?;
                within("without interactive tasks", late_ms(&records[1]), 500, 4_000)
            },
        ),
        everywhere(
            "ule 6, turns",
            "two hogs share equally, in turns of 12 ticks at 127 Hz, 94 ms",
            vec![Run::new("ule", "ule.two_hogs")],
            |records| {
                within("a turn, ms", median_turn_ms(&records[0]), 84, 100)?;
                near("A's share", share(&records[0], "a"), 0.5, 0.04)
            },
        ),
        everywhere(
            "ule 7",
            "who runs for 10 or 30 % is interactive, and served at once beside a hog; at 55 % it \
             waits for a slice, and so does 30 % at nice 19 or without the class",
            vec![
                Run::new("ule", "ule.part run_us=1000 sleep_us=9000 nice=0"),
                Run::new("ule", "ule.part run_us=3000 sleep_us=7000 nice=0"),
                Run::new("ule", "ule.part run_us=5500 sleep_us=4500 nice=0"),
                Run::new("ule", "ule.part run_us=3000 sleep_us=7000 nice=19"),
                Run::new("ule interactivity=false", "ule.part run_us=3000 sleep_us=7000 nice=0"),
            ],
            |records| {
                for record in &records[..2] {
                    within("an interactive one's wait, us", median_wait_us(record), 0, 300)?;
                }
                for record in &records[2..] {
                    within("another one's wait, us", median_wait_us(record), 20_000, 110_000)?;
                }
                Ok(())
            },
        ),
    ]
}
