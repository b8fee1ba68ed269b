// SPDX-License-Identifier: GPL-2.0-only
//! Oracles of SCHED_FIFO and SCHED_RR, which the kernel and the simulator have above sched_ext.
//!
//! Throttling (`rt 7`) is for older kernels: from 6.12 on the server (`rt 8`) stands in its place,
//! which is what the simulator has.
//!
//! Not here: throttling switched off on such a kernel. With `sched_rt_runtime_us` = -1 the guest of
//! a 6.1 did not answer any more after `rt.starved` and was ended from outside, so there is no
//! record to judge. With the server the limit makes no difference (`rt 8, no limit`).
//!
//! Nor is raising a waiting task here (`rt 9`, its first half). Another task has to do that, and a
//! workload's step changes the policy of its own task only, which does not wait at that moment.

use model::Record;

use crate::look::{near, share, stints};
use crate::oracle::{Oracle, Run, everywhere, on_old_kernels, simulated};

/// They ran in this order, for about so many milliseconds each; what comes later is not looked at.
fn turns(record: &Record, wanted: &[(&str, u64)], by_ms: u64) -> Result<(), String> {
    // A task that starts with a delay or ends runs for a moment, which is no turn.
    let mut found: Vec<(String, u64)> = Vec::new();
    for stint in stints(record).into_iter().filter(|stint| stint.ms() > 0) {
        match found.last_mut() {
            Some((who, ms)) if *who == stint.who => *ms += stint.ms(),
            _ => found.push((stint.who.clone(), stint.ms())),
        }
    }
    let fits = |(found, wanted): (&(String, u64), &(&str, u64))| {
        found.0 == wanted.0 && found.1.abs_diff(wanted.1) <= by_ms
    };
    match found.len() >= wanted.len() && found.iter().zip(wanted).all(fits) {
        true => Ok(()),
        false => Err(format!("the turns were {found:?}, not {wanted:?}")),
    }
}

/// An oracle of turns on one CPU.
macro_rules! turns {
    ($name:literal, $claim:literal, $workload:expr, $by:literal: $($who:literal $ms:literal),*) => {
        everywhere($name, $claim, vec![Run::new("rr", $workload)], |records| {
            turns(&records[0], &[$(($who, $ms)),*], $by)
        })
    };
}

pub fn oracles() -> Vec<Oracle> {
    [turns_of_one_cpu(), others(), interrupted()].concat()
}

/// Whom an interruption hits must not run on for ever because its slice begins anew each time.
fn interrupted() -> Vec<Oracle> {
    vec![everywhere(
        "rt starves nobody",
        "hogs below a real-time task that comes each millisecond still take turns",
        ["cfs", "eevdf", "eevdf era=61200", "vtime"]
            .map(|scheduler| Run::new(scheduler, "rt.interrupter"))
            .to_vec(),
        |records| {
            let fairness = |record: &Record| record.measured.value("jain_index", "hog");
            let unfair = records.iter().find(|record| fairness(record) < Some(0.9));
            unfair.map_or(Ok(()), |record| {
                let name = &record.trial.contestant.name;
                Err(format!("{name}: Jain's index of the hogs is {:?}", fairness(record)))
            })
        },
    )]
}

fn turns_of_one_cpu() -> Vec<Oracle> {
    vec![
        turns!("rt 1", "an equal priority waits until the first blocks; waking it waits, too",
            "rt.blocks", 1: "a" 20, "b" 30, "a" 10),
        turns!("rt 2", "SCHED_RR takes turns of 100 ms",
            "rt.round_robin", 4: "a" 100, "b" 100, "c" 100, "a" 100, "b" 100, "c" 100),
        turns!("rt 3", "a preempted SCHED_RR task keeps its place and what is left of its quantum",
            "rt.interrupted", 4: "a" 40, "c" 5, "a" 60, "b" 100),
        turns!("rt 4", "a higher priority runs at once; then whom it preempted, before its equals",
            "rt.higher", 1: "a" 10, "c" 5, "a" 20, "b" 10),
        turns!("rt 5", "a task that yields goes behind its equals, and on if there are none",
            "rt.yield", 1: "a" 5, "b" 5, "a" 10),
        turns!("rt 9", "who lowers its own priority goes before those that have it already",
            "rt.lowered", 1: "a" 10, "b" 5),
        turns!("rt 10", "the highest list first, each in order of arrival",
            "rt.lists", 1: "z" 20, "c" 5, "a" 5, "b" 5, "d" 5),
    ]
}

fn others() -> Vec<Oracle> {
    vec![
        simulated(
            "rt 6",
            "priority 40 does not wait for 50 but preempts 30 on the other CPU",
            vec![Run { cpus: 2, ..Run::new("rr", "rt.two_cpus") }],
            |records| {
                let all = stints(&records[0]);
                let forty = all.iter().rfind(|stint| stint.who == "forty").expect("it runs");
                let start = near("its start, ms,", forty.from_ns as f64 / 1e6, 20.0, 0.5);
                start.and_then(|()| near("its CPU", f64::from(forty.cpu), 1.0, 0.0))
            },
        ),
        on_old_kernels(
            "rt 7",
            "a kernel without that server leaves 5 % of each second to others by throttling all \
             real-time tasks",
            vec![Run::new("kernel:6.1", "rt.starved")],
            |records| near("the starved task's share", share(&records[0], "normal"), 0.05, 0.01),
        ),
        everywhere(
            "rt 8, no limit",
            "the server does not depend on the limit",
            vec![Run::unlimited("rr", "rt.starved")],
            |records| near("the starved task's share", share(&records[0], "normal"), 0.05, 0.01),
        ),
        everywhere(
            "rt 8",
            "a server keeps 50 ms of each second for the tasks that a real-time hog starves",
            vec![Run::new("rr", "rt.starved")],
            |records| near("the starved task's share", share(&records[0], "normal"), 0.05, 0.01),
        ),
    ]
}
