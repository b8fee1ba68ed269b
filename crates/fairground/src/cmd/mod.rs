// SPDX-License-Identifier: GPL-2.0-only
//! The verbs: one file each, with the same two parts in the same order: `Args`, `run`.
//!
//! Help, with the verbs in groups, completions and the manual page are generated from this table
//! and the `Args`.

pub mod ab;
pub mod bisect;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod explain;
pub mod export;
pub mod fidelity;
pub mod get;
pub mod history;
pub mod import;
pub mod kernel;
pub mod list;
pub mod load;
pub mod plan;
pub mod recommend;
pub mod record;
pub mod replicate;
pub mod report;
pub mod run;
pub mod share;
pub mod soak;
pub mod trial;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::measure::{self, Campaign, Ended};
use crate::records::Selection;
use crate::{output, ui};

/// Compare Linux CPU schedulers under the same rules.
#[derive(Parser)]
#[command(name = "fairground", version, disable_help_subcommand = true)]
#[command(subcommand_value_name = "VERB", subcommand_help_heading = "Verbs")]
pub struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// Every verb, in the order of [`groups`].
#[derive(Subcommand)]
enum Verb {
    /// Say which scheduler suits you on this machine, or that it makes no difference
    Recommend(recommend::Args),
    /// Run an experiment; every trial leaves one record in the store
    Run(run::Args),
    /// Use a scheduler on this kernel until Ctrl-C
    Load(load::Args),
    /// Switch schedulers while you play, and say which one serves the game best
    Ab(ab::Args),
    /// Record what the tasks of this machine do, as a workload that replays it
    Record(record::Args),
    /// Show what there is: schedulers, workloads, machines, experiments, claims, cares, kernels
    List(list::Args),
    /// Compare records: a table with intervals, or whether two stores are identical
    Compare(compare::Args),
    /// Write the report, one HTML file that needs no network; of a folder of shared files, a site
    Report(report::Args),
    /// Say why tasks waited: what ran instead, which decisions made it, which CPUs idled
    Explain(explain::Args),
    /// Show an experiment's numbers session after session; exit code 1 if the newest is worse
    History(history::Args),
    /// Find the commit of a git tree that made a scheduler worse, by an experiment's gate
    Bisect(bisect::Args),
    /// Read shared files, chunks' records, or other programs' results, into the store
    Import(import::Args),
    /// Make one small sealed file of an experiment's records, for others to import
    Share(share::Args),
    /// Export records, histograms and traces to other tools' formats
    Export(export::Args),
    /// Verify cheaply that every file parses, compiles and loads
    Check(check::Args),
    /// Say what this machine can do, and which commands get what is missing; check a store
    Doctor(doctor::Args),
    /// Show how far the simulator is from a kernel, or schedulers' files from their counterparts
    Fidelity(fidelity::Args),
    /// Run schedulers under all kinds of stress: which are ejected, which lose a task or a CPU
    Soak(soak::Args),
    /// Repeat published experiments, and say which findings are reproduced
    Replicate(replicate::Args),
    /// Print an experiment's trials, or cut them into chunks for other machines; run nothing
    Plan(plan::Args),
    /// Run one JSON trial from stdin, or a chunk of trials; write a JSON record for each
    Trial(trial::Args),
    /// Build schedulers that people use today: scx_lavd, scx_bpfland, …; list them
    Get(get::Args),
    /// Get, build and add kernels to boot, and the emulator that several virtual CPUs need
    Kernel(kernel::Args),
}

