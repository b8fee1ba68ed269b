// SPDX-License-Identifier: GPL-2.0-only
//! The witnesses, and the costs that explain their times.
//!
//! On a machine of several CPUs every witness is kept on one of them, so that the same costs show;
//! some of them run a second time, free to use all CPUs. There the interrupt that wakes an idle CPU
//! shows too.
//!
//! One cost is known without a witness, see [`DEFINED`].
//!
//! What is not here: costs that virtual time cannot show (caches, the disk, and on one CPU the
//! interrupts between CPUs). They keep their values, and the table says that they are guesses.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use fairground::execution::objects::{Natives, Sources, native_of};
use model::{
    Backend, Contestant, Costs, Experiment, Machine, Policy, PolicyClass, Record, SchedulerChoice,
    Workload,
};
use serde::Deserialize;

use crate::{costs as table, least_squares, times};

/// The costs that the witnesses show, by their names in machine files. The last one shows only on
/// several CPUs.
const SEEN: [&str; 27] = [
    "schedule_ns",
    "context_switch_ns",
    "wakeup_ns",
    "idle_exit_ns",
    "timer_ns",
    "timer_set_ns",
    "kick_ns",
    "tick_ns",
    "callback_ns",
    "look_ns",
    "queue_lock_ns",
    "syscall_ns",
    "write_ns",
    "read_ns",
    "file_ns",
    "page_ns",
    "copy_kib_ns",
    "file_kib_ns",
    "touch_ns",
    "fork_ns",
    "exec_ns",
    "exit_ns",
    "process_start_ns",
    "process_end_ns",
    "step_ns",
    "job_ns",
    "ipi_ns",
];

/// The costs that virtual time defines: the player writes memory with one instruction for each
/// eight bytes, and an instruction is a nanosecond.
pub const DEFINED: [(&str, u64); 1] = [("fill_kib_ns", 1024 / 8)];

/// The witnesses that also run free where there are several CPUs.
const FREE: [&str; 5] = ["pingpong", "semaphores", "forks", "bursts", "execs"];

/// The costs that show on a machine with `cpus` CPUs.
pub fn seen(cpus: u32) -> &'static [&'static str] {
    if cpus > 1 { &SEEN } else { &SEEN[..SEEN.len() - 1] }
}

/// The schedulers under which witnesses run: one with the least work, and one that has every
/// callback. The policy shows the kernel without sched_ext.
const SCHEDULERS: [&str; 2] = ["fifo", "vtime"];

#[derive(Deserialize)]
struct Witnesses {
    workload: Vec<Workload>,
}

pub fn experiment(machine: &Machine, kernel: &str) -> Result<(Experiment, Sources)> {
    let witnesses: Witnesses =
        toml::from_str(include_str!("witnesses.toml")).context("the built-in witnesses")?;
    let mut sources = Sources::new();
    let mut contestants = vec![contestant("SCHED_FIFO", kernel, real_time())];
    for name in SCHEDULERS {
        let source = compile::resolve(name, Path::new(""))?;
        let (file, sha256) = (name.to_owned(), source.sha256.clone());
        let choice = SchedulerChoice::file(file, sha256.clone());
        sources.insert(sha256, source);
        contestants.push(contestant(name, kernel, choice));
    }
    let experiment = Experiment {
        name: "calibrate".into(),
        question: "What does the kernel's work cost?".into(),
        backends: vec![Backend::Vm],
        baseline: SCHEDULERS[0].into(),
        contestants,
        workloads: on(machine.cpus, witnesses.workload),
        machines: vec![machine.clone()],
        blocks: 1,
        trials_per_boot: 1,
        timeout_ms: 60_000,
        probes: true,
        ..Experiment::default()
    };
    Ok((experiment, sources))
}

/// The witnesses for a machine with `cpus` CPUs.
fn on(cpus: u32, witnesses: Vec<Workload>) -> Vec<Workload> {
    if cpus == 1 {
        return witnesses;
    }
    let free = |witness: &&Workload| FREE.contains(&witness.name.as_str());
    let free: Vec<Workload> = witnesses
        .iter()
        .filter(free)
        .map(|witness| Workload { name: format!("{}_free", witness.name), ..witness.clone() })
        .collect();
    let kept = witnesses.into_iter().map(|mut witness| {
        witness.tasks.iter_mut().for_each(|group| group.affinity = vec![0]);
        witness
    });
    kept.chain(free).collect()
}

