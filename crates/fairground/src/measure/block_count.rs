// SPDX-License-Identifier: GPL-2.0-only
//! How many blocks are needed, and how many fit into a time. A plan with more blocks begins with
//! the same trials, so that records of the shorter plan belong to the longer one.
//!
//! Nothing here depends on which contestant is better. A budget fixes the number before any
//! measured value is looked at; a precision depends on the width of intervals, not on their place.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use model::{Clock, Trial};
use stats::sample_size::power::BLOCKS_MAX;
use store::Store;

use super::claimable::{self, ClaimableComparisons};
use crate::duration::words;
use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;

/// The fewest blocks with which a difference can be claimed in every family of the plan.
pub fn needed(planned: &PlannedExperiment) -> u32 {
    let largest = ClaimableComparisons::of(planned).largest().max(1);
    claimable::blocks_needed(largest).min(BLOCKS_MAX) as u32
}

/// A lower bound of the time that a plan takes: the workloads' own durations one after another,
/// where the clock is real.
pub fn least_time(planned: &PlannedExperiment) -> Duration {
    let real = planned.trials.iter().filter(|trial| trial.clock() == Clock::Real);
    let own = |trial: &Trial| Duration::from_micros(trial.workload.duration_us.unwrap_or(0));
    real.map(own).sum()
}

/// How many blocks fit: the first has taken the time `block`, and `left` remains for more.
pub fn that_fit(block: Duration, left: Duration) -> u32 {
    let more = left.as_millis() / block.as_millis().max(1);
    more.saturating_add(1).min(BLOCKS_MAX as u128) as u32
}

/// A number of blocks, and the time of one.
pub struct Estimate {
    pub blocks: u32,
    pub block: Duration,
}

impl Estimate {
    /// What was decided: `a block takes 4 s: 12 blocks, done in 44 s`.
    pub fn words(&self) -> String {
        let Estimate { blocks, block } = *self;
        let rest = words(block * blocks.saturating_sub(1));
        format!("a block takes {}: {blocks} blocks, done in {rest}", words(block))
    }
}

/// Why a time is too short: `needed` blocks take at least the time `least`. `otherwise` is what
/// else the verb offers.
pub fn too_short(
    planned: &PlannedExperiment,
    budget: Duration,
    needed: u32,
    least: Duration,
    otherwise: &str,
) -> anyhow::Error {
    let name = &planned.experiment.name;
    bad_input(format!(
        "{name}: {needed} blocks are needed to show anything, and take at least {}; write --budget \
         {}s or more, or name fewer workloads or schedulers{otherwise} (budget: {})",
        words(least),
        least.as_secs() + 1,
        words(budget)
    ))
}

/// The number of blocks and the first session of an interrupted campaign with the same budget:
/// its number was already fixed. `None` where there is none.
///
/// # Errors
/// When the store cannot be read.
pub fn resumed(store: &Path, planned: &PlannedExperiment) -> Result<Option<(u32, i64)>> {
    if !store.exists() {
        return Ok(None);
    }
    let experiment = &planned.experiment;
    let sessions = Store::open(store)?.sessions()?;
    let interrupted = sessions.into_iter().rev().find(|session| {
        let earlier = &session.experiment;
        earlier.name == experiment.name
            && earlier.design.budget_s == experiment.design.budget_s
            && earlier.blocks > 1
            && session.plan == planned.clone().with_blocks(earlier.blocks).plan_id()
    });
    Ok(interrupted.map(|session| (session.experiment.blocks, session.first())))
}
