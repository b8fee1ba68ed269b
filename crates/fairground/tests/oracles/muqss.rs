// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of muqss, from MuQSS 0.210 (`kernel/sched/MuQSS.c`), whose arithmetic of slices has been
//! simulated exactly. A slice is 6 × 2^20 ns, 6.291 ms.
//!
//! The levels of its skip list (the sheet's 10) have no oracle: a level is only how many of the
//! list's links a node has, which changes how soon a place is found, not which. The kernel's tree
//! stands for the list and has no levels, so nothing in the file could be asked.

use model::Record;

use crate::loads::SHORT;
use crate::look::{begins_ms, near, printed_all, same, share, stints, value, within};
use crate::oracle::{Oracle, Run, Where};
use crate::slices::{
    after_sleep_us, alternate, crowd, hogs, part_is, share_is, sleeps_after, turns_last,
};

/// muqss without long jiffies, which is what has been simulated.
const EXACT: &str = "muqss long_jiffies=false";
const SLICE_US: u64 = 6291;
const FACTS: &str = "./tests/schedulers/muqss_facts.bpf.c long_jiffies=false";
/// Every CPU has a queue of its own.
const OWN_QUEUES: &str = "muqss rqshare=0";
const OWN_LONG_QUEUES: &str = "muqss rqshare=0 interactive=false";

