// SPDX-License-Identifier: GPL-2.0-only
//! A plan on a Slurm cluster: its chunks are one array job. The job's tasks append records to files
//! in the campaign's folder, which the nodes see too.
//!
//! Only records count. What Slurm says about its tasks decides when to stop waiting for them.

mod commands;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use model::{Clock, Record, Trial, tape_text};
use store::SchedulerSource;

use self::commands::{SQUEUE_FORMAT, TaskState, job_number, output, parse_sacct, parse_squeue};
use crate::campaign_folder::{RECORDS, TRIALS, put, record_files};
use crate::chunk::Chunk;
use crate::cut;
use crate::records_file::{self, Tail};

/// Chunks of a plan if the user does not say how long they are.
const CHUNKS: usize = 100;

/// How often in a row an array is submitted that brings no record.
const FRUITLESS_MAX: u32 = 3;

/// How often in a row all tasks must be found ended: Slurm forgets a task for a moment when it puts
/// it back.
const ENDED_LOOKS: u32 = 2;

/// QEMU's own memory beside the guest's, with the archive that it unpacks.
const QEMU_MIB: u32 = 1024;

const FILES_PAUSE: Duration = Duration::from_millis(250);
const QUEUE_PAUSE: Duration = Duration::from_secs(2);
/// The longest wait for cancelled tasks.
const END_PAUSE: Duration = Duration::from_secs(40);

/// The value of `--fleet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlurmOptions {
    /// Trials of a chunk; `None`: the plan has at most [`CHUNKS`] chunks.
    pub chunk_trials: Option<u32>,
}

impl SlurmOptions {
    pub fn parse(text: &str) -> Result<SlurmOptions, String> {
        let (name, option) = text.split_once(':').unwrap_or((text, ""));
        if name != "slurm" {
            return Err(format!("there is no fleet '{name}'; write slurm, or slurm:chunk=TRIALS"));
        }
        if option.is_empty() {
            return Ok(SlurmOptions::default());
        }
        let trials = option.strip_prefix("chunk=").and_then(|count| count.parse().ok());
        match trials {
            Some(0) | None => Err(format!("'{option}': write chunk=TRIALS, a number above 0")),
            chunk_trials => Ok(SlurmOptions { chunk_trials }),
        }
    }
}

pub struct SlurmCampaign<'a> {
    /// The campaign's folder, absolute.
    pub folder: PathBuf,
    /// The name of its jobs, by which they are found again.
    pub name: String,
    pub options: SlurmOptions,
    /// The most tasks at a time, if the user says.
    pub tasks_at_a_time: Option<usize>,
    pub plan: &'a [Trial],
    /// The trials without a record, in the order of the plan.
    pub left: Vec<Trial>,
    /// Records of boots that an earlier session began.
    pub earlier: Vec<Record>,
    pub schedulers: &'a [SchedulerSource],
}

/// Who gets the records and the notes, and says when to stop.
pub struct Receiver<'a> {
    pub keep: &'a mut dyn FnMut(Vec<Record>),
    pub note: &'a dyn Fn(&str),
    pub stop: &'a AtomicBool,
}

pub fn check() -> Result<()> {
    let partitions = output("sinfo", &["--noheader", "--format=%P"]);
    partitions.map(drop).context("--fleet slurm needs a running Slurm")
}

/// Runs the trials until each has a record, or the receiver says stop. What an array does not
/// bring back is submitted again.
pub fn run<'a>(mut campaign: SlurmCampaign<'a>, receiver: Receiver<'a>) -> Result<()> {
    let left = std::mem::take(&mut campaign.left);
    let missing = left.iter().map(Trial::id).collect();
    let mut follower = Follower { campaign, receiver, missing, tails: BTreeMap::new() };
    // What a process left behind that was killed.
    follower.cancel_all(Duration::ZERO)?;
    follower.collect()?;
    let mut fruitless = 0;
    while !follower.is_done() {
        let before = follower.missing.len();
        let trials: Vec<Trial> =
            left.iter().filter(|trial| follower.missing.contains(&trial.id())).cloned().collect();
        let array = follower.submit(&trials)?;
        let followed = follower.follow(&array);
        let grace = if follower.missing.is_empty() { QUEUE_PAUSE } else { Duration::ZERO };
        follower.cancel_all(grace)?;
        follower.collect()?;
        let seen = followed?;
        fruitless = if follower.missing.len() < before { 0 } else { fruitless + 1 };
        let unfinished = follower.unfinished(&array, &seen);
        if fruitless == FRUITLESS_MAX {
            let never = |(label, end): &(String, String)| format!("{label} never came back: {end}");
            bail!("{}", unfinished.iter().map(never).collect::<Vec<_>>().join("\n"));
        }
        for (label, end) in unfinished {
            let what = "its trials are submitted again";
            (follower.receiver.note)(&format!("{label} did not come back ({end}); {what}"));
        }
    }
    Ok(())
}

