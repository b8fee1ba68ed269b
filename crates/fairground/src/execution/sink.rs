// SPDX-License-Identifier: GPL-2.0-only
//! Where every record goes: into the store at once, then to the progress display.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Error, Result};
use model::{Outcome, Progress, Provenance, Record, SchedulerChoice};

/// The beginnings of objects' SHA-256: whether the simulator runs the object, and the identity of
/// its source.
pub type ObjectHashes = BTreeMap<(bool, String), String>;

pub type OnRecords<'a> = dyn FnMut(&[Record]) -> Result<()> + Send + 'a;
pub type OnProgress<'a> = dyn FnMut(&Progress<'_>) + Send + 'a;

/// The one place that keeps records. Trials run in parallel, so everything in it is under a lock:
/// each under its own, because keeping waits for the disk.
pub struct Sink<'a> {
    keep: Mutex<&'a mut OnRecords<'a>>,
    hear: Mutex<&'a mut OnProgress<'a>>,
    error: Mutex<Option<Error>>,
    stop: &'a AtomicBool,
    /// What each record says of its scheduler's compiled object.
    objects: OnceLock<ObjectHashes>,
}

impl<'a> Sink<'a> {
    /// A sink that hands records to `keep` and then progress to `hear`; `stop` ends it.
    pub fn new(
        keep: &'a mut OnRecords<'a>,
        hear: &'a mut OnProgress<'a>,
        stop: &'a AtomicBool,
    ) -> Sink<'a> {
        let (keep, hear) = (Mutex::new(keep), Mutex::new(hear));
        Sink { keep, hear, error: Mutex::default(), stop, objects: OnceLock::new() }
    }

    /// Says which objects the trials run; before the first record.
    pub fn set_objects(&self, objects: ObjectHashes) {
        let _ = self.objects.set(objects);
    }

    /// Notes which object was run: one text may be compiled by several compilers.
    fn with_object(&self, mut record: Record) -> Record {
        if let SchedulerChoice::File { sha256, .. } = &record.trial.contestant.scheduler {
            let key = (record.trial.backend.is_model(), sha256.clone());
            if let Some(hash) = self.objects.get().and_then(|objects| objects.get(&key)) {
                record.provenance.programs.insert(model::record::OBJECT.into(), hash.clone());
            }
        }
        record
    }

    /// Keeps a record. When that fails, measuring stops: a number that cannot be kept is wasted.
    pub fn record(&self, record: Record) {
        self.records(vec![record]);
    }

    /// Keeps records together, which waits for the disk once.
    pub fn records(&self, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let records: Vec<Record> =
            records.into_iter().map(|record| self.with_object(refuse_faulty(record))).collect();
        if let Err(error) = lock(&self.keep)(&records) {
            return self.fail(error);
        }
        for record in &records {
            self.progress(&Progress::TrialFinished(&record.trial, &record.outcome));
        }
    }

    pub fn progress(&self, progress: &Progress<'_>) {
        lock(&self.hear)(progress);
    }

    /// The lab failed: remembers the first error and stops measuring.
    pub fn fail(&self, error: Error) {
        self.lose(error);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// The lab failed in one trial, which has no record: remembers the first error; the others go
    /// on.
    pub fn lose(&self, error: Error) {
        lock(&self.error).get_or_insert(error);
    }

    pub fn stop(&self) -> &AtomicBool {
        self.stop
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    pub fn error(&self) -> Result<()> {
        lock(&self.error).take().map_or(Ok(()), Err)
    }
}

/// A lock, even after a thread has panicked with it: no update is left half-done.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The record as it is kept. One that Fairground cannot have made, because a scheduler or a program
/// shared the process that wrote it, or because samples were lost, is a failed one without numbers.
fn refuse_faulty(mut record: Record) -> Record {
    record.settle();
    let Some(fault) = record.fault() else { return record };
    let reason = format!(
        "an answer that no trial gives: {fault}; what ran in the trial's process may have forged it"
    );
    let provenance = Provenance {
        scheduler_before: Default::default(),
        scheduler_after: Default::default(),
        notes: Vec::new(),
        printed: Vec::new(),
        variables: Vec::new(),
        inside: Default::default(),
        ..record.provenance
    };
    Record::without_measurement(record.trial, Outcome::Failed { reason }, provenance)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use model::{Histogram, Metric, Trial};

    use super::*;
    use crate::execution::unsupported;

    fn records(count: u32) -> Vec<Record> {
        let record = |position: u32| {
            let trial = Trial { position, ..Trial::default() };
            Record::without_measurement(trial, Outcome::Ok, Provenance::default())
        };
        (0..count).map(record).collect()
    }

    fn events(use_sink: impl FnOnce(&Sink<'_>), full_after: usize) -> (Vec<String>, bool) {
        let (tell, told) = mpsc::channel();
        let (kept, heard) = (tell.clone(), tell);
        let mut room = full_after;
        let mut keep = |new: &[Record]| {
            anyhow::ensure!(new.len() <= room, "full");
            room -= new.len();
            Ok(kept.send(format!("kept {}", new.len()))?)
        };
        let mut hear = |progress: &Progress<'_>| {
            if let Progress::TrialFinished(trial, _) = progress {
                heard.send(format!("heard {}", trial.position)).expect("it is read later");
            }
        };
        let stop = AtomicBool::new(false);
        let sink = Sink::new(&mut keep, &mut hear, &stop);
        use_sink(&sink);
        assert_eq!(sink.error().is_err(), sink.is_stopped());
        (told.try_iter().collect(), stop.into_inner())
    }

    #[test]
    fn a_trial_has_finished_when_its_record_is_kept() {
        let both = |sink: &Sink<'_>| {
            sink.records(records(2));
            sink.records(Vec::new());
            sink.record(unsupported(records(3)[2].trial.clone(), "no"));
        };
        let (events, stopped) = events(both, 9);
        assert_eq!(events, ["kept 2", "heard 0", "heard 1", "kept 1", "heard 2"]);
        assert!(!stopped);
    }

    #[test]
    fn a_record_that_no_trial_makes_is_a_failed_one() {
        type Forgery = fn(&mut Record);
        let whole = || Histogram::from_samples("wakeup_latency_ns", "all", &[7]);
        let forgeries: [(Forgery, &str); 6] = [
            (
                |record| record.measured.histograms[0].buckets = vec![(9, u64::MAX)].into(),
                "is not whole",
            ),
            (|record| record.measured.histograms[0].max = u64::MAX, "is not whole"),
            (
                |record| record.measured.metrics[0].name = "x".repeat(5 << 20).into(),
                "name is too long",
            ),
            (|record| record.measured.metrics[0].missing = Some("x".into()), "neither a number"),
            (|record| record.provenance.printed = vec!["x".repeat(5 << 20)], "a text of it has"),
            (
                |record| record.provenance.scheduler_after.sched_ext_ops = "x".repeat(5 << 20),
                "active scheduler is too long",
            ),
        ];
        for (forge, said) in forgeries {
            let mut record = records(1).remove(0);
            record.trial.workload.name = "a".into();
            record.trial.machine.name = "a".into();
            record.measured.metrics.push(Metric::number("completion_ns", "all", 1.0));
            record.measured.histograms.push(whole());
            assert_eq!(refuse_faulty(record.clone()), record);
            forge(&mut record);
            let refused = refuse_faulty(record);
            assert_eq!(refused.outcome.word(), "failed");
            assert!(refused.outcome.reason().contains(said), "{:?}", refused.outcome);
            assert_eq!(refused.fault(), None);
        }
    }

    #[test]
    fn a_record_that_cannot_be_kept_ends_measuring() {
        let (events, stopped) =
            events(|sink| records(2).into_iter().for_each(|record| sink.record(record)), 1);
        assert_eq!((events, stopped), (vec!["kept 1".into(), "heard 0".into()], true));
    }
}
