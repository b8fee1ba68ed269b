// SPDX-License-Identifier: GPL-2.0-only
//! The verbs: one file each, with the same two parts in the same order: `Args`, `run`.
//!
//! Help, completions and the manual page are generated from this table and the `Args`.

mod beside;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod completions;
pub mod control;
pub mod explain;
pub mod export;
pub mod fidelity;
pub mod gallery;
pub mod gate;
pub mod guest;
pub mod history;
pub mod import;
pub mod kernel;
pub mod list;
pub mod load;
pub mod man;
mod margin;
pub mod plan;
pub mod recommend;
pub mod replicate;
pub mod report;
pub mod run;
pub mod share;
pub mod soak;
pub mod trial;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::output;

/// What to try first.
const EXAMPLES: &str = "\
Examples:
  fairground recommend                             which scheduler is for you
  fairground run quick                             race schedulers, simulated and on real kernels
  fairground run quick --scheduler ./mine.bpf.c    add your own to the race
";

/// Compare Linux CPU schedulers under the same rules.
#[derive(Parser)]
#[command(name = "fairground", version, disable_help_subcommand = true)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs", after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Every verb. The order is that of the table.
#[derive(Subcommand)]
enum Verb {
    /// Show what there is: schedulers, workloads, machines, experiments, claims, cares, kernels
    List(list::Args),
    /// Verify cheaply that every file parses, compiles and loads
    Check(check::Args),
    /// Say which scheduler is for you on this machine, or that it makes no difference
    Recommend(recommend::Args),
    /// Print an experiment's trials, one JSON object per line, and run nothing
    Plan(plan::Args),
    /// Run an experiment; every trial leaves one record in the store
    Run(run::Args),
    /// Read one JSON trial on stdin, run it, write one JSON record on stdout
    Trial(trial::Args),
    /// Compare records: a table with intervals, or whether two stores are identical
    Compare(compare::Args),
    /// Compare an experiment's last run with the one before; exit code 1 if anything is worse
    Gate(gate::Args),
    /// Show an experiment's numbers run after run; exit code 1 if the newest run is worse
    History(history::Args),
    /// Write the report, one HTML file that needs no network
    Report(report::Args),
    /// Say why tasks waited: who ran instead, which decisions made it, which CPUs idled
    Explain(explain::Args),
    /// Run the same trials in the simulator and on a kernel, and show how far they are apart
    Fidelity(fidelity::Args),
    /// Run schedulers under all kinds of stress, and say who was ejected, lost a task or a CPU
    Soak(soak::Args),
    /// Run schedulers' files beside the kernels that they are written after, and show what differs
    Control(control::Args),
    /// Ask again what others have published, and say what is reproduced and what is not
    Replicate(replicate::Args),
    /// Measure on a kernel what its work costs, for the simulator
    Calibrate(calibrate::Args),
    /// Read shared files, or other programs' results, into the store, to stand beside ours
    Import(import::Args),
    /// Make one small sealed file of an experiment's records, for others to import
    Share(share::Args),
    /// Write a static site from many shared files: who agrees with whom, and who does not
    Gallery(gallery::Args),
    /// Export records, histograms and traces to other tools' formats
    Export(export::Args),
    /// Use a scheduler on this kernel until Ctrl-C
    Load(load::Args),
    /// List, get and add kernels to boot
    Kernel(kernel::Args),
    /// Print a shell's completion script
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
    /// Be the first process of a virtual machine
    #[command(hide = true)]
    Guest(guest::Args),
}

impl Cli {
    /// Runs the verb, or shows the table of verbs when there is none.
    ///
    /// # Errors
    /// Whatever the verb could not do.
    pub fn run(self) -> Result<ExitCode> {
        match self.verb {
            None => show_verbs(),
            Some(Verb::List(args)) => list::run(args),
            Some(Verb::Check(args)) => check::run(args),
            Some(Verb::Recommend(args)) => recommend::run(args),
            Some(Verb::Plan(args)) => plan::run(args),
            Some(Verb::Run(args)) => run::run(args),
            Some(Verb::Trial(args)) => trial::run(args),
            Some(Verb::Compare(args)) => compare::run(args),
            Some(Verb::Gate(args)) => gate::run(args),
            Some(Verb::History(args)) => history::run(args),
            Some(Verb::Report(args)) => report::run(args),
            Some(Verb::Explain(args)) => explain::run(args),
            Some(Verb::Fidelity(args)) => fidelity::run(args),
            Some(Verb::Soak(args)) => soak::run(args),
            Some(Verb::Control(args)) => control::run(args),
            Some(Verb::Replicate(args)) => replicate::run(args),
            Some(Verb::Calibrate(args)) => calibrate::run(args),
            Some(Verb::Import(args)) => import::run(args),
            Some(Verb::Share(args)) => share::run(args),
            Some(Verb::Gallery(args)) => gallery::run(args),
            Some(Verb::Export(args)) => export::run(args),
            Some(Verb::Load(args)) => load::run(args),
            Some(Verb::Kernel(args)) => kernel::run(args),
            Some(Verb::Completions(args)) => completions::run(args),
            Some(Verb::Man(args)) => man::run(args),
            Some(Verb::Guest(args)) => guest::run(args),
        }
    }
}

/// The definition of the command line, from which everything else is generated.
pub fn command() -> Command {
    Cli::command()
}

fn show_verbs() -> Result<ExitCode> {
    let command = command();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let rows: Vec<Vec<String>> = verbs.map(verb_row).collect();
    let table = output::table(&rows);
    output::print(&format!(
        "{about}\n\n{table}\n{EXAMPLES}\n`fairground VERB --help` says more.\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn verb_row(verb: &Command) -> Vec<String> {
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    vec![format!("  {}", verb.get_name()), about]
}
