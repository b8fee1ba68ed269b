// SPDX-License-Identifier: GPL-2.0-only
//! `fairground run [EXPERIMENT]`: experiment → plan → trials → records → statistics → table.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use fleet::slurm::SlurmOptions;
use model::Record;
use stats::Comparison;

mod watch;

use super::measured;
use crate::measure::{Blocks, Campaign, Comparing, JudgedBy, RunOptions};
use crate::output::TestFormat;
use crate::planned_experiment::{ExperimentOptions, PlannedExperiment};
use crate::{command_line, comparison, exit, output, test_cases, times};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    execution: RunOptions,
    /// Run as many blocks as fit into this time: 90s, 10m, 2h. The first block shows how long a
    /// block takes; the number is fixed before any measured value is looked at
    #[arg(long, value_name = "TIME", value_parser = times::parse)]
    #[arg(conflicts_with_all = ["blocks", "until"])]
    budget: Option<Duration>,
    /// Add blocks until every shift of a headline measure is known to ± this many percent
    #[arg(long, value_name = "PERCENT", value_parser = times::percent)]
    #[arg(conflicts_with = "blocks")]
    until: Option<f64>,
    /// Refuse a plan that cannot detect a difference of this many percent, judged by A/A trials
    #[arg(long, value_name = "PERCENT", value_parser = times::percent)]
    #[arg(conflicts_with = "until")]
    effect: Option<f64>,
    /// Let a cluster run the trials: slurm, or slurm:chunk=TRIALS
    #[arg(long, value_name = "FLEET", value_parser = SlurmOptions::parse)]
    #[arg(conflicts_with = "budget")]
    fleet: Option<SlurmOptions>,
    /// Run no A/A trials before measurements in real time
    #[arg(long, conflicts_with = "effect")]
    no_aa: bool,
    /// Run again whenever one of your files is saved, and say what has changed since the last run
    #[arg(long, conflicts_with_all = ["resume", "fleet", "format"])]
    watch: bool,
    /// Show every line that schedulers have printed by bpf_printk, not only the first ones
    #[arg(long)]
    printed: bool,
    /// How to print it: table, or junit, where each trial is a test
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: TestFormat,
}

/// Runs the experiment and prints how its contestants compare.
pub fn run(args: Args) -> Result<ExitCode> {
    if args.watch {
        return watch::run(&args);
    }
    let records = args.measure_and_show(args.experiment.plan()?)?;
    Ok(records.map_or_else(exit::interrupted, |records| exit::of_records(&records)))
}

impl Args {
    /// The records; `None` when the user has interrupted the measurement.
    fn measure_and_show(&self, planned: PlannedExperiment) -> Result<Option<Vec<Record>>> {
        let Some(selection) = measured(self.campaign(planned))? else { return Ok(None) };
        let measured = selection.open()?;
        match self.format {
            TestFormat::Table => print_table(&measured.compare(None)?, &measured.records)?,
            TestFormat::Junit => {
                let name = &measured.records[0].trial.experiment;
                output::print_exact(&report::junit::junit(
                    name,
                    &test_cases::trials(&measured.records),
                ))?;
            }
        }
        comparison::printed(&measured.records, self.printed).iter().for_each(output::tell);
        tell_the_rest(&self.execution.store, &measured.records);
        Ok(Some(measured.records))
    }

    fn campaign(&self, planned: PlannedExperiment) -> Campaign {
        let blocks = match (self.budget, self.until) {
            (Some(time), _) => Blocks::Budget { time, limits: None },
            (None, Some(percent)) => Blocks::Until { percent },
            (None, None) => Blocks::Fixed,
        };
        let comparing = Comparing { blocks, aa_trials: !self.no_aa, effect_percent: self.effect };
        let judged_by = JudgedBy::Comparison(comparing);
        Campaign { planned, judged_by, execution: self.execution.clone(), fleet: self.fleet }
    }
}

fn print_table(comparison: &Comparison, records: &[Record]) -> Result<()> {
    let agreement = report::agreement::agreed(comparison, records);
    output::print(&report::terminal::table(comparison, agreement.as_ref(), output::colour()))
}

/// On standard error: what went wrong, where the records are, and the command of the full report.
fn tell_the_rest(store: &Path, records: &[Record]) {
    comparison::misbehaviours(records).iter().for_each(output::tell);
    comparison::left_out(records).iter().for_each(output::tell);
    comparison::without_groups(records).iter().for_each(output::tell);
    comparison::without_sessions(records).iter().for_each(output::tell);
    comparison::without_clamps(records).iter().for_each(output::tell);
    comparison::not_verified(records).iter().for_each(output::tell);
    let store = store.display();
    let experiment = &records[0].trial.experiment;
    let quoted = command_line::quoted(&store.to_string());
    output::tell(format_args!(
        "records: {store}\n\
         report:  fairground report {experiment} --store {quoted} -o {experiment}.html"
    ));
}