fn turns() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "muqss 1",
            claim: "two hogs of nice 0 alternate every 6.291 ms",
            place: Where::Everywhere,
            runs: vec![Run::new(EXACT, hogs!("0", "0"))],
            holds: |records| {
                alternate(&records[0])?;
                turns_last(&records[0], SLICE_US)
            },
        },
        Oracle {
            name: "muqss 2",
            claim: "nice 0 and 1 share alike, 0 and 5 4 : 1, 0 and 19 34 : 1",
            place: Where::Everywhere,
            runs: vec![
                Run::new(EXACT, hogs!("0", "1")),
                Run::new(EXACT, hogs!("0", "5")),
                Run::new(EXACT, hogs!("0", "19")),
            ],
            holds: |records| {
                let wanted = [1.0, 4.0, 34.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        },
        Oracle {
            name: "muqss 2, more",
            claim: "nice 0 and 10 share 11 : 1, -20 and 0 6 : 1, -20 and 19 39 : 1, -5 and 5 7 : 1",
            place: Where::Simulator,
            runs: vec![
                Run::new(EXACT, hogs!("0", "10")),
                Run::new(EXACT, hogs!("-20", "0")),
                Run::new(EXACT, hogs!("-20", "19")),
                Run::new(EXACT, hogs!("-5", "5")),
            ],
            holds: |records| {
                let wanted = [11.0, 6.0, 39.0, 7.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        },
    ]
}

fn crowds() -> Oracle {
    Oracle {
        name: "muqss 3",
        claim: "nice fades in a crowd: beside 10 and 100 hogs of nice 0 one of nice 19 has 0.232 and \
                0.758 of what one of them has; beside 1, 2, 5, 10, 20 one of nice 5 has 0.25, 0.40, \
                0.625, 0.769, 0.871",
        place: Where::Simulator,
        runs: vec![
            Run::new(EXACT, crowd!("10", "19", "20000000")),
            Run::new(EXACT, crowd!("100", "19", "50000000")),
            Run::new(EXACT, crowd!("1", "5", "20000000")),
            Run::new(EXACT, crowd!("2", "5", "20000000")),
            Run::new(EXACT, crowd!("5", "5", "20000000")),
            Run::new(EXACT, crowd!("10", "5", "20000000")),
            Run::new(EXACT, crowd!("20", "5", "20000000")),
        ],
        holds: |records| {
            let counts = [10.0, 100.0, 1.0, 2.0, 5.0, 10.0, 20.0];
            let parts = [0.232, 0.758, 0.25, 0.40, 0.625, 0.769, 0.871];
            let wanted = counts.into_iter().zip(parts);
            records.iter().zip(wanted).try_for_each(|(record, (n, part))| part_is(record, n, part))
        },
    }
}

fn facts() -> Oracle {
    Oracle {
        name: "muqss 4",
        claim: "who is refilled at 1,000,000,000 ns has the deadline 1,106,217,472 at nice 10, and \
                one slice later at nice -20",
        place: Where::Simulator,
        runs: vec![Run::new(FACTS, SHORT)],
        holds: |records| {
            let wanted =
                [("nice 10", 1_106_217_472), ("nice -20", 1_006_291_456), ("slice", 6_291_456)];
            printed_all(&records[0], &wanted)
        },
    }
}

/// Two CPUs that real-time tasks keep busy, the first until 110 ms. `near` waits on the first;
/// `far` and `farther` on the second, with deadlines that are earlier by their nice value. All have
/// had a slice, and may run on both.
macro_rules! two_queues {
    ($farther:literal) => {
        concat!(
            "duration_us = 200000\n",
            "[[task]]\nname = \"rt0\"\ndelay_us = 60000\nrepeat = 1\naffinity = [0]\n",
            "policy = { class = \"fifo\", priority = 1 }\nsteps = [{ run_us = 50000 }]\n",
            "[[task]]\nname = \"rt1\"\ndelay_us = 60000\nrepeat = 1\naffinity = [1]\n",
            "policy = { class = \"fifo\", priority = 1 }\nsteps = [{ run_us = 130000 }]\n",
            "[[task]]\nname = \"near\"\nrepeat = 1\naffinity = [0]\n",
            "policy = { class = \"other\", nice = 5 }\n",
            "steps = [{ run_us = 7000 }, { affinity = [0, 1] }, { sleep_us = 70000 }, ",
            "{ run_us = 3000 }]\n",
            "[[task]]\nname = \"far\"\nrepeat = 1\naffinity = [1]\n",
            "policy = { class = \"other\", nice = -10 }\n",
            "steps = [{ run_us = 7000 }, { affinity = [0, 1] }, { sleep_us = 70000 }, ",
            "{ run_us = 3000 }]\n",
            $farther
        )
    };
}

/// Who runs first on CPU 0 once its real-time task is done.
fn first_after(record: &Record) -> Option<String> {
    let late = stints(record)
        .into_iter()
        .find(|it| it.cpu == 0 && it.who != "rt0" && begins_ms(it) >= 110);
    late.map(|stint| stint.who)
}

fn picks() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "muqss 5",
            claim: "a CPU takes the earliest of all queues, here another's",
            place: Where::Simulator,
            runs: vec![
                Run { cpus: 2, ..Run::new(OWN_QUEUES, two_queues!("")) },
                Run { cpus: 2, ..Run::new("muqss rqshare=0 peeking=false", two_queues!("")) },
            ],
            holds: |records| {
                same("the first", first_after(&records[0]), Some("far".into()))?;
                same("without looking", first_after(&records[1]), Some("near".into()))
            },
        },
        Oracle {
            name: "muqss 6",
            claim: "if not interactive, a CPU takes its own unless more wait elsewhere",
            place: Where::Simulator,
            runs: vec![
                Run { cpus: 2, ..Run::new(OWN_LONG_QUEUES, two_queues!("")) },
                Run {
                    cpus: 2,
                    ..Run::new(
                        OWN_LONG_QUEUES,
                        two_queues!(
                            "[[task]]\nname = \"farther\"\nrepeat = 1\naffinity = [1]\npolicy = \
                             { class = \"other\", nice = -10 }\nsteps = [{ run_us = 7000 }, \
                             { affinity = [0, 1] }, { sleep_us = 70000 }, { run_us = 3000 }]\n"
                        ),
                    )
                },
            ],
            holds: |records| {
                same("of equal queues", first_after(&records[0]), Some("near".into()))?;
                let longer = first_after(&records[1]).unwrap_or_default();
                same("of a longer one", longer.starts_with("far"), true)
            },
        },
    ]
}

