// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler under test: loaded, verified before and after, reloaded while the workload runs,
//! unloaded.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::inside::Inside;
use model::tables::{GROUP_CALLBACKS, note_on_groups, note_on_sessions};
use model::{
    ActiveScheduler, Histogram, Measured, Metric, Outcome, Policy, SchedulerChoice, Trial,
};
use process::silence;

use super::scx_stats;
use crate::facts::{active, sched_ext};
use crate::loader::{self, ExitInfo, LoadedScheduler};
use crate::printed::LINES_MAX;
use crate::program::Running;

/// How long an installed scheduler may stand still before the kernel says that it is enabled, and
/// how much CPU time it may take: the verifier works for it, in emulation for minutes.
const ENABLE: Duration = Duration::from_secs(20);
const VERIFY: Duration = Duration::from_secs(10 * 60);

/// How long the kernel may take to give all tasks back to its own scheduler, on a busy host too.
const DISABLE: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(20);

pub struct UnderTest {
    choice: SchedulerChoice,
    kind: LoadedFrom,
    /// What the kernel says as long as this one is active.
    expected: ActiveScheduler,
    /// Why the kernel ejected it, once known.
    exit: Option<ExitInfo>,
    /// Its output from every time that it was loaded, once it is unloaded.
    printed: Vec<String>,
    /// How long each reload took to unload and to load it.
    unload_ns: Vec<u64>,
    load_ns: Vec<u64>,
    /// Why a reload failed: it was gone, or could not be loaded again.
    failure: Option<Outcome>,
    is_watched: bool,
    /// The statistics of its program, while it is watched.
    told: Option<Result<scx_stats::Client, String>>,
}

enum LoadedFrom {
    /// The kernel's own scheduler, or already unloaded.
    Builtin,
    File(Box<LoadedScheduler>),
    Program(Running),
}

/// Loads the scheduler. The outcome says why that failed.
pub fn start(choice: &SchedulerChoice) -> Result<UnderTest, Outcome> {
    Ok(UnderTest {
        choice: choice.clone(),
        kind: load(choice)?,
        expected: ActiveScheduler::default(),
        exit: None,
        printed: Vec::new(),
        unload_ns: Vec::new(),
        load_ns: Vec::new(),
        failure: None,
        is_watched: false,
        told: None,
    })
}

fn load(choice: &SchedulerChoice) -> Result<LoadedFrom, Outcome> {
    let unsupported = |reason| Outcome::Unsupported { reason };
    // A foreign scheduler stays; that of the previous trial may still be unloading.
    if active().sched_ext_state == "enabled" || !await_disabled() {
        return Err(unsupported(format!(
            "the sched_ext scheduler `{}` is running, and it is not ours; stop it first",
            active().sched_ext_ops
        )));
    }
    match choice {
        SchedulerChoice::File { file, sha256, .. } => {
            let compiled = compiled(file, sha256).map_err(|reason| Outcome::Failed { reason })?;
            Ok(LoadedFrom::File(Box::new(
                loader::load(&compiled, &choice.values()).map_err(refused)?,
            )))
        }
        SchedulerChoice::Program { command, .. } => {
            Ok(LoadedFrom::Program(start_program(command)?))
        }
        SchedulerChoice::Kernel | SchedulerChoice::Policy { .. } => Ok(LoadedFrom::Builtin),
        SchedulerChoice::Claimed { name } => Err(unsupported(format!(
            "`{name}` is a name in somebody's result, which nothing can run"
        ))),
    }
}

/// Waits until no sched_ext scheduler is active.
pub fn await_disabled() -> bool {
    let end = Instant::now() + DISABLE;
    loop {
        match active().sched_ext_state.as_str() {
            "absent" | "disabled" => return true,
            _ if Instant::now() > end => return false,
            _ => sleep(LOOK),
        }
    }
}

impl UnderTest {
    pub fn notes(&self, trial: &Trial) -> Vec<String> {
        let LoadedFrom::File(loaded) = &self.kind else { return Vec::new() };
        let is_told = GROUP_CALLBACKS.iter().any(|name| loaded.has_callback(name));
        let groups = note_on_groups(trial, is_told);
        let sessions = note_on_sessions(trial, loaded.sees_sessions());
        loaded.notes().iter().cloned().chain(groups).chain(sessions).collect()
    }

