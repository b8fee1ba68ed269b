// SPDX-License-Identifier: GPL-2.0-only
//! `fairground run --watch`: the experiment again whenever a file of the user's is saved, and what
//! has changed since the last run.
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
use model::Record;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::decide::gate::gate;

use super::Args;
use crate::execution::interrupt;
use crate::exit::{self, bad_input};
use crate::output;
use crate::planned_experiment::PlannedExperiment;

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs until Ctrl-C. A mistake in a file ends nothing but the first turn.
pub fn run(args: &Args) -> Result<ExitCode> {
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
