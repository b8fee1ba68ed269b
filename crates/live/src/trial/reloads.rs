// SPDX-License-Identifier: GPL-2.0-only
//! Unloads and loads the scheduler under test while the workload runs.

use std::time::Instant;

use model::{ActiveScheduler, Histogram, Measured, Metric, Outcome, SchedulerChoice, Trial};

use crate::active::active;
use crate::trial::scheduler::UnderTest;

/// The scheduler under test while its workload runs.
pub struct Reloads<'a> {
    under_test: &'a mut UnderTest,
    choice: &'a SchedulerChoice,
    /// The expected state of the kernel.
    expected: ActiveScheduler,
    reloaded: Reloaded,
    /// Why a reload failed: the scheduler was gone, or could not be loaded again.
    failure: Option<Outcome>,
}

pub struct Reloaded {
    /// Whether the workload demands reloads.
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

    /// Unloads and loads the scheduler once. Returns whether the workload may continue.
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

    /// Unloads the scheduler for good.
    pub fn stop(&mut self) {
        self.under_test.stop();
    }

    /// Checks that the scheduler was active all the time, except during its reloads.
    pub fn verify_after(&mut self, after: &ActiveScheduler) -> Result<(), Outcome> {
        match self.failure.take() {
            Some(outcome) => Err(outcome),
            None => self.under_test.verify_after(&self.expected, after),
        }
    }

    /// The durations of the reloads so far.
    pub fn end(self) -> Reloaded {
        self.reloaded
    }
}

impl Reloaded {
    /// Adds the measures of reloading, if the workload demands reloads.
    pub fn measure(&self, measured: &mut Measured) {
        if !self.asked {
            return;
        }
        measured.metrics.push(Metric::number("reloads", "all", self.load_ns.len() as f64));
        let times = [("unload_ns", &self.unload_ns), ("load_ns", &self.load_ns)];
        let histogram =
            |(name, samples): (&str, &Vec<u64>)| Histogram::from_samples(name, "all", samples);
        measured.histograms.extend(times.map(histogram));
        measured.sort();
    }
}
