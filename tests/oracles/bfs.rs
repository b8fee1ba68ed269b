// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of bfs, from BFS 0.467 (`kernel/sched/bfs.c`) and that of Linux 2.6.33, whose arithmetic
//! of slices has been simulated exactly. A slice is 6 × 2^20 ns, 6.291 ms.

use crate::look::{
    after_sleep_us, alternate, begins_ms, histogram, near, part_is, same, share, share_is, stints,
    turn_of, turns_last, within,
};
use crate::oracle::{Oracle, Run, everywhere, simulated};

const SLICE_US: u64 = 6291;

fn turns() -> Vec<Oracle> {
    vec![
        everywhere(
            "bfs 1",
            "two hogs of nice 0 alternate; each waits for exactly a slice",
            vec![Run::new("bfs", "hogs")],
            |records| {
                alternate(&records[0])?;
                turns_last(&records[0], SLICE_US)
            },
        ),
        everywhere(
            "bfs 2",
            "nice 0 and 1 alternate too: their deadlines differ by less than a slice",
            vec![Run::new("bfs", "hogs b=1")],
            |records| {
                alternate(&records[0])?;
                share_is(&records[0], 1.0, 1.0)
            },
        ),
        simulated(
            "bfs 9",
            "the early one has slices of 24 ms on 8 CPUs, of 6 ms on one",
            vec![
                Run { cpus: 8, ..Run::new("bfs early=true", "bfs.pinned") },
                Run::new("bfs early=true", "hogs"),
            ],
            |records| {
                turns_last(&records[0], 24_000)?;
                turns_last(&records[1], 6_000)
            },
        ),
    ]
}

fn shares() -> Vec<Oracle> {
    vec![
        everywhere(
            "bfs 3",
            "nice 0 and 5 share 4 : 1, 0 and 19 34 : 1",
            vec![Run::new("bfs", "hogs b=5"), Run::new("bfs", "hogs b=19")],
            |records| {
                share_is(&records[0], 4.0, 1.0)?;
                share_is(&records[1], 34.0, 1.0)
            },
        ),
        simulated(
            "bfs 3, more",
            "nice 0 and 10 share 11 : 1, -20 and 0 6 : 1, -20 and 19 39 : 1, -5 and 5 7 : 1",
            vec![
                Run::new("bfs", "hogs b=10"),
                Run::new("bfs", "hogs a=-20"),
                Run::new("bfs", "hogs a=-20 b=19"),
                Run::new("bfs", "hogs a=-5 b=5"),
            ],
            |records| {
                share_is(&records[0], 11.0, 1.0)?;
                share_is(&records[1], 6.0, 1.0)?;
                share_is(&records[2], 39.0, 1.0)?;
                share_is(&records[3], 7.0, 1.0)
            },
        ),
        simulated(
            "bfs 4",
            "nice fades in a crowd: beside 1, 5, 10, 20, 40, 100 hogs of nice 0 one of nice 19 \
             has 0.029, 0.131, 0.232, 0.377, 0.547, 0.758 of what one of them has",
            vec![
                Run::new("bfs", "crowd count=1 nice=19"),
                Run::new("bfs", "crowd count=5 nice=19"),
                Run::new("bfs", "crowd count=10 nice=19"),
                Run::new("bfs", "crowd count=20 nice=19"),
                Run::new("bfs", "crowd count=40 nice=19 us=40000000"),
                Run::new("bfs", "crowd count=100 nice=19 us=50000000"),
            ],
            |records| {
                let counts = [1.0, 5.0, 10.0, 20.0, 40.0, 100.0];
                let parts = [0.029, 0.131, 0.232, 0.377, 0.547, 0.758];
                let wanted = counts.into_iter().zip(parts);
                records
                    .iter()
                    .zip(wanted)
                    .try_for_each(|(record, (count, part))| part_is(record, count, part))
            },
        ),
    ]
}