/// Hogs `a` on CPU 0 and one each of nice 0 and 19 on the next; a waker of nice 5 that ran on CPU 0.
macro_rules! wakes_up {
    ($first:literal, $second:literal) => {
        concat!(
            "duration_us = 60000\n",
            "[[task]]\nname = \"hog0\"\ndelay_us = 8000\naffinity = [0]\ncount = ",
            $first,
            "\nsteps = [{ run_us = 100000 }]\npolicy = { class = \"other\", nice = 10 }\n",
            "[[task]]\nname = \"hog1\"\ndelay_us = 8000\naffinity = [1]\ncount = ",
            $second,
            "\nsteps = [{ run_us = 100000 }]\n",
            "[[task]]\nname = \"hog2\"\ndelay_us = 8000\naffinity = [2]\n",
            "steps = [{ run_us = 100000 }]\npolicy = { class = \"other\", nice = 19 }\n",
            "[[task]]\nname = \"waker\"\nrepeat = 1\naffinity = [0]\n",
            "policy = { class = \"other\", nice = 5 }\n",
            "steps = [{ run_us = 7000 }, { affinity = [0, 1, 2] }, { sleep_us = 20000 }, ",
            "{ run_us = 1000 }]\n"
        )
    };
}

fn waker_cpu(record: &Record) -> Option<u32> {
    let late = stints(record).into_iter().find(|it| it.who == "waker" && begins_ms(it) >= 20);
    late.map(|stint| stint.cpu)
}

fn wakeups() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "muqss 7",
            claim: "where no CPU idles, a woken task goes to the one with the fewest tasks: of 3, 2 and \
                    1 the last",
            place: Where::Simulator,
            runs: vec![Run { cpus: 3, ..Run::new(OWN_QUEUES, wakes_up!("3", "2")) }],
            holds: |records| same("the CPU", waker_cpu(&records[0]), Some(2)),
        },
        Oracle {
            name: "muqss 8",
            claim: "a woken task preempts on the first CPU that runs a later deadline, its own, where \
                    BFS takes the latest of all",
            place: Where::Simulator,
            runs: vec![
                Run { cpus: 3, ..Run::new(OWN_QUEUES, wakes_up!("1", "1")) },
                Run { cpus: 3, ..Run::new("bfs", wakes_up!("1", "1")) },
            ],
            holds: |records| {
                same("the CPU", waker_cpu(&records[0]), Some(0))?;
                same("BFS's CPU", waker_cpu(&records[1]), Some(2))
            },
        },
    ]
}

