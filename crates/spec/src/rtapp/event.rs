// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's events → steps.

use std::collections::{BTreeMap, BTreeSet};

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use model::Step;
use model::workload::Timer;

use super::Global;
use super::json::Fields;
use super::phase::Phase;
use super::task::Task;
use crate::SpecError;
use crate::check::ENDLESS;
use crate::source::advice;

/// The events. `sem_post` and `sem_wait` are ours.
pub const EVENTS: [&str; 20] = [
    "run", "runtime", "sleep", "mem", "memrun", "iorun", "timer", "lock", "unlock", "wait",
    "signal", "broad", "sync", "barrier", "suspend", "resume", "yield", "fork", "sem_post",
    "sem_wait",
];
/// Keys of rt-app before 1.0, which rt-app 1.0 does not play either.
const OLD: [&str; 3] = ["exec", "lock_order", "resources"];

/// What rt-app's tutorial called a key until it was corrected.
const RENAMED: [(&str, &str); 1] = [("membind_nodes", "nodes_membind")];
/// The time of a `run` without end, and how it is cut.
const ENDLESS_RUN: i64 = -1;
const ENDLESS_ROUND_US: u64 = 1_000;

/// The steps of a phase.
pub struct Events<'a> {
    task: &'a str,
    global: &'a Global,
    held: BTreeSet<String>,
    /// Whether there were events, also such that need no step.
    pub any: bool,
    pub steps: Vec<Step>,
    /// Where each step is written.
    pub places: Vec<usize>,
    /// What is in them and not played, for the user.
    pub ignored: BTreeSet<&'static str>,
}

impl<'a> Events<'a> {
    pub fn new(task: &'a str, global: &'a Global) -> Events<'a> {
        let (steps, places, held) = (Vec::new(), Vec::new(), BTreeSet::new());
        Events { task, global, held, any: false, steps, places, ignored: BTreeSet::new() }
    }

    fn push(&mut self, step: Step, at: usize) {
        match &step {
            Step::Lock(lock) => drop(self.held.insert(lock.clone())),
            Step::Unlock(lock) => drop(self.held.remove(lock)),
            _ => {}
        }
        self.steps.push(step);
        self.places.push(at);
    }
}

pub fn read<'t, 'v>(
    fields: &Fields<'t, 'v>,
    (key, at): (&str, usize),
    value: &'v Value<'t>,
    events: &mut Events,
) -> Result<(), SpecError> {
    let event = kind(key).ok_or_else(|| unknown(fields, key, at))?;
    events.any = true;
    let text = || fields.as_text(value, key).map(str::to_owned);
    let number = || not_negative(fields, value, key);
    let step = match event {
        // rt-app computes until its end.
        "run" if fields.as_integer(value, key).is_ok_and(|us| us == ENDLESS_RUN) => {
            Step::Loop { count: ENDLESS, steps: vec![Step::RunUs(ENDLESS_ROUND_US)] }
        }
        "run" => Step::RunUs(number()?),
        "runtime" => Step::RunUntilUs(number()?),
        "sleep" => Step::SleepUs(number()?),
        "lock" => Step::Lock(text()?),
        "unlock" => Step::Unlock(text()?),
        "signal" => Step::Signal(text()?),
        "broad" => Step::Broadcast(text()?),
        "barrier" => Step::Barrier(text()?),
        "suspend" => Step::Suspend(suspended(text()?, events.task)),
        "resume" => Step::Resume(text()?),
        "sem_post" => Step::SemaphorePost(text()?),
        "sem_wait" => Step::SemaphoreWait(text()?),
        "yield" => Step::Yield,
        "fork" => Step::Fork { task: text()?, count: 1 },
        "mem" | "iorun" => return written(number()?, event, at, events),
        "memrun" => return memory_run((fields, value), key, at, events),
        "timer" => return timer(fields.inner(value, "a timer")?, at, events),
        _ => return waiting(fields.inner(value, &format!("'{key}'"))?, event, at, events),
    };
    events.push(step, at);
    Ok(())
}

