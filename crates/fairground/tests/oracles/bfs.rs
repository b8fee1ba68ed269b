// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of bfs, from BFS 0.467 (`kernel/sched/bfs.c`) and that of Linux 2.6.33, whose arithmetic
//! of slices has been simulated exactly. A slice is 6 × 2^20 ns, 6.291 ms.

use crate::look::{begins_ms, histogram, near, same, share, stints, turn_of, within};
use crate::oracle::{Oracle, Run, Where};
use crate::slices::{
    after_sleep_us, alternate, crowd, hogs, part_is, share_is, sleeps_after, turns_last,
};

const SLICE_US: u64 = 6291;

const PINNED: &str = "
duration_us = 2000000
[[task]]
name = \"a\"
affinity = [0]
steps = [{ run_us = 100000 }]
[[task]]
name = \"b\"
affinity = [0]
steps = [{ run_us = 100000 }]
";

fn turns() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "bfs 1",
            claim: "two hogs of nice 0 alternate; each waits for exactly a slice",
            place: Where::Everywhere,
            runs: vec![Run::new("bfs", hogs!("0", "0"))],
            holds: |records| {
                alternate(&records[0])?;
                turns_last(&records[0], SLICE_US)
            },
        },
        Oracle {
            name: "bfs 2",
            claim: "nice 0 and 1 alternate too: their deadlines differ by less than a slice",
            place: Where::Everywhere,
            runs: vec![Run::new("bfs", hogs!("0", "1"))],
            holds: |records| {
                alternate(&records[0])?;
                share_is(&records[0], 1.0, 1.0)
            },
        },
        Oracle {
            name: "bfs 9",
            claim: "the early one has slices of 24 ms on 8 CPUs, of 6 ms on one",
            place: Where::Simulator,
            runs: vec![
                Run { cpus: 8, ..Run::new("bfs early=true", PINNED) },
                Run::new("bfs early=true", hogs!("0", "0")),
            ],
            holds: |records| {
                turns_last(&records[0], 24_000)?;
                turns_last(&records[1], 6_000)
            },
        },
    ]
}

fn shares() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "bfs 3",
            claim: "nice 0 and 5 share 4 : 1, 0 and 19 34 : 1",
            place: Where::Everywhere,
            runs: vec![Run::new("bfs", hogs!("0", "5")), Run::new("bfs", hogs!("0", "19"))],
            holds: |records| {
                share_is(&records[0], 4.0, 1.0)?;
                share_is(&records[1], 34.0, 1.0)
            },
        },
        Oracle {
            name: "bfs 3, more",
            claim: "nice 0 and 10 share 11 : 1, -20 and 0 6 : 1, -20 and 19 39 : 1, -5 and 5 7 : 1",
            place: Where::Simulator,
            runs: vec![
                Run::new("bfs", hogs!("0", "10")),
                Run::new("bfs", hogs!("-20", "0")),
                Run::new("bfs", hogs!("-20", "19")),
                Run::new("bfs", hogs!("-5", "5")),
            ],
            holds: |records| {
                share_is(&records[0], 11.0, 1.0)?;
                share_is(&records[1], 6.0, 1.0)?;
                share_is(&records[2], 39.0, 1.0)?;
                share_is(&records[3], 7.0, 1.0)
            },
        },
        Oracle {
            name: "bfs 4",
            claim: "nice fades in a crowd: beside 1, 5, 10, 20, 40, 100 hogs of nice 0 one of nice 19 \
                    has 0.029, 0.131, 0.232, 0.377, 0.547, 0.758 of what one of them has",
            place: Where::Simulator,
            runs: vec![
                Run::new("bfs", crowd!("1", "19", "20000000")),
                Run::new("bfs", crowd!("5", "19", "20000000")),
                Run::new("bfs", crowd!("10", "19", "20000000")),
                Run::new("bfs", crowd!("20", "19", "20000000")),
                Run::new("bfs", crowd!("40", "19", "40000000")),
                Run::new("bfs", crowd!("100", "19", "50000000")),
            ],
            holds: |records| {
                let counts = [1.0, 5.0, 10.0, 20.0, 40.0, 100.0];
                let parts = [0.029, 0.131, 0.232, 0.377, 0.547, 0.758];
                let wanted = counts.into_iter().zip(parts);
                records
                    .iter()
                    .zip(wanted)
                    .try_for_each(|(record, (count, part))| part_is(record, count, part))
            },
        },
    ]
}

