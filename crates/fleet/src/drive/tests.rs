// SPDX-License-Identifier: GPL-2.0-only
//! Campaigns on a queue whose tasks do what the test says.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use execution::objects::Sources;
use model::{Outcome, Provenance};

use super::*;
use crate::chunk::Chunk;
use crate::cut::tests::trials;
use crate::records_file;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// Runs all trials.
    Completes,
    /// Is killed in the middle of a record.
    DiesHalfway,
    /// Brings nothing.
    Fails,
    /// Is killed halfway, and put back by the queue.
    IsRequeued,
    /// Never starts.
    Waits,
}

struct Nodes<'a> {
    folder: PathBuf,
    /// Of the tasks in the order of submission; afterwards all complete.
    fates: VecDeque<Fate>,
    tasks: BTreeMap<TaskId, (usize, Fate, Stage)>,
    /// The numbers of chunks that were submitted, and those of the cancelled ones.
    submitted: Vec<usize>,
    cancelled: Vec<TaskId>,
    stop: &'a AtomicBool,
}

impl Nodes<'_> {
    fn run(&self, number: usize, restart: u32, share: f64) {
        let path = self.folder.join(format!("chunk-{number}.trials.jsonl"));
        let chunk = Chunk::read(&std::fs::read_to_string(path).unwrap(), "chunk").unwrap();
        let lines: String = chunk.trials.iter().map(line).collect();
        let cut = (lines.len() as f64 * share) as usize;
        let path = self.folder.join(format!("chunk-{number}.{restart}.records.jsonl"));
        std::fs::write(path, &lines[..cut]).unwrap();
    }
}

fn line(trial: &Trial) -> String {
    let provenance = Provenance { wall_ms: 100, ..Provenance::default() };
    let record = Record::without_measurement(trial.clone(), Outcome::Ok, provenance);
    records_file::line(&record).unwrap()
}

impl Queue for Nodes<'_> {
    fn submit(&mut self, array: &Array) -> Result<Vec<TaskId>> {
        let mut tasks = Vec::new();
        for number in array.first..array.first + array.count {
            let fate = self.fates.pop_front().unwrap_or(Fate::Completes);
            let stage = match fate {
                Fate::Waits => Stage::Waiting,
                Fate::IsRequeued => Stage::Running,
                _ => Stage::Ended,
            };
            match fate {
                Fate::Completes => self.run(number, 0, 1.0),
                Fate::DiesHalfway | Fate::IsRequeued => self.run(number, 0, 0.4),
                Fate::Fails | Fate::Waits => {}
            }
            self.submitted.push(number);
            tasks.push(format!("{number}"));
            self.tasks.insert(format!("{number}"), (number, fate, stage));
        }
        Ok(tasks)
    }

    fn tasks(&mut self) -> Result<BTreeMap<TaskId, Task>> {
        let mut seen = BTreeMap::new();
        for (id, (number, fate, stage)) in self.tasks.clone() {
            if fate == Fate::Waits {
                self.stop.store(true, Ordering::SeqCst);
            }
            if fate == Fate::IsRequeued && stage == Stage::Running {
                // The predecessor's records are done: only the others would run.
                self.run(number, 1, 1.0);
                self.tasks.insert(id.clone(), (number, fate, Stage::Ended));
            }
            seen.insert(id, Task { stage, words: "FAILED".into(), node: "n1".into() });
        }
        Ok(seen)
    }

    fn cancel(&mut self, tasks: &[TaskId]) -> Result<()> {
        self.cancelled.extend(tasks.iter().cloned());
        for id in tasks {
            self.tasks.get_mut(id).unwrap().2 = Stage::Ended;
        }
        Ok(())
    }

    fn last_words(&mut self, _: &TaskId) -> String {
        "no space left".into()
    }

    fn slots(&mut self, _: &Needs) -> Result<usize> {
        Ok(2)
    }
}

/// What has come of a campaign.
struct Came {
    result: Result<(), String>,
    positions: Vec<u32>,
    submitted: Vec<usize>,
    cancelled: Vec<TaskId>,
    notes: Vec<String>,
}

const PAUSES: Pauses = Pauses {
    files: Duration::ZERO,
    queue: Duration::ZERO,
    notes: Duration::MAX,
    end: Duration::MAX,
};

fn campaign(folder: &Path, plan: &[Trial], chunk: Option<u32>, fates: &[Fate]) -> Came {
    let (stop, sources) = (AtomicBool::new(false), Sources::new());
    let mut nodes = Nodes {
        folder: folder.to_owned(),
        fates: fates.iter().copied().collect(),
        tasks: BTreeMap::new(),
        submitted: Vec::new(),
        cancelled: Vec::new(),
        stop: &stop,
    };
    let (mut positions, mut notes) = (Vec::new(), Vec::new());
    let mut keep = |new: &[Record]| {
        positions.extend(new.iter().map(|record| record.trial.position));
        Ok(())
    };
    let mut hear = |progress: &Progress<'_>| {
        if let Progress::Note(note) = progress {
            notes.push((*note).to_owned());
        }
    };
    let sink = Sink::new(&mut keep, &mut hear, &stop);
    let files = Files { folder, plan, sources: &sources };
    let work = Work { files, left: plan.to_vec(), earlier: Vec::new() };
    let options = FleetOptions { chunk_trials: chunk, ..FleetOptions::default() };
    let result = run(work, &options, PAUSES, &mut nodes, &sink);
    drop(sink);
    let result = result.map_err(|error| error.to_string());
    let Nodes { submitted, cancelled, .. } = nodes;
    positions.sort_unstable();
    Came { result, positions, submitted, cancelled, notes }
}

