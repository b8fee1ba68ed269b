// SPDX-License-Identifier: GPL-2.0-only
//! Nodes without a shared file system. A job only holds its place on a node. When it runs, this
//! side sends program, kernels and chunk there (`sbcast`), starts the trials in the job (`srun`),
//! and their records come back as the output of that step, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use execution::refusal::bad_input;

use crate::queue::TaskId;

/// What a job runs: it waits until its step is done, and leaves nothing behind.
pub const HOLDER: &str = r#"#!/bin/sh
# Written by fairground: holds a place on a node for trials that are sent here.
place=/tmp/fairground-$SLURM_JOB_ID
end() { rm -rf "$place" "$place".kit "$place".chunk "$place".done; }
trap 'end; exit 143' TERM INT
until [ -e "$place.done" ]; do sleep 0.2; done
end
"#;

/// What is done for each running job, on the submitting side.
const FEED: &str = r#"#!/bin/sh
# Written by fairground: sends a chunk to the node of a job and runs it there.
set -eu
job=$1 chunk=chunk-$2 feed=$3 jobs=$4
place=/tmp/fairground-$job
set -- "$chunk.trials.jsonl"
for earlier in "$chunk".*.records.jsonl; do
    if [ -e "$earlier" ]; then set -- "$@" "$earlier"; fi
done
tar -cf "$chunk.$feed.tar" "$@"
sbcast --force --jobid="$job" kit.tar "$place.kit"
sbcast --force --jobid="$job" "$chunk.$feed.tar" "$place.chunk"
rm "$chunk.$feed.tar"
exec srun --jobid="$job" --overlap --nodes=1 --ntasks=1 --input=none --chdir=/tmp \
    sh -c 'set -eu
        place=$1 chunk=$2 jobs=$3
        umask 077
        rm -rf "$place"
        mkdir "$place"
        cd "$place"
        tar -xf "$place.kit"
        tar -xf "$place.chunk"
        set --
        for earlier in "$chunk".*.records.jsonl; do
            if [ -e "$earlier" ]; then set -- "$@" --done "$earlier"; fi
        done
        FAIRGROUND_HOME=$place/home ./fairground trial --offline $jobs \
            --chunk "$chunk.trials.jsonl" "$@"
        touch "$place.done"' sh "$place" "$chunk" "$jobs" >"$chunk.$feed.records.jsonl"
"#;

/// The archive of what all nodes need.
const KIT: &str = "kit.tar";

/// The processes on this side that feed jobs.
#[derive(Default)]
pub struct Feeds {
    /// The number of the chunk of each task, and where to write what people should read.
    chunks: BTreeMap<TaskId, Chunk>,
    running: BTreeMap<TaskId, Child>,
    fed: BTreeSet<TaskId>,
}

struct Chunk {
    number: usize,
    jobs: Option<usize>,
    log: PathBuf,
}

impl Feeds {
    /// Prepares the campaign's folder.
    ///
    /// # Errors
    /// When the folder cannot be written, or a file is outside the data folder.
    pub fn prepare(
        folder: &Path,
        executable: &Path,
        home: &Path,
        needed: &BTreeSet<PathBuf>,
    ) -> Result<()> {
        let inside: Result<Vec<&Path>> = needed.iter().map(|file| below(home, file)).collect();
        let inside = inside?;
        let parent = executable.parent().unwrap_or(Path::new("/"));
        let mut tar = packing("-cf", folder);
        tar.arg("--transform=s,^[^/]*$,fairground,").arg("-C").arg(parent);
        run(tar.arg(executable.file_name().unwrap_or_default()))?;
        if !inside.is_empty() {
            let mut tar = packing("-rf", folder);
            run(tar.arg("--transform=s,^,home/,").arg("-C").arg(home).args(inside))?;
        }
        let path = folder.join("feed.sh");
        std::fs::write(&path, FEED).with_context(|| format!("cannot write {}", path.display()))
    }

    /// A task will need this chunk.
    pub fn expect(&mut self, task: TaskId, number: usize, jobs: Option<usize>, log: PathBuf) {
        self.chunks.insert(task, Chunk { number, jobs, log });
    }

    /// Feeds a task that runs, once.
    ///
    /// # Errors
    /// When no process can be started.
    pub fn feed(&mut self, folder: &Path, task: &TaskId, job: &str) -> Result<()> {
        let Some(chunk) = self.chunks.get(task) else { return Ok(()) };
        if !self.fed.insert(task.clone()) {
            return Ok(());
        }
        let options = OpenOptions::new().create(true).append(true).open(&chunk.log);
        let log = options.with_context(|| format!("cannot write {}", chunk.log.display()))?;
        let jobs = chunk.jobs.map_or_else(String::new, |jobs| format!("--jobs={jobs}"));
        let mut command = Command::new("sh");
        command.arg("feed.sh").args([job, &chunk.number.to_string(), "0", &jobs]);
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // Ctrl-C is for this program alone: it cancels the job.
        let child = command.process_group(0).spawn().context("cannot run sh")?;
        self.running.insert(task.clone(), child);
        Ok(())
    }

    /// The tasks whose feeding has failed since the last call: their jobs would wait for ever.
    pub fn failed(&mut self) -> Vec<TaskId> {
        let mut failed = Vec::new();
        self.running.retain(|task, child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            _ => {
                failed.push(task.clone());
                false
            }
        });
        failed
    }
}

/// A call of tar. A link would point to a file that the node lacks.
fn packing(how: &str, folder: &Path) -> Command {
    let mut tar = Command::new("tar");
    tar.arg(how).arg(folder.join(KIT)).arg("--dereference");
    tar
}

/// A file's path in the data folder.
fn below<'a>(home: &Path, file: &'a Path) -> Result<&'a Path> {
    file.strip_prefix(home).map_err(|_| {
        let file = file.display();
        bad_input(format!("{file} is not in the data folder and cannot be sent; use files=shared"))
    })
}

fn run(tar: &mut Command) -> Result<()> {
    let output = tar.stdin(Stdio::null()).output().context("cannot run tar")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cannot pack what nodes need: {}", said.lines().next().unwrap_or("tar failed"));
    }
    Ok(())
}
