// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of linux24, from the source of Linux 2.4.17 (`kernel/sched.c`, `fork.c`, `exit.c`).
//!
//! Ticks are 10 ms; a turn ends at the first tick of this kernel (4 ms) after its last one. The
//! lab's main task of the simulator has used up its ticks when it forks the tasks, so that all
//! begin with an epoch's, and virtual ticks lie at multiples of 10 ms. On a real kernel the
//! kernel's own threads wake up now and then, and a task that they preempt then competes anew, as
//! in the original; where an order is to be seen, such wake-ups do not preempt.

use model::Record;

use crate::look::{Stint, begins_ms, near, same, share, stints, turn_of, within};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// Without preemption by the kernel's threads.
const QUIET: &str = "linux24 wakeup_preemption=false";
/// A child has a full counter of its own.
const NO_SHARING: &str = "linux24 fork_shares=false";

/// A turn is so many ticks long, and may end one of this kernel's ticks later. The turns that the
/// start and the end of the trial have cut are left out.
fn turns_last(record: &Record, ms: u64) -> Result<(), String> {
    let stints = stints(record);
    let hogs: Vec<&Stint> = stints.iter().filter(|stint| stint.who.len() == 1).collect();
    let whole = &hogs[3..hogs.len() - 1];
    match whole.iter().find(|stint| stint.ms().abs_diff(ms) > 4) {
        Some(stint) => Err(format!("{} runs for {} ms, not {ms}", stint.who, stint.ms())),
        None if whole.len() < 8 => Err(format!("there are only {} turns", whole.len())),
        None if whole.windows(2).any(|pair| pair[0].who == pair[1].who) => {
            Err("somebody has two turns in a row".into())
        }
        None => Ok(()),
    }
}

/// Its length is that of so many ticks, of which the kernel's own may eat a part at both ends.
fn lasts_ticks(turn: &Stint, ticks: u64) -> Result<(), String> {
    within(
        &format!("{}'s turn of {ticks} ticks, ms", turn.who),
        turn.ms(),
        10 * ticks - 5,
        10 * ticks + 5,
    )
}

fn orders() -> Vec<Oracle> {
    vec![
        everywhere(
            "linux24 1",
            "two hogs of different processes run A B B A A B B in turns of 60 ms: after an epoch \
             the outgoing one wins the tie by its address space; without that bonus A B A B",
            vec![
                Run::new(QUIET, "linux24.processes"),
                Run::new("linux24 wakeup_preemption=false mm_bonus_ticks=0", "linux24.processes"),
            ],
            |records| {
                turns_last(&records[0], 120)?;
                turns_last(&records[1], 60)
            },
        ),
        simulated(
            "linux24 1, preempting",
            "the same where woken tasks may preempt",
            vec![Run::new("linux24", "linux24.processes")],
            |records| turns_last(&records[0], 120),
        ),
        everywhere(
            "linux24 2",
            "two hogs of one process take turns of 60 ms",
            vec![Run::new(QUIET, "hogs us=2400000")],
            |records| turns_last(&records[0], 60),
        ),
    ]
}

fn shares() -> Oracle {
    everywhere(
        "linux24 3",
        "hogs of nice 0 and 5 share 6 : 4, 0 and 10 6 : 3, 0 and 19 6 : 1, -20 and 0 11 : 6, -20 \
         and 19 11 : 1. Where this kernel's ticks are not the original's, turns end late in a \
         rhythm of their own",
        vec![
            Run { hz: 100, ..Run::new("linux24", "hogs us=2400000 b=5") },
            Run { hz: 100, ..Run::new("linux24", "hogs us=2400000 b=10") },
            Run { hz: 100, ..Run::new("linux24", "hogs us=2400000 b=19") },
            Run { hz: 100, ..Run::new("linux24", "hogs us=2400000 a=-20") },
            Run { hz: 100, ..Run::new("linux24", "hogs us=2400000 a=-20 b=19") },
        ],
        |records| {
            let wanted = [(6.0, 4.0), (6.0, 3.0), (6.0, 1.0), (11.0, 6.0), (11.0, 1.0)];
            for (record, (a, b)) in records.iter().zip(wanted) {
                // One tick of 10 ms may end up to a tick of 4 ms late: the shorter the turn, the
                // more.
                let by = if b == 1.0 { 0.045 } else { 0.02 };
                near(&format!("the share of {a} : {b}"), share(record, "a"), a / (a + b), by)?;
            }
            Ok(())
        },
    )
}

fn epochs() -> Vec<Oracle> {
    vec![
        simulated(
            "linux24 4",
            "a task that sleeps for 1, 2, 3, 4 or 5 epochs wakes up with 9, 10, 11, 11 or 11 \
             ticks, which it uses up in one turn; without the bonus with 6",
            vec![
                Run::new("linux24", "linux24.sleeper wakes_us=75000"),
                Run::new("linux24", "linux24.sleeper wakes_us=135000"),
                Run::new("linux24", "linux24.sleeper wakes_us=195000"),
                Run::new("linux24", "linux24.sleeper wakes_us=255000"),
                Run::new("linux24", "linux24.sleeper wakes_us=315000"),
                Run::new("linux24 sleeper_bonus=false", "linux24.sleeper wakes_us=315000"),
            ],
            |records| {
                for (record, ticks) in records.iter().zip([9, 10, 11, 11, 11, 6]) {
                    lasts_ticks(&turn_of(record, "sleeper", 0)?, ticks)?;
                }
                Ok(())
            },
        ),
        everywhere(
            "linux24 4, at most",
            "who has slept for long has 11 ticks; it stands in front, so that the 6 of the next \
             epoch follow",
            vec![Run::new(QUIET, "linux24.sleeper wakes_us=405000")],
            |records| lasts_ticks(&turn_of(&records[0], "sleeper", 0)?, 11 + 6),
        ),
    ]
}

