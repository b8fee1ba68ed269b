// SPDX-License-Identifier: GPL-2.0-only
//! The service behind every verb that measures: a campaign in, records in the store out.
//!
//! ```text
//! Campaign ─► claimable (enough blocks?) ─► A/A trials ─► detectable (smallest difference)
//!          ─► how many blocks: fixed │ budget │ precision ─► session by session ─► Ended
//! ```
//!
//! Read in this order: [`prerequisites`] refuses what cannot run here; [`claimable`] counts
//! comparisons as `stats::compare` will; [`aa`] has the A/A trials and [`detectable`] what follows
//! from them; [`budget`] decides the number of blocks; [`session`] runs trials and keeps their
//! records; [`on_slurm`] has them run on a cluster.
//!
//! What is not here: the command line, and printing. The number of blocks never depends on which
//! contestant is better.

pub mod aa;
pub mod budget;
pub mod claimable;
pub mod detectable;
pub mod on_slurm;
pub mod prerequisites;
pub mod session;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::builder::RangedU64ValueParser;
use fleet::slurm::SlurmOptions;
use model::Design;

use crate::execution::locations;
use crate::execution::sink::OnProgress;
use crate::planned_experiment::PlannedExperiment;
use crate::records::Selection;
use crate::selected::Selected;
use budget::Budget;
use session::{CampaignRunner, Continues, Remarks};

/// An experiment and everything that is needed to measure it.
#[derive(Clone, Debug)]
pub struct Campaign {
    pub planned: PlannedExperiment,
    /// How the records will be judged, and by what design.
    pub judged_by: JudgedBy,
    pub execution: RunOptions,
    /// The cluster that runs the trials; `None`: this machine.
    pub fleet: Option<SlurmOptions>,
}

impl Campaign {
    /// A campaign that is judged by rules of the verb's own.
    pub fn with_own_rules(planned: PlannedExperiment, execution: &RunOptions) -> Campaign {
        let execution = execution.clone();
        Campaign { planned, judged_by: JudgedBy::OwnRules, execution, fleet: None }
    }
}

/// How the records of a campaign will be judged.
#[derive(Clone, Debug, PartialEq)]
pub enum JudgedBy {
    /// By comparing contestants with the baseline: the plan must be able to show a difference.
    Comparison(Comparing),
    /// By rules of the verb's own: the plan runs as it is, and nothing is said about differences.
    OwnRules,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparing {
    pub blocks: Blocks,
    /// Whether the baseline runs against itself first, where the clock is real.
    pub aa_trials: bool,
    /// Refuse the plan if a difference of this size, in percent, could not be seen.
    pub effect_percent: Option<f64>,
}

/// How the number of blocks is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Blocks {
    /// The number that the experiment's file or `--blocks` gives.
    Fixed,
    /// As many as fit into a time. The number is fixed after the first block.
    Budget {
        /// The time for everything, A/A trials included.
        time: Duration,
        /// The fewest and the most blocks that the verb accepts; `None`: as few as can show a
        /// difference, and no upper limit.
        limits: Option<(u32, u32)>,
    },
    /// Until every shift of a headline measure is known to ± this many percent.
    Until { percent: f64 },
}

/// The options that say where records go, and what running trials may use.
#[derive(clap::Args, Clone, Debug)]
pub struct RunOptions {
    /// Run only the trials that the last campaign with the same plan did not finish
    #[arg(long)]
    pub resume: bool,
    /// Where the records go
    #[arg(long, value_name = "FILE", default_value = locations::STORE)]
    pub store: PathBuf,
    /// Trials at a time [default: as many as CPUs in the simulator and where only instructions are
    /// counted, else one]
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub jobs: Option<usize>,
    /// Never download a kernel
    #[arg(long)]
    pub offline: bool,
}

/// The parser of `--jobs`.
pub fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// How a campaign has ended, if the lab did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every trial has its record; the number of the last session in the store.
    Complete(i64),
    /// The user has interrupted it, and was told how to continue.
    Interrupted,
}

/// Runs a plan in a store that is gone afterwards; `None` when the user has interrupted it.
pub fn in_own_store(planned: PlannedExperiment, jobs: Option<usize>) -> Result<Option<Selected>> {
    let folder = tempfile::tempdir().context("no temporary folder for a store")?;
    let store = folder.path().join("own.db");
    let execution = RunOptions { resume: false, store: store.clone(), jobs, offline: true };
    let campaign = Campaign::with_own_rules(planned, &execution);
    let Ended::Complete(session) = run(campaign, &mut |_| {})? else { return Ok(None) };
    Ok(Some(Selection::session(&store, session).open()?))
}

pub fn run(campaign: Campaign, hear: &mut OnProgress<'_>) -> Result<Ended> {
    let Campaign { planned, judged_by, execution, fleet } = campaign;
    if fleet.is_none() {
        prerequisites::check(&planned)?;
    }
    let mut sessions = CampaignRunner::new(execution, fleet, hear)?;
    match judged_by {
        JudgedBy::OwnRules => sessions.run(&planned, Continues::AsAsked, Remarks::Notes),
        JudgedBy::Comparison(design) => compare(&design, planned, &mut sessions),
    }
}

/// Measures a campaign whose contestants are compared.
fn compare(
    comparing: &Comparing,
    mut planned: PlannedExperiment,
    sessions: &mut CampaignRunner<'_>,
) -> Result<Ended> {
    let began = Instant::now();
    comparing.blocks.declare(&mut planned.experiment.design);
    comparing.check(&planned)?;
    if comparing.aa_trials && aa::run_aa_trials(&mut planned, sessions)? == Some(Ended::Interrupted)
    {
        return Ok(Ended::Interrupted);
    }
    match comparing.blocks {
        Blocks::Fixed => {
            planned
                .notes
                .extend(detectable::detectable_differences(&planned, comparing.effect_percent)?);
            sessions.run(&planned, Continues::AsAsked, Remarks::All)
        }
        Blocks::Budget { time, limits } => {
            let budget = Budget { time, limits, began };
            budget.run(planned, comparing.effect_percent, sessions)
        }
        Blocks::Until { percent } => budget::run_until_precise(percent, planned, sessions),
    }
}

impl Comparing {
    /// Refuses a plan that cannot answer its question, before anything runs.
    fn check(&self, planned: &PlannedExperiment) -> Result<()> {
        match self.blocks {
            Blocks::Fixed => claimable::check(planned),
            Blocks::Budget { time, limits } => {
                Budget { time, limits, began: Instant::now() }.check(planned)
            }
            Blocks::Until { .. } => Ok(()),
        }
    }
}

impl Blocks {
    /// Notes in the experiment how its blocks were counted, for reports.
    fn declare(&self, design: &mut Design) {
        design.until_percent = None;
        design.budget_s = None;
        match self {
            Blocks::Fixed => {}
            Blocks::Budget { time, .. } => design.budget_s = Some(time.as_secs()),
            Blocks::Until { percent } => design.until_percent = Some(*percent),
        }
    }
}