fn contestant(name: &str, kernel: &str, scheduler: SchedulerChoice) -> Contestant {
    Contestant {
        name: name.into(),
        kernel: Some(kernel.into()),
        scheduler,
        stands_for_kernel: false,
    }
}

fn real_time() -> SchedulerChoice {
    let policy = Policy { class: PolicyClass::Fifo, priority: 50, ..Policy::default() };
    SchedulerChoice::Policy { policy }
}

/// Fitted costs, and how well they explain the measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The costs; those that no witness shows and nothing defines are unchanged.
    pub costs: Costs,
    /// The names of the costs that the witnesses show.
    pub seen: &'static [&'static str],
    /// The number of times that the costs were fitted to.
    pub times: usize,
    /// The mean size of their relative errors.
    pub mean_error: f64,
}

pub fn fit(machine: &Machine, records: &[Record], natives: &Natives) -> Result<Fit> {
    let (start, seen_costs) = (&machine.costs, seen(machine.cpus));
    let bad = records.iter().find(|record| !record.outcome.is_ok());
    if let Some(record) = bad {
        let (name, why) = (&record.trial.workload.name, record.outcome.reason());
        anyhow::bail!("the witness {name} ended as {}: {why}", record.outcome.word());
    }
    let first = simulated(start, records, natives);
    let seen = times::of(records);
    let keys: Vec<&String> = seen.keys().filter(|key| first.contains_key(*key)).collect();
    let measured: Vec<f64> = keys.iter().map(|key| seen[*key]).collect();
    // A time that is not there with some costs is as wrong as one that is twice as long.
    let pick = |times: BTreeMap<String, f64>, keys: &[&String]| -> Vec<f64> {
        keys.iter().map(|key| times.get(*key).copied().unwrap_or(2.0 * seen[*key])).collect()
    };
    let model = |values: &[u64]| {
        pick(simulated(&table::with(start, seen_costs, values), records, natives), &keys)
    };
    let values = least_squares::fit(&table::values(start, seen_costs), &measured, model);
    let (defined, by_definition) = (DEFINED.map(|(name, _)| name), DEFINED.map(|(_, ns)| ns));
    let costs = table::with(&table::with(start, seen_costs, &values), &defined, &by_definition);
    let times = pick(simulated(&costs, records, natives), &keys);
    let errors = times.iter().zip(&measured).map(|(time, measured)| (time / measured - 1.0).abs());
    let mean_error = errors.sum::<f64>() / times.len().max(1) as f64;
    Ok(Fit { costs, seen: seen_costs, times: times.len(), mean_error })
}

/// The same trials in the simulator, in this process: the schedulers are our own.
fn simulated(costs: &Costs, records: &[Record], natives: &Natives) -> BTreeMap<String, f64> {
    let simulate = |record: &Record| {
        let mut trial = record.trial.clone();
        (trial.backend, trial.machine.costs) = (Backend::MODEL, *costs);
        sim::native::run(
            &trial,
            native_of(&trial, natives).expect("our own schedulers are simulated"),
        )
    };
    times::of(&records.iter().map(simulate).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witnesses(cpus: u32) -> Vec<Workload> {
        let machine = Machine { cpus, ..Machine::default() };
        experiment(&machine, "7").expect("an experiment").0.workloads
    }

    #[test]
    fn several_cpus_have_witnesses_on_one_and_on_all_of_them() {
        let (one, four) = (witnesses(1), witnesses(4));
        assert_eq!(four.len(), one.len() + FREE.len());
        let is_free =
            |witness: &Workload| witness.tasks.iter().all(|group| group.affinity.is_empty());
        assert!(one.iter().all(is_free));
        let (kept, free) = four.split_at(one.len());
        assert!(!kept.iter().any(is_free) && free.iter().all(is_free));
        assert!(seen(4).contains(&"ipi_ns") && !seen(1).contains(&"ipi_ns"));
    }
}
