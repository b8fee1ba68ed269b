// SPDX-License-Identifier: GPL-2.0-only
//! A trial under a native scheduler: in this process, or supervised in one of its own.

use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use compile::native::interface::{KFUNCS, MEMBERS, Named, OPS_FLAGS, Support};
use compile::native::{Native, find_line};
use model::inside::Inside;
use model::tables::note_on_sessions;
use model::{ActiveScheduler, CpuFacts, Measured, Outcome, Record, Shared, Trace, Trial};
use serde::{Deserialize, Serialize};

use super::callbacks::Settings;
use super::isolate::{Patience, ProcessEnd, isolated};
use super::scheduler::{Host, NativeScheduler};
use super::{cell, fork_server, interleaved};
use crate::core::memory::TaskLayout;
use crate::ext::watchdog::STALL;
use crate::trial::{run_ops, run_scheduler, without};

/// Runs a trial in this process; without a scheduler, under the kernel's own policies. A scheduler
/// that crashes ends the process: see [`supervise`].
pub fn run(trial: &Trial, scheduler: Option<&Native>) -> Record {
    let Some(native) = scheduler else {
        return run_ops(trial, None, TaskLayout::compact());
    };
    if trial.races && !crate::races::ARE_POSSIBLE {
        let reason = "callbacks can interleave on x86-64 alone".into();
        return without(trial, Outcome::Unsupported { reason });
    }
    let host = Host {
        cpus: CpuFacts::of(&trial.machine),
        hz: trial.machine.hz,
        seed: trial.seed.derive("bpf_get_prandom_u32"),
    };
    match (trial.races, trial.trace) {
        (true, _) => run_as::<true, true>(trial, native, host),
        (false, true) => run_as::<false, true>(trial, native, host),
        (false, false) => run_as::<false, false>(trial, native, host),
    }
}

fn run_as<const RACES: bool, const INSIDE: bool>(
    trial: &Trial,
    native: &Native,
    host: Host,
) -> Record {
    let knobs = trial.contestant.scheduler.values();
    let scheduler = match NativeScheduler::<RACES, INSIDE>::load(native, &knobs, host) {
        Ok(scheduler) => Rc::new(scheduler),
        Err(reason) => return without(trial, Outcome::Unsupported { reason }),
    };
    let (mut record, races) = run_scheduler(trial, scheduler.clone(), scheduler.layout());
    if let Some(races) = races {
        record.outcome = interleaved::told(record.outcome, &scheduler.said_of(native, &races));
    }
    record.provenance.printed = scheduler.notes();
    if trial.trace {
        (record.provenance.inside, record.provenance.variables) =
            scheduler.watch.borrow_mut().take_found();
    }
    record.provenance.notes.extend(left_out(native, scheduler.settings()));
    record.provenance.notes.extend(note_on_sessions(trial, native.facts.sees_sessions));
    record
}

/// What the scheduler has or calls and what has no effect here, and why.
fn left_out(native: &Native, settings: &Settings) -> Vec<String> {
    let harmless = |(name, support): &Named| match support {
        Support::Harmless(why) => Some((*name, *why)),
        _ => None,
    };
    let kfuncs = KFUNCS.iter().filter_map(harmless);
    let called = kfuncs.filter(|(name, _)| native.facts.calls.iter().any(|call| call == name));
    let called = called.map(|(name, why)| format!("{name}(): {why}"));
    let members = MEMBERS.iter().filter_map(harmless);
    let members = members.filter(|(name, _)| settings.without_effect.iter().any(|own| own == name));
    let members = members.map(|(name, why)| format!("ops.{name}: {why}"));
    let flags = OPS_FLAGS.iter().filter(|flag| settings.flags & flag.1 != 0);
    let flags = flags.filter_map(|flag| harmless(&(flag.0, flag.2)));
    members.chain(flags.map(|(name, why)| format!("{name}: {why}"))).chain(called).collect()
}

/// The lab has failed: there is no record of the trial, and its scheduler is not to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trial {trial}: {what}")]
pub struct LabFault {
    pub trial: String,
    pub what: String,
}

/// What a trial's process says. Which trial it was, and everything else about the record, the
/// parent knows better: the scheduler's code can write what it likes here.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    trial: String,
    outcome: Outcome,
    measured: Measured,
    trace: Option<Trace>,
    before: Shared<ActiveScheduler>,
    after: Shared<ActiveScheduler>,
    printed: Vec<String>,
    #[serde(default)]
    variables: Vec<String>,
    #[serde(default)]
    inside: Inside,
    notes: Vec<String>,
}

impl Answer {
    fn of(record: Record) -> Answer {
        let provenance = record.provenance;
        Answer {
            trial: record.trial.id(),
            outcome: record.outcome,
            measured: record.measured,
            trace: record.trace,
            before: provenance.scheduler_before,
            after: provenance.scheduler_after,
            printed: provenance.printed,
            variables: provenance.variables,
            inside: provenance.inside,
            notes: provenance.notes,
        }
    }

    fn record(self, trial: &Trial) -> Record {
        let mut record = without(trial, self.outcome);
        (record.measured, record.trace) = (self.measured, self.trace);
        let provenance = &mut record.provenance;
        (provenance.scheduler_before, provenance.scheduler_after) = (self.before, self.after);
        (provenance.printed, provenance.variables) = (self.printed, self.variables);
        (provenance.inside, provenance.notes) = (self.inside, self.notes);
        record
    }
}

