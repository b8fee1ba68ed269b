// SPDX-License-Identifier: GPL-2.0-only
//! Blocks are added until every shift is known well enough.

use anyhow::Result;
use stats::sample_size::precision::{Next, next};
use store::Session;

use super::session::{CampaignRunner, Continues, Remarks};
use super::{Ended, claimable};
use crate::planned_experiment::PlannedExperiment;

/// Measures until every interval of a headline measure is at most ± `percent` wide, or it is clear
/// that it never will be.
pub fn run(
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
