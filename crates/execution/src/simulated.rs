// SPDX-License-Identifier: GPL-2.0-only
//! Trials in the simulator: each in a process of its own, as many at a time as there are CPUs.
//! Their order does not matter, because nothing is shared between them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use model::{Outcome, Progress, Record, Trial};
use sim::native::{LabFault, sandbox_parts, supervise};

use crate::VERSION;
use crate::objects::{Natives, native_of};
use crate::sink::Sink;

/// Runs the trials until the sink says stop.
pub fn run(trials: &[Trial], natives: &Natives, jobs: Option<usize>, sink: &Sink<'_>) {
    if let (Some(missing), false) = (sandbox_parts().missing(), trials.is_empty()) {
        sink.progress(&Progress::Note(missing));
    }
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let jobs = jobs.unwrap_or(cpus).clamp(1, trials.len().max(1));
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
            if sink.is_stopped() {
                return;
            }
            sink.progress(&Progress::TrialStarted(trial));
            match answer(trial, natives, sink) {
                // An interrupted trial has no record; `--resume` runs it again.
                Ok(record) if !sink.is_stopped() || record.outcome.is_ok() => sink.record(record),
                Ok(_) => {}
                Err(fault) => sink.lose(fault.into()),
            }
        }
    };
    thread::scope(|scope| {
        // Where no further thread can be started, this one does all.
        for _ in 1..jobs {
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

fn answer(trial: &Trial, natives: &Natives, sink: &Sink<'_>) -> Result<Record, LabFault> {
    let scheduler = native_of(trial, natives);
    let started = Instant::now();
    let timeout = Duration::from_millis(trial.timeout_ms);
    let mut record = supervise(trial, scheduler, timeout, sink.stop())?;
    refuse_other_scheduler(&mut record);
    record.provenance.fairground = VERSION.into();
    record.provenance.wall_ms = started.elapsed().as_millis() as u64;
    let sandbox = sandbox_parts().to_string();
    record.provenance.kernel_facts.insert("sandbox".into(), sandbox);
    Ok(record)
}

/// Makes a record an ejection if the scheduler at its end is not the one at its start, as on a real
/// kernel: it has not measured the scheduler under test.
fn refuse_other_scheduler(record: &mut Record) {
    let provenance = &record.provenance;
    let (before, after) = (&provenance.scheduler_before, &provenance.scheduler_after);
    if record.outcome.is_ok() && before != after {
        let reason = format!("{} was not active at the end", before.sched_ext_ops);
        record.outcome = Outcome::Ejected { reason, dump: String::new() };
    }
}