/// Runs a trial in a process of its own and in the sandbox, so that a faulty or hostile scheduler
/// costs this trial only. If `stop` becomes true, the outcome is `failed: interrupted`.
///
/// # Errors
/// There is no process, or no sandbox.
pub fn supervise(
    trial: &Trial,
    scheduler: Option<&Native>,
    timeout: Duration,
    stop: &AtomicBool,
) -> Result<Record, LabFault> {
    let fault = |what| LabFault { trial: trial.id(), what };
    let cell = cell::shared().map_err(|why| fault(format!("no sandbox: {why}")))?;
    let patience = Patience { timeout, answer: cell::longest_answer(trial) };
    if let Some(reason) = scheduler.and_then(host_instruction) {
        return Ok(without(trial, Outcome::Failed { reason }));
    }
    let ending = match fork_server::started() {
        Some(server) => server.isolated(trial, scheduler, patience, stop),
        None => {
            let confinement = Some((cell, cell::limits(trial, timeout)));
            isolated(patience, stop, confinement, || answer(trial, scheduler))
        }
    };
    record(ending, trial, scheduler, timeout)
}

/// Why a scheduler is not run: it has an instruction that no sandbox can forbid.
fn host_instruction(native: &Native) -> Option<String> {
    let found = native.facts.host_instruction.as_ref()?;
    let line = find_line(&native.object, found.address);
    let place = line.map(|line| format!(" ({}:{})", line.file, line.line)).unwrap_or_default();
    Some(format!(
        "the scheduler has the instruction {}, whose result depends on the host, which the \
         sandbox forbids{place}",
        found.name
    ))
}

/// What a trial's process sends.
pub(super) fn answer(trial: &Trial, scheduler: Option<&Native>) -> Vec<u8> {
    serde_json::to_vec(&Answer::of(run(trial, scheduler))).unwrap_or_default()
}

/// The record of a trial whose process has ended.
fn record(
    ending: io::Result<ProcessEnd>,
    trial: &Trial,
    scheduler: Option<&Native>,
    timeout: Duration,
) -> Result<Record, LabFault> {
    let fault = |what| LabFault { trial: trial.id(), what };
    let ending = ending.map_err(|error| fault(format!("no process for it: {error}")))?;
    let ProcessEnd::Answer(bytes) = ending else {
        return Ok(without(trial, outcome(ending, scheduler, timeout)));
    };
    match serde_json::from_slice::<Answer>(&bytes) {
        Ok(answer) if answer.trial == trial.id() => {
            let mut record = answer.record(trial);
            let knobs = trial.contestant.scheduler.values();
            let note = scheduler.and_then(|native| native.facts.note(&knobs));
            record.provenance.notes.extend(note);
            record.outcome = without_user_space(record.outcome, scheduler);
            Ok(record)
        }
        Ok(answer) => {
            let reason = format!("it answered for trial {}", printable(&answer.trial));
            Ok(without(trial, Outcome::Failed { reason: reason + ", which the scheduler forged" }))
        }
        Err(error) => {
            let reason = format!("a damaged answer, which the scheduler may have forged: {error}");
            Ok(without(trial, Outcome::Failed { reason: printable(&reason) }))
        }
    }
}

/// A scheduler whose user space decides is not to blame for tasks that wait for it.
fn without_user_space(outcome: Outcome, scheduler: Option<&Native>) -> Outcome {
    let map = scheduler.and_then(|native| native.facts.decided_elsewhere());
    match (outcome, map) {
        (Outcome::Ejected { reason, .. }, Some(map)) if reason.starts_with(STALL) => {
            Outcome::Unsupported {
                reason: format!(
                    "its user space decides, through the map {map}, and the simulator has none: \
                     {reason}; run its program: --on vm --scheduler program:PATH"
                ),
            }
        }
        (outcome, _) => outcome,
    }
}

/// A short text that a scheduler may have written.
fn printable(text: &str) -> String {
    const LONGEST: usize = 300;
    text.chars().take(LONGEST).flat_map(char::escape_debug).collect()
}

/// The outcome of a trial whose process has sent no answer.
fn outcome(ending: ProcessEnd, scheduler: Option<&Native>, timeout: Duration) -> Outcome {
    match ending {
        ProcessEnd::Fault(fault) => fault.outcome(scheduler),
        ProcessEnd::Panic(text) => {
            Outcome::Failed { reason: format!("a mistake of the simulator: {text}") }
        }
        // A call of another architecture does not even raise the signal that is reported.
        ProcessEnd::Killed(libc::SIGSYS) => Outcome::Failed {
            reason: "the scheduler made a system call of another architecture, which the sandbox \
                     forbids"
                .into(),
        },
        ProcessEnd::Killed(signal) => {
            Outcome::Crashed { text: format!("the trial's process ended with signal {signal}") }
        }
        ProcessEnd::Stopped => Outcome::Failed { reason: "interrupted".into() },
        ProcessEnd::TimedOut => Outcome::Hung {
            reason: format!("still simulating after {} s of CPU time", timeout.as_secs()),
        },
        ProcessEnd::Answer(_) | ProcessEnd::Left => {
            Outcome::Failed { reason: "the scheduler ended the trial's process".into() }
        }
        ProcessEnd::TooLong(most) => Outcome::Failed {
            reason: format!(
                "an answer of more than {} MiB, which is more than the trial can measure; the \
                 scheduler may have forged it",
                most >> 20
            ),
        },
    }
}
