// SPDX-License-Identifier: GPL-2.0-only
//! One trial, from its description to its record. These functions return no errors: whatever goes
//! wrong is an outcome in the record.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use model::{Measured, Outcome, Program, Provenance, Record, SchedulerChoice, Trace, Trial};

use crate::control_groups::ControlGroups;
use crate::facts::{Context, active, sched_ext};
use crate::group_settings::Autogroup;
use crate::interrupts::Interrupts;
use crate::player::{self, BusyLoop, Options, Periodic, PlayError, Played, attributes, busy};
use crate::probes::Probes;
use crate::trial::scheduler::UnderTest;
use crate::{facts, group_settings, program};

mod beside;
mod measure;
pub mod preparation;
mod scheduler;
mod scx_stats;
mod supervisor;
#[cfg(test)]
mod tests;

pub use beside::{Watched, beside};
pub use supervisor::supervise;

/// Runs a whole trial in this process: verify, load, probe, play, verify, unload, collect.
///
/// Calls `begins` just before the workload starts. The process may hang or die: see [`supervise`].
pub fn run(trial: &Trial, context: &Context, begins: &dyn Fn()) -> Record {
    let began = Instant::now();
    let mut provenance = facts::provenance(context);
    provenance.started_unix_s = if context.in_guest { 0 } else { unix_seconds() };
    // A scheduler under test that runs no task must not stop this thread.
    let above = attributes::rise_above().ok();
    let answer = answer(trial, context, &mut provenance, begins);
    if let Some(previous) = &above {
        previous.restore();
    }
    provenance.wall_ms = if context.virtual_clock { 0 } else { began.elapsed().as_millis() as u64 };
    let Answer { outcome, measured, trace } = answer;
    Record { trial: trial.clone(), outcome, measured, provenance, trace }
}

/// The part of the record that the trial itself decides.
struct Answer {
    outcome: Outcome,
    measured: Measured,
    trace: Option<Trace>,
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Answer {
        Answer { outcome, measured: Measured::default(), trace: None }
    }
}

fn answer(
    trial: &Trial,
    context: &Context,
    provenance: &mut Provenance,
    begins: &dyn Fn(),
) -> Answer {
    provenance.notes.extend(preparation::differences(trial, provenance.cpus));
    provenance.notes.extend(group_settings::note(trial));
    if let Some(reason) = preparation::obstacle(trial) {
        return Outcome::Unsupported { reason }.into();
    }
    provenance.calibration_rounds_per_ms = rounds_per_ms(context);
    provenance.programs = versions(trial, context).into();
    if let Err(outcome) = preparation::prepare(trial, context.folder.as_deref()) {
        return outcome.into();
    }
    let groups = match ControlGroups::enter(trial, context.in_guest) {
        Ok(groups) => groups,
        Err(reason) => return Outcome::Unsupported { reason }.into(),
    };
    let _autogroup = Autogroup::set(trial, provenance, context.in_guest);
    let mut interrupts = match Interrupts::prepare(trial, provenance.cpus) {
        Ok(interrupts) => interrupts,
        Err(reason) => return Outcome::Unsupported { reason }.into(),
    };
    let mut under_test = match scheduler::start(&trial.contestant.scheduler) {
        Ok(under_test) => under_test,
        Err(outcome) => return outcome.into(),
    };
    provenance.notes.extend(under_test.notes(trial));
    provenance.scheduler_before = active().into();
    if let Err(outcome) = under_test.verify_before(&provenance.scheduler_before) {
        under_test.stop();
        provenance.printed = under_test.printed();
        return outcome.into();
    }
    if let Some(interrupts) = &mut interrupts {
        interrupts.begin();
    }
    if trial.trace {
        under_test.watch();
    }
    let played = play((trial, groups.as_ref()), context, provenance, &mut under_test, begins);
    provenance.notes.extend(interrupts.and_then(Interrupts::end));
    if provenance.scheduler_after == Default::default() {
        provenance.scheduler_after = active().into();
    }
    let verdict = under_test.verify_after(&provenance.scheduler_after);
    if trial.trace {
        provenance.variables = under_test.variables();
        provenance.inside = under_test.inside();
    }
    under_test.stop();
    provenance.printed = under_test.printed();
    match verdict {
        Ok(()) => conclude(trial, provenance, played, &under_test),
        Err(outcome) => outcome.into(),
    }
}

/// Pause between loading and the workload, under a virtual clock only, where it costs nothing.
///
/// Loading takes long and runs above all other tasks. After 0.95 s the kernel's deadline servers
/// run the tasks that wait, and they repeat it in each later second in which tasks wait; this would
/// fall into the common start, so that tasks begin one after the other. After the pause the servers
/// are inactive again. Kernels without sched_ext get no pause: those without deadline servers
/// throttle real-time tasks with a clock of their own, and the pause would shift the trial against
/// that clock.
const REST: Duration = Duration::from_millis(1_200);

/// A longer common start is noted in the record. A deadline server runs waiting tasks for at least
/// 50 ms; waking a thousand tasks takes a few milliseconds.
const LONG_START_NS: u64 = 20_000_000;

