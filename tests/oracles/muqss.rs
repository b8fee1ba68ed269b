// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of muqss, from MuQSS 0.210 (`kernel/sched/MuQSS.c`), whose arithmetic of slices has been
//! simulated exactly. A slice is 6 × 2^20 ns, 6.291 ms.
//!
//! The levels of its skip list (the sheet's 10) have no oracle: a level is only how many of the
//! list's links a node has, which changes how soon a place is found, not which. The kernel's tree
//! stands for the list and has no levels, so nothing in the file could be asked.

use model::Record;

use crate::look::{
    after_sleep_us, alternate, begins_ms, near, part_is, printed_all, same, share, share_is,
    stints, turns_last, value, within,
};
use crate::oracle::{Oracle, Run, everywhere, simulated};

/// muqss without long jiffies, which is what has been simulated.
const EXACT: &str = "muqss long_jiffies=false";
const SLICE_US: u64 = 6291;
const FACTS: &str = "../../tests/oracles/facts/muqss_facts.bpf.c long_jiffies=false";
/// Every CPU has a queue of its own.
const OWN_QUEUES: &str = "muqss rqshare=0";
const OWN_LONG_QUEUES: &str = "muqss rqshare=0 interactive=false";

fn turns() -> Vec<Oracle> {
    vec![
        everywhere(
            "muqss 1",
            "two hogs of nice 0 alternate every 6.291 ms",
            vec![Run::new(EXACT, "hogs")],
            |records| {
                alternate(&records[0])?;
                turns_last(&records[0], SLICE_US)
            },
        ),
        everywhere(
            "muqss 2",
            "nice 0 and 1 share alike, 0 and 5 4 : 1, 0 and 19 34 : 1",
            vec![
                Run::new(EXACT, "hogs b=1"),
                Run::new(EXACT, "hogs b=5"),
                Run::new(EXACT, "hogs b=19"),
            ],
            |records| {
                let wanted = [1.0, 4.0, 34.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        ),
        simulated(
            "muqss 2, more",
            "nice 0 and 10 share 11 : 1, -20 and 0 6 : 1, -20 and 19 39 : 1, -5 and 5 7 : 1",
            vec![
                Run::new(EXACT, "hogs b=10"),
                Run::new(EXACT, "hogs a=-20"),
                Run::new(EXACT, "hogs a=-20 b=19"),
                Run::new(EXACT, "hogs a=-5 b=5"),
            ],
            |records| {
                let wanted = [11.0, 6.0, 39.0, 7.0];
                records.iter().zip(wanted).try_for_each(|(record, a)| share_is(record, a, 1.0))
            },
        ),
    ]
}

fn crowds() -> Oracle {
    simulated(
        "muqss 3",
        "nice fades in a crowd: beside 10 and 100 hogs of nice 0 one of nice 19 has 0.232 and \
         0.758 of what one of them has; beside 1, 2, 5, 10, 20 one of nice 5 has 0.25, 0.40, \
         0.625, 0.769, 0.871",
        vec![
            Run::new(EXACT, "crowd count=10 nice=19"),
            Run::new(EXACT, "crowd count=100 nice=19 us=50000000"),
            Run::new(EXACT, "crowd count=1 nice=5"),
            Run::new(EXACT, "crowd count=2 nice=5"),
            Run::new(EXACT, "crowd count=5 nice=5"),
            Run::new(EXACT, "crowd count=10 nice=5"),
            Run::new(EXACT, "crowd count=20 nice=5"),
        ],
        |records| {
            let counts = [10.0, 100.0, 1.0, 2.0, 5.0, 10.0, 20.0];
            let parts = [0.232, 0.758, 0.25, 0.40, 0.625, 0.769, 0.871];
            let wanted = counts.into_iter().zip(parts);
            records.iter().zip(wanted).try_for_each(|(record, (n, part))| part_is(record, n, part))
        },
    )
}

fn facts() -> Oracle {
    simulated(
        "muqss 4",
        "who is refilled at 1,000,000,000 ns has the deadline 1,106,217,472 at nice 10, and one \
         slice later at nice -20",
        vec![Run::new(FACTS, "short")],
        |records| {
            let wanted =
                [("nice 10", 1_106_217_472), ("nice -20", 1_006_291_456), ("slice", 6_291_456)];
            printed_all(&records[0], &wanted)
        },
    )
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
        simulated(
            "muqss 5",
            "a CPU takes the earliest of all queues, here another's",
            vec![
                Run { cpus: 2, ..Run::new(OWN_QUEUES, "muqss.two_queues") },
                Run { cpus: 2, ..Run::new("muqss rqshare=0 peeking=false", "muqss.two_queues") },
            ],
            |records| {
                same("the first", first_after(&records[0]), Some("far".into()))?;
                same("without looking", first_after(&records[1]), Some("near".into()))
            },
        ),
        simulated(
            "muqss 6",
            "if not interactive, a CPU takes its own unless more wait elsewhere",
            vec![
                Run { cpus: 2, ..Run::new(OWN_LONG_QUEUES, "muqss.two_queues") },
                Run { cpus: 2, ..Run::new(OWN_LONG_QUEUES, "muqss.three_queued") },
            ],
            |records| {
                same("of equal queues", first_after(&records[0]), Some("near".into()))?;
                let longer = first_after(&records[1]).unwrap_or_default();
                same("of a longer one", longer.starts_with("far"), true)
            },
        ),
    ]
}

fn waker_cpu(record: &Record) -> Option<u32> {
    let late = stints(record).into_iter().find(|it| it.who == "waker" && begins_ms(it) >= 20);
    late.map(|stint| stint.cpu)
}

fn wakeups() -> Vec<Oracle> {
    vec![
        simulated(
            "muqss 7",
            "where no CPU idles, a woken task goes to the one with the fewest tasks: of 3, 2 and \
             1 the last",
            vec![Run { cpus: 3, ..Run::new(OWN_QUEUES, "muqss.wakes_up first=3 second=2") }],
            |records| same("the CPU", waker_cpu(&records[0]), Some(2)),
        ),
        simulated(
            "muqss 8",
            "a woken task preempts on the first CPU that runs a later deadline, its own, where \
             BFS takes the latest of all",
            vec![
                Run { cpus: 3, ..Run::new(OWN_QUEUES, "muqss.wakes_up first=1 second=1") },
                Run { cpus: 3, ..Run::new("bfs", "muqss.wakes_up first=1 second=1") },
            ],
            |records| {
                same("the CPU", waker_cpu(&records[0]), Some(0))?;
                same("BFS's CPU", waker_cpu(&records[1]), Some(2))
            },
        ),
    ]
}

fn yields() -> Oracle {
    everywhere(
        "muqss 9",
        "a task that yields runs on while its deadline is the earliest, so that it shares alike \
         with a hog; with yield_type 2 the hog has a slice for each ms of it",
        vec![
            Run::new(EXACT, "yielder"),
            Run::new("muqss long_jiffies=false yield_type=0", "yielder"),
            Run::new("muqss long_jiffies=false yield_type=2", "yielder"),
        ],
        |records| {
            near("type 1", share(&records[0], "a"), 0.5, 0.02)?;
            near("type 0", share(&records[1], "a"), 0.5, 0.02)?;
            near("type 2", share(&records[2], "a"), 1.0 / 7.291, 0.02)
        },
    )
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

/// Frames that need so many µs, among so many hogs.
macro_rules! frames {
    ($need_us:literal: $($hogs:literal)*) => {
        vec![$(Run::new(EXACT, concat!("muqss.frames need_us=", $need_us, " hogs=", $hogs))),*]
    };
}

fn table_of_frames() -> Vec<Oracle> {
    vec![
        simulated(
            "muqss frames of 2 ms",
            "of a player's frames 0, 0, 6, 24, 39, 46, 56, 64 % are missed beside 1, 2, 3, 4, 6, \
             8, 12, 16 hogs, because no slice is shorter than 6 ms; within 3 points",
            frames!(2000: 1 2 3 4 6 8 12 16),
            |records| frames_are_missed(records, [0.0, 0.0, 6.0, 24.0, 39.0, 46.0, 56.0, 64.0]),
        ),
        simulated(
            "muqss frames of 5 ms",
            "0, 15, 44, 44, 61, 69, 76, 82 % are missed",
            frames!(5000: 1 2 3 4 6 8 12 16),
            |records| frames_are_missed(records, [0.0, 15.0, 44.0, 44.0, 61.0, 69.0, 76.0, 82.0]),
        ),
        simulated(
            "muqss frames of 8 ms",
            "49, 56, 61, 72, 79, 84, 88 % are missed beside 2 hogs and more; beside one, what is \
             left of the slice when a frame is done decides, a few µs more or less",
            frames!(8000: 2 3 4 6 8 12 16),
            |records| frames_are_missed(records, [49.0, 56.0, 61.0, 72.0, 79.0, 84.0, 88.0]),
        ),
        simulated(
            "muqss frames of 10 ms",
            "37, 56, 61, 70, 77, 83, 88, 91 % are missed",
            frames!(10000: 1 2 3 4 6 8 12 16),
            |records| frames_are_missed(records, [37.0, 56.0, 61.0, 70.0, 77.0, 83.0, 88.0, 91.0]),
        ),
    ]
}

fn sleepers() -> Oracle {
    simulated(
        "muqss sleeper's slice",
        "a task that goes to sleep with 0.04 ms of its slice left wakes up with a whole one and a \
         later deadline, and so does a SCHED_BATCH task, whatever is left",
        vec![
            Run::new(EXACT, "sleeps_after us=6250"),
            Run::new(EXACT, "batch_sleeps_after us=1000"),
        ],
        |records| {
            let mut lengths = records.iter().map(after_sleep_us);
            lengths.try_for_each(|us| within("its turn, µs", us?, SLICE_US - 5, SLICE_US + 5))
        },
    )
}

/// muqss, which prints for which new tasks their makers stop.
const CHILDREN: &str = "../../tests/oracles/facts/muqss_children.bpf.c";

/// The percentage of the turns after half a second that last `us` µs, give or take 60 µs.
fn turns_of(record: &Record, us: u64) -> u64 {
    let late = stints(record).into_iter().filter(|it| begins_ms(it) >= 500);
    let lengths: Vec<u64> = late.map(|it| (it.to_ns - it.from_ns) / 1000).collect();
    let such = lengths.iter().filter(|length| length.abs_diff(us) <= 60).count();
    (such * 100 / lengths.len().max(1)) as u64
}

fn source() -> Vec<Oracle> {
    vec![
        everywhere(
            "muqss jiffies",
            "a tick counts as 2^30 / HZ ns in a slice (update_clocks): at 250 Hz a slice in which \
             two of them come ends at the second, 0.59 ms early, as every other slice of two hogs \
             does; with long_jiffies=false none does",
            vec![Run::new("muqss", "hogs"), Run::new("muqss long_jiffies=false", "hogs")],
            |records| {
                within("of 100 turns, whole ones", turns_of(&records[0], 6_291), 40, 52)?;
                within("of 100 turns, those of 5.709 ms", turns_of(&records[0], 5_709), 38, 52)?;
                within("of 100 such turns, without", turns_of(&records[1], 5_709), 0, 5)
            },
        ),
        simulated(
            "muqss children",
            "the maker of a process stops, so that its child is first; that of a thread goes on, \
             for it is not the thread's parent (wake_up_new_task)",
            vec![Run::new(CHILDREN, "muqss.maker")],
            |records| printed_all(&records[0], &[("for a child of maker", 1), ("for a thread", 0)]),
        ),
    ]
}

pub fn oracles() -> Vec<Oracle> {
    let single = vec![crowds(), facts(), yields(), sleepers()];
    [turns(), single, picks(), wakeups(), table_of_frames(), source()].concat()
}
