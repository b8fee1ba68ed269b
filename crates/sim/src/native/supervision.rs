// SPDX-License-Identifier: GPL-2.0-only
//! A trial under a native scheduler: in this process, or supervised in one of its own.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use compile::native::Native;
use model::{KnobValue, Outcome, Record, SchedulerChoice, Trial};

use super::bridge::layout;
use super::isolate::{Ending, isolated};
use super::scheduler::{Host, NativeScheduler};
use crate::core::memory::TaskLayout;
use crate::trial::{run_ops, without};

/// Runs a trial in this process; without a scheduler, under the kernel's own policies. A scheduler
/// that crashes ends the process: see [`supervise`].
pub fn run(trial: &Trial, scheduler: Option<&Native>) -> Record {
    let Some(native) = scheduler else {
        return run_ops(trial, None, TaskLayout::compact());
    };
    let host = Host {
        cpus: trial.machine.cpus,
        hz: trial.machine.hz,
        seed: trial.seed.derive("bpf_get_prandom_u32"),
    };
    let loaded = NativeScheduler::load(native, &knobs(trial), host);
    let scheduler = match loaded {
        Ok(scheduler) => Rc::new(scheduler),
        Err(reason) => return without(trial, Outcome::Unsupported { reason }),
    };
    let layout = layout(&scheduler);
    let mut record = run_ops(trial, Some(scheduler.clone()), layout);
    record.provenance.printed = scheduler.notes();
    record
}

fn knobs(trial: &Trial) -> BTreeMap<String, KnobValue> {
    match &trial.contestant.scheduler {
        SchedulerChoice::File { knobs, .. } => knobs.clone(),
        _ => BTreeMap::new(),
    }
}

/// Runs a trial in a process of its own, so that a faulty scheduler costs this trial only. There is
/// always a record. If `stop` becomes true, the outcome is `failed: interrupted`.
pub fn supervise(
    trial: &Trial,
    scheduler: Option<&Native>,
    timeout: Duration,
    stop: &AtomicBool,
) -> Record {
    let work = || serde_json::to_vec(&run(trial, scheduler)).unwrap_or_default();
    let ending = match isolated(timeout, stop, work) {
        Ok(ending) => ending,
        Err(error) => {
            let reason = format!("no process for the trial: {error}");
            return without(trial, Outcome::Failed { reason });
        }
    };
    let outcome = match ending {
        Ending::Answer(bytes) => match serde_json::from_slice(&bytes) {
            Ok(record) => return record,
            Err(error) => Outcome::Failed { reason: format!("a damaged answer: {error}") },
        },
        Ending::Fault(fault) => fault.outcome(scheduler),
        Ending::Panic(text) => {
            Outcome::Failed { reason: format!("a mistake of the simulator: {text}") }
        }
        Ending::Killed(signal) => {
            Outcome::Crashed { text: format!("the trial's process ended with signal {signal}") }
        }
        Ending::Stopped => Outcome::Failed { reason: "interrupted".into() },
        Ending::TimedOut => {
            Outcome::Hung { reason: format!("still simulating after {} ms", timeout.as_millis()) }
        }
    };
    without(trial, outcome)
}