/// Attaches the probes and plays the workload. The scheduler is under test from here on.
fn play(
    (trial, control_groups): (&Trial, Option<&ControlGroups>),
    context: &Context,
    provenance: &mut Provenance,
    under_test: &mut UnderTest,
    begins: &dyn Fn(),
) -> Result<Played, PlayError> {
    let probes = attach(trial, provenance);
    if context.virtual_clock && sched_ext("state").is_some() {
        thread::sleep(REST);
    }
    begins();
    let mut after = None;
    let under_test = RefCell::new(under_test);
    let mut on_interrupt = || {
        after = Some(active());
        under_test.borrow_mut().stop();
    };
    let mut reload = || under_test.borrow_mut().reload();
    let duration_ns = trial.workload.duration_us.unwrap_or(0).saturating_mul(1_000);
    let mut busy = match context.virtual_clock {
        true => BusyLoop::counted(),
        false => BusyLoop::timed(provenance.calibration_rounds_per_ms),
    };
    busy.calls = context.calls;
    let options = Options {
        setting: model::play::Setting::for_trial(trial),
        folder: context.folder.as_deref(),
        busy,
        control_groups,
        probes: probes.as_ref(),
        on_interrupt: &mut on_interrupt,
        periodic: Periodic::new(trial.workload.reloads, duration_ns, &mut reload),
    };
    let played = player::play(&trial.workload, options);
    provenance.scheduler_after = after.unwrap_or_default().into();
    played
}

fn attach(trial: &Trial, provenance: &mut Provenance) -> Option<Probes> {
    if !trial.probes {
        provenance.probes = "off: the trial asked for none".into();
        return None;
    }
    match Probes::attach(&model::play::script::measured_groups(&trial.workload), trial.trace) {
        Ok(probes) => {
            provenance.probes = "on".into();
            Some(probes)
        }
        Err(why) => {
            provenance.probes = why;
            None
        }
    }
}

/// The outcome; the measurements only if the trial ended well.
fn conclude(
    trial: &Trial,
    provenance: &mut Provenance,
    played: Result<Played, PlayError>,
    under_test: &UnderTest,
) -> Answer {
    let played = match played {
        Ok(played) => played,
        Err(PlayError::Unsupported(reason)) => return Outcome::Unsupported { reason }.into(),
        Err(PlayError::Failed(reason)) => return Outcome::Failed { reason }.into(),
    };
    if let Some(running) = &played.interrupted {
        let reason = format!("told to stop after {} ms; {running}", played.run_ns / 1_000_000);
        return Outcome::Timeout { reason }.into();
    }
    let reported = match report_of_program(trial, &played) {
        Ok(reported) => reported,
        Err(reason) => return Outcome::Failed { reason }.into(),
    };
    note(provenance, &played, &reported, trial);
    let mut measured = measure::all(&played, &reported, provenance);
    model::play::sums::add_totals(&mut measured, &trial.workload.totals);
    if trial.workload.reloads > 0 {
        under_test.measure_reloads(&mut measured);
    }
    let readings = played.readings.unwrap_or_default();
    provenance.probe_cost = readings.cost;
    Answer { outcome: Outcome::Ok, measured, trace: readings.trace }
}

/// The measures in the output of the real program. The error says why they do not count.
fn report_of_program(trial: &Trial, played: &Played) -> Result<model::parsers::Reported, String> {
    let (Some(program), Some(finished)) = (&trial.workload.program, &played.program) else {
        return Ok(model::parsers::Reported::default());
    };
    let name = &program.command[0];
    if finished.code != 0 && !finished.stopped {
        let last = model::parsers::last(&finished.stdout, &finished.stderr);
        return Err(format!("`{name}` ended with {}{last}", ending(finished.code)));
    }
    model::parsers::parse(&program.parser, &finished.stdout, &finished.stderr).map_err(|why| {
        let stopped = if finished.stopped { " (it was stopped at duration_us)" } else { "" };
        format!("{why}{stopped}")
    })
}

fn ending(code: i32) -> String {
    if code < 0 { format!("signal {}", -code) } else { format!("exit code {code}") }
}

fn note(
    provenance: &mut Provenance,
    played: &Played,
    reported: &model::parsers::Reported,
    trial: &Trial,
) {
    if let (Some(version), Some(program)) = (&reported.version, &trial.workload.program) {
        provenance.programs.insert(program.parser.clone(), version.clone());
    }
    if !played.above_load {
        let note =
            "the player could not run above the workload (no root): the trial may have ended late";
        provenance.notes.push(note.into());
    }
    if played.start_took_ns > LONG_START_NS {
        let took_ms = played.start_took_ns / 1_000_000;
        provenance.notes.push(format!(
            "the common start took {took_ms} ms: some began before the others could"
        ));
    }
    let untracked = played.readings.as_ref().map_or(0, |readings| readings.untracked);
    if untracked > 0 {
        provenance.notes.push(format!("{untracked} forked tasks were not seen by the probes"));
    }
}

/// Programs that print their version with `--version` and end.
const VERSIONED: [&str; 6] = ["gcc", "make", "perf", "ps", "stress-ng", "sysbench"];

/// Versions of the programs that the trial needs, and of its source tree, by name.
fn versions(trial: &Trial, context: &Context) -> std::collections::BTreeMap<String, String> {
    let mut names = Vec::new();
    if let SchedulerChoice::Program { command, .. } = &trial.contestant.scheduler {
        names.extend(command.first().map(String::as_str));
    }
    let needed = trial.workload.program.iter().flat_map(Program::needed).map(|(name, _)| name);
    names.extend(needed.filter(|name| VERSIONED.contains(name)));
    let version = |name: &str| Some((name.to_owned(), program::version(name)?));
    let printed = names.into_iter().filter_map(version);
    printed.chain(preparation::version_of_sources(trial, context)).collect()
}

fn rounds_per_ms(context: &Context) -> u64 {
    match context.calibration_rounds_per_ms {
        Some(rounds) => rounds.max(1),
        None if context.virtual_clock => busy::VIRTUAL_ROUNDS_PER_MS,
        None => busy::calibrate(),
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
