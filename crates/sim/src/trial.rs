// SPDX-License-Identifier: GPL-2.0-only
//! Runs a trial in this process and makes its record.

use std::rc::Rc;

use model::tables::{NO_CLAMPS, note_on_groups};
use model::{ActiveScheduler, Outcome, Provenance, Record, SchedulerChoice, Trial};

use crate::core::kernel::{Core, ExitInfo, Ops, OpsPresent};
use crate::core::memory::TaskLayout;
use crate::core::task::{Class, class_of};
use crate::races::Races;

/// Runs a trial under a scheduler that is a table of callbacks; `None` for policies of the kernel.
/// `layout` is that of the scheduler's `struct task_struct`.
pub fn run_ops(trial: &Trial, ops: Option<Rc<dyn Ops>>, layout: TaskLayout) -> Record {
    run_with(trial, ops, layout).0
}

/// The same, and the races that were seen, where callbacks interleave.
pub fn run_scheduler(
    trial: &Trial,
    ops: Rc<dyn Ops>,
    layout: TaskLayout,
) -> (Record, Option<Box<Races>>) {
    run_with(trial, Some(ops), layout)
}

fn run_with(
    trial: &Trial,
    ops: Option<Rc<dyn Ops>>,
    layout: TaskLayout,
) -> (Record, Option<Box<Races>>) {
    let mut core = match Core::new(trial, layout) {
        Ok(core) => core,
        Err(reason) => return (without(trial, Outcome::Unsupported { reason }), None),
    };
    let name = ops.as_ref().map(|ops| ops.name()).unwrap_or_default();
    let note =
        ops.as_ref().and_then(|ops| note_on_groups(trial, is_told_of_groups(&ops.present())));
    if ops.is_none() && core.needs_fair_class() {
        let reason = unsupported(&trial.contestant.scheduler);
        return (without(trial, Outcome::Unsupported { reason }), None);
    }
    let outcome = core.perform_trial(ops);
    let mut record = Record::without_measurement(trial.clone(), outcome, provenance(trial, &name));
    if core.ext.exit().is_some() {
        record.provenance.scheduler_after =
            ActiveScheduler { sched_ext_ops: String::new(), ..disabled(&record.provenance) }.into();
    }
    record.provenance.notes.extend(note);
    record.provenance.notes.extend(note_on_clamps(trial));
    record.measured = core.measured();
    model::play::sums::add_totals(&mut record.measured, &trial.workload.totals);
    record.trace = core.finish_trace();
    (record, core.races.take())
}

/// Whether it has one of [`GROUP_CALLBACKS`](model::tables::GROUP_CALLBACKS).
fn is_told_of_groups(has: &OpsPresent) -> bool {
    has.cgroup_init || has.cgroup_move || has.cgroup_set_weight
}

/// DIVERGES: clamps of the utilisation have no effect. A `task_struct` of the headers has none, and
/// all CPUs have one speed.
fn note_on_clamps(trial: &Trial) -> Option<String> {
    let reason = "simulated CPUs have one speed, and their kernel no CONFIG_UCLAMP_TASK";
    trial.workload.has_clamps().then(|| format!("{NO_CLAMPS}: {reason}"))
}

/// The record of a trial that could not be measured.
pub fn without(trial: &Trial, outcome: Outcome) -> Record {
    Record::without_measurement(trial.clone(), outcome, provenance(trial, ""))
}

impl Core {
    /// Loads the scheduler, plays the workload, and unloads the scheduler.
    pub fn perform_trial(&mut self, ops: Option<Rc<dyn Ops>>) -> Outcome {
        self.add_main();
        self.add_workers();
        if let Some(ops) = ops {
            self.load(ops);
        }
        let is_refused = self.ext.exit().is_some();
        if !is_refused {
            self.start_main();
            if self.races.is_some() { self.run_interleaved() } else { self.run() }
        }
        self.close_measurement();
        Rc::clone(&self.ops).workload_has_ended(self);
        self.outlast();
        let outcome = self.outcome(is_refused);
        self.unload();
        outcome
    }

    /// Context switches so far, to and from idle included.
    pub fn switches(&self) -> u64 {
        self.recorder.switches
    }

    fn outcome(&self, is_refused: bool) -> Outcome {
        if let Some(info) = self.ext.exit() {
            let reason = self.exit_reason(info);
            if self.ext.lacks() {
                return Outcome::Unsupported { reason };
            }
            if is_refused {
                let reason = format!("the kernel does not enable the scheduler: {reason}");
                return Outcome::Failed { reason };
            }
            return Outcome::Ejected { reason, dump: self.dump() };
        }
        if let Some(reason) = &self.recorder.refusal {
            return Outcome::Unsupported { reason: reason.clone() };
        }
        self.workload.timeout().map_or(Outcome::Ok, |reason| Outcome::Timeout { reason })
    }

    fn exit_reason(&self, info: &ExitInfo) -> String {
        let mut reason = info.reason.clone();
        if !info.message.is_empty() {
            reason = format!("{reason} ({})", info.message);
        }
        match self.ext.exit_place() {
            "" => reason,
            place => format!("{reason}, in {place}"),
        }
    }

    /// Whether a task would need the fair class, which is not modelled.
    fn needs_fair_class(&self) -> bool {
        self.workload.groups().iter().any(|group| class_of(&group.policy) == Class::Ext)
    }
}

fn unsupported(choice: &SchedulerChoice) -> String {
    let what = match choice {
        SchedulerChoice::Kernel => "the kernel's fair scheduler",
        SchedulerChoice::Program { .. } => "an installed program",
        _ => "a workload with SCHED_OTHER tasks without a sched_ext scheduler",
    };
    format!(
        "the simulator cannot run {what}; use the vm backend, or a .bpf.c file such as vtime in \
         its place"
    )
}

fn disabled(provenance: &Provenance) -> ActiveScheduler {
    ActiveScheduler { sched_ext_state: "disabled".into(), ..(*provenance.scheduler_before).clone() }
}

fn provenance(trial: &Trial, ops: &str) -> Provenance {
    let state = if ops.is_empty() { "disabled" } else { "enabled" };
    let active = ActiveScheduler {
        sched_ext_state: state.into(),
        sched_ext_ops: ops.into(),
        sched_ext_enable_seq: u64::from(!ops.is_empty()),
        fair: String::new(),
    };
    let mut facts =
        vec![("HZ", trial.machine.hz.to_string()), ("sched_ext", "7.x, simulated".to_owned())];
    if trial.machine.autogroup {
        facts.push(("autogroup", "1".into()));
    }
    Provenance {
        fairground: env!("CARGO_PKG_VERSION").into(),
        kernel_release: "simulated".into(),
        kernel_facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        accelerator: "none".into(),
        cpu_model: "simulated".into(),
        cpus: trial.machine.cpus,
        boot_id: trial.boot.to_string(),
        scheduler_before: active.clone().into(),
        scheduler_after: active.into(),
        probes: "exact counts".into(),
        ..Provenance::default()
    }
}
