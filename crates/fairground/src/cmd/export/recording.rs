// SPDX-License-Identifier: GPL-2.0-only
//! `fairground export workload NAME`: the recording that records name, as a workload file that
//! plays it again, and its tapes beside it, which came with a shared file or are in the file that
//! was played.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use model::tape_text::TapeText;
use model::trial::sha256_hex;
use model::{Recorded, Trial, Workload};
use store::exchange::privacy;
use store::{Filter, SchedulerSource, Store};

use crate::exit::bad_input;
use crate::leaving::{self, LeavingOptions};
use crate::{output, recordings, records};

/// The fewest digits of a SHA-256 that name a recording.
const DIGITS_MIN: usize = 6;

#[derive(clap::Args)]
pub struct Args {
    /// The workload of a recording, as tables have it; or the beginning of its tapes' SHA-256
    name: String,
    /// The store
    #[arg(long, value_name = "FILE", default_value = crate::execution::locations::STORE)]
    store: PathBuf,
    /// The workload's file to write, with the tapes in FILE.tapes; name it like the workload, and
    /// keep the threads' names, to play the same trials
    #[arg(short, long, value_name = "FILE.toml")]
    output: PathBuf,
    #[command(flatten)]
    leaving: LeavingOptions,
}

/// Writes the files.
pub fn run(args: &Args) -> Result<()> {
    let store = Store::open_readonly(&args.store)?;
    let mut trial = find(&store, &args.name)?;
    let mut tapes = tapes(&store.sources()?, &mut trial, &args.store)?.text;
    let mut cleaner = args.leaving.cleaner(store.sessions()?.iter());
    let mut workload = cleaner.workload(&trial.workload)?;
    if !args.leaving.thread_names {
        tapes =
            privacy::rename_tapes(&tapes, &workload).map_err(|why| bad_input(why.to_string()))?;
    }
    if let Some(recorded) = &mut workload.recording {
        recorded.sha256 = sha256_hex(tapes.as_bytes());
        recorded.tapes = recordings::tapes_name(&args.output);
    }
    // Numbers are those of the trials: expressions were evaluated.
    let text = recording::workload::text(&workload)?;
    let workload = format!("# Written by fairground export workload.\n{text}");
    output::write(Some(&recordings::tapes_file(&args.output)), tapes.as_bytes())?;
    output::write(Some(&args.output), workload.as_bytes())?;
    leaving::tell(&cleaner);
    Ok(())
}

fn find(store: &Store, name: &str) -> Result<Trial> {
    let mut found: BTreeMap<String, Trial> = BTreeMap::new();
    for record in records::read(store, &Filter::default())? {
        if let Some(recorded) = wanted(&record.trial.workload, name) {
            found.insert(recorded.sha256.clone(), record.trial);
        }
    }
    let path = store.path().display();
    let names: Vec<String> = found
        .iter()
        .map(|(sha256, trial)| format!("{sha256} ({})", trial.workload.cell()))
        .collect();
    match found.len() {
        0 => Err(bad_input(format!("{path}: no record plays a recording named '{name}'"))),
        1 => Ok(found.into_values().next().expect("one was counted")),
        _ => Err(bad_input(format!(
            "{path}: several recordings are named '{name}'; name one by its SHA-256: {}",
            names.join(", ")
        ))),
    }
}

/// The recording of a workload, if the name is the workload's, its cell's or that of the tapes.
fn wanted<'a>(workload: &'a Workload, name: &str) -> Option<&'a Recorded> {
    let recorded = workload.recording.as_ref()?;
    let is_hash = name.len() >= DIGITS_MIN && recorded.sha256.starts_with(name);
    (is_hash || workload.name == name || workload.cell() == name).then_some(recorded)
}

fn tapes(kept: &[SchedulerSource], trial: &mut Trial, store: &Path) -> Result<TapeText> {
    let place = |why: String| bad_input(format!("{}: {why}", store.display()));
    if trial.workload.program.is_some() {
        return Err(place("its workload starts a program; only recordings are exported".into()));
    }
    let recorded = trial.workload.recording.clone().unwrap_or_default();
    let (sha256, file) = (recorded.sha256, recorded.tapes);
    let missing = || {
        place(format!(
            "the tapes {sha256} did not come with it, and {file} does not have them here; their \
             owner shares them with `fairground share --tapes`"
        ))
    };
    let tapes = recordings::tapes(kept, trial, store).ok_or_else(missing)?;
    tapes.check().map_err(place)?;
    Ok(tapes)
}
