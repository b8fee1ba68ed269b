// SPDX-License-Identifier: GPL-2.0-only
//! `fairground report FOLDER`: a static site from many shared files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use model::{Record, SchedulerChoice};
use report::html::gallery::{Contribution, Gallery, Refused, pages};
use stats::Comparison;
use stats::records::processor::name_processor;
use stats::view::consensus::{Contribution as Answers, Definitions, definitions, questions};
use store::Session;

use crate::exit::bad_input;
use crate::output::tell;
use crate::{dates, summary};
use store::exchange::share::{ENDING, Shared};

/// How much of a source's SHA-256 is shown.
const HASH_SHOWN: usize = 12;

/// The default folder of the site.
pub const FOLDER: &str = "gallery";

/// Writes a site of the shared files in `folder` into the folder `output`. `baseline` is the
/// contestant that others are compared with, wherever it took part. Files that are no shared files
/// are listed in the site with the reason.
///
/// # Errors
/// When the folder cannot be read or has no shared file, or the site cannot be written.
pub fn run(folder: &Path, baseline: Option<&str>, output: &Path) -> Result<ExitCode> {
    let paths = files(folder)?;
    let mut gallery = Gallery {
        generated: format!("{}, Fairground {}", dates::today(), crate::execution::VERSION),
        ..Gallery::default()
    };
    let mut answers: Vec<(String, Comparison, Definitions)> = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match take(&name, path, &mut gallery) {
            Ok(shared) => answers.extend(compare(&shared, baseline)?),
            Err(error) => {
                let why = format!("{error:#}");
                tell(&why);
                let why = why.split_once(": refused: ").map_or(why.as_str(), |(_, why)| why);
                let why = why.trim_end_matches("; nothing was imported").to_owned();
                gallery.refused.push(Refused { file: name, why });
            }
        }
    }
    let answers: Vec<Answers> = answers
        .iter()
        .map(|(name, comparison, definitions)| Answers { name, comparison, definitions })
        .collect();
    gallery.questions = questions(&answers);
    write(output, &gallery)?;
    let index = output.join("index.html");
    let (files, refused) = (gallery.contributions.len(), gallery.refused.len());
    tell(format_args!("{files} shared files, {refused} refused; wrote {}", index.display()));
    Ok(ExitCode::SUCCESS)
}

/// The folder's shared files by their ending, in the order of their names.
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

/// Reads a file, and adds it to the gallery's contributions.
fn take(name: &str, path: &Path, gallery: &mut Gallery) -> Result<Shared> {
    let shared = Shared::read(path)?;
    if let Some(twin) =
        gallery.contributions.iter().find(|contribution| contribution.seal == shared.seal)
    {
        return Err(bad_input(format!("{name}: refused: the same as {}", twin.file)));
    }
    gallery.contributions.push(contribution(name, &shared));
    Ok(shared)
}

fn contribution(file: &str, shared: &Shared) -> Contribution {
    let facts = |fact: fn(&Record) -> &str| -> Vec<String> {
        let all: BTreeSet<&str> = shared.records().map(fact).collect();
        all.into_iter().filter(|fact| !fact.is_empty()).map(str::to_owned).collect()
    };
    let dates: BTreeSet<String> =
        shared.sessions.iter().map(|(session, _)| dates::date(session.started_unix_s)).collect();
    let experiments: BTreeMap<String, String> = shared
        .sessions
        .iter()
        .map(|(session, _)| (session.experiment.name.clone(), session.experiment.question.clone()))
        .collect();
    let schedulers: BTreeSet<(String, String)> = shared
        .records()
        .filter_map(|record| match &record.trial.contestant.scheduler {
            SchedulerChoice::File { sha256, .. } => {
                Some((record.trial.contestant.name.clone(), sha256[..HASH_SHOWN].to_owned()))
            }
            _ => None,
        })
        .collect();
    Contribution {
        file: file.into(),
        by: shared.by(),
        note: shared.about.note.clone(),
        seal: shared.seal.clone(),
        experiments: experiments.into_iter().collect(),
        dates: dates.into_iter().collect(),
        trials: shared.records().count(),
        kernels: facts(|record| &record.provenance.kernel_release),
        processors: facts(|record| &record.provenance.cpu_model),
        schedulers: schedulers.into_iter().collect(),
        left_out: shared.about.left_out.clone(),
    }
}

/// A comparison for each campaign in a file: campaigns of other days are other answers.
fn compare(
    shared: &Shared,
    baseline: Option<&str>,
) -> Result<Vec<(String, Comparison, Definitions)>> {
    let mut campaigns: BTreeMap<usize, (Vec<Session>, Vec<Record>)> = BTreeMap::new();
    for (place, (session, records)) in shared.sessions.iter().enumerate() {
        let first = session.family.and_then(|first| usize::try_from(first).ok()).unwrap_or(place);
        let campaign = campaigns.entry(first).or_default();
        campaign.0.push(session.clone());
        campaign.1.extend(records.iter().cloned());
    }
    let compare = |(sessions, mut records): (Vec<Session>, Vec<Record>)| {
        records.iter_mut().for_each(name_processor);
        let takes_part = |name: &&str| records.iter().any(|r| r.trial.contestant.name == *name);
        let baseline = baseline.filter(takes_part).map(str::to_owned);
        let comparison = summary::answers(&sessions, &records, baseline)?;
        Ok((shared.by(), comparison, definitions(&records)))
    };
    campaigns.into_values().map(compare).collect()
}

fn write(folder: &Path, gallery: &Gallery) -> Result<()> {
    let cannot = || format!("{}: cannot be written; choose another with -o", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    for page in pages(gallery) {
        std::fs::write(folder.join(&page.file), page.html).with_context(cannot)?;
    }
    Ok(())
}