fn simulated(count: usize) -> Vec<Trial> {
    let mut trials = trials(&vec![0; count]);
    trials.iter_mut().for_each(|trial| trial.backend = Backend::Sim);
    trials
}

fn expect_all_once(came: &Came, count: u32) {
    assert_eq!(came.result, Ok(()));
    assert_eq!(came.positions, (0..count).collect::<Vec<_>>());
}

#[test]
fn each_record_comes_once() {
    let folder = tempfile::tempdir().unwrap();
    let came = campaign(folder.path(), &simulated(10), Some(4), &[]);
    expect_all_once(&came, 10);
    assert_eq!((came.submitted, came.cancelled), (vec![0, 1, 2], vec![]));
}

#[test]
fn pilots_decide_the_size_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    // 0.1 s a trial: the others of a minute's work go into two chunks of 15 s for each slot.
    let came = campaign(folder.path(), &simulated(640), None, &[]);
    expect_all_once(&came, 640);
    assert_eq!(came.submitted.len(), 2 + 4);
}

#[test]
fn a_killed_task_is_submitted_again_with_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let came = campaign(folder.path(), &simulated(8), Some(4), &[Fate::DiesHalfway]);
    expect_all_once(&came, 8);
    assert_eq!(came.submitted, [0, 1, 2]);
    let said = "chunk 0 (3 of 4 trials left, first kernel in w, position 1) did not come back \
                (FAILED on n1; no space left); its trials are submitted again";
    assert_eq!(came.notes, [said]);
}

#[test]
fn a_boot_that_had_begun_is_sent_with_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let mut boot = trials(&[0, 0, 0, 0]);
    boot.iter_mut().for_each(|trial| trial.machine.clock = model::Clock::Virtual);
    let came = campaign(folder.path(), &boot, Some(4), &[Fate::DiesHalfway]);
    expect_all_once(&came, 4);
    let known = folder.path().join("chunk-1.known.records.jsonl");
    assert_eq!(std::fs::read_to_string(known).unwrap().lines().count(), 1);
    let chunk = std::fs::read_to_string(folder.path().join("chunk-1.trials.jsonl")).unwrap();
    assert_eq!(Chunk::read(&chunk, "chunk").unwrap().trials, boot);
}

#[test]
fn a_requeued_task_adds_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let came = campaign(folder.path(), &simulated(8), Some(4), &[Fate::IsRequeued]);
    expect_all_once(&came, 8);
    assert_eq!(came.submitted, [0, 1]);
}

#[test]
fn a_chunk_that_never_comes_back_is_named_and_the_others_do() {
    let folder = tempfile::tempdir().unwrap();
    let fates = [Fate::Fails, Fate::Completes, Fate::Fails, Fate::Fails];
    let came = campaign(folder.path(), &simulated(8), Some(4), &fates);
    assert_eq!(came.positions, [4, 5, 6, 7]);
    let said = "chunk 3 (4 of 4 trials left, first kernel in w, position 0) never came back: \
                FAILED on n1; no space left";
    assert_eq!(came.result, Err(said.into()));
}

#[test]
fn a_fleet_that_brings_nothing_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let came = campaign(folder.path(), &simulated(500), None, &[Fate::Fails; 50]);
    assert!(came.result.unwrap_err().contains("never came back"));
    assert!(came.submitted.len() <= 6, "{:?}", came.submitted);
}

#[test]
fn an_interrupted_campaign_cancels_and_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let plan = simulated(8);
    let came = campaign(folder.path(), &plan, Some(4), &[Fate::Completes, Fate::Waits]);
    assert_eq!((came.positions.len(), came.cancelled), (4, vec!["1".to_owned()]));
    // The next process finds the records of a killed one in the folder, and new numbers.
    let came = campaign(folder.path(), &plan, Some(4), &[]);
    expect_all_once(&came, 8);
    assert_eq!(came.submitted, [2]);
}

#[test]
fn a_boot_that_had_begun_is_sent_with_its_tapes() {
    let folder = tempfile::tempdir().unwrap();
    let mut boot = trials(&[0, 0, 0, 0]);
    boot.iter_mut().for_each(|trial| trial.machine.clock = model::Clock::Virtual);
    // Only the trial that has its record plays one, and a record has no tapes.
    let text = "task 1 a\nr5\n";
    boot[0].workload.recording = Some(model::Recorded {
        sha256: model::trial::sha256_hex(text.as_bytes()),
        tapes: model::tape::Tapes(Some(text.into())),
        ..model::Recorded::default()
    });
    let came = campaign(folder.path(), &boot, Some(4), &[Fate::DiesHalfway]);
    expect_all_once(&came, 4);
    let chunk = std::fs::read_to_string(folder.path().join("chunk-1.trials.jsonl")).unwrap();
    let first = Chunk::read(&chunk, "chunk").unwrap().trials.remove(0);
    assert_eq!(first.workload.recording.unwrap().tapes.0.as_deref(), Some(text));
}
