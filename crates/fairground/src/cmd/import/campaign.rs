// SPDX-License-Identifier: GPL-2.0-only
//! `fairground import FOLDER`: the records of a plan that other machines have run in chunks.

use std::path::Path;

use anyhow::Result;
use fleet::campaign_folder::CampaignFolder;
use store::{Filter, Session, Store};

use crate::{command_line, output};

/// Puts the records that are there into the store, each once, as those of one campaign.
pub(super) fn take_in(folder: &Path, path: &Path) -> Result<()> {
    let campaign = CampaignFolder::read(folder)?;
    let store = Store::open(path)?;
    let first = earlier(&store, &campaign.session)?;
    let filter = Filter { campaign: first, ..Filter::default() };
    let known = if first.is_some() { store.trial_ids_done(&filter)? } else { Default::default() };
    let is_new = |record: &&model::Record| !known.contains(&record.trial.id());
    let new: Vec<_> = campaign.records.iter().filter(is_new).cloned().collect();
    if !new.is_empty() {
        store.keep_sources(&campaign.schedulers)?;
        let id = store.begin(&Session { campaign: first, ..campaign.session.clone() })?;
        store.append_all(id, &new)?;
    }
    tell(folder, &campaign, new.len());
    let experiment = command_line::quoted(&campaign.session.experiment.name);
    let store = command_line::quoted(&path.display().to_string());
    output::tell(format_args!("to see them: fairground compare {experiment} --store {store}"));
    Ok(())
}

/// The first session of a campaign that the store has begun to take in.
fn earlier(store: &Store, new: &Session) -> Result<Option<i64>> {
    let made = |it: &Session| (it.plan.clone(), it.started_unix_s, it.seed, it.command.clone());
    let sessions = store.sessions()?;
    let same = sessions.iter().find(|known| known.origin.is_none() && made(known) == made(new));
    Ok(same.map(Session::first))
}

fn tell(folder: &Path, campaign: &CampaignFolder, new: usize) {
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
