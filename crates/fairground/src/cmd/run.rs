// SPDX-License-Identifier: GPL-2.0-only
//! `fairground run [EXPERIMENT]`: experiment → plan → trials → records → statistics → table. With
//! `--watch` the experiment again whenever a file of the user's is saved, and what has changed
//! since the last run.
//!
//! Files are looked at, ten times a second, instead of waiting for the kernel's notes on them: that
//! works on every file system, and an editor may replace a file instead of writing to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use compile::Source;
use fleet::slurm::SlurmOptions;
use model::Record;
use stats::Comparison;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::decide::gate::gate;

use super::measured;
use crate::execution::interrupt;
use crate::exit::{self, bad_input};
use crate::measure::{Blocks, Campaign, Comparing, JudgedBy, RunOptions};
use crate::output::TestFormat;
use crate::planned_experiment::{ExperimentOptions, PlannedExperiment};
use crate::{command_line, comparison, output, test_cases, times};

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
        return watch(&args);
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

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs until Ctrl-C. A mistake in a file ends nothing but the first turn.
fn watch(args: &Args) -> Result<ExitCode> {
    let stop = interrupt::flag()?;
    let planned = args.experiment.plan()?;
    let mut seen = Seen::of(own_files(&planned));
    if seen.0.is_empty() {
        return Err(bad_input(
            "--watch: no file of yours takes part; add one, e.g. --scheduler ./mine.bpf.c",
        ));
    }
    let mut last: Option<Vec<Record>> = None;
    let mut turn = Ok(planned);
    loop {
        match turn.and_then(|planned| args.measure_and_show(planned)) {
            Ok(Some(records)) => {
                if let Some(before) = &last {
                    let changes = gate(before, &records, MARGIN_PERCENT);
                    output::print(&report::terminal::gate_text::changes(&changes))?;
                }
                last = Some(records);
            }
            Ok(None) => return Ok(exit::interrupted()),
            Err(error) if exit::code(&error) == exit::BAD_INPUT => {
                exit::report(&error);
            }
            Err(error) => return Err(error),
        }
        output::tell(format_args!("waiting until {} is saved; Ctrl-C ends", seen.words()));
        while !seen.has_changed() {
            if stop.load(Ordering::SeqCst) {
                return Ok(exit::interrupted());
            }
            thread::sleep(PAUSE);
        }
        // What is saved from here on is seen at the next look.
        seen = Seen::of(seen.0.into_keys().collect());
        turn = args.experiment.plan();
        if let Ok(planned) = &turn {
            seen.add(own_files(planned));
        }
    }
}

/// Files and when each was changed; `None`: it is not there.
struct Seen(BTreeMap<PathBuf, Option<SystemTime>>);

impl Seen {
    fn of(files: BTreeSet<PathBuf>) -> Seen {
        Seen(files.into_iter().map(|file| (file.clone(), changed(&file))).collect())
    }

    fn add(&mut self, files: BTreeSet<PathBuf>) {
        for file in files {
            let time = changed(&file);
            self.0.entry(file).or_insert(time);
        }
    }

    /// Whether a file is another one now. One that is not there may be on its way.
    fn has_changed(&self) -> bool {
        self.0.iter().any(|(file, before)| changed(file).is_some_and(|now| Some(now) != *before))
    }

    fn words(&self) -> String {
        match self.0.len() {
            1..=3 => {
                let names = self.0.keys().map(|file| file.display().to_string());
                names.collect::<Vec<_>>().join(" or ")
            }
            count => format!("one of {count} files"),
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}

/// The files that the user can change: texts of schedulers with what they include, their side
/// files, and definitions.
fn own_files(planned: &PlannedExperiment) -> BTreeSet<PathBuf> {
    let sources = planned.sources.values().filter(|source| !compile::is_builtin(&source.sha256));
    sources.flat_map(files_of).chain(spec::assets::files_read()).collect()
}

/// The files of a scheduler that are there.
fn files_of(source: &Source) -> Vec<PathBuf> {
    let place = Path::new(&source.path);
    let folder = if place.is_dir() { place } else { place.parent().unwrap_or(Path::new("")) };
    let included = source.included.iter().map(|(name, _)| folder.join(name));
    let texts = std::iter::once(folder.join(&source.file)).chain(included);
    texts.chain(spec::settings::place_beside(place)).filter(|file| file.is_file()).collect()
}
