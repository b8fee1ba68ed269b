// SPDX-License-Identifier: GPL-2.0-only
//! A chunk that was submitted, until all its records are back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use execution::objects::Sources;
use model::{Clock, Record, Trial, tape_text};

use crate::campaign_folder::{RECORDS, TRIALS};
use crate::chunk::Chunk;
use crate::queue::{Task, TaskId};
use crate::records_file::{self, Tail};

/// A chunk that was submitted.
#[derive(Debug)]
pub struct Part {
    /// Its number in the campaign's folder.
    pub number: usize,
    /// The trials that had no record when it was submitted, in order.
    pub trials: Vec<Trial>,
    /// Identities of those that have none yet.
    pub missing: BTreeSet<String>,
    /// Its task in the queue, once it has one.
    pub task: TaskId,
    /// The task when it was last looked at; `None`: the queue did not know it.
    pub seen: Option<Task>,
    /// How often in a row the task was found to have ended.
    pub ended: u32,
    /// How often in a row these trials were submitted without a single record.
    pub fruitless: u32,
    tails: BTreeMap<PathBuf, Tail>,
}

impl Part {
    /// A chunk that is about to be submitted.
    pub fn new(number: usize, trials: Vec<Trial>, fruitless: u32) -> Part {
        Part {
            number,
            missing: trials.iter().map(Trial::id).collect(),
            trials,
            task: TaskId::new(),
            seen: None,
            ended: 0,
            fruitless,
            tails: BTreeMap::new(),
        }
    }

    /// Reads what its files have new: records that were missing.
    ///
    /// # Errors
    /// When a file cannot be read, or holds something else.
    pub fn collect(&mut self, files: &[PathBuf]) -> Result<Vec<Record>> {
        let mut new = Vec::new();
        for path in files {
            let tail = self.tails.entry(path.clone()).or_insert_with(|| Tail::new(path.clone()));
            let records = tail.read()?.into_iter();
            new.extend(records.filter(|record| self.missing.remove(&record.trial.id())));
        }
        Ok(new)
    }

    /// Whether all its records are back.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// The trials without a record, in order.
    pub fn left(&self) -> Vec<Trial> {
        self.trials.iter().filter(|trial| self.missing.contains(&trial.id())).cloned().collect()
    }

    /// For people: its number and how many trials are missing, with the first.
    pub fn label(&self) -> String {
        let left = self.left();
        let first = left.first().map_or_else(String::new, |trial| {
            let (contestant, cell) = (&trial.contestant.name, trial.workload.cell());
            format!(", first {contestant} in {cell}, position {}", trial.position)
        });
        format!(
            "chunk {} ({} of {} trials left{first})",
            self.number,
            left.len(),
            self.trials.len()
        )
    }
}

/// The files of a campaign's folder.
#[derive(Clone, Debug)]
pub struct Files<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The whole plan.
    pub plan: &'a [Trial],
    /// The texts of its schedulers.
    pub sources: &'a Sources,
}

impl Files<'_> {
    /// Writes a chunk. A boot of the virtual clock that has begun comes with the records that it
    /// has, because it must be repeated from its first trial.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, part: &Part, known: &[Record]) -> Result<()> {
        let boots: BTreeSet<u32> = part.trials.iter().map(|trial| trial.boot).collect();
        let begun = known.iter().filter(|record| boots.contains(&record.trial.boot));
        let begun: Vec<&Record> = begun.filter(|record| is_counted(&record.trial)).collect();
        let mut trials: Vec<Trial> = begun.iter().map(|record| record.trial.clone()).collect();
        let lack = trials.iter_mut().map(|trial| &mut trial.workload);
        tape_text::lend(self.plan.iter().map(|trial| &trial.workload), lack);
        trials.extend(part.trials.iter().cloned());
        trials.sort_by_key(|trial| trial.position);
        let lines: Result<Vec<String>> = begun.into_iter().map(records_file::line).collect();
        let chunk = Chunk::new(trials, self.plan, self.sources).text()?;
        let number = part.number;
        self.put(&format!("chunk-{number}.known{RECORDS}"), &lines?.concat())?;
        self.put(&format!("chunk-{number}{TRIALS}"), &chunk)
    }

    fn put(&self, name: &str, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let path = self.folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The files of records by the number of their chunk.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn records(&self) -> Result<BTreeMap<usize, Vec<PathBuf>>> {
        let mut found: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
        for path in self.paths()? {
            if let Some(number) = chunk_of(&path, RECORDS) {
                found.entry(number).or_default().push(path);
            }
        }
        found.values_mut().for_each(|paths| paths.sort());
        Ok(found)
    }

    /// A number that no chunk of the folder has.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn next_number(&self) -> Result<usize> {
        let paths = self.paths()?;
        Ok(paths.iter().filter_map(|path| chunk_of(path, TRIALS)).max().map_or(0, |last| last + 1))
    }

    fn paths(&self) -> Result<Vec<PathBuf>> {
        let entries = self.folder.read_dir();
        let entries = entries.with_context(|| format!("cannot read {}", self.folder.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }
}

/// Whether a trial's numbers depend on those before it in its boot.
pub fn is_counted(trial: &Trial) -> bool {
    trial.backend.boots_kernels() && trial.clock() == Clock::Virtual
}

/// `7` for `chunk-7.0.records.jsonl`.
fn chunk_of(path: &Path, ending: &str) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    let inner = name.strip_prefix("chunk-")?.strip_suffix(ending)?;
    inner.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_whose_records_they_are() {
        let number = |name| chunk_of(Path::new(name), RECORDS);
        assert_eq!(number("/f/chunk-7.0.records.jsonl"), Some(7));
        assert_eq!(number("/f/chunk-12.known.records.jsonl"), Some(12));
        assert_eq!(number("/f/chunk-12.trials.jsonl"), None);
        assert_eq!(number("/f/jobs-1-2.log"), None);
    }
}