fn order_of_deadlines() -> Vec<Oracle> {
    vec![
        everywhere(
            "bfs 5",
            "who has slept for longer than a deadline is away preempts a hog each time; when it \
             has a new deadline at each wake-up, it never does",
            vec![
                Run::new("bfs", "bfs.long_sleeper"),
                Run::new("bfs keep_deadline=false", "bfs.long_sleeper"),
            ],
            |records| {
                let waits = |at: usize| histogram(&records[at], "wakeup_latency_ns", "sleeper");
                within("its longest wait, ns", waits(0).quantile(1.0).unwrap_or(0), 0, 500_000)?;
                let median = waits(1).quantile(0.5).unwrap_or(0);
                within("the usual wait for a new deadline, ns", median, 500_000, 7_000_000)
            },
        ),
        simulated(
            "bfs 5, short",
            "who has slept for 5 ms keeps its deadline: it preempts a hog that has a later one, \
             and waits for the end of the slice of one that has an earlier one",
            vec![
                Run::new("bfs", "bfs.short_sleeper hog_us=0 sleeper_us=10000 run_us=3000"),
                Run::new("bfs", "bfs.short_sleeper hog_us=8500 sleeper_us=1 run_us=8000"),
            ],
            |records| {
                same("the later, ms", begins_ms(&turn_of(&records[0], "sleeper", 1)?), 18)?;
                same("the earlier, ms", begins_ms(&turn_of(&records[1], "sleeper", 1)?), 14)
            },
        ),
        simulated(
            "bfs 6",
            "of A, then B and C with an earlier deadline that is the same, and D with a later \
             one, the order is B C A D",
            vec![Run::new("bfs", "bfs.four")],
            |records| {
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
        ),
    ]
}

fn classes() -> Vec<Oracle> {
    vec![
        simulated(
            "bfs 7",
            "where two CPUs run deadlines of 41 and 106 ms from now, a woken task with one in \
             between preempts the second only, and one with a later one neither",
            vec![
                Run { cpus: 2, ..Run::new("bfs", "bfs.waker nice=5") },
                Run { cpus: 2, ..Run::new("bfs", "bfs.waker nice=15") },
            ],
            |records| {
                let late = |record| {
                    stints(record).into_iter().find(|it| it.who == "waker" && begins_ms(it) >= 20)
                };
                let found = late(&records[0]).map(|stint| (stint.cpu, begins_ms(&stint)));
                same("the earlier one's CPU and when, ms", found, Some((1, 22)))?;
                same("the later one runs", late(&records[1]), None)
            },
        ),
        everywhere(
            "bfs 8",
            "a SCHED_IDLE task never runs while another waits, even if that yields",
            vec![Run::new("bfs", "bfs.idle_policy")],
            |records| near("its share", share(&records[0], "b"), 0.0, 0.01),
        ),
        everywhere(
            "bfs 10",
            "a SCHED_BATCH task does not preempt, though its deadline is earlier, and waits for \
             the slice's end",
            vec![Run::new("bfs", "bfs.batch")],
            |records| {
                let waits = histogram(&records[0], "wakeup_latency_ns", "sleeper");
                within("its usual wait, ns", waits.quantile(0.5).unwrap_or(0), 500_000, 7_000_000)
            },
        ),
    ]
}

fn sleepers() -> Oracle {
    simulated(
        "bfs sleeper's slice",
        "a task that goes to sleep with 0.04 ms of its slice left wakes up with a whole one and a \
         later deadline, and so does a SCHED_BATCH task, whatever is left",
        vec![
            Run::new("bfs", "sleeps_after us=6250"),
            Run::new("bfs", "batch_sleeps_after us=1000"),
        ],
        |records| {
            let mut lengths = records.iter().map(after_sleep_us);
            lengths.try_for_each(|us| within("its turn, µs", us?, SLICE_US - 5, SLICE_US + 5))
        },
    )
}

pub fn oracles() -> Vec<Oracle> {
    [turns(), shares(), order_of_deadlines(), classes(), vec![sleepers()]].concat()
}