    /// Whether the kernel says that this one is active.
    pub fn verify_before(&mut self, before: &ActiveScheduler) -> Result<(), Outcome> {
        let enabled = before.sched_ext_state == "enabled";
        let right = match &self.kind {
            LoadedFrom::Builtin => !enabled,
            LoadedFrom::File(loaded) => enabled && before.sched_ext_ops == loaded.ops_name(),
            LoadedFrom::Program(_) => enabled && !before.sched_ext_ops.is_empty(),
        };
        if right {
            self.expected = before.clone();
            return Ok(());
        }
        let reason = format!(
            "before the workload, the kernel says that sched_ext is {} with `{}`",
            before.sched_ext_state, before.sched_ext_ops
        );
        Err(self.ejected(reason))
    }

    /// Whether it was active all the time, except during its reloads.
    pub fn verify_after(&mut self, after: &ActiveScheduler) -> Result<(), Outcome> {
        if let Some(outcome) = self.failure.take() {
            return Err(outcome);
        }
        if self.expected == *after {
            return Ok(());
        }
        let state = |active: &ActiveScheduler| {
            let (state, ops) = (&active.sched_ext_state, &active.sched_ext_ops);
            format!("{state} `{ops}` (number {})", active.sched_ext_enable_seq)
        };
        let reason = format!(
            "sched_ext was {} before the workload and {} after it",
            state(&self.expected),
            state(after)
        );
        Err(self.ejected(reason))
    }

    /// The kernel's reason if there is one, otherwise the observation.
    fn ejected(&mut self, observation: String) -> Outcome {
        match self.exit_info() {
            Some(exit) if exit.message.is_empty() => {
                Outcome::Ejected { reason: exit.reason, dump: exit.dump }
            }
            Some(exit) => {
                let reason = format!("{} ({})", exit.reason, exit.message);
                Outcome::Ejected { reason, dump: exit.dump }
            }
            None => Outcome::Ejected { reason: observation, dump: self.last_words() },
        }
    }

    /// Why the kernel ejected it. The reason is written at the end of unloading, so this waits for
    /// it.
    fn exit_info(&self) -> Option<ExitInfo> {
        if active().sched_ext_state == "disabling" {
            await_disabled();
        }
        let now = match &self.kind {
            LoadedFrom::File(loaded) => loaded.exit_info(),
            _ => None,
        };
        now.or_else(|| self.exit.clone()).filter(|exit| !exit.was_asked_for())
    }

    /// The output of an installed scheduler, which contains the kernel's reason.
    fn last_words(&mut self) -> String {
        match &mut self.kind {
            LoadedFrom::Program(running) => {
                running.poll();
                running.output()
            }
            _ => String::new(),
        }
    }

    /// Unloads it and waits until the kernel's own scheduler is active. Can be called twice.
    pub fn stop(&mut self) {
        let mut printed = None;
        match std::mem::replace(&mut self.kind, LoadedFrom::Builtin) {
            LoadedFrom::Builtin => return,
            LoadedFrom::File(mut loaded) => {
                printed = loaded.take_printed();
                self.exit = loaded.unload();
            }
            LoadedFrom::Program(running) => drop(running.finish()),
        }
        await_disabled();
        self.printed.extend(printed.into_iter().flat_map(|printed| printed.lines()));
        self.printed.truncate(LINES_MAX);
    }

    /// Unloads it and loads it again. Returns whether the workload may continue.
    pub fn reload(&mut self) -> bool {
        self.failure = self.try_reload().err();
        self.failure.is_none()
    }

    fn try_reload(&mut self) -> Result<(), Outcome> {
        self.verify_after(&active())?;
        let begin = Instant::now();
        self.stop();
        let middle = Instant::now();
        let mut expected = self.expected.clone();
        expected.sched_ext_enable_seq += 1;
        self.kind = load(&self.choice)?;
        if self.is_watched {
            self.watch();
        }
        self.exit = None;
        self.verify_before(&active())?;
        self.unload_ns.push((middle - begin).as_nanos() as u64);
        self.load_ns.push(middle.elapsed().as_nanos() as u64);
        self.expected = expected;
        Ok(())
    }

    pub fn measure_reloads(&self, measured: &mut Measured) {
        measured.metrics.push(Metric::number("reloads", "all", self.load_ns.len() as f64));
        for (name, samples) in [("unload_ns", &self.unload_ns), ("load_ns", &self.load_ns)] {
            measured.histograms.push(Histogram::from_samples(name, "all", samples));
        }
        measured.sort();
    }

    /// Its global variables now, if it is a file's.
    pub fn variables(&self) -> Vec<String> {
        match &self.kind {
            LoadedFrom::File(loaded) => loaded.variables(),
            LoadedFrom::Builtin | LoadedFrom::Program(_) => Vec::new(),
        }
    }