/// A task that yields each millisecond, and a hog.
const YIELDER: &str = "
duration_us = 1000000
[[task]]
name = \"a\"
steps = [{ run_us = 1000 }, \"yield\"]
[[task]]
name = \"b\"
steps = [{ run_us = 100000 }]
";

fn yields() -> Oracle {
    Oracle {
        name: "muqss 9",
        claim: "a task that yields runs on while its deadline is the earliest, so that it shares alike with a \
                hog; with yield_type 2 the hog has a slice for each ms of it",
        place: Where::Everywhere,
        runs: vec![
            Run::new(EXACT, YIELDER),
            Run::new("muqss long_jiffies=false yield_type=0", YIELDER),
            Run::new("muqss long_jiffies=false yield_type=2", YIELDER),
        ],
        holds: |records| {
            near("type 1", share(&records[0], "a"), 0.5, 0.02)?;
            near("type 0", share(&records[1], "a"), 0.5, 0.02)?;
            near("type 2", share(&records[2], "a"), 1.0 / 7.291, 0.02)
        },
    }
}

/// A player that shows a frame at a display's next refresh, 60 times a second, or drops it; among
/// so many hogs. Without jobs that are late, each refresh is one of its rounds.
macro_rules! frames {
    ($need_us:literal: $($hogs:literal)*) => {
        vec![$(Run::new(EXACT, concat!(
            "duration_us = 30000000\n",
            "[[task]]\nname = \"display\"\npolicy = { class = \"fifo\", priority = 1 }\n",
            "steps = [{ timer = { period_us = 16667 } }, { resume = \"frame\" }]\n",
            "[[task]]\nname = \"player\"\nsteps = [{ suspend = \"frame\" }, { run_us = ",
            $need_us,
            " }]\n[[task]]\nname = \"hog\"\ncount = ",
            $hogs,
            "\nsteps = [{ run_us = 100000 }]\n"
        ))),*]
    };
}

/// The missed frames, in percent.
fn missed(record: &Record) -> f64 {
    let [shown, all] = ["player", "display"].map(|who| value(record, "iterations_per_second", who));
    100.0 * (1.0 - shown / all)
}

/// `wanted` is for the most hogs that there are, and for fewer.
fn frames_are_missed<const N: usize>(records: &[Record], wanted: [f64; N]) -> Result<(), String> {
    let hogs = [1, 2, 3, 4, 6, 8, 12, 16].into_iter().skip(8 - N);
    records.iter().zip(wanted).zip(hogs).try_for_each(|((record, wanted), hogs)| {
        near(&format!("missed frames beside {hogs}, %"), missed(record), wanted, 3.0)
    })
}

fn table_of_frames() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "muqss frames of 2 ms",
            claim: "of a player's frames 0, 0, 6, 24, 39, 46, 56, 64 % are missed beside 1, 2, 3, 4, 6, \
                    8, 12, 16 hogs, because no slice is shorter than 6 ms; within 3 points",
            place: Where::Simulator,
            runs: frames!("2000": "1" "2" "3" "4" "6" "8" "12" "16"),
            holds: |records| {
                frames_are_missed(records, [0.0, 0.0, 6.0, 24.0, 39.0, 46.0, 56.0, 64.0])
            },
        },
        Oracle {
            name: "muqss frames of 5 ms",
            claim: "0, 15, 44, 44, 61, 69, 76, 82 % are missed",
            place: Where::Simulator,
            runs: frames!("5000": "1" "2" "3" "4" "6" "8" "12" "16"),
            holds: |records| {
                frames_are_missed(records, [0.0, 15.0, 44.0, 44.0, 61.0, 69.0, 76.0, 82.0])
            },
        },
        Oracle {
            name: "muqss frames of 8 ms",
            claim: "49, 56, 61, 72, 79, 84, 88 % are missed beside 2 hogs and more; beside one, what \
                    is left of the slice when a frame is done decides, a few µs more or less",
            place: Where::Simulator,
            runs: frames!("8000": "2" "3" "4" "6" "8" "12" "16"),
            holds: |records| frames_are_missed(records, [49.0, 56.0, 61.0, 72.0, 79.0, 84.0, 88.0]),
        },
        Oracle {
            name: "muqss frames of 10 ms",
            claim: "37, 56, 61, 70, 77, 83, 88, 91 % are missed",
            place: Where::Simulator,
            runs: frames!("10000": "1" "2" "3" "4" "6" "8" "12" "16"),
            holds: |records| {
                frames_are_missed(records, [37.0, 56.0, 61.0, 70.0, 77.0, 83.0, 88.0, 91.0])
            },
        },
    ]
}

fn sleepers() -> Oracle {
    Oracle {
        name: "muqss sleeper's slice",
        claim: "a task that goes to sleep with 0.04 ms of its slice left wakes up with a whole one and \
                a later deadline, and so does a SCHED_BATCH task, whatever is left",
        place: Where::Simulator,
        runs: vec![
            Run::new(EXACT, sleeps_after!("6250", "other")),
            Run::new(EXACT, sleeps_after!("1000", "batch")),
        ],
        holds: |records| {
            let mut lengths = records.iter().map(after_sleep_us);
            lengths.try_for_each(|us| within("its turn, µs", us?, SLICE_US - 5, SLICE_US + 5))
        },
    }
}

pub fn oracles() -> Vec<Oracle> {
    let single = vec![crowds(), facts(), yields(), sleepers()];
    [turns(), single, picks(), wakeups(), table_of_frames()].concat()
}
