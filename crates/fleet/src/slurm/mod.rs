// SPDX-License-Identifier: GPL-2.0-only
//! Slurm as a queue, by its own commands in their machine-readable forms. Without accounting
//! `squeue` knows enough; `sacct` is asked only for words.

mod commands;
mod feed;
pub mod parse;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use execution::refusal::bad_input;
use model::Machine;

use crate::options::FleetOptions;
use crate::queue::{Array, Needs, Queue, Stage, Task, TaskId};
use commands::output;
use feed::{Feeds, HOLDER};
use script::Script;

/// Options of a job that only holds a place, on a node that has none of our folders.
const HOLDS: [&str; 3] = ["--no-requeue", "--output=/dev/null", "--chdir=/tmp"];

/// Tasks of an array where Slurm does not say how many it allows.
const ARRAY: usize = 1000;

/// Slots where Slurm does not say how many CPUs it has.
const SLOTS: usize = 4;

/// The queue of a Slurm cluster, as one campaign uses it.
pub struct Slurm {
    /// The campaign's folder, absolute.
    pub folder: PathBuf,
    /// The name of its jobs, by which they are found again.
    pub name: String,
    /// What the user wants.
    pub options: FleetOptions,
    /// The most jobs at a time, if the user says.
    pub jobs: Option<usize>,
    /// This program, as nodes find it.
    pub executable: PathBuf,
    /// Where tasks write what people should read.
    logs: BTreeMap<TaskId, PathBuf>,
    feeds: Feeds,
}

impl Slurm {
    /// The queue for a campaign.
    ///
    /// # Errors
    /// When this program's own file cannot be found.
    pub fn new(folder: PathBuf, name: String, options: FleetOptions) -> Result<Slurm> {
        let executable = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Slurm {
            folder,
            name,
            options,
            jobs: None,
            executable,
            logs: BTreeMap::new(),
            feeds: Feeds::default(),
        })
    }

    /// Makes sure that Slurm is there, before anything is written.
    ///
    /// # Errors
    /// When its commands are not installed, or no controller answers.
    pub fn check(&self) -> Result<()> {
        output("sinfo", &["--noheader", "--format=%P"])
            .map(drop)
            .context("--fleet slurm needs a running Slurm")
    }

    /// Packs what nodes without a shared file system need: this program and files of the data
    /// folder.
    ///
    /// # Errors
    /// When the campaign's folder cannot be written, or a file is not in the data folder.
    pub fn pack(&self, home: &Path, needed: &BTreeSet<PathBuf>) -> Result<()> {
        match self.options.sends_files {
            true => Feeds::prepare(&self.folder, &self.executable, home, needed),
            false => Ok(()),
        }
    }

    fn array_size(&self) -> usize {
        let config = output("scontrol", &["show", "config"]).unwrap_or_default();
        // Indices end before it.
        parse::max_array_size(&config).map_or(ARRAY, |size| size.saturating_sub(1)).max(1)
    }

    fn submit_part(&mut self, first: usize, count: usize, needs: &Needs) -> Result<Vec<TaskId>> {
        let jobs = if needs.whole_node { None } else { Some(1) };
        let script = match self.options.sends_files {
            true => HOLDER.to_owned(),
            false => {
                Script { folder: &self.folder, executable: &self.executable, first, jobs }.text()
            }
        };
        let path = self.folder.join(format!("jobs-{first}.sh"));
        std::fs::write(&path, script)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let mut arguments = self.arguments(first, count, needs);
        arguments.push(path.display().to_string());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let printed = output("sbatch", &arguments)?;
        let job = parse::job_number(&printed)
            .ok_or_else(|| anyhow!("sbatch printed no number of a job: {}", printed.trim()))?;
        let name = |task| format!("{job}_{task}");
        let log = |task| self.folder.join(format!("jobs-{first}-{task}.log"));
        self.logs.extend((0..count).map(|task| (name(task), log(task))));
        if self.options.sends_files {
            let expected = |task| self.feeds.expect(name(task), first + task, jobs, log(task));
            (0..count).for_each(expected);
        }
        Ok((0..count).map(name).collect())
    }

    fn arguments(&self, first: usize, count: usize, needs: &Needs) -> Vec<String> {
        let at_once = self.jobs.map_or_else(String::new, |jobs| format!("%{jobs}"));
        let folder = self.folder.display();
        let mut arguments = vec![
            "--parsable".into(),
            format!("--job-name={}", self.name),
            format!("--array=0-{}{at_once}", count - 1),
            "--nodes=1".into(),
            "--ntasks=1".into(),
        ];
        match self.options.sends_files {
            true => arguments.extend(HOLDS.map(Into::into)),
            false => {
                arguments.extend(["--requeue", "--open-mode=append"].map(Into::into));
                arguments.push(format!("--output={folder}/jobs-{first}-%a.log"));
            }
        }
        match needs.whole_node {
            true => arguments.push("--exclusive".into()),
            false => arguments.push("--cpus-per-task=1".into()),
        }
        if needs.memory_mib > 0 {
            arguments.push(format!("--mem={}M", needs.memory_mib));
        }
        arguments.extend(self.constraint(needs).map(|it| format!("--constraint={it}")));
        arguments
    }

    fn constraint(&self, needs: &Needs) -> Option<String> {
        match (&needs.kind, &self.options.constraint) {
            (Some(kind), Some(features)) => Some(format!("{kind}&({features})")),
            (kind, features) => kind.as_ref().or(features.as_ref()).cloned(),
        }
    }

    fn lines(&self) -> Result<BTreeMap<TaskId, parse::Line>> {
        let (format, name) =
            (format!("--format={}", parse::SQUEUE), format!("--name={}", self.name));
        let options = ["--noheader", "--array", "--states=all", &name, &format];
        parse::squeue(&output("squeue", &options)?).map_err(|why| anyhow!(why))
    }

    /// The last line that a task has written.
    fn last_line(&self, task: &str) -> Option<String> {
        let text = files::text(self.logs.get(task)?, files::RESULT).ok()?;
        text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
    }
}

