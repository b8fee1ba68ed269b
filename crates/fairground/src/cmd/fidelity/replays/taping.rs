// SPDX-License-Identifier: GPL-2.0-only
//! From the traces of programs to workload files that play them again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use model::{Backend, Clock, Record, Workload};
use recording::traced;
use recording::workload::{Choice, Files};
use tempfile::TempDir;

use super::sides::{trace, wall_ns};
use crate::exit::bad_input;
use crate::{output, recordings, ui};

#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its cell, as tables name it.
    pub cell: String,
    pub machine: String,
    /// Where it was recorded.
    pub backend: Backend,
    pub file: PathBuf,
}

/// The folder for workload files.
pub struct Tapes {
    folder: PathBuf,
    /// The temporary folder, which is deleted with this value.
    _scratch: Option<TempDir>,
}

impl Tapes {
    /// The folder that is named, which is made; or one for the moment.
    pub fn new(named: Option<&Path>) -> Result<Tapes> {
        let Some(folder) = named else {
            let scratch = tempfile::tempdir()?;
            return Ok(Tapes { folder: scratch.path().to_owned(), _scratch: Some(scratch) });
        };
        std::fs::create_dir_all(folder).map_err(|error| {
            let shown = folder.display();
            bad_input(format!("--tapes {shown}: cannot be made ({error}); name another folder"))
        })?;
        Ok(Tapes { folder: folder.to_owned(), _scratch: None })
    }

    /// Refuses a folder that has one of the files already, before anything runs.
    pub fn refuse_old_files(&self, workloads: &[Workload], backends: &[Backend]) -> Result<()> {
        for workload in workloads {
            for backend in backends {
                let file = self.file(workload, *backend);
                if [&recordings::tapes_file(&file), &file].iter().any(|file| file.exists()) {
                    return Err(bad_input(format!(
                        "--tapes: {} is there already; delete it, or name another folder",
                        file.display()
                    )));
                }
            }
        }
        Ok(())
    }

    fn file(&self, workload: &Workload, backend: Backend) -> PathBuf {
        self.folder.join(format!("{}-{}.toml", slug(&workload.cell()), backend.word()))
    }

    /// Writes the files of each cell: what the contestant's first trial did that ended well.
    pub fn write(&self, store: &Path, records: &[Record], under: &str) -> Result<Vec<Recorded>> {
        let mut seen = BTreeSet::new();
        let mut written = Vec::new();
        let fits = |record: &&Record| {
            record.outcome.is_ok()
                && record.trial.contestant.name == under
                && record.trial.workload.program.is_some()
        };
        for record in records.iter().filter(fits) {
            let (trial, cell) = (&record.trial, record.trial.workload.cell());
            if !seen.insert((cell.clone(), trial.machine.name.clone(), trial.backend)) {
                continue;
            }
            let file = self.file(&trial.workload, trial.backend);
            let Some(files) = files(store, record, &file)? else { continue };
            recordings::write(&files, &file)?;
            let machine = trial.machine.name.clone();
            written.push(Recorded { cell, machine, backend: trial.backend, file });
        }
        if written.is_empty() {
            return Err(bad_input(format!(
                "no program was recorded under {under}: {}",
                why_none(records, under)
            )));
        }
        Ok(written)
    }
}

/// Why no trial under this contestant has a program's tape.
fn why_none(records: &[Record], under: &str) -> String {
    let failed = records
        .iter()
        .find(|record| record.trial.contestant.name == under && !record.outcome.is_ok());
    failed.map_or_else(
        || "the experiment's workloads must start programs".into(),
        |Record { trial, outcome, .. }| {
            let (word, reason) = (outcome.word(), ui::first_line(outcome.reason()));
            format!("{}: {word}: {reason}", trial.workload.cell())
        },
    )
}

/// The workload's files; `None`, and a line for the user, where the trace does not serve.
fn files(store: &Path, record: &Record, file: &Path) -> Result<Option<Files>> {
    let cell = record.trial.workload.cell();
    let trace = trace(store, record)?;
    if trace.lost > 0 {
        output::tell(format_args!(
            "{cell}: {} events of its trace were lost, so it is left out; make it shorter",
            trace.lost
        ));
        return Ok(None);
    }
    let source = format!("the trial {} of {cell}", record.trial.id());
    let cpus = record.trial.machine.cpus;
    let read = traced::read(&trace, wall_ns(record, &trace).unwrap_or(u64::MAX), &source, cpus);
    let made = read.and_then(|mut traced| {
        if record.trial.machine.clock == Clock::Virtual {
            traced.recording.tracer = traced::COUNTED_TRACER;
            traced.recording.preemption_ns = traced::COUNTED_PREEMPTION_NS;
        }
        traced.start_in_groups(&trace, &record.trial.workload);
        let choice = Choice { threads: Some(traced.threads), ..Choice::default() };
        recordings::files(&traced.recording, &choice, file).map_err(|why| why.to_string())
    });
    made.map(Some).map_err(|why| bad_input(format!("{cell}: {why}")))
}

/// A cell's name as a file's: `hackbench_groups=1_loops=20`.
fn slug(cell: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() { letter } else { '_' };
    cell.chars().map(safe).collect()
}
