// SPDX-License-Identifier: GPL-2.0-only
//! Trials in the simulator: each in a process of its own, as many at a time as there are CPUs.
//! Their order does not matter, because nothing is shared between them. A thread of its own keeps
//! their records, because a trial may be shorter than the disk takes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SendError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use model::{Measured, Outcome, Progress, Record, Trial};
use sim::native::{LabFault, sandbox_parts, supervise};

use super::objects::{Natives, native_of};
use super::sink::Sink;
use super::{VERSION, unsupported};

/// The most bytes of a record that may wait, roughly. What is larger is kept before its job goes
/// on, so that a scheduler that forges answers does not fill the memory.
const WAITING_BYTES: usize = 1 << 20;

/// Records that may wait to be kept. While the disk is busy, trials go on; if the program is killed
/// then, these trials are run again, as those are that were running.
const WAITING_MOST: usize = 64;

pub fn run(trials: &[Trial], natives: &Natives, jobs: Option<usize>, sink: &Sink<'_>) {
    if let (Some(missing), false) = (sandbox_parts().missing(), trials.is_empty()) {
        sink.progress(&Progress::Note(missing));
    }
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let jobs = jobs.unwrap_or(cpus).clamp(1, trials.len().max(1));
    let work = Work { trials, next: AtomicUsize::new(0), natives, sink };
    thread::scope(|scope| {
        let (finished, waiting) = mpsc::sync_channel(WAITING_MOST);
        let work = &work;
        // Where no further thread can be started, this one does all.
        let _ = thread::Builder::new().spawn_scoped(scope, move || keep(&waiting, sink));
        for _ in 1..jobs {
            let finished = finished.clone();
            let job = move || work.job(&finished);
            if thread::Builder::new().spawn_scoped(scope, job).is_err() {
                break;
            }
        }
        work.job(&finished);
    });
}

/// Keeps records until there will be no more: at once those that have come while the last ones were
/// being kept.
fn keep(waiting: &Receiver<Record>, sink: &Sink<'_>) {
    while let Ok(first) = waiting.recv() {
        let others = waiting.try_iter().take(WAITING_MOST);
        sink.records(std::iter::once(first).chain(others).collect());
    }
}

struct Work<'a, 'sink> {
    trials: &'a [Trial],
    next: AtomicUsize,
    natives: &'a Natives,
    sink: &'a Sink<'sink>,
}

impl Work<'_, '_> {
    fn job(&self, finished: &SyncSender<Record>) {
        let sink = self.sink;
        while let Some(trial) = self.trials.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if sink.is_stopped() {
                return;
            }
            sink.progress(&Progress::TrialStarted(trial));
            match answer(trial, self.natives, sink) {
                // An interrupted trial has no record; `--resume` runs it again.
                Ok(record) if !sink.is_stopped() || record.outcome.is_ok() => {
                    if rough_bytes(&record) > WAITING_BYTES {
                        sink.record(record);
                    } else if let Err(SendError(record)) = finished.send(record) {
                        sink.record(record);
                    }
                }
                Ok(_) => {}
                Err(fault) => sink.lose(fault.into()),
            }
        }
    }
}

/// A rough size in memory of the parts that a record may have many of.
fn rough_bytes(record: &Record) -> usize {
    const METRIC: usize = 150;
    const EVENT: usize = 100;
    let Measured { metrics, histograms, series } = &record.measured;
    let buckets: usize = histograms.iter().map(|histogram| histogram.buckets.iter().count()).sum();
    let points: usize = series.iter().map(|series| series.values.len()).sum();
    let lists = histograms.len() + series.len() + metrics.len() + record.provenance.printed.len();
    let inside = &record.provenance.inside;
    let samples: usize = inside.variables.iter().map(|variable| variable.values.len()).sum();
    let texts = record.provenance.printed.iter().chain(&record.provenance.variables);
    let printed: usize = texts.map(String::len).sum();
    let events = record.trace.as_ref().map_or(0, |trace| trace.events.len() + trace.tasks.len());
    lists * METRIC + 16 * (buckets + points + samples) + printed + events * EVENT
}

fn answer(trial: &Trial, natives: &Natives, sink: &Sink<'_>) -> Result<Record, LabFault> {
    let scheduler = match native_of(trial, natives) {
        Ok(scheduler) => scheduler,
        Err(reason) => return Ok(unsupported(trial.clone(), reason)),
    };
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