impl Queue for Slurm {
    fn submit(&mut self, array: &Array) -> Result<Vec<TaskId>> {
        let (size, mut tasks) = (self.array_size(), Vec::new());
        while tasks.len() < array.count {
            let count = size.min(array.count - tasks.len());
            tasks.extend(self.submit_part(array.first + tasks.len(), count, &array.needs)?);
        }
        Ok(tasks)
    }

    fn tasks(&mut self) -> Result<BTreeMap<TaskId, Task>> {
        let lines = self.lines()?;
        for (id, line) in lines.iter().filter(|(_, line)| line.task.stage == Stage::Running) {
            self.feeds.feed(&self.folder, id, &line.job)?;
        }
        let failed = self.feeds.failed();
        if !failed.is_empty() {
            self.cancel(&failed)?;
        }
        Ok(lines.into_iter().map(|(id, line)| (id, line.task)).collect())
    }

    fn cancel(&mut self, tasks: &[TaskId]) -> Result<()> {
        let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
        tasks.chunks(ARRAY).try_for_each(|some| output("scancel", some).map(drop))
    }

    fn last_words(&mut self, task: &TaskId) -> String {
        let job = format!("--jobs={task}");
        let format = "--format=State,ExitCode,NodeList";
        let asked = ["--noheader", "--parsable2", "--allocations", &job, format];
        let accounted = output("sacct", &asked).ok().and_then(|text| parse::sacct(&text));
        let known = [accounted, self.last_line(task)];
        known.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn slots(&mut self, needs: &Needs) -> Result<usize> {
        let (cpus, nodes) = parse::sinfo(&sinfo(parse::SINFO, &[])?).unwrap_or((SLOTS, SLOTS));
        let slots = if needs.whole_node { nodes } else { cpus };
        Ok(slots.min(self.jobs.unwrap_or(usize::MAX)).max(1))
    }
}

/// The kinds of nodes as machines, for `live`.
///
/// # Errors
/// When Slurm does not answer, has no node of a kind, or has different ones.
pub fn kinds(names: &[String]) -> Result<Vec<Machine>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let nodes = sinfo(parse::NODES, &["--Node"])?;
    names.iter().map(|name| machine(name, &nodes)).collect()
}

fn machine(name: &str, nodes: &str) -> Result<Machine> {
    let cpus = parse::cpus_of(nodes, name);
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let [cpus] = cpus[..] else {
        let what = match cpus.len() {
            0 => "no node has this feature; `sinfo --format=%f` prints all".to_owned(),
            _ => format!("its nodes have {cpus:?} CPUs; a kind is one machine"),
        };
        return Err(bad_input(format!("--fleet slurm:kinds={name}: {what}")));
    };
    let about = format!("nodes of the kind {name}");
    Ok(Machine { name: name.into(), about, cpus, ..Machine::default() })
}

/// What `sinfo` prints about the partition that `sbatch` uses.
fn sinfo(format: &str, more: &[&str]) -> Result<String> {
    let format = format!("--format={format}");
    let partition = std::env::var("SBATCH_PARTITION").ok().map(|it| format!("--partition={it}"));
    let mut options = vec!["--noheader", format.as_str()];
    options.extend(partition.as_deref());
    options.extend(more);
    output("sinfo", &options)
}
