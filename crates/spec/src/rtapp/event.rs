// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's events → steps.

use std::collections::BTreeSet;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use model::Step;
use model::workload::Timer;

use super::Global;
use super::json::Fields;
use crate::SpecError;
use crate::near::advice;

/// The events. `sem_post` and `sem_wait` are ours.
pub const EVENTS: [&str; 19] = [
    "run", "runtime", "sleep", "mem", "iorun", "timer", "lock", "unlock", "wait", "signal",
    "broad", "sync", "barrier", "suspend", "resume", "yield", "fork", "sem_post", "sem_wait",
];
/// Keys of rt-app before 1.0, which rt-app 1.0 does not play either.
const OLD: [&str; 3] = ["exec", "lock_order", "resources"];

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
}

impl<'a> Events<'a> {
    pub fn new(task: &'a str, global: &'a Global) -> Events<'a> {
        let (steps, places) = (Vec::new(), Vec::new());
        Events { task, global, held: BTreeSet::new(), any: false, steps, places }
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
        "timer" => return timer(fields.inner(value, "a timer")?, at, events),
        _ => return waiting(fields.inner(value, &format!("'{key}'"))?, event, at, events),
    };
    events.push(step, at);
    Ok(())
}

/// The event that a key stands for: any key that begins with its name, as in rt-app.
fn kind(key: &str) -> Option<&'static str> {
    let named = EVENTS.into_iter().filter(|event| key.starts_with(event));
    named.max_by_key(|event| event.len())
}

fn unknown(fields: &Fields, key: &str, at: usize) -> SpecError {
    let error = fields.error_at(at, format!("unknown key '{key}'"));
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
    u64::try_from(number)
        .map_err(|_| fields.error_at(value.range().start, format!("'{key}' cannot be negative")))
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
