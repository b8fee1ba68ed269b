// SPDX-License-Identifier: GPL-2.0-only
//! Whether a scheduler survived a trial: failures that no policy excuses.
//!
//! A scheduler may be slow or unfair; that is for [`mod@crate::compare`]. Here it fails if it was
//! ejected or the trial never ended, if a task was lost, if it did not come back after a reload, or
//! if a CPU idled for long while a task that may use it waited.

use model::{Record, Step, TaskGroup, Workload};

use crate::explain::{Chosen, explain};

/// The longest time for which a CPU may idle while a task waits in the simulator, ns. A correct
/// scheduler needs at most about 0.6 ms, for the wake-ups at a common start on 16 CPUs; one that
/// forgets to wake a CPU leaves it idle for at least a tick (4 ms).
pub const IDLE_SIMULATED_NS: u64 = 1_000_000;

/// The same on a real kernel, ns. A virtual CPU that its host does not schedule looks idle, or
/// wakes late, for tens of milliseconds. A forgotten CPU has no tick and sleeps until an unrelated
/// wake-up.
pub const IDLE_REAL_NS: u64 = 100_000_000;

/// The factor by which it may exceed the time under the kernel's own scheduler.
const IDLE_OF_CONTROL: u64 = 2;

/// The scheduler's failures in a trial, a sentence each; none if it survived. `control_ns`: the
/// longest time of [`idle_ns`] under the kernel's own scheduler on the same machine, 0 if unknown.
pub fn faults(record: &Record, control_ns: u64) -> Vec<String> {
    if !record.outcome.is_ok() {
        return vec![format!("{}: {}", record.outcome.word(), record.outcome.reason())];
    }
    let mut faults: Vec<String> =
        record.trial.workload.tasks.iter().filter_map(|group| lost(record, group)).collect();
    faults.extend(not_reloaded(record));
    faults.extend(idle(record, control_ns));
    faults
}

/// The longest time for which a CPU idled while a task that may use it waited, ns. `None` if
/// unknown, because the trace is missing or incomplete, or because it does not show which tasks may
/// run where: tasks change their affinity, or real-time tasks hold CPUs whose own queues wait for
/// them.
pub fn idle_ns(record: &Record) -> Option<u64> {
    let trace = record.trace.as_ref().filter(|trace| trace.lost == 0)?;
    if !is_free(&record.trial.workload) || trace.events.is_empty() {
        return None;
    }
    let worst = explain(record, &Chosen::each(0))?.idle.worst;
    Some(worst.iter().map(|episode| episode.to_ns - episode.from_ns).max().unwrap_or(0))
}

/// Whether every task may use every CPU at all times.
fn is_free(workload: &Workload) -> bool {
    let is_fair = |group: &TaskGroup| group.policy.is_none_or(|policy| policy.class.is_fair());
    let groups = &workload.tasks;
    groups.iter().all(|group| is_fair(group) && !restricts(&group.steps))
}

fn restricts(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Affinity(_) | Step::Policy(_) => true,
        other => restricts(other.inner()),
    })
}

/// Tasks that should have ended and have not. In most workloads the trial's end shows this too,
/// because the player waits for every task.
fn lost(record: &Record, group: &TaskGroup) -> Option<String> {
    let ends = group.repeat.is_some() && group.count > 0 && !group.template;
    if !ends || record.trial.workload.duration_us.is_some() {
        return None;
    }
    let ended = record.measured.histogram("turnaround_ns", &group.name).map_or(0, |h| h.count);
    let missing = u64::from(group.count).saturating_sub(ended);
    (missing > 0).then(|| format!("{missing} of {} tasks of {} are lost", group.count, group.name))
}

fn not_reloaded(record: &Record) -> Option<String> {
    let asked = record.trial.workload.reloads;
    let done = record.measured.value("reloads", "all").unwrap_or(0.0);
    (f64::from(asked) > done).then(|| format!("{done} of {asked} reloads took place"))
}

fn idle(record: &Record, control_ns: u64) -> Option<String> {
    let most_ns = if record.trial.backend.is_model() {
        IDLE_SIMULATED_NS
    } else {
        IDLE_REAL_NS.max(control_ns.saturating_mul(IDLE_OF_CONTROL))
    };
    let idle_ns = idle_ns(record).filter(|&idle_ns| idle_ns > most_ns)?;
    let ms = |ns: u64| ns as f64 / 1e6;
    Some(format!(
        "a CPU idled for {:.1} ms while a task waited that could have used it ({:.1} ms are \
         allowed)",
        ms(idle_ns),
        ms(most_ns)
    ))
}
