// SPDX-License-Identifier: GPL-2.0-only
//! As many blocks as fit into a time. The first block shows how long a block takes; then the number
//! is fixed, before any measured value is looked at.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::block_count::{self, Estimate};
use super::session::{CampaignRunner, Continues, Remarks};
use super::{Ended, visible};
use crate::execution::boots;
use crate::planned_experiment::PlannedExperiment;
use spec::plan;

/// A time, and since when it runs.
pub struct Budget {
    /// The time for everything.
    pub time: Duration,
    /// The fewest and the most blocks that the verb accepts, if it says.
    pub limits: Option<(u32, u32)>,
    /// When the campaign began.
    pub began: Instant,
}

/// A plan whose number of blocks is fixed.
struct Fixed {
    planned: PlannedExperiment,
    /// The first session of the campaign, which has the first block.
    campaign: i64,
}

/// Refuses a budget that the workloads' own durations exceed, before anything runs.
///
/// # Errors
/// When it is too short for as many blocks as can show a difference.
pub fn check_budget(
    time: Duration,
    limits: Option<(u32, u32)>,
    planned: &PlannedExperiment,
) -> Result<()> {
    let needed = needed(limits, planned);
    let least = block_count::least_time(&planned.clone().with_blocks(1)) * needed;
    if least > time { refuse(time, limits, planned, least) } else { Ok(()) }
}

/// Runs the first block, fixes the number of blocks, and runs the rest.
///
/// # Errors
/// When the first block shows that the time is too short; when the lab fails.
pub fn run(
    budget: &Budget,
    planned: PlannedExperiment,
    effect_percent: Option<f64>,
    sessions: &mut CampaignRunner<'_>,
) -> Result<Ended> {
    let execution = &sessions.execution;
    let resumed =
        if execution.resume { block_count::resumed(&execution.store, &planned)? } else { None };
    let fixed = match resumed {
        Some((blocks, campaign)) => Fixed { planned: planned.with_blocks(blocks), campaign },
        None => match after_first_block(budget, planned, sessions)? {
            Some(fixed) => fixed,
            None => return Ok(Ended::Interrupted),
        },
    };
    for note in visible::visible(&fixed.planned, effect_percent)? {
        sessions.tell(&note);
    }
    sessions.run(&fixed.planned, Continues::Campaign(fixed.campaign), Remarks::All)
}

/// Runs one block and fixes the number; `None` when the user has interrupted.
fn after_first_block(
    budget: &Budget,
    planned: PlannedExperiment,
    sessions: &mut CampaignRunner<'_>,
) -> Result<Option<Fixed>> {
    let (first, before) = (planned.clone().with_blocks(1), Instant::now());
    let Ended::Complete(campaign) = sessions.run(&first, Continues::AsAsked, Remarks::Notes)?
    else {
        return Ok(None);
    };
    let block = share_of_cpus(&first, before.elapsed(), sessions.execution.settings.jobs);
    let left = budget.time.saturating_sub(budget.began.elapsed());
    let most = budget.limits.map_or(u32::MAX, |(_, most)| most);
    let blocks = block_count::that_fit(block, left).min(most);
    let needed = needed(budget.limits, &planned);
    if blocks < needed {
        let least = budget.began.elapsed() + block * (needed - 1);
        refuse(budget.time, budget.limits, &planned, least)?;
    }
    sessions.tell(&Estimate { blocks, block }.words());
    Ok(Some(Fixed { planned: planned.with_blocks(blocks), campaign }))
}

/// The share of a block in the time of several at once: one block may leave CPUs idle that several
/// blocks keep busy.
fn share_of_cpus(first: &PlannedExperiment, took: Duration, jobs: Option<usize>) -> Duration {
    let at_once = boots::at_once(&first.trials, jobs);
    let used = plan::by_boot(&first.trials).len().clamp(1, at_once);
    took * used as u32 / at_once as u32
}

/// The fewest blocks that can show a difference.
fn needed(limits: Option<(u32, u32)>, planned: &PlannedExperiment) -> u32 {
    let least = limits.map_or(1, |(least, _)| least);
    block_count::needed(planned).max(least)
}

/// Refuses a budget that the needed blocks exceed, unless nothing has to be proved.
fn refuse(
    time: Duration,
    limits: Option<(u32, u32)>,
    planned: &PlannedExperiment,
    least: Duration,
) -> Result<()> {
    if planned.experiment.design.exploratory {
        return Ok(());
    }
    let needed = needed(limits, planned);
    let otherwise = if limits.is_some() { "" } else { ", or add --exploratory" };
    Err(block_count::too_short(planned, time, needed, least, otherwise))
}
