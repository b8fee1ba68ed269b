// SPDX-License-Identifier: GPL-2.0-only
//! As many blocks as fit into a time. The first block shows how long a block takes; then the number
//! is fixed, before any measured value is looked at. A plan with more blocks begins with the same
//! trials, so that records of the shorter plan belong to the longer one.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use model::{Clock, Trial};
use spec::plan;
use stats::sample_size::{BLOCKS_MAX, Next, next};
use store::{Session, Store};

use super::session::{CampaignRunner, Continues, Remarks};
use super::{Ended, claimable, detectable};
use crate::execution::boots;
use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;
use crate::times::words;

/// A time, and since when it runs.
pub struct Budget {
    /// The time for everything.
    pub time: Duration,
    /// The fewest and the most blocks that the verb accepts, if it says.
    pub limits: Option<(u32, u32)>,
    pub began: Instant,
}

/// A plan whose number of blocks is fixed.
struct Fixed {
    planned: PlannedExperiment,
    /// The first session of the campaign, which has the first block.
    campaign: i64,
}

impl Budget {
    /// Refuses a budget that the workloads' own durations exceed, before anything runs.
    pub fn check(&self, planned: &PlannedExperiment) -> Result<()> {
        let least = least_time(&planned.clone().with_blocks(1)) * self.needed(planned);
        if least > self.time { self.refuse(planned, least) } else { Ok(()) }
    }

    /// Runs the first block, fixes the number of blocks, and runs the rest.
    pub fn run(
        &self,
        planned: PlannedExperiment,
        effect_percent: Option<f64>,
        sessions: &mut CampaignRunner<'_>,
    ) -> Result<Ended> {
        let execution = &sessions.execution;
        let resumed = if execution.resume { resumed(&execution.store, &planned)? } else { None };
        let fixed = match resumed {
            Some((blocks, campaign)) => Fixed { planned: planned.with_blocks(blocks), campaign },
            None => match self.after_first_block(planned, sessions)? {
                Some(fixed) => fixed,
                None => return Ok(Ended::Interrupted),
            },
        };
        for note in detectable::detectable_differences(&fixed.planned, effect_percent)? {
            sessions.tell(&note);
        }
        sessions.run(&fixed.planned, Continues::Campaign(fixed.campaign), Remarks::All)
    }

    /// Runs one block and fixes the number; `None` when the user has interrupted.
    fn after_first_block(
        &self,
        planned: PlannedExperiment,
        sessions: &mut CampaignRunner<'_>,
    ) -> Result<Option<Fixed>> {
        let (first, before) = (planned.clone().with_blocks(1), Instant::now());
        let Ended::Complete(campaign) = sessions.run(&first, Continues::AsAsked, Remarks::Notes)?
        else {
            return Ok(None);
        };
        let block = share_of_cpus(&first, before.elapsed(), sessions.execution.jobs);
        let left = self.time.saturating_sub(self.began.elapsed());
        let most = self.limits.map_or(u32::MAX, |(_, most)| most);
        let blocks = that_fit(block, left).min(most);
        let needed = self.needed(&planned);
        if blocks < needed {
            self.refuse(&planned, self.began.elapsed() + block * (needed - 1))?;
        }
        let rest = words(block * blocks.saturating_sub(1));
        let block = words(block);
        sessions.tell(&format!("a block takes {block}: {blocks} blocks, done in {rest}"));
        Ok(Some(Fixed { planned: planned.with_blocks(blocks), campaign }))
    }

    /// The fewest blocks that can show a difference.
    fn needed(&self, planned: &PlannedExperiment) -> u32 {
        claimable::fewest_blocks(planned).max(self.limits.map_or(1, |(least, _)| least))
    }

    /// Refuses a time that the needed blocks exceed, which take at least the time `least`; unless
    /// nothing has to be proved.
    fn refuse(&self, planned: &PlannedExperiment, least: Duration) -> Result<()> {
        if planned.experiment.design.exploratory {
            return Ok(());
        }
        let (name, needed) = (&planned.experiment.name, self.needed(planned));
        let otherwise = if self.limits.is_some() { "" } else { ", or add --exploratory" };
        Err(bad_input(format!(
            "{name}: {needed} blocks are needed to show anything, and take at least {}; write \
             --budget {}s or more, or name fewer workloads or schedulers{otherwise} (budget: {})",
            words(least),
            least.as_secs() + 1,
            words(self.time)
        )))
    }
}

/// A lower bound of the time that a plan takes: the workloads' own durations one after another,
/// where the clock is real.
fn least_time(planned: &PlannedExperiment) -> Duration {
    let real = planned.trials.iter().filter(|trial| trial.clock() == Clock::Real);
    let own = |trial: &Trial| Duration::from_micros(trial.workload.duration_us.unwrap_or(0));
    real.map(own).sum()
}

/// How many blocks fit: the first has taken the time `block`, and `left` remains for more.
fn that_fit(block: Duration, left: Duration) -> u32 {
    let more = left.as_millis() / block.as_millis().max(1);
    more.saturating_add(1).min(BLOCKS_MAX as u128) as u32
}

/// The share of a block in the time of several at once: one block may leave CPUs idle that several
/// blocks keep busy.
fn share_of_cpus(first: &PlannedExperiment, took: Duration, jobs: Option<usize>) -> Duration {
    let at_once = boots::at_once(&first.trials, jobs);
    let used = plan::by_boot(&first.trials).len().clamp(1, at_once);
    took * used as u32 / at_once as u32
}

/// The number of blocks and the first session of an interrupted campaign with the same budget:
/// its number was already fixed. `None` where there is none.
fn resumed(store: &Path, planned: &PlannedExperiment) -> Result<Option<(u32, i64)>> {
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

/// Measures until every interval of a headline measure is at most ± `percent` wide, or it is clear
/// that it never will be.
pub fn run_until_precise(
    percent: f64,
    planned: PlannedExperiment,
    sessions: &mut CampaignRunner<'_>,
) -> Result<Ended> {
    let blocks = claimable::fewest_blocks(&planned);
    let (mut planned, mut continues) = (planned.with_blocks(blocks), Continues::AsAsked);
    loop {
        let Ended::Complete(id) = sessions.run(&planned, continues, Remarks::All)? else {
            return Ok(Ended::Interrupted);
        };
        let measured = sessions.measured(id)?;
        continues = Continues::Campaign(measured.sessions.first().map_or(id, Session::first));
        let comparison = measured.compare(None)?;
        let blocks = planned.experiment.blocks;
        let next = next(&comparison, blocks, percent);
        sessions.tell(&next.words(blocks, percent));
        match next {
            Next::Blocks { blocks, .. } => planned = planned.with_blocks(blocks),
            Next::Enough { .. } | Next::Never { .. } => return Ok(Ended::Complete(id)),
        }
    }
}
