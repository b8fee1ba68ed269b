// SPDX-License-Identifier: GPL-2.0-only
//! Where every record goes: into the store at once, then to the progress display.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Error, Result};
use model::{Outcome, Progress, Record};

/// Stores a record.
pub type Keep<'a> = dyn FnMut(&Record) -> Result<()> + Send + 'a;
/// Receives progress.
pub type Hear<'a> = dyn FnMut(&Progress<'_>) + Send + 'a;

/// The one place that keeps records. Boots run in parallel, so everything in it is under one lock.
pub struct Sink<'a> {
    inner: Mutex<Inner<'a>>,
    stop: &'a AtomicBool,
}

struct Inner<'a> {
    keep: &'a mut Keep<'a>,
    hear: &'a mut Hear<'a>,
    error: Option<Error>,
}

impl<'a> Sink<'a> {
    /// A sink that hands records to `keep` and then progress to `hear`; `stop` ends it.
    pub fn new(keep: &'a mut Keep<'a>, hear: &'a mut Hear<'a>, stop: &'a AtomicBool) -> Sink<'a> {
        Sink { inner: Mutex::new(Inner { keep, hear, error: None }), stop }
    }

    /// Keeps a record. When that fails, measuring stops: a number that cannot be kept is wasted.
    pub fn record(&self, record: Record) {
        let record = refuse_lossy(record);
        let mut inner = self.lock();
        match (inner.keep)(&record) {
            Ok(()) => (inner.hear)(&Progress::TrialFinished(&record.trial, &record.outcome)),
            Err(error) => {
                inner.error.get_or_insert(error);
                self.stop.store(true, Ordering::SeqCst);
            }
        }
    }

    /// Passes progress on.
    pub fn progress(&self, progress: &Progress<'_>) {
        (self.lock().hear)(progress);
    }

    /// The lab failed: remembers the first error and stops measuring.
    pub fn fail(&self, error: Error) {
        self.lock().error.get_or_insert(error);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// The lab failed in one trial, which has no record: remembers the first error; the others go
    /// on.
    pub fn lose(&self, error: Error) {
        self.lock().error.get_or_insert(error);
    }

    /// Becomes true when measuring must end.
    pub fn stop(&self) -> &AtomicBool {
        self.stop
    }

    /// Whether measuring must end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The first error of the lab.
    ///
    /// # Errors
    /// That error.
    pub fn error(&self) -> Result<()> {
        self.lock().error.take().map_or(Ok(()), Err)
    }

    /// The lock, even after a thread has panicked with it: no update is left half-done.
    fn lock(&self) -> MutexGuard<'_, Inner<'a>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a record with a histogram that lost samples a failed one: its other numbers are doubtful.
fn refuse_lossy(mut record: Record) -> Record {
    let lossy = record.measured.histograms.iter().find(|histogram| !histogram.is_complete());
    if let (Some(histogram), true) = (lossy, record.outcome.is_ok()) {
        let reason = format!("histogram {} {} lost samples", histogram.name, histogram.group);
        record.outcome = Outcome::Failed { reason };
    }
    record
}
