// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of what new tasks inherit under bore, and of the EEVDF beneath it, as in the patches of 5.9.6
//! and 6.7.3 for Linux 6.12.

use model::Record;

use crate::look::{histogram, printed_each, within};
use crate::oracle::{Oracle, Run, Where};

/// bore, which prints the score that each new task begins with.
macro_rules! bore {
    ($knobs:literal) => {
        concat!("./tests/schedulers/bore_children.bpf.c ", $knobs)
    };
}

/// A trial of 1.4 s with these templates, and with a task that takes steps once.
macro_rules! family {
    ([$($template:literal: $does:literal),*], $name:literal: $steps:literal) => {
        concat!(
            "duration_us = 1400000\n",
            $("[[task]]\nname = \"", $template, "\"\ntemplate = true\nsteps = [", $does, "]\n",)*
            "[[task]]\nname = \"", $name, "\"\nrepeat = 1\nsteps = [", $steps,
            "\"wait_children\"]\n"
        )
    };
}

/// A parent that only forks: a hog, a second later somebody who sleeps, and somebody else.
const SHELL: &str = family!(
    ["hog": "{ run_us = 9000000 }", "idle": "{ sleep_us = 9000000 }"],
    "shell": "{ fork = { task = \"hog\" } }, { sleep_us = 1000000 },
        { fork = { task = \"idle\" } }, { sleep_us = 100000 }, { fork = { task = \"idle\" } }, "
);

/// The same with half the time between the last two.
const SOON: &str = family!(
    ["hog": "{ run_us = 9000000 }", "idle": "{ sleep_us = 9000000 }"],
    "shell": "{ fork = { task = \"hog\" } }, { sleep_us = 1000000 },
        { fork = { task = \"idle\" } }, { sleep_us = 50000 }, { fork = { task = \"idle\" } }, "
);

/// A parent whose children have a child each, a hog.
const MAKER: &str = family!(
    ["hog": "{ run_us = 9000000 }", "sh": "{ fork = { task = \"hog\" } }, \"wait_children\""],
    "maker": "{ fork = { task = \"sh\" } }, { sleep_us = 1000000 }, { fork = { task = \"sh\" } }, "
);

/// A parent that computes for a second and has its first child, and its second after 100 ms more.
const GREEDY: &str = family!(
    ["idle": "{ sleep_us = 9000000 }"],
    "greedy": "{ run_us = 1000000 }, { fork = { task = \"idle\" } }, { run_us = 100000 },
        { fork = { task = \"idle\" } }, "
);

/// A hog, and somebody who needs little now and then.
const DESKTOP: &str = "
duration_us = 2000000
[[task]]
name = \"hog\"
steps = [{ run_us = 9000000 }]
[[task]]
name = \"desktop\"
steps = [{ sleep_us = 33300 }, { run_us = 300 }]
";

pub fn oracles() -> Vec<Oracle> {
    [inheritance(), bases()].concat()
}

/// What is printed under BORE 6.7.3 and 5.9.6, and without inheritance or with parents only.
macro_rules! inherits {
    ($name:literal, $claim:literal, $workload:ident,
     $($knobs:literal: [$($fact:expr),*]),*) => {
        Oracle {
            name: $name,
            claim: $claim,
            place: Where::Simulator,
            runs: vec![$(Run::new(bore!($knobs), $workload)),*],
            holds: |records| {
                let wanted: &[&[(&str, i64)]] = &[$(&[$($fact),*]),*];
                printed_each(records, wanted)
            },
        }
    };
}

fn inheritance() -> Vec<Oracle> {
    vec![
        inherits!(
            "bore inherits, shell",
            "a child of a parent that only forks begins with the average of its siblings: with a \
             hog's score of 10 (5.9.6: 8), and with half of it when one of two sleeps",
            SHELL,
            "": [("child 2 of shell", 10), ("child 3 of shell", 5)],
            "version=50906": [("child 2 of shell", 8), ("child 3 of shell", 4)],
            "burst_inherit_type=0": [("child 2 of shell", 0), ("child 3 of shell", 0)]
        ),
        inherits!(
            "bore inherits, chains",
            "a child with one child counts as that, and a first child begins as its parent's \
             siblings do; not if only parents count",
            MAKER,
            "": [("child 2 of maker", 10), ("child 1 of sh", 10)],
            "version=50906": [("child 2 of maker", 8), ("child 1 of sh", 8)],
            "burst_inherit_type=1": [("child 2 of maker", 0), ("child 1 of sh", 0)]
        ),
        inherits!(
            "bore inherits, greedy parent",
            "a child begins with no less than its parent has: after 1.1 s a score of 10 (5.9.6: 8)",
            GREEDY,
            "": [("child 2 of greedy", 10)],
            "version=50906": [("child 2 of greedy", 8)],
            "burst_inherit_type=1": [("child 1 of greedy", 10), ("child 2 of greedy", 10)]
        ),
        inherits!(
            "bore inherits, lifetime",
            "what has been averaged is inherited for 75 ms",
            SOON,
            "": [("child 2 of shell", 10), ("child 3 of shell", 10)],
            "burst_cache_lifetime_ns=40000000": [("child 2 of shell", 10), ("child 3 of shell", 5)]
        ),
    ]
}

/// The longest wait of the desktop.
fn longest_wait(record: &Record) -> u64 {
    histogram(record, "wakeup_latency_ns", "desktop").quantile(1.0).unwrap_or(0)
}

fn bases() -> Vec<Oracle> {
    vec![Oracle {
        name: "bore base_era",
        claim: "on the EEVDF of 6.12 a woken task has half a slice until its deadline, and a hog is \
                not protected once its score has changed: nobody waits for its slice, as without \
                BORE",
        place: Where::Everywhere,
        runs: vec![
            Run::new("bore base_era=61200", DESKTOP),
            Run::new("bore base_era=61200 sched_bore=0", DESKTOP),
        ],
        holds: |records| {
            within("the longest wait, ns,", longest_wait(&records[0]), 0, 500_000)?;
            within("without BORE, ns,", longest_wait(&records[1]), 1_000_000, 8_000_000)
        },
    }]
}