impl Cli {
    /// Reads this process's command line. Help, the version and mistakes end the process.
    pub fn read() -> Cli {
        let matches = command().get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Runs the verb, or shows the table of verbs when there is none.
    pub fn run(self) -> Result<ExitCode> {
        let Some(verb) = self.verb else { return show_verbs() };
        if verb.may_hold_many_trials() {
            // Now, because the process is still small. Without it all is as right, and slower.
            let _ = sim::native::start_fork_server();
        }
        match verb {
            Verb::Recommend(args) => recommend::run(args),
            Verb::Run(args) => run::run(args),
            Verb::Load(args) => load::run(args),
            Verb::Ab(args) => ab::run(args),
            Verb::Record(args) => record::run(args),
            Verb::List(args) => list::run(args),
            Verb::Compare(args) => compare::run(args),
            Verb::Report(args) => report::run(args),
            Verb::Explain(args) => explain::run(args),
            Verb::History(args) => history::run(args),
            Verb::Bisect(args) => bisect::run(args),
            Verb::Import(args) => import::run(args),
            Verb::Share(args) => share::run(args),
            Verb::Export(args) => export::run(args),
            Verb::Check(args) => check::run(args),
            Verb::Doctor(args) => doctor::run(args),
            Verb::Fidelity(args) => fidelity::run(args),
            Verb::Soak(args) => soak::run(args),
            Verb::Replicate(args) => replicate::run(args),
            Verb::Plan(args) => plan::run(args),
            Verb::Trial(args) => trial::run(args),
            Verb::Get(args) => get::run(args),
            Verb::Kernel(args) => kernel::run(args),
        }
    }
}

impl Verb {
    /// Whether it makes a plan and runs it, in the simulator too.
    fn may_hold_many_trials(&self) -> bool {
        matches!(
            self,
            Verb::Recommend(_)
                | Verb::Run(_)
                | Verb::Fidelity(_)
                | Verb::Soak(_)
                | Verb::Replicate(_)
                | Verb::Trial(_)
                | Verb::Bisect(_)
        )
    }
}

/// Measures a campaign and shows the progress; the selection of its records, or `None` when the
/// user has interrupted it.
fn measured(campaign: Campaign) -> Result<Option<Selection>> {
    let store = campaign.execution.store.clone();
    Ok(match ui::watch(|hear| measure::run(campaign, hear))? {
        Ended::Complete(session) => Some(Selection::session(&store, session)),
        Ended::Interrupted => None,
    })
}

/// The definition of the command line, from which everything else is generated.
pub fn command() -> Command {
    let command = Cli::command();
    let template = help_template(&command);
    command.help_template(template)
}

fn show_verbs() -> Result<ExitCode> {
    let command = Cli::command();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let (verbs, examples) = (table(&command), EXAMPLES);
    output::print(&format!(
        "{about}\n\n{verbs}\n{examples}\n`fairground VERB --help` says more.\n"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What to try first.
pub const EXAMPLES: &str = "\
Examples:
  fairground recommend                             which scheduler suits you
  fairground run quick                             race schedulers, simulated and on real kernels
  fairground run quick --scheduler ./mine.bpf.c    add your own to the race
";

/// The headings and their verbs. Every verb that help shows is in one group.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask", &["recommend", "run", "load", "ab", "record"]),
    ("Read", &["list", "compare", "report", "explain", "history", "bisect"]),
    ("Exchange", &["import", "share", "export"]),
    ("Trust", &["check", "doctor", "fidelity", "soak", "replicate"]),
    ("Plumbing", &["plan", "trial", "get", "kernel"]),
];

/// The verbs with what they do, one a line, below the headings of their groups.
pub fn table(command: &Command) -> String {
    let row = |name: &&str| {
        let verb = command.find_subcommand(name);
        let about = verb.and_then(Command::get_about).map(ToString::to_string);
        vec![format!("  {name}"), about.unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> =
        GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().map(row)).collect();
    let lines = output::table(&rows);
    let mut lines = lines.lines();
    let mut text = String::new();
    for (heading, verbs) in GROUPS {
        text += &format!("{heading}:\n");
        for line in lines.by_ref().take(verbs.len()) {
            text += &format!("{line}\n");
        }
    }
    text
}

/// `--help` with the groups instead of one long list.
pub fn help_template(command: &Command) -> String {
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}\n\n\
         {EXAMPLES}\n",
        table(command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.to_vec()).collect();
        grouped.sort_unstable();
        let command = cmd::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