/// The event that a key stands for: any key that begins with its name, as in rt-app.
fn kind(key: &str) -> Option<&'static str> {
    let is_property = RENAMED.iter().any(|(old, _)| *old == key);
    let named = EVENTS.into_iter().filter(|event| !is_property && key.starts_with(event));
    named.max_by_key(|event| event.len())
}

fn unknown(fields: &Fields, key: &str, at: usize) -> SpecError {
    let error = fields.error_at(at, format!("unknown key '{key}'"));
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == key) {
        return error.hint(format!("write '{new}', as rt-app calls it"));
    }
    if OLD.contains(&key) {
        let hint = "it is from rt-app before 1.0: write events, such as \"run\" and \"timer\"";
        return error.hint(hint);
    }
    let known = EVENTS.iter().chain(fields.asked()).copied();
    let letters = key.trim_end_matches(|c: char| c.is_ascii_digit());
    error.maybe_hint(advice(letters, known))
}

fn not_negative(fields: &Fields, value: &Value, key: &str) -> Result<u64, SpecError> {
    let number = fields.as_integer(value, key)?;
    u64::try_from(number).map_err(|_| {
        let error = fields.error_at(value.range().start, format!("'{key}' cannot be negative"));
        let endless = key.starts_with("run") && !key.starts_with("runtime");
        error.hint(if endless { "write µs, or -1 to run without end" } else { "write 0 or more" })
    })
}

/// `suspend` without a name waits for the task's own.
fn suspended(name: String, task: &str) -> String {
    if name.is_empty() { task.to_owned() } else { name }
}

/// `mem` and `iorun`. To write nothing is no step.
fn written(bytes: u64, event: &str, at: usize, events: &mut Events) -> Result<(), SpecError> {
    let (buffer, to_file) = (events.global.buffer_bytes, events.global.writes_files);
    let step = match event {
        "mem" => Step::WriteMemory { bytes, buffer },
        _ if to_file => Step::WriteFile { bytes, sync: false },
        _ => Step::WriteNull { bytes, buffer },
    };
    if bytes > 0 {
        events.push(step, at);
    }
    Ok(())
}

/// `memrun`: bytes of a buffer of the task's own, one after another. Reads are played as writes.
fn memory_run<'t, 'v>(
    (fields, value): (&Fields<'t, 'v>, &'v Value<'t>),
    key: &str,
    at: usize,
    events: &mut Events,
) -> Result<(), SpecError> {
    let hint = "write {\"type\": \"write\", \"size\": 4194304, \"count\": 1000}";
    let mut run = fields.inner(value, &format!("'{key}'")).map_err(|error| error.hint(hint))?;
    let mut number = |key: &'static str| {
        let found = run.unsigned(key)?;
        let missing = || run.error_at(run.start(), format!("the memrun has no '{key}'"));
        found.ok_or_else(|| missing().hint(hint))
    };
    let (buffer, bytes) = (number("size")?, number("count")?);
    match run.text("type")? {
        Some(("write", _)) => {}
        Some(("read", _)) => drop(events.ignored.insert("the type of memrun: it writes")),
        Some(("chase", at)) => {
            let hint = "write \"run\": µs with the CPU time that it takes, or a type read or write";
            return Err(run.error_at(at, "'memrun' does not chase pointers here").hint(hint));
        }
        Some((kind, at)) => {
            let error = run.error_at(at, format!("unknown memrun type '{kind}'"));
            return Err(error.hint("write 'read' or 'write'"));
        }
        None => return Err(run.error_at(run.start(), "the memrun has no 'type'").hint(hint)),
    }
    for of_chase in ["stride", "pattern"] {
        run.take(of_chase)?;
    }
    if run.take("ref")?.is_some() {
        events.ignored.insert("the ref of memrun: each task has a buffer of its own");
    }
    run.finish()?;
    if bytes > 0 {
        events.push(Step::WriteMemory { bytes, buffer }, at);
    }
    Ok(())
}