struct Task {
    /// Its name in Slurm: `17_4`.
    id: String,
    number: usize,
    trials: Vec<Trial>,
    log: PathBuf,
}

struct Follower<'a> {
    campaign: SlurmCampaign<'a>,
    receiver: Receiver<'a>,
    /// The identities of the trials without a record.
    missing: BTreeSet<String>,
    tails: BTreeMap<PathBuf, Tail>,
}

impl Follower<'_> {
    fn is_done(&self) -> bool {
        self.missing.is_empty() || self.receiver.stop.load(Ordering::SeqCst)
    }

    /// Passes on the records that are new in the files.
    fn collect(&mut self) -> Result<()> {
        let mut new = Vec::new();
        for path in record_files(&self.campaign.folder)? {
            let tail = self.tails.entry(path.clone()).or_insert_with(|| Tail::new(path));
            let records = tail.read()?.into_iter();
            new.extend(records.filter(|record| self.missing.remove(&record.trial.id())));
        }
        let counted = new.iter().filter(|record| is_counted(&record.trial));
        self.campaign.earlier.extend(counted.cloned());
        (self.receiver.keep)(new);
        Ok(())
    }

    fn submit(&self, trials: &[Trial]) -> Result<Vec<Task>> {
        let chunks = match self.campaign.options.chunk_trials {
            Some(most) => cut::cut(trials, most as usize),
            None => cut::into_parts(trials, CHUNKS),
        };
        let first = next_number(&self.campaign.folder)?;
        for (index, chunk) in chunks.iter().enumerate() {
            self.write(first + index, chunk)?;
        }
        let script = self.campaign.folder.join(format!("jobs-{first}.sh"));
        let needs_node = trials.iter().any(|trial| trial.clock() == Clock::Real);
        let executable = std::env::current_exe().context("cannot find this program's own file")?;
        let options = options(trials, needs_node);
        put(&script, &script_text(&self.campaign.folder, &executable, first, &options))?;
        let mut arguments = self.arguments(first, trials, chunks.len());
        arguments.push(script.display().to_string());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let printed = output("sbatch", &arguments)?;
        let job = job_number(&printed)
            .ok_or_else(|| anyhow!("sbatch printed no number of a job: {}", printed.trim()))?;
        let task = |(index, trials): (usize, Vec<Trial>)| Task {
            id: format!("{job}_{index}"),
            number: first + index,
            trials,
            log: self.campaign.folder.join(format!("jobs-{first}-{index}.log")),
        };
        Ok(chunks.into_iter().enumerate().map(task).collect())
    }

    /// Writes a chunk. A boot of the virtual clock that has begun comes with the records that it
    /// has, because it must be repeated from its first trial.
    fn write(&self, number: usize, chunk: &[Trial]) -> Result<()> {
        let SlurmCampaign { folder, plan, schedulers, .. } = &self.campaign;
        let boots: BTreeSet<u32> = chunk.iter().map(|trial| trial.boot).collect();
        let begun = self.campaign.earlier.iter();
        let begun = begun.filter(|record| is_counted(&record.trial));
        let begun: Vec<&Record> =
            begun.filter(|record| boots.contains(&record.trial.boot)).collect();
        let mut trials: Vec<Trial> = begun.iter().map(|record| record.trial.clone()).collect();
        let without_tapes = trials.iter_mut().map(|trial| &mut *trial.workload);
        tape_text::lend(plan.iter().map(|trial| &*trial.workload), without_tapes);
        trials.extend(chunk.iter().cloned());
        trials.sort_by_key(|trial| trial.position);
        let lines: Result<Vec<String>> = begun.into_iter().map(records_file::line).collect();
        let known = lines?.concat();
        if !known.is_empty() {
            put(&folder.join(format!("chunk-{number}.known{RECORDS}")), &known)?;
        }
        let text = Chunk::new(trials, plan, schedulers).text()?;
        put(&folder.join(format!("chunk-{number}{TRIALS}")), &text)
    }

    /// The options of `sbatch`. All tasks of the array get what the most demanding trial needs: a
    /// whole node for a real clock, which other work disturbs.
    fn arguments(&self, first: usize, trials: &[Trial], count: usize) -> Vec<String> {
        let at_a_time =
            self.campaign.tasks_at_a_time.map_or_else(String::new, |tasks| format!("%{tasks}"));
        let whole_node = trials.iter().any(|trial| trial.clock() == Clock::Real);
        let guests = trials.iter().filter(|trial| trial.backend.boots_kernels());
        let memory_mib = guests.map(|trial| trial.machine.memory_mib + QEMU_MIB).max();
        let mut arguments = vec![
            "--parsable".into(),
            format!("--job-name={}", self.campaign.name),
            format!("--array=0-{}{at_a_time}", count - 1),
            "--nodes=1".into(),
            "--ntasks=1".into(),
            "--requeue".into(),
            "--open-mode=append".into(),
            format!("--output={}/jobs-{first}-%a.log", self.campaign.folder.display()),
        ];
        arguments.push(if whole_node { "--exclusive" } else { "--cpus-per-task=1" }.into());
        arguments.extend(memory_mib.map(|mib| format!("--mem={mib}M")));
        arguments
    }

    /// Collects records until all are back or no task runs any more. Returns how each task was when
    /// Slurm last knew it.
    fn follow(&mut self, array: &[Task]) -> Result<BTreeMap<String, TaskState>> {
        let mut last_known = BTreeMap::new();
        let (mut asked, mut ended_looks) = (Instant::now(), 0);
        while !self.is_done() && ended_looks < ENDED_LOOKS {
            thread::sleep(FILES_PAUSE);
            if asked.elapsed() >= QUEUE_PAUSE {
                asked = Instant::now();
                match self.tasks() {
                    Ok(tasks) => {
                        let is_alive =
                            |task: &Task| tasks.get(&task.id).is_some_and(|state| !state.has_ended);
                        let any_alive = array.iter().any(is_alive);
                        ended_looks = if any_alive { 0 } else { ended_looks + 1 };
                        last_known.extend(tasks);
                    }
                    Err(error) => (self.receiver.note)(&format!("{error:#}; asking again")),
                }
            }
            self.collect()?;
        }
        Ok(last_known)
    }

    /// The chunks of an array that lack records, and how their tasks have ended.
    fn unfinished(
        &self,
        array: &[Task],
        states: &BTreeMap<String, TaskState>,
    ) -> Vec<(String, String)> {
        let mut unfinished = Vec::new();
        for task in array {
            let is_left = |trial: &&Trial| self.missing.contains(&trial.id());
            let left: Vec<&Trial> = task.trials.iter().filter(is_left).collect();
            let Some(first) = left.first() else { continue };
            let (contestant, cell) = (&first.contestant.name, first.workload.cell());
            let label = format!(
                "chunk {} ({} of {} trials left, first {contestant} in {cell}, position {})",
                task.number,
                left.len(),
                task.trials.len(),
                first.position
            );
            unfinished.push((label, end_of(task, states.get(&task.id))));
        }
        unfinished
    }

    /// The tasks of this campaign that Slurm knows. It forgets those that ended a while ago.
    fn tasks(&self) -> Result<BTreeMap<String, TaskState>> {
        let name = format!("--name={}", self.campaign.name);
        let options = ["--noheader", "--array", "--states=all", &name, SQUEUE_FORMAT];
        parse_squeue(&output("squeue", &options)?)
    }

    /// Ends all tasks of this campaign after a grace period, and waits until they are gone.
    fn cancel_all(&self, grace: Duration) -> Result<()> {
        let (began, mut is_cancelled) = (Instant::now(), false);
        while began.elapsed() < END_PAUSE && self.tasks()?.values().any(|task| !task.has_ended) {
            if !is_cancelled && began.elapsed() >= grace {
                output("scancel", &[&format!("--name={}", self.campaign.name)])?;
                is_cancelled = true;
            }
            thread::sleep(FILES_PAUSE);
        }
        Ok(())
    }
}

