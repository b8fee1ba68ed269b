// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of echo, from the patch for Linux 6.12 (`bs.c`, `balancer.h`) and its README.

use crate::look::{near, same, share, stints, turn_of, value, within};
use crate::oracle::{Oracle, Run, everywhere, facts, simulated};

/// Asks echo's functions and prints their answers.
const FACTS: &str = "../../tests/oracles/facts/echo_facts.bpf.c";

pub fn oracles() -> Vec<Oracle> {
    [arithmetic(), shares(), others()].concat()
}

fn arithmetic() -> Vec<Oracle> {
    vec![
        facts!(
            FACTS,
            "echo 1",
            "35 us are shared by all, but nobody has less than 4.2 us",
            ("quota of 2", 17_500),
            ("quota of 3", 11_666),
            ("quota of 5", 7_000),
            ("quota of 8", 4_375),
            ("quota of 9", 4_200),
            ("quota of 100", 4_200),
        ),
        facts!(
            FACTS,
            "echo 2",
            "at each preemption the estimate comes half of the way to the burst",
            ("preempted once", 500),
            ("preempted twice", 750),
            ("preempted 3 times", 875),
            ("preempted 4 times", 937),
            ("preempted 5 times", 968),
        ),
        facts!(
            FACTS,
            "echo 3",
            "at a sleep it is halved once more, so that bursts of 1200 are taken for 400",
            ("slept once", 300),
            ("slept twice", 375),
            ("slept 3 times", 393),
            ("slept 4 times", 398),
            ("slept 5 times", 399),
            ("slept 6 times", 399),
        ),
        facts!(
            FACTS,
            "echo 6",
            "a smaller estimate preempts, an equal one does not, and any does who has used its \
             quota; SCHED_IDLE does not",
            ("100 preempts", 0),
            ("99 preempts", 1),
            ("200 preempts", 0),
            ("200 preempts who has used its quota", 1),
            ("idle preempts", 0),
        ),
        facts!(FACTS, "echo 10", "moving to another CPU averages twice", ("moved", 750)),
    ]
}

fn shares() -> Vec<Oracle> {
    vec![
        everywhere(
            "echo 7",
            "as shipped, hogs of nice 0 and 19 share 50 : 50, and so do -20 and 0",
            vec![
                Run { hz: 625, ..Run::new("echo", "hogs us=1000000 b=19") },
                Run { hz: 625, ..Run::new("echo", "hogs us=1000000 a=-20") },
            ],
            |records| {
                near("the share of 0 : 19", share(&records[0], "a"), 0.5, 0.02)?;
                near("the share of -20 : 0", share(&records[1], "a"), 0.5, 0.02)
            },
        ),
        simulated(
            "echo 7, switches",
            "at 625 ticks each second they switch 625 times",
            vec![Run { hz: 625, ..Run::new("echo", "hogs us=1000000 b=19") }],
            |records| {
                within(
                    "switches",
                    value(&records[0], "involuntary_switches", "all") as u64,
                    600,
                    626,
                )
            },
        ),
        simulated(
            "echo 7, timers",
            "quotas that end by a timer are shared as weights when virtual (0 : 5 is 75.3 : \
             24.7), and equally by nice 0 and 5 when real; who needs several of these, as nice -5 \
             does, has about 4 : 1",
            vec![
                Run::new("echo hrtick=2", "hogs us=1000000 b=5"),
                Run::new("echo hrtick=1", "hogs us=1000000 b=5"),
                Run::new("echo hrtick=1", "hogs us=1000000 a=-5"),
            ],
            |records| {
                near("virtual, 0 : 5", share(&records[0], "a"), 1024.0 / 1359.0, 0.01)?;
                near("real, 0 : 5", share(&records[1], "a"), 0.5, 0.01)?;
                near("real, -5 : 0", share(&records[2], "a"), 0.8, 0.01)
            },
        ),
        everywhere(
            "echo 7, timers of a kernel",
            "with virtual quotas nice 0 has far more than nice 5, also where each of more than \
             10,000 switches costs them both the same",
            vec![Run::new("echo hrtick=2", "hogs us=1000000 b=5")],
            |records| {
                within("the share of 0 : 5, %", (share(&records[0], "a") * 100.0) as u64, 62, 78)?;
                let switches = value(&records[0], "involuntary_switches", "all");
                within("switches", switches as u64, 10_000, 120_000)
            },
        ),
    ]
}

fn others() -> Vec<Oracle> {
    vec![
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
        simulated(
            "echo 9",
            "CPU 0's tick makes 2, 2 and 1 of 4, 1 and 0 runnable tasks",
            vec![Run { cpus: 3, ..Run::new("echo", "echo.unequal") }],
            |records| {
                let late = stints(&records[0]).into_iter().filter(|stint| stint.to_ns > 54_000_000);
                let mut found: Vec<(u32, String)> =
                    late.map(|stint| (stint.cpu, stint.who)).collect();
                found.sort();
                found.dedup();
                let cpus: Vec<u32> = found.iter().map(|(cpu, _)| *cpu).collect();
                same("the CPUs of those that run there", cpus, vec![0, 0, 1, 1, 2])
            },
        ),
    ]
}