/// A timer without a period never waits, so it is no step.
fn timer(mut fields: Fields, at: usize, events: &mut Events) -> Result<(), SpecError> {
    let hint = "write {\"ref\": \"unique\", \"period\": 10000}";
    let Some((name, _)) = fields.text("ref")? else {
        return Err(fields.error_at(fields.start(), "the timer has no 'ref'").hint(hint));
    };
    let Some(period_us) = fields.unsigned("period")? else {
        return Err(fields.error_at(fields.start(), "the timer has no 'period'").hint(hint));
    };
    let relative = match fields.text("mode")? {
        None | Some(("relative", _)) => true,
        Some(("absolute", _)) => false,
        Some((mode, at)) => {
            let error = fields.error_at(at, format!("unknown timer mode '{mode}'"));
            return Err(error.hint("write 'absolute' or 'relative'"));
        }
    };
    fields.finish()?;
    if period_us > 0 {
        let (skip, shared, name) = (false, false, name.to_owned());
        events.push(Step::Timer(Timer { period_us, relative, skip, shared, name }), at);
    }
    Ok(())
}

/// `wait` and `sync`. A `sync` without its lock takes the lock while it waits.
fn waiting(
    mut fields: Fields,
    event: &str,
    at: usize,
    events: &mut Events,
) -> Result<(), SpecError> {
    let mut name = |key: &'static str| {
        let message = format!("'{event}' has no '{key}'");
        let hint = format!("write \"{event}\": {{\"ref\": \"condition\", \"mutex\": \"mutex\"}}");
        let found = fields.text(key)?.map(|(name, _)| name.to_owned());
        found.ok_or_else(|| fields.error_at(fields.start(), message).hint(hint))
    };
    let (condition, lock) = (name("ref")?, name("mutex")?);
    fields.finish()?;
    if event == "wait" {
        events.push(Step::Wait { condition, lock }, at);
    } else if events.held.contains(&lock) {
        events.push(Step::Sync { condition, lock }, at);
    } else {
        events.push(Step::Lock(lock.clone()), at);
        events.push(Step::Sync { condition, lock: lock.clone() }, at);
        events.push(Step::Unlock(lock), at);
    }
    Ok(())
}

/// A timer: a name that begins with `unique` is one for each task that uses it.
type Key = (Option<usize>, String);

/// What all uses of a timer say together.
#[derive(Default)]
struct Uses {
    threads: u64,
    absolute: bool,
}

/// Gives every use of a timer what all of them say; `forked` are the tasks that others fork.
pub fn settle_timers(tasks: &mut [Task], forked: &[usize]) {
    let mut all: BTreeMap<Key, Uses> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        let mut named = BTreeSet::new();
        for timer in task.phases.iter().flat_map(Phase::steps).filter_map(timer_of) {
            let uses = all.entry(key(index, timer)).or_default();
            uses.absolute |= !timer.relative;
            if named.insert(&timer.name) {
                // How often it will be forked is not known.
                let forked = 2 * u64::from(forked.contains(&index));
                uses.threads = uses.threads.saturating_add(task.instances).saturating_add(forked);
            }
        }
    }
    for (index, task) in tasks.iter_mut().enumerate() {
        for step in task.phases.iter_mut().flat_map(Phase::steps_mut) {
            if let Step::Timer(timer) = step
                && let Some(uses) = all.get(&key(index, timer))
            {
                timer.relative = !uses.absolute;
                timer.shared = uses.threads > 1 && !is_unique(timer);
            }
        }
    }
}

fn key(task: usize, timer: &Timer) -> Key {
    (is_unique(timer).then_some(task), timer.name.clone())
}

fn is_unique(timer: &Timer) -> bool {
    timer.name.starts_with("unique")
}

fn timer_of(step: &Step) -> Option<&Timer> {
    match step {
        Step::Timer(timer) => Some(timer),
        _ => None,
    }
}
