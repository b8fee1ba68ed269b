// SPDX-License-Identifier: GPL-2.0-only
//! What `live` runs: on the running kernel a contestant is what really runs there, or it is left
//! out by name before anything runs.

use model::{Contestant, SchedulerChoice};

use super::contestants::Entrant;
use super::{SpecError, contestant};

/// The kernel that runs here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningKernel {
    /// `6.18.44-amd64`
    pub release: String,
    /// Why this process cannot load a sched_ext scheduler here; `None` if it can.
    pub no_sched_ext: Option<String>,
}

impl RunningKernel {
    /// Whether a kernel's name in an experiment, such as `6.12` or `7`, means this one.
    pub fn is(&self, kernel: &str) -> bool {
        let rest = self.release.strip_prefix(kernel);
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
        kernel.starts_with(|c: char| c.is_ascii_digit()) && rest.is_some_and(is_whole)
    }

    /// The option that names this kernel's own scheduler: `kernel:6.18`.
    pub fn option(&self) -> String {
        let numbers: Vec<&str> = self.release.split(['.', '-', '+']).take(2).collect();
        format!("kernel:{}", numbers.join("."))
    }

    /// Why a contestant is not what runs here; `None` if it is, or can be loaded.
    pub fn why_not(&self, contestant: &Contestant) -> Option<String> {
        let kernel = contestant.kernel.as_deref()?;
        let is_other = contestant.scheduler == SchedulerChoice::Kernel && !self.is(kernel);
        is_other.then(|| format!("Linux {} runs here, not {kernel}", self.release))
    }
}

/// What `live` leaves out of an experiment, and a sentence about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    pub left_out: Vec<String>,
    pub note: Option<String>,
}

/// Refuses what the user asked for and this kernel is not or cannot load, and leaves out other
/// kernels of an experiment's file.
pub fn admit(entrants: &[Entrant], running: &RunningKernel) -> Result<Admitted, SpecError> {
    for entrant in entrants.iter().filter(|entrant| entrant.is_option()) {
        refuse_other_kernel(entrant, running)?;
    }
    let (other, here): (Vec<&Entrant>, Vec<&Entrant>) =
        entrants.iter().partition(|entrant| running.why_not(&entrant.contestant).is_some());
    let left_out = names(&other);
    refuse_unloadable(&here, running)?;
    let (release, own) = (&running.release, running.option());
    let note = (!left_out.is_empty()).then(|| {
        let has_own = here.iter().any(|e| e.contestant.scheduler == SchedulerChoice::Kernel);
        let more =
            if has_own { String::new() } else { format!("; --scheduler {own} adds its own") };
        format!("left out on live: {}; Linux {release} runs here{more}", left_out.join(", "))
    });
    Ok(Admitted { left_out, note })
}

fn names(entrants: &[&Entrant]) -> Vec<String> {
    entrants.iter().map(|entrant| entrant.contestant.name.clone()).collect()
}

/// An option that names a kernel means it, whatever scheduler runs on it.
fn refuse_other_kernel(entrant: &Entrant, running: &RunningKernel) -> Result<(), SpecError> {
    let is_kernel = entrant.contestant.scheduler == SchedulerChoice::Kernel;
    let kernel = if is_kernel { &entrant.contestant.kernel } else { &entrant.kernel };
    let Some(kernel) = kernel.as_ref().filter(|kernel| !running.is(kernel)) else { return Ok(()) };
    let own = if is_kernel { running.option() } else { format!("no @{kernel}") };
    let message = format!("Linux {} runs here, not {kernel}", running.release);
    let error = SpecError { message, ..entrant.origin.clone() };
    Err(error.hint(format!("write {own}, or --on vm to boot {kernel}")))
}

/// A kernel that loads no scheduler makes an experiment about them pointless.
fn refuse_unloadable(here: &[&Entrant], running: &RunningKernel) -> Result<(), SpecError> {
    let Some(why) = &running.no_sched_ext else { return Ok(()) };
    let is_loaded = |entrant: &&&Entrant| entrant.contestant.scheduler.is_sched_ext();
    let loaded: Vec<&Entrant> = here.iter().filter(is_loaded).copied().collect();
    if loaded.is_empty() {
        return Ok(());
    }
    let others = here.iter().filter(|entrant| !entrant.contestant.scheduler.is_sched_ext());
    let mut run: Vec<String> =
        others.filter_map(|entrant| contestant::option(&entrant.contestant, true)).collect();
    if !run.contains(&running.option()) {
        run.insert(0, running.option());
    }
    let message = format!("{why}, and {} would have to be loaded", names(&loaded).join(", "));
    let hint = format!("write --on sim or --on vm; what runs here: --scheduler {}", run.join(", "));
    Err(SpecError::new("--on live", message).hint(hint))
}