fn wakeups() -> Vec<Oracle> {
    vec![
        simulated(
            "linux24 5",
            "a woken task with 11 ticks preempts another process's hog with 6 (46 against 42; \
             both lack the 15 on one CPU), one with 6 does not (41 against 42)",
            vec![
                Run::new(NO_SHARING, "linux24.waker wakes_us=305000"),
                Run::new(NO_SHARING, "linux24.waker wakes_us=5000"),
            ],
            |records| {
                same("who has 11, ms", begins_ms(&turn_of(&records[0], "waker", 0)?), 305)?;
                let waits = begins_ms(&turn_of(&records[1], "waker", 0)?);
                within("who has 6, ms", waits, 60, 64)
            },
        ),
        simulated(
            "linux24 6",
            "a woken task with 11 ticks whose own CPU has a hog with 11 (46 against 47) does not \
             preempt a hog with 1 tick on another (31 against 37) but waits for its end; without \
             the penalty for changing CPUs it does",
            vec![
                Run { cpus: 2, ..Run::new(NO_SHARING, "linux24.two_busy") },
                Run {
                    cpus: 2,
                    ..Run::new(
                        "linux24 fork_shares=false proc_change_penalty_ticks=0",
                        "linux24.two_busy",
                    )
                },
            ],
            |records| {
                let turns = [turn_of(&records[0], "waker", 0)?, turn_of(&records[1], "waker", 0)?];
                same("the CPUs", [turns[0].cpu, turns[1].cpu], [0, 0])?;
                within("with the penalty, ms", begins_ms(&turns[0]), 420, 424)?;
                same("without it, ms", begins_ms(&turns[1]), 415)
            },
        ),
        simulated(
            "linux24 9",
            "of two idle CPUs that a woken task did not run on last, the one that has idled for \
             longer gets it",
            vec![
                Run { cpus: 3, ..Run::new("linux24", "linux24.idle_cpus until_us=30000") },
                Run { cpus: 3, ..Run::new("linux24", "linux24.idle_cpus until_us=5000") },
            ],
            |records| {
                let cpus =
                    [turn_of(&records[0], "waker", 0)?.cpu, turn_of(&records[1], "waker", 0)?.cpu];
                same("the CPUs", cpus, [2, 1])
            },
        ),
    ]
}

fn families() -> Vec<Oracle> {
    vec![
        simulated(
            "linux24 7",
            "a parent with 5 ticks keeps 2 and its child gets 3; one with 1 keeps none, its \
             child gets that, and it gives way at once (then the child's next epoch follows)",
            vec![
                Run::new("linux24", "linux24.fork_at us=12000"),
                Run::new("linux24", "linux24.fork_at us=52000"),
            ],
            |records| {
                lasts_ticks(&turn_of(&records[0], "parent", 0)?, 1 + 2)?;
                lasts_ticks(&turn_of(&records[0], "child", 0)?, 3 + 6)?;
                same("who has 1, ms", turn_of(&records[1], "parent", 0)?.ms(), 52)?;
                lasts_ticks(&turn_of(&records[1], "child", 0)?, 1 + 6)
            },
        ),
        simulated(
            "linux24 8",
            "a child's ticks go back: 3 and 4 are 7 again (then the next epoch's 6 follow), and \
             11 and 11 are 20, the most",
            vec![
                Run::new("linux24", "linux24.child_exits"),
                Run::new("linux24", "linux24.child_sleeps"),
            ],
            |records| {
                lasts_ticks(&turn_of(&records[0], "parent", 1)?, 7 + 6)?;
                lasts_ticks(&turn_of(&records[1], "parent", 1)?, 20)
            },
        ),
    ]
}

fn yields() -> Vec<Oracle> {
    vec![
        everywhere(
            "linux24 10",
            "a task that yields to a hog without ticks starts an epoch, and the hog runs: it \
             yields after 5 ms each time, the hog runs until its ticks are used up",
            vec![Run::new(QUIET, "linux24.yielder_and_hog")],
            |records| {
                let stints = stints(&records[0]);
                let whole = stints[4..stints.len() - 1]
                    .iter()
                    .map(|stint| (stint.who.as_str(), stint.ms()));
                let other = whole.filter(|&(who, ms)| match who {
                    "yielder" => ms != 5,
                    _ => ms.abs_diff(55) > 4,
                });
                // A kernel thread at one yield makes two turns longer: this one and the next.
                same("more than two other turns", other.count() > 2, false)
            },
        ),
        simulated(
            "linux24 10, alone",
            "a task that yields alone runs on",
            vec![Run::new("linux24", "linux24.yielder")],
            |records| same("turns", stints(&records[0]).len(), 1),
        ),
    ]
}

pub fn oracles() -> Vec<Oracle> {
    [orders(), vec![shares()], epochs(), wakeups(), families(), yields()].concat()
}
