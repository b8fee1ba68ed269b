// SPDX-License-Identifier: GPL-2.0-only
//! Runs a trial in this process and makes its record.

use std::collections::BTreeMap;
use std::rc::Rc;

use model::{ActiveScheduler, Outcome, Provenance, Record, SchedulerChoice, Trial};

use crate::core::Core;
use crate::core::memory::TaskLayout;
use crate::core::task::Class;
use crate::ops::Ops;

/// Runs a trial under a scheduler that is a table of callbacks; `None` for policies of the kernel.
/// `layout` is that of the scheduler's `struct task_struct`.
pub fn run_ops(trial: &Trial, ops: Option<Rc<dyn Ops>>, layout: TaskLayout) -> Record {
    let mut core = match Core::new(trial, layout) {
        Ok(core) => core,
        Err(reason) => return without(trial, Outcome::Unsupported { reason }),
    };
    let name = ops.as_ref().map(|ops| ops.name()).unwrap_or_default();
    if ops.is_none() && core.needs_fair_class() {
        let reason = unsupported(&trial.contestant.scheduler);
        return without(trial, Outcome::Unsupported { reason });
    }
    core.perform_trial(ops);
    let outcome = core.outcome();
    let mut record = Record::without_measurement(trial.clone(), outcome, provenance(trial, &name));
    if core.exit.is_some() {
        record.provenance.scheduler_after =
            ActiveScheduler { sched_ext_ops: String::new(), ..disabled(&record.provenance) };
    }
    record.measured = core.measured();
    play::sums::add_totals(&mut record.measured, &trial.workload.totals);
    record.trace = core.finish_trace();
    record
}

/// The record of a trial that could not be measured.
pub fn without(trial: &Trial, outcome: Outcome) -> Record {
    Record::without_measurement(trial.clone(), outcome, provenance(trial, ""))
}

impl Core {
    /// Loads the scheduler, plays the workload, and unloads the scheduler.
    pub fn perform_trial(&mut self, ops: Option<Rc<dyn Ops>>) {
        let main = self.add_main();
        if let Some(ops) = ops {
            self.load(ops);
        }
        self.refused = self.exit.is_some();
        if !self.refused {
            self.create_tasks(main);
            self.start_time();
            self.run();
        }
        self.close_measurement();
        if self.exit.is_some() {
            self.dump = self.dump();
        }
        self.unload();
    }

    /// Events made so far.
    pub fn events_handled(&self) -> u64 {
        self.events.made()
    }

    /// Context switches so far, to and from idle included.
    pub fn switches(&self) -> u64 {
        self.recorder.switches
    }

    fn outcome(&self) -> Outcome {
        if let Some(info) = &self.exit {
            let mut reason = match info.message.is_empty() {
                true => info.reason.clone(),
                false => format!("{} ({})", info.reason, info.message),
            };
            if !self.exit_place.is_empty() {
                reason = format!("{reason}, in {}", self.exit_place);
            }
            if self.refused {
                let reason = format!("the kernel does not enable the scheduler: {reason}");
                return Outcome::Failed { reason };
            }
            return Outcome::Ejected { reason, dump: self.dump.clone() };
        }
        if let Some(reason) = &self.recorder.refusal {
            return Outcome::Failed { reason: reason.clone() };
        }
        if self.over && !self.timed_out {
            return Outcome::Ok;
        }
        let (left, limit) = (self.live_tasks, self.time_limit_ns / 1_000_000);
        Outcome::Timeout { reason: format!("{left} tasks had not ended after {limit} ms") }
    }

    /// Whether a task would need the fair class, which is not modelled.
    fn needs_fair_class(&self) -> bool {
        self.script
            .groups
            .iter()
            .any(|group| crate::core::task::class_of(&group.policy) == Class::Ext)
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
    ActiveScheduler { sched_ext_state: "disabled".into(), ..provenance.scheduler_before.clone() }
}

fn provenance(trial: &Trial, ops: &str) -> Provenance {
    let state = if ops.is_empty() { "disabled" } else { "enabled" };
    let active = ActiveScheduler {
        sched_ext_state: state.into(),
        sched_ext_ops: ops.into(),
        sched_ext_enable_seq: u64::from(!ops.is_empty()),
        fair: String::new(),
    };
    let facts = [("HZ", trial.machine.hz.to_string()), ("sched_ext", "7.x, simulated".to_owned())];
    Provenance {
        fairground: env!("CARGO_PKG_VERSION").into(),
        kernel_release: "simulated".into(),
        kernel_facts: BTreeMap::from(facts.map(|(name, value)| (name.to_owned(), value))),
        accelerator: "none".into(),
        cpu_model: "simulated".into(),
        cpus: trial.machine.cpus,
        boot_id: trial.boot.to_string(),
        scheduler_before: active.clone(),
        scheduler_after: active,
        probes: "exact counts".into(),
        ..Provenance::default()
    }
}