    /// Looks into it from now on.
    pub fn watch(&mut self) {
        self.is_watched = true;
        match &mut self.kind {
            LoadedFrom::File(loaded) => loaded.watch(),
            LoadedFrom::Program(_) => {
                self.told = Some(scx_stats::Client::open(Path::new(scx_stats::SOCKET)));
            }
            LoadedFrom::Builtin => {}
        }
    }

    /// What it did since then. A reload begins anew.
    pub fn inside(&mut self) -> Inside {
        let mut inside = match &self.kind {
            LoadedFrom::File(loaded) => loaded.inside(),
            LoadedFrom::Program(_) => {
                let why = "its program loads it, so its variables and maps are not looked into";
                let client = self.told.take().unwrap_or_else(|| Err("nobody asked it".into()));
                let (told, refusal) = match client.and_then(|mut client| client.numbers()) {
                    Ok(told) => (told, None),
                    Err(refusal) => (Vec::new(), Some(refusal)),
                };
                let missing = [why.to_owned()].into_iter().chain(refusal).collect();
                Inside { told, missing, ..Inside::default() }
            }
            LoadedFrom::Builtin => Inside::default(),
        };
        if !self.load_ns.is_empty() {
            inside.missing.push("what was before the last reload is not counted".into());
        }
        inside
    }

    /// Its output of `bpf_printk`; empty until it was stopped.
    pub fn printed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.printed)
    }
}

/// The object that the trial names, compiled from its source if there is no compiled one.
fn compiled(file: &str, sha256: &str) -> Result<compile::Compiled, String> {
    if let Some(compiled) = compile::find_object(sha256) {
        return Ok(compiled);
    }
    let source = compile::resolve(file, Path::new(".")).map_err(|error| error.to_string())?;
    if source.sha256 != sha256 {
        return Err(format!(
            "{} has changed since the trial was planned (sha256 {}, not {sha256}); plan it again",
            source.path, source.sha256
        ));
    }
    compile::compile(&source).map_err(|error| error.to_string())
}

fn refused(error: loader::LoadError) -> Outcome {
    let mut reason = error.message;
    for line in error.verifier_tail {
        reason.push('\n');
        reason.push_str(&line);
    }
    if error.unsupported { Outcome::Unsupported { reason } } else { Outcome::Failed { reason } }
}

/// Whether a scheduler was enabled since `before`. The state says so a moment earlier than the
/// number (`scx_enable_seq`), which would be taken for another scheduler's at the end of the trial.
fn is_newly_enabled(before: &ActiveScheduler, now: &ActiveScheduler) -> bool {
    let is_new = now.sched_ext_enable_seq > before.sched_ext_enable_seq;
    now.sched_ext_state == "enabled" && !now.sched_ext_ops.is_empty() && is_new
}

/// Starts an installed scheduler and waits until the kernel has enabled it.
fn start_program(command: &[String]) -> Result<Running, Outcome> {
    let failed = |reason| Outcome::Failed { reason };
    let before = active();
    if sched_ext("enable_seq").is_none() {
        let reason = "this kernel has no sched_ext, or hides /sys/kernel/sched_ext/enable_seq";
        return Err(Outcome::Unsupported { reason: reason.into() });
    }
    let mut running = Running::hold(command, &Policy::default(), None)
        .map_err(|error| failed(format!("starting `{}`: {error}", command.join(" "))))?;
    running.release();
    let (mut since, mut seen) = (Instant::now(), Duration::ZERO);
    loop {
        let ended = running.poll();
        if !ended && is_newly_enabled(&before, &active()) {
            return Ok(running);
        }
        let mut is_over = ended;
        if since.elapsed() > ENABLE {
            let used = process::cpu_time(running.pid() as libc::pid_t).unwrap_or_default();
            let has_worked = silence::has_worked(since.elapsed(), used.saturating_sub(seen));
            is_over |= !has_worked || used > VERIFY;
            (since, seen) = (Instant::now(), used);
        }
        if is_over {
            let finished = running.finish();
            let last = model::parsers::last(&finished.stdout, &finished.stderr);
            let what = if ended { "ended" } else { "was not enabled, and does nothing for it" };
            return Err(failed(format!("`{}` {what}{last}", command.join(" "))));
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_loaded_once_its_number_counts() {
        let active = |state: &str, seq| ActiveScheduler {
            sched_ext_state: state.into(),
            sched_ext_ops: if state == "enabled" { "x".into() } else { String::new() },
            sched_ext_enable_seq: seq,
            fair: String::new(),
        };
        let before = active("disabled", 3);
        assert!(!is_newly_enabled(&before, &active("enabling", 3)));
        // The state changes before the number does.
        assert!(!is_newly_enabled(&before, &active("enabled", 3)));
        assert!(is_newly_enabled(&before, &active("enabled", 4)));
    }
}
