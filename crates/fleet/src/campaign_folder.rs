// SPDX-License-Identifier: GPL-2.0-only
//! A plan as a folder, for any queue: `campaign.json` says what is measured, `chunk-N.trials.jsonl`
//! has the trials, and each machine adds `chunk-N.records.jsonl`. All files of records are read,
//! whatever comes before their ending.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use model::{Experiment, Record, Seed, Trial};
use serde::{Deserialize, Serialize};
use store::{Filter, SchedulerSource, Session, Store};

use crate::chunk::Chunk;
use crate::records_file::Tail;
use crate::refuse;

const CAMPAIGN: &str = "campaign.json";

pub(crate) const TRIALS: &str = ".trials.jsonl";

pub(crate) const RECORDS: &str = ".records.jsonl";

const VERSION: u32 = 1;

/// What a campaign's session will say of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Campaign {
    version: u32,
    experiment: Experiment,
    plan: String,
    seed: Seed,
    command: String,
    started_unix_s: u64,
    fairground: String,
    chunks: usize,
    schedulers: Vec<SchedulerSource>,
}

#[derive(Debug)]
pub struct CampaignFolder {
    /// The session that its records belong to.
    pub session: Session,
    pub schedulers: Vec<SchedulerSource>,
    pub chunks: Vec<Vec<Trial>>,
    /// The first record of each trial, in the order of the plan.
    pub records: Vec<Record>,
}

/// Makes a campaign's folder. The chunks are those of `session`'s plan.
pub fn write(
    folder: &Path,
    session: &Session,
    schedulers: &[SchedulerSource],
    chunks: Vec<Vec<Trial>>,
) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        return Err(refuse(format!("{}: is no folder; name a new one", folder.display())));
    }
    std::fs::create_dir_all(folder).with_context(|| failed("make", folder))?;
    if folder.read_dir().with_context(|| failed("read", folder))?.next().is_some() {
        let folder = folder.display();
        return Err(refuse(format!("{folder}: there is something in it; name a new folder")));
    }
    let campaign = Campaign {
        version: VERSION,
        experiment: session.experiment.clone(),
        plan: session.plan.clone(),
        seed: session.seed,
        command: session.command.clone(),
        started_unix_s: session.started_unix_s,
        fairground: session.fairground.clone(),
        chunks: chunks.len(),
        schedulers: schedulers.to_vec(),
    };
    let plan = chunks.concat();
    for (number, trials) in chunks.into_iter().enumerate() {
        let text = Chunk::new(trials, &plan, schedulers).text()?;
        put(&folder.join(format!("chunk-{number}{TRIALS}")), &text)?;
    }
    // Last: a folder with it is complete.
    put(&folder.join(CAMPAIGN), &(serde_json::to_string_pretty(&campaign)? + "\n"))
}

pub(crate) fn put(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| failed("write", path))
}

fn failed(verb: &str, path: &Path) -> String {
    format!("cannot {verb} {}", path.display())
}

pub fn is_one(path: &Path) -> bool {
    path.join(CAMPAIGN).is_file()
}

impl CampaignFolder {
    pub fn read(folder: &Path) -> Result<CampaignFolder> {
        let place = folder.join(CAMPAIGN);
        let campaign = campaign(&place)?;
        let mut chunks = Vec::new();
        for number in 0..campaign.chunks {
            let path = folder.join(format!("chunk-{number}{TRIALS}"));
            chunks
                .push(Chunk::read(&text(&path, spec::files::CHUNK)?, &path.display().to_string())?);
        }
        let chunks: Vec<Vec<Trial>> = chunks.into_iter().map(|chunk| chunk.trials).collect();
        let records = records(folder, &chunks)?;
        let Campaign { experiment, plan, seed, command, .. } = campaign;
        let session = Session {
            id: 0,
            campaign: None,
            experiment,
            plan,
            seed,
            command,
            started_unix_s: campaign.started_unix_s,
            fairground: campaign.fairground,
            origin: None,
        };
        let sources = campaign.schedulers.iter().find_map(SchedulerSource::fault);
        let records_fault = || records.iter().find_map(|record| session.record_fault(record));
        match session.fault().or(sources).or_else(records_fault) {
            Some(fault) => Err(refuse(format!("{}: {fault}", place.display()))),
            None => {
                Ok(CampaignFolder { session, schedulers: campaign.schedulers, chunks, records })
            }
        }
    }

    /// Puts the records that are there into a store, each once, as those of one campaign; returns
    /// how many were new.
    pub fn put_into(&self, store: &Store) -> Result<usize> {
        let made = |session: &Session| {
            let Session { plan, started_unix_s, seed, command, .. } = session.clone();
            (plan, started_unix_s, seed, command)
        };
        let sessions = store.sessions()?;
        let is_same =
            |known: &&Session| known.origin.is_none() && made(known) == made(&self.session);
        // The first session of the campaign that the store has begun to take in.
        let first = sessions.iter().find(is_same).map(Session::first);
        let filter = Filter { campaign: first, ..Filter::default() };
        let known =
            if first.is_some() { store.trial_ids_done(&filter)? } else { Default::default() };
        let is_new = |record: &&Record| !known.contains(&record.trial.id());
        let new: Vec<Record> = self.records.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            store.keep_sources(&self.schedulers)?;
            let id = store.begin(&Session { campaign: first, ..self.session.clone() })?;
            store.append_all(id, &new)?;
        }
        Ok(new.len())
    }

    /// The numbers of chunks that lack records, with the number of trials that each lacks.
    pub fn incomplete(&self) -> Vec<(usize, usize)> {
        let there: Vec<u32> = self.records.iter().map(|record| record.trial.position).collect();
        let lacks = |chunk: &Vec<Trial>| {
            chunk.iter().filter(|trial| there.binary_search(&trial.position).is_err()).count()
        };
        self.chunks.iter().map(lacks).enumerate().filter(|(_, lacking)| *lacking > 0).collect()
    }
}

fn text(path: &Path, kind: spec::files::FileKind) -> Result<String> {
    spec::files::text(path, kind).map_err(|fault| refuse(format!("{}: {fault}", path.display())))
}

fn campaign(path: &Path) -> Result<Campaign> {
    let place = |why: String| refuse(format!("{}: {why}", path.display()));
    let campaign: Campaign = serde_json::from_str(&text(path, spec::files::CHUNK)?)
        .map_err(|error| place(format!("line {}: {error}", error.line())))?;
    match campaign.version {
        VERSION => Ok(campaign),
        other => Err(place(format!("version {other}; this program knows {VERSION}"))),
    }
}

/// The records of all files, each trial's once.
fn records(folder: &Path, chunks: &[Vec<Trial>]) -> Result<Vec<Record>> {
    let planned: BTreeMap<String, &Trial> =
        chunks.iter().flatten().map(|trial| (trial.id(), trial)).collect();
    let mut records = BTreeMap::new();
    for path in record_files(folder)? {
        for record in Tail::new(path.clone()).read()? {
            if !planned.contains_key(&record.trial.id()) {
                let (path, trial) = (path.display(), record.trial.id());
                return Err(refuse(format!("{path}: trial {trial} is not of this plan")));
            }
            records.entry(record.trial.position).or_insert(record);
        }
    }
    Ok(records.into_values().collect())
}

pub(crate) fn record_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| failed("read", folder))?.flatten();
    let is_ours = |path: &PathBuf| path.to_string_lossy().ends_with(RECORDS);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    paths.sort();
    Ok(paths)
}