/// How a task has ended: the words of `squeue`, of `sacct` where there is accounting, and the last
/// line of the task's output.
fn end_of(task: &Task, state: Option<&TaskState>) -> String {
    let state = state.map_or("Slurm has forgotten it".into(), |state| state.words.clone());
    let job = format!("--jobs={}", task.id);
    let format = "--format=State,ExitCode,NodeList";
    let asked = ["--noheader", "--parsable2", "--allocations", &job, format];
    let accounted = output("sacct", &asked).ok().and_then(|text| parse_sacct(&text));
    let log = spec::files::text(&task.log, spec::files::RESULT).unwrap_or_default();
    let last_line = log.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
    [Some(state), accounted, last_line].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Whether a trial's numbers depend on those before it in its boot.
fn is_counted(trial: &Trial) -> bool {
    trial.backend.boots_kernels() && trial.clock() == Clock::Virtual
}

/// A number that no chunk of the folder has.
fn next_number(folder: &Path) -> Result<usize> {
    let entries =
        folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?.flatten();
    let number = |name: &str| name.strip_prefix("chunk-")?.strip_suffix(TRIALS)?.parse().ok();
    let numbers = entries.filter_map(|entry| number(&entry.file_name().to_string_lossy()));
    Ok(numbers.max().map_or(0, |last: usize| last + 1))
}

/// The options of `trial` for a task: the plan is the user's own, programs and all.
fn options(trials: &[Trial], needs_node: bool) -> String {
    let trusted = trials.iter().any(|trial| trial.trusted_to().is_some());
    let options = [(!needs_node, "--jobs 1 "), (trusted, "--trusted ")];
    options.into_iter().filter(|(needed, _)| *needed).map(|(_, option)| option).collect()
}

/// What a task runs. A requeued task leaves out what its predecessors have, and writes a file of
/// its own: on a node that only seemed dead the predecessor may still be writing.
fn script_text(folder: &Path, executable: &Path, first: usize, options: &str) -> String {
    format!(
        r#"#!/bin/sh
# Written by fairground: one task of this array runs one chunk.
cd {folder} || exit 3
chunk=chunk-$(({first} + SLURM_ARRAY_TASK_ID))
set --
for earlier in "$chunk".*.records.jsonl; do
    if [ -e "$earlier" ]; then set -- "$@" --done "$earlier"; fi
done
exec {executable} trial --offline {options}--chunk "$chunk.trials.jsonl" \
    --out "$chunk.${{SLURM_RESTART_COUNT:-0}}.records.jsonl" "$@"
"#,
        folder = quoted(folder),
        executable = quoted(executable),
    )
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_say_what_to_write() {
        let chunks = SlurmOptions { chunk_trials: Some(50) };
        assert_eq!(SlurmOptions::parse("slurm:chunk=50"), Ok(chunks));
        assert_eq!(SlurmOptions::parse("slurm"), Ok(SlurmOptions::default()));
        let refusal = |text: &str| SlurmOptions::parse(text).unwrap_err();
        assert_eq!(refusal("pbs"), "there is no fleet 'pbs'; write slurm, or slurm:chunk=TRIALS");
        for option in ["chunk=0", "chunk", "files=sent"] {
            let expected = format!("'{option}': write chunk=TRIALS, a number above 0");
            assert_eq!(refusal(&format!("slurm:{option}")), expected);
        }
    }

    #[test]
    fn paths_are_single_words() {
        let options = options(&[Trial::default()], false);
        let text = script_text(Path::new("/data/it's"), Path::new("/bin/fairground"), 40, &options);
        assert!(text.contains(r"cd '/data/it'\''s' || exit 3"), "{text}");
        assert!(text.contains("chunk-$((40 + SLURM_ARRAY_TASK_ID))"), "{text}");
        assert!(text.contains("trial --offline --jobs 1 --chunk"), "{text}");
    }

    #[test]
    fn the_users_own_programs_are_trusted() {
        let live = Trial { backend: model::Backend::Live, ..Trial::default() };
        assert_eq!(options(&[Trial::default(), live], true), "--trusted ");
    }
}
