// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of `include/idle.h`: a task that preempts without an interrupt has left the order,
//! yet the order is as if it had not.

use model::Record;

use crate::look::turn_of;
use crate::oracle::{Oracle, Run, Where};

/// A task that waits at a barrier, and a hog that opens it 40 ms after it has begun.
macro_rules! barrier {
    ($($more:expr)?) => {
        concat!(
            "duration_us = 80000\n",
            "[[task]]\nname = \"fair\"\nrepeat = 1\n",
            "steps = [{ run_us = 1500 }, { barrier = \"b\" }, { run_us = 1600 }]\n",
            "[[task]]\nname = \"hog\"\nrepeat = 1\ndelay_us = 10000\n",
            "steps = [{ run_us = 40500 }, { barrier = \"b\" }, { run_us = 900000 }]\n",
            $($more)?
        )
    };
}

macro_rules! good {
    ($wakes:literal) => {
        concat!(
            "[[task]]\nname = \"good\"\nrepeat = 1\ndelay_us = 5000\n",
            "policy = { class = \"other\", nice = -15 }\n",
            "steps = [{ run_us = 1500 }, ",
            $wakes,
            ", { run_us = 1600 }]\n",
        )
    };
}

/// The barrier wakes the fair one, and then a better one.
const BETTER: &str = barrier!(good!("{ barrier = \"b\" }"));

/// The barrier wakes the fair one, and then a real-time task. While that runs, a better one wakes.
const REAL_TIME: &str = barrier!(concat!(
    good!("{ timer = { period_us = 46700 } }"),
    "[[task]]\nname = \"rt\"\nrepeat = 1\ndelay_us = 7000\n",
    "policy = { class = \"fifo\", priority = 1 }\n",
    "steps = [{ barrier = \"b\" }, { run_us = 2000 }]\n",
));

/// All whose tasks run at once.
fn runs(workload: &'static str) -> Vec<Run> {
    let all = ["bmq era=61200", "pds era=60600", "eevdf era=61200", "eevdf", "bore"];
    all.into_iter().map(|scheduler| Run::new(scheduler, workload)).collect()
}

/// The better one has its turn first, with each of the schedulers.
fn good_is_first(records: &[Record]) -> Result<(), String> {
    records.iter().try_for_each(|record| {
        let (good, fair) = (turn_of(record, "good", 1)?, turn_of(record, "fair", 1)?);
        let scheduler = &record.trial.contestant.name;
        match good.from_ns < fair.from_ns {
            true => Ok(()),
            false => Err(format!("with {scheduler} it comes after the other")),
        }
    })
}

pub fn oracles() -> Vec<Oracle> {
    vec![
        Oracle {
            name: "at once 1",
            claim: "one that wakes up runs before another that has preempted just before, but has \
                    not run yet, if it is better",
            place: Where::Simulator,
            runs: runs(BETTER),
            holds: good_is_first,
        },
        Oracle {
            name: "at once 2",
            claim: "and so it does if it wakes up while a real-time task keeps the other from \
                    running",
            place: Where::Simulator,
            runs: runs(REAL_TIME),
            holds: good_is_first,
        },
    ]
}
