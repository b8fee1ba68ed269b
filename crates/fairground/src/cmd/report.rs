// SPDX-License-Identifier: GPL-2.0-only
//! `fairground report [EXPERIMENT] [STORE …]`: one page; `fairground report FOLDER`: a site of the
//! shared files in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use model::{Record, SchedulerChoice};
use report::html::About;
use report::html::gallery::{FACTS, Gallery, page};
use stats::records::merge::name_processor;
use stats::view::consensus::{Contribution, questions};
use store::Session;
use store::exchange::share::{ENDING, Shared};

use crate::exit::bad_input;
use crate::leaving::{self, LeavingOptions};
use crate::records::Selection;
use crate::{command_line, comparison, output, times};

/// How much of a source's SHA-256 is shown.
const HASH_SHOWN: usize = 12;

/// Where a site goes.
const FOLDER: &str = "gallery";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// The contestant that the others are compared with, instead of the experiment's
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The file to write, - for standard output [default: report.html]; the folder for a site
    /// [default: gallery]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    leaving: LeavingOptions,
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(folder) = args.selection.folder() {
        let output = args.output.as_deref().unwrap_or(Path::new(FOLDER));
        return site(folder, args.baseline.as_deref(), output);
    }
    let output = args.output.unwrap_or_else(|| "report.html".into());
    let mut opened = args.selection.with_traces()?;
    let mut cleaner = opened.clean(args.leaving)?;
    let mut comparison = opened.compare(args.baseline)?;
    comparison.notes.extend(args.selection.damages()?.iter().map(|note| cleaner.text(note)));
    let command = cleaner.command(&command_line::command());
    let about = About { advice: opened.advice()?, ..about(&opened.sessions, command) };
    let page = report::html::page(&comparison, &opened.records, &about);
    if output.as_os_str() == "-" {
        output::write(None, page.as_bytes())?;
    } else {
        output::write_and_tell(&output, &page)?;
    }
    leaving::tell(&cleaner);
    Ok(ExitCode::SUCCESS)
}

/// `command` makes the page.
fn about(sessions: &[Session], command: String) -> About {
    let experiment = sessions.last().map(|session| &session.experiment);
    let commands = sessions.iter().map(|session| session.command.clone());
    let mut commands: Vec<String> = commands.chain([command]).collect();
    // A session that was resumed, and one that prepared another, have the same command.
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    About {
        title: experiment.map(|e| e.name.clone()).unwrap_or_default(),
        question: experiment.map(|e| e.question.clone()).unwrap_or_default(),
        commands,
        advice: Vec::new(),
        generated: times::today(),
        exploratory: experiment.is_some_and(|e| e.design.exploratory),
    }
}

/// Writes a page of the shared files in `folder` into the folder `output`. `baseline` is the
/// contestant that others are compared with, wherever it took part. Files that are no shared files
/// are listed in the page with the reason.
fn site(folder: &Path, baseline: Option<&str>, output: &Path) -> Result<ExitCode> {
    let paths = files(folder)?;
    let mut gallery = Gallery {
        generated: format!("{}, Fairground {}", times::today(), crate::execution::VERSION),
        ..Gallery::default()
    };
    let mut contributions: Vec<Contribution> = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match take(&name, path, &mut gallery) {
            Ok(shared) => contributions.extend(compare(&shared, baseline)?),
            Err(error) => {
                let why = format!("{error:#}");
                output::tell(&why);
                let why = why.split_once(": refused: ").map_or(why.as_str(), |(_, why)| why);
                let why = why.trim_end_matches("; nothing was imported").to_owned();
                gallery.refused.push((name, why));
            }
        }
    }
    gallery.questions = questions(&contributions);
    let index = output.join("index.html");
    let cannot = || format!("{}: cannot be written; choose another with -o", output.display());
    std::fs::create_dir_all(output).with_context(cannot)?;
    std::fs::write(&index, page(&gallery)).with_context(cannot)?;
    let (files, refused) = (gallery.files.len(), gallery.refused.len());
    output::tell(format_args!(
        "{files} shared files, {refused} refused; wrote {}",
        index.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |why: &dyn std::fmt::Display| bad_input(format!("{}: {why}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|error| wrong(&error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    if paths.is_empty() {
        return Err(wrong(&format!(
            "no file in it ends in .{ENDING}; `fairground share` makes them"
        )));
    }
    Ok(paths)
}

/// Reads a file, and adds it to the gallery.
fn take(name: &str, path: &Path, gallery: &mut Gallery) -> Result<Shared> {
    let shared = Shared::read(path)?;
    if let Some(twin) = gallery.files.iter().find(|known| known.last() == Some(&shared.seal)) {
        return Err(bad_input(format!("{name}: refused: the same as {}", twin[1])));
    }
    gallery.trials += shared.records().count();
    gallery.files.push(facts(name, &shared));
    Ok(shared)
}

fn facts(file: &str, shared: &Shared) -> [String; FACTS.len()] {
    fn listed(facts: impl Iterator<Item = String>) -> String {
        let all: BTreeSet<String> = facts.filter(|fact| !fact.is_empty()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    }
    let experiment = |(session, _): &(Session, _)| {
        format!("{}: {}", session.experiment.name, session.experiment.question)
    };
    let source = |record: &Record| match &record.trial.contestant.scheduler {
        SchedulerChoice::File { sha256, .. } => {
            format!("{} {}", record.trial.contestant.name, &sha256[..HASH_SHOWN])
        }
        _ => String::new(),
    };
    let provenance = || shared.records().map(|record| &record.provenance);
    let sessions = shared.sessions.iter();
    [
        shared.by(),
        file.into(),
        shared.records().count().to_string(),
        listed(sessions.clone().map(|(session, _)| times::date(session.started_unix_s))),
        listed(sessions.map(experiment)),
        listed(provenance().map(|facts| facts.kernel_release.clone())),
        listed(provenance().map(|facts| facts.cpu_model.clone())),
        listed(shared.records().map(source)),
        shared.about.left_out.join("; "),
        shared.about.note.clone(),
        shared.seal.clone(),
    ]
}

/// A comparison for each campaign in a file: campaigns of other days are other answers.
fn compare(shared: &Shared, baseline: Option<&str>) -> Result<Vec<Contribution>> {
    let mut campaigns: BTreeMap<usize, (Vec<Session>, Vec<Record>)> = BTreeMap::new();
    for (place, (session, records)) in shared.sessions.iter().enumerate() {
        let first = session.campaign.and_then(|first| usize::try_from(first).ok()).unwrap_or(place);
        let campaign = campaigns.entry(first).or_default();
        campaign.0.push(session.clone());
        campaign.1.extend(records.iter().cloned());
    }
    let compare = |(sessions, mut records): (Vec<Session>, Vec<Record>)| {
        records.iter_mut().for_each(name_processor);
        comparison::contribution(shared.by(), &sessions, &records, baseline)
    };
    campaigns.into_values().map(compare).collect()
}
