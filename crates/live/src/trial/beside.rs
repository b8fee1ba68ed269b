// SPDX-License-Identifier: GPL-2.0-only
//! A trial beside a program that somebody has started and uses: the scheduler under test is
//! switched under it, and the program goes on afterwards.

use std::fs;
use std::time::Instant;

use model::{Measured, Outcome, Policy, Provenance, Record, SchedulerChoice, Trial};

use super::{scheduler, unix_seconds};
use crate::facts::{self, Context, active};
use crate::player::attributes::{self, Previous};

/// The policies that a program's ordinary threads have: `SCHED_OTHER`, `SCHED_BATCH`,
/// `SCHED_IDLE`, `SCHED_EXT`. Threads of real time keep theirs.
const ORDINARY: [i32; 4] = [0, 3, 5, 7];

/// What the caller has measured while the scheduler ran; the error says why there is nothing.
/// `None`: the trial was given up.
pub type Watched = Option<Result<Measured, String>>;

/// Loads the scheduler, lets `watch` wait and measure, verifies that this scheduler ran all the
/// time, and unloads it. The program is the process group `group`. `None`: the trial was given up.
pub fn beside(
    trial: &Trial,
    context: &Context,
    group: u32,
    watch: &mut dyn FnMut() -> Watched,
) -> Option<Record> {
    let began = Instant::now();
    let mut provenance = facts::provenance(context);
    provenance.started_unix_s = unix_seconds();
    // A scheduler under test that runs no task must not stop this thread.
    let above = attributes::rise_above().ok();
    let measured = hold(trial, &mut provenance, group, watch);
    if let Some(previous) = &above {
        previous.restore();
    }
    provenance.wall_ms = began.elapsed().as_millis() as u64;
    Some(match measured? {
        Ok(measured) => {
            let trial = trial.clone();
            Record { trial, outcome: Outcome::Ok, measured, provenance, trace: None }
        }
        Err(outcome) => Record::without_measurement(trial.clone(), outcome, provenance),
    })
}

fn hold(
    trial: &Trial,
    provenance: &mut Provenance,
    group: u32,
    watch: &mut dyn FnMut() -> Watched,
) -> Option<Result<Measured, Outcome>> {
    let choice = &trial.contestant.scheduler;
    let mut under_test = match scheduler::start(choice) {
        Ok(under_test) => under_test,
        Err(outcome) => return Some(Err(outcome)),
    };
    provenance.notes.extend(under_test.notes(trial));
    provenance.scheduler_before = active().into();
    let mut verdict = under_test.verify_before(&provenance.scheduler_before);
    let mut watched = Some(Ok(Measured::default()));
    let (mut policy, mut before) = (None, Vec::new());
    if verdict.is_ok() {
        attributes::follow_scheduler();
        policy = match choice {
            SchedulerChoice::Policy { policy } => Some(*policy),
            _ => attributes::ask_for_ext().then(Policy::default),
        };
        if let Some(policy) = &policy {
            before = ordinary(group).filter_map(|thread| Previous::of(thread).ok()).collect();
            give(policy, group);
        }
        watched = watch();
        provenance.scheduler_after = active().into();
        verdict = under_test.verify_after(&provenance.scheduler_after);
    }
    under_test.stop();
    attributes::follow_scheduler();
    if policy.is_some() {
        // Threads that are new have what their makers had.
        give(&Policy::default(), group);
        before.iter().for_each(Previous::restore);
    }
    provenance.printed = under_test.printed();
    let watched = watched?;
    Some(verdict.and(watched.map_err(|reason| Outcome::Failed { reason })))
}

/// Gives all ordinary threads of a process group a policy; they keep their nice values. A thread
/// that ends meanwhile needs none.
fn give(policy: &Policy, group: u32) {
    for thread in ordinary(group) {
        let policy = Policy { nice: attributes::nice_of(thread), ..*policy };
        let _ = attributes::set_policy(thread, &policy);
    }
}

fn ordinary(group: u32) -> impl Iterator<Item = u32> {
    // SAFETY: no pointers.
    let policy = |thread: &u32| unsafe { libc::sched_getscheduler(*thread as i32) };
    threads(group).into_iter().filter(move |thread| ORDINARY.contains(&policy(thread)))
}

fn threads(group: u32) -> Vec<u32> {
    let numbers = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        named.collect::<Vec<u32>>()
    };
    // SAFETY: no pointers.
    let is_member = |process: &u32| unsafe { libc::getpgid(*process as i32) } == group as i32;
    let processes = numbers("/proc").into_iter().filter(is_member);
    processes.flat_map(|process| numbers(&format!("/proc/{process}/task"))).collect()
}