const LONG_SLEEPER: &str = "
duration_us = 2000000
[[task]]
name = \"hog\"
delay_us = 1000
steps = [{ run_us = 100000 }]
[[task]]
name = \"sleeper\"
steps = [{ sleep_us = 47000 }, { run_us = 3000 }]
";

/// It sleeps 5 ms with a part of its slice left: it runs 3 ms after the hog has been refilled, or
/// 8 ms before it is.
macro_rules! short_sleeper {
    ($hog_us:literal, $sleeper_us:literal, $run_us:literal) => {
        concat!(
            "duration_us = 60000\n",
            "[[task]]\nname = \"hog\"\ndelay_us = ",
            $hog_us,
            "\nsteps = [{ run_us = 100000 }]\n[[task]]\nname = \"sleeper\"\ndelay_us = ",
            $sleeper_us,
            "\nsteps = [{ run_us = ",
            $run_us,
            " }, { sleep_us = 5000 }, { run_us = 2000 }, { sleep_us = 100000 }]\n"
        )
    };
}

/// All have used a slice, and so have deadlines by their nice values; B and C have inherited theirs.
/// They wake up one after another while a real-time task has the CPU.
const FOUR: &str = "
duration_us = 200000
[[task]]
name = \"first\"
delay_us = 80000
repeat = 1
policy = { class = \"fifo\", priority = 1 }
steps = [{ run_us = 30000 }]
[[task]]
name = \"a\"
repeat = 1
steps = [{ run_us = 7000 }, { sleep_us = 80000 }, { run_us = 2000 }]
[[task]]
name = \"d\"
repeat = 1
policy = { class = \"other\", nice = 10 }
steps = [{ run_us = 7000 }, { sleep_us = 80000 }, { run_us = 2000 }]
[[task]]
name = \"parent\"
policy = { class = \"other\", nice = -10 }
steps = [{ run_us = 7000 }, { fork = { task = \"b\" } }, { fork = { task = \"c\" } }, \"wait_children\"]
[[task]]
name = \"b\"
template = true
steps = [{ sleep_us = 85000 }, { run_us = 2000 }]
[[task]]
name = \"c\"
template = true
steps = [{ sleep_us = 86000 }, { run_us = 2000 }]
";

fn order_of_deadlines() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "bfs 5",
            claim: "who has slept for longer than a deadline is away preempts a hog each time; when \
                    it has a new deadline at each wake-up, it never does",
            place: Where::Everywhere,
            runs: vec![
                Run::new("bfs", LONG_SLEEPER),
                Run::new("bfs keep_deadline=false", LONG_SLEEPER),
            ],
            holds: |records| {
                let waits = |at: usize| histogram(&records[at], "wakeup_latency_ns", "sleeper");
                within("its longest wait, ns", waits(0).quantile(1.0).unwrap_or(0), 0, 500_000)?;
                let median = waits(1).quantile(0.5).unwrap_or(0);
                within("the usual wait for a new deadline, ns", median, 500_000, 7_000_000)
            },
        },
        Oracle {
            name: "bfs 5, short",
            claim: "who has slept for 5 ms keeps its deadline: it preempts a hog that has a later one, \
                    and waits for the end of the slice of one that has an earlier one",
            place: Where::Simulator,
            runs: vec![
                Run::new("bfs", short_sleeper!("0", "10000", "3000")),
                Run::new("bfs", short_sleeper!("8500", "1", "8000")),
            ],
            holds: |records| {
                same("the later, ms", begins_ms(&turn_of(&records[0], "sleeper", 1)?), 18)?;
                same("the earlier, ms", begins_ms(&turn_of(&records[1], "sleeper", 1)?), 14)
            },
        },
        Oracle {
            name: "bfs 6",
            claim: "of A, then B and C with an earlier deadline that is the same, and D with a later \
                    one, the order is B C A D",
            place: Where::Simulator,
            runs: vec![Run::new("bfs", FOUR)],
            holds: |records| {
                let late = stints(&records[0])
                    .into_iter()
                    .filter(|it| begins_ms(it) >= 110 && it.who != "parent");
                let who: Vec<String> = late.map(|stint| stint.who).collect();
                let [b, c, a, d, ..] = &who[..] else { return Err(format!("only {who:?} run")) };
                same(
                    "the order",
                    [b, c, a, d],
                    [&"b".into(), &"c".into(), &"a".into(), &"d".into()],
                )
            },
        },
    ]
}

/// The waker has a new slice after 6 ms, and wakes up at 22 ms, when the hogs have theirs, too.
macro_rules! waker {
    ($nice:literal) => {
        concat!(
            "duration_us = 60000\n",
            "[[task]]\nname = \"hog0\"\ndelay_us = 8000\naffinity = [0]\n",
            "steps = [{ run_us = 100000 }]\n",
            "[[task]]\nname = \"hog1\"\ndelay_us = 8000\naffinity = [1]\n",
            "steps = [{ run_us = 100000 }]\npolicy = { class = \"other\", nice = 10 }\n",
            "[[task]]\nname = \"waker\"\nrepeat = 1\n",
            "steps = [{ run_us = 7000 }, { sleep_us = 15000 }, { run_us = 1000 }]\n",
            "policy = { class = \"other\", nice = ",
            $nice,
            " }\n"
        )
    };
}

const IDLE_POLICY: &str = "
duration_us = 1000000
[[task]]
name = \"a\"
count = 2
steps = [{ run_us = 5000 }, \"yield\"]
[[task]]
name = \"b\"
policy = { class = \"idle\" }
steps = [{ run_us = 5000 }]
";

const BATCH: &str = "
duration_us = 2000000
[[task]]
name = \"hog\"
steps = [{ run_us = 100000 }]
[[task]]
name = \"sleeper\"
policy = { class = \"batch\" }
steps = [{ sleep_us = 47000 }, { run_us = 3000 }]
";

fn classes() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "bfs 7",
            claim: "where two CPUs run deadlines of 41 and 106 ms from now, a woken task with one in \
                    between preempts the second only, and one with a later one neither",
            place: Where::Simulator,
            runs: vec![
                Run { cpus: 2, ..Run::new("bfs", waker!("5")) },
                Run { cpus: 2, ..Run::new("bfs", waker!("15")) },
            ],
            holds: |records| {
                let late = |record| {
                    stints(record).into_iter().find(|it| it.who == "waker" && begins_ms(it) >= 20)
                };
                let found = late(&records[0]).map(|stint| (stint.cpu, begins_ms(&stint)));
                same("the earlier one's CPU and when, ms", found, Some((1, 22)))?;
                same("the later one runs", late(&records[1]), None)
            },
        },
        Oracle {
            name: "bfs 8",
            claim: "a SCHED_IDLE task never runs while another waits, even if that yields",
            place: Where::Everywhere,
            runs: vec![Run::new("bfs", IDLE_POLICY)],
            holds: |records| near("its share", share(&records[0], "b"), 0.0, 0.01),
        },
        Oracle {
            name: "bfs 10",
            claim: "a SCHED_BATCH task does not preempt, though its deadline is earlier, and waits \
                    for the slice's end",
            place: Where::Everywhere,
            runs: vec![Run::new("bfs", BATCH)],
            holds: |records| {
                let waits = histogram(&records[0], "wakeup_latency_ns", "sleeper");
                within("its usual wait, ns", waits.quantile(0.5).unwrap_or(0), 500_000, 7_000_000)
            },
        },
    ]
}

fn sleepers() -> Oracle {
    Oracle {
        name: "bfs sleeper's slice",
        claim: "a task that goes to sleep with 0.04 ms of its slice left wakes up with a whole one and \
                a later deadline, and so does a SCHED_BATCH task, whatever is left",
        place: Where::Simulator,
        runs: vec![
            Run::new("bfs", sleeps_after!("6250", "other")),
            Run::new("bfs", sleeps_after!("1000", "batch")),
        ],
        holds: |records| {
            let mut lengths = records.iter().map(after_sleep_us);
            lengths.try_for_each(|us| within("its turn, µs", us?, SLICE_US - 5, SLICE_US + 5))
        },
    }
}

pub fn oracles() -> Vec<Oracle> {
    [turns(), shares(), order_of_deadlines(), classes(), vec![sleepers()]].concat()
}
