// SPDX-License-Identifier: GPL-2.0-only
//! Files of Fairground itself: shared files, and folders of chunks.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use fleet::campaign_folder::{self, CampaignFolder};
use store::Store;
use store::exchange::share::{self, Shared};

use super::{Args, refuse_options, tell_how_to_see};
use crate::exit::bad_input;
use crate::output;

/// Imports them, if the files are of one of these kinds.
pub fn import(args: &Args) -> Result<Option<ExitCode>> {
    let kind = |file: &PathBuf| (campaign_folder::is_one(file), is_shared(file));
    let first = &args.files[0];
    if let Some(other) = args.files.iter().find(|file| kind(file) != kind(first)) {
        let (first, other) = (first.display(), other.display());
        let why = format!("{other}: another kind of file than {first}; import one kind at a time");
        return Err(bad_input(why));
    }
    match kind(first) {
        (true, _) => campaigns(args)?,
        (_, true) => shared_files(args)?,
        _ => return Ok(None),
    }
    Ok(Some(ExitCode::SUCCESS))
}

fn is_shared(file: &Path) -> bool {
    let named = file.extension().is_some_and(|ending| ending == share::ENDING);
    named || share::is_shared(file)
}

fn campaigns(args: &Args) -> Result<()> {
    refuse_labels(args, "a folder of chunks")?;
    for folder in &args.files {
        let campaign = CampaignFolder::read(folder)?;
        let new = campaign.put_into(&Store::open(&args.store)?)?;
        tell_what_is_there(folder, &campaign, new);
        tell_how_to_see(args, &campaign.session.experiment.name, "");
    }
    Ok(())
}

/// All or none of the files. Nothing in them is ever compiled or run.
fn shared_files(args: &Args) -> Result<()> {
    refuse_labels(args, "a shared file")?;
    let files: Vec<Shared> =
        args.files.iter().map(|file| Shared::read(file)).collect::<Result<_>>()?;
    let store = Store::open(&args.store)?;
    for (path, file) in args.files.iter().zip(&files) {
        let (path, by) = (path.display(), file.by());
        if file.put_into(&store)? {
            output::tell(format_args!("{path}: shared by {by}: {} trials", file.records().count()));
        } else {
            output::tell(format_args!("{path}: shared by {by}: the store has all of it already"));
        }
    }
    let last = files.iter().flat_map(|file| &file.sessions).next_back();
    let experiment = last.map_or("", |(session, _)| session.experiment.name.as_str());
    tell_how_to_see(args, experiment, " --session all");
    Ok(())
}

/// Refuses options that say what the files themselves say.
fn refuse_labels(args: &Args, what: &str) -> Result<()> {
    let why = format!("{what} has its own format, scheduler, machine and experiment");
    refuse_options(&[(args.format.is_some(), "--as")], &why)?;
    refuse_options(&args.labels(), &why)
}

fn tell_what_is_there(folder: &Path, campaign: &CampaignFolder, new: usize) {
    let trials: usize = campaign.chunks.iter().map(Vec::len).sum();
    let (folder, there) = (folder.display(), campaign.records.len());
    let before = there - new;
    let before =
        if before > 0 { format!(", {before} already in the store") } else { String::new() };
    output::tell(format_args!("{folder}: {there} of {trials} trials{before}"));
    for (number, lacking) in campaign.incomplete() {
        output::tell(format_args!("chunk {number} lacks {lacking}; run it again, with its --out"));
    }
}
