// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler under test is taken out and loaded again while the workload runs.

use std::time::Instant;

use model::{ActiveScheduler, Histogram, Measured, Metric, Outcome, SchedulerChoice, Trial};

use crate::active::active;
use crate::trial::scheduler::UnderTest;

/// The scheduler under test during a run.
pub struct Reloads<'a> {
    under_test: &'a mut UnderTest,
    choice: &'a SchedulerChoice,
    /// What the kernel must say of it at this moment.
    expected: ActiveScheduler,
    reloaded: Reloaded,
    /// Why it was not there any more, or did not come back.
    failure: Option<Outcome>,
}

/// What reloading took.
pub struct Reloaded {
    /// Whether the trial asked for any.
    asked: bool,
    unload_ns: Vec<u64>,
    load_ns: Vec<u64>,
}

impl<'a> Reloads<'a> {
    /// For a scheduler that has just been loaded, and verified as `before`.
    pub fn new(
        trial: &'a Trial,
        under_test: &'a mut UnderTest,
        before: &ActiveScheduler,
    ) -> Reloads<'a> {
        let asked = trial.workload.reloads > 0;
        Reloads {
            under_test,
            choice: &trial.contestant.scheduler,
            expected: before.clone(),
            reloaded: Reloaded { asked, unload_ns: Vec::new(), load_ns: Vec::new() },
            failure: None,
        }
    }

    /// Once out and in again. Returns whether the run may go on.
    pub fn reload(&mut self) -> bool {
        let result = self.try_reload();
        self.failure = result.err();
        self.failure.is_none()
    }

    fn try_reload(&mut self) -> Result<(), Outcome> {
        self.under_test.verify_after(&self.expected, &active())?;
        let begin = Instant::now();
        self.under_test.stop();
        let middle = Instant::now();
        self.under_test.start_again(self.choice)?;
        self.reloaded.unload_ns.push((middle - begin).as_nanos() as u64);
        self.reloaded.load_ns.push(middle.elapsed().as_nanos() as u64);
        self.expected.sched_ext_enable_seq += 1;
        Ok(())
    }

    /// Takes it out for good.
    pub fn stop(&mut self) {
        self.under_test.stop();
    }

    /// Whether it was active all the time, but for its reloads.
    pub fn verify_after(&mut self, after: &ActiveScheduler) -> Result<(), Outcome> {
        match self.failure.take() {
            Some(outcome) => Err(outcome),
            None => self.under_test.verify_after(&self.expected, after),
        }
    }

    /// What it took.
    pub fn end(self) -> Reloaded {
        self.reloaded
    }
}

impl Reloaded {
    /// Adds its measures, if the trial asked for reloads.
    pub fn measure(&self, measured: &mut Measured) {
        if !self.asked {
            return;
        }
        measured.metrics.push(Metric::number("reloads", "all", self.load_ns.len() as f64));
        let times = [("unload_ns", &self.unload_ns), ("load_ns", &self.load_ns)];
        let histogram = |(name, samples): (&str, &Vec<u64>)| Histogram::of(name, "all", samples);
        measured.histograms.extend(times.map(histogram));
        measured.sort();
    }
}
