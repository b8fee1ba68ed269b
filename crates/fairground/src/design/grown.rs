// SPDX-License-Identifier: GPL-2.0-only
//! How many blocks: as many as fit into a time, or as a declared precision needs. A plan with more
//! blocks begins with the same trials, so that what was measured stays a part of it.
//!
//! Neither looks at who is better. A time fixes the number before any result is looked at; a
//! precision looks at how wide intervals are, not at where they lie.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use model::{Clock, Trial};
use stats::sample_size::power::BLOCKS_MAX;
use store::Store;

use super::Reach;
use super::duration::words;
use crate::exit::bad_input;
use crate::question::Asked;

/// The fewest blocks with which anything can be claimed in the plan's families.
pub fn needed(asked: &Asked) -> u32 {
    let largest = Reach::of(asked).largest_of_all().max(1);
    Reach::needed(largest).min(BLOCKS_MAX) as u32
}

/// The time below which a plan cannot be done: its workloads' own, one after another, where the
/// clock is real.
pub fn least_time(asked: &Asked) -> Duration {
    let real = asked.trials.iter().filter(|trial| trial.clock() == Clock::Real);
    let own = |trial: &Trial| Duration::from_micros(trial.workload.duration_us.unwrap_or(0));
    real.map(own).sum()
}

/// The blocks of a plan whose first took so long, and for which so much time is left.
pub fn that_fit(block: Duration, left: Duration) -> u32 {
    let more = left.as_millis() / block.as_millis().max(1);
    more.saturating_add(1).min(BLOCKS_MAX as u128) as u32
}

/// What was decided.
pub fn plan_words(blocks: u32, block: Duration) -> String {
    let rest = block * blocks.saturating_sub(1);
    format!("a block takes {}: {blocks} blocks, done in {}", words(block), words(rest))
}

/// Why a time is not enough, and what would be; `otherwise` is what else the verb offers.
pub fn too_short(
    asked: &Asked,
    budget: Duration,
    (needed, least): (u32, Duration),
    otherwise: &str,
) -> anyhow::Error {
    let name = &asked.experiment.name;
    bad_input(format!(
        "{name}: {needed} blocks are needed to show anything, and take {} at least; write --budget \
         {}s or more, or name fewer workloads or schedulers{otherwise} (budget: {})",
        words(least),
        least.as_secs() + 1,
        words(budget)
    ))
}

/// The blocks and the family of an interrupted run with the same budget, whose number of blocks was
/// already fixed.
///
/// # Errors
/// When the store cannot be read.
pub fn resumed(resume: bool, store: &Path, asked: &Asked) -> Result<Option<(u32, i64)>> {
    if !resume || !store.exists() {
        return Ok(None);
    }
    let experiment = &asked.experiment;
    let sessions = Store::open(store)?.sessions()?;
    let same = sessions.into_iter().rev().find(|session| {
        let earlier = &session.experiment;
        earlier.name == experiment.name
            && earlier.design.budget_s == experiment.design.budget_s
            && earlier.blocks > 1
            && session.plan == asked.clone().with_blocks(earlier.blocks).plan_id()
    });
    Ok(same.map(|session| (session.experiment.blocks, session.first())))
}
