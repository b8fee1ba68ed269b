// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of `include/idle.h`: a task that preempts without an interrupt has left the order,
//! yet the order is as if it had not.

use model::Record;

use crate::look::turn_of;
use crate::oracle::{Oracle, Run, simulated};

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
        simulated(
            "at once 1",
            "one that wakes up runs before another that has preempted just before, but has not \
             run yet, if it is better",
            runs("at_once.better"),
            good_is_first,
        ),
        simulated(
            "at once 2",
            "and so it does if it wakes up while a real-time task keeps the other from running",
            runs("at_once.real_time"),
            good_is_first,
        ),
    ]
}
