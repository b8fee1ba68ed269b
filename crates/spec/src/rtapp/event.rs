// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's events → steps.

use std::collections::BTreeSet;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use model::Step;
use model::workload::Timer;

use super::json::Fields;
use crate::SpecError;
use crate::near::{advice, quoted};

/// The supported events.
const EVENTS: [&str; 17] = [
    "run", "runtime", "sleep", "timer", "lock", "unlock", "wait", "signal", "broad", "sync",
    "barrier", "suspend", "resume", "sem_post", "sem_wait", "yield", "fork",
];
/// Events of rt-app that are not supported.
const UNSUPPORTED: [&str; 3] = ["mem", "iorun", "memrun"];

/// The steps of a phase.
pub struct Events<'a> {
    task: &'a str,
    held: BTreeSet<String>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Where each step is written.
    pub places: Vec<usize>,
    /// Timers whose names do not begin with `unique`, with their places.
    pub shared_timers: Vec<(String, usize)>,
}

impl Events<'_> {
    /// No steps yet.
    pub fn new(task: &str) -> Events<'_> {
        let (steps, places, shared_timers) = (Vec::new(), Vec::new(), Vec::new());
        Events { task, held: BTreeSet::new(), steps, places, shared_timers }
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

/// Reads one event.
pub fn read<'t, 'v>(
    fields: &Fields<'t, 'v>,
    (key, at): (&str, usize),
    value: &'v Value<'t>,
    other_keys: &[&str],
    events: &mut Events,
) -> Result<(), SpecError> {
    let event = kind(key).ok_or_else(|| unknown(fields, key, at, other_keys))?;
    let text = || fields.as_text(value, key).map(str::to_owned);
    let time = || microseconds(fields, value, key);
    let step = match event {
        "run" => Step::RunUs(time()?),
        "runtime" => Step::RunUntilUs(time()?),
        "sleep" => Step::SleepUs(time()?),
        "timer" => Step::Timer(timer(fields.inner(value, "a timer")?, events)?),
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
        _ => return waiting(fields.inner(value, &format!("'{key}'"))?, event, at, events),
    };
    events.push(step, at);
    Ok(())
}

/// The event that a key stands for: its longest prefix that is one, followed by a suffix that
/// cannot be a part of a name (`run0`, `sleep_a`, but not `runner`).
fn kind(key: &str) -> Option<&'static str> {
    let fits = |event: &&str| {
        key.strip_prefix(event).is_some_and(|suffix| {
            suffix.is_empty()
                || suffix.starts_with(|c: char| c.is_ascii_digit() || "_-. ".contains(c))
        })
    };
    EVENTS.into_iter().filter(fits).max_by_key(|event| event.len())
}

fn unknown(fields: &Fields, key: &str, at: usize, other_keys: &[&str]) -> SpecError {
    if let Some(event) = UNSUPPORTED.iter().rfind(|event| key.starts_with(**event)) {
        let hint = format!("supported are {}", quoted(&EVENTS, ", "));
        return fields.error_at(at, format!("the event '{event}' is not supported")).hint(hint);
    }
    let known = EVENTS.iter().chain(other_keys).copied();
    let letters = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let hint = advice(letters, known);
    fields.error_at(at, format!("unknown key '{key}'")).maybe_hint(hint)
}

fn microseconds(fields: &Fields, value: &Value, key: &str) -> Result<u64, SpecError> {
    let number = fields.as_integer(value, key)?;
    u64::try_from(number)
        .map_err(|_| fields.error_at(value.range().start, format!("'{key}' cannot be negative")))
}

/// `suspend` without a name waits for the task's own.
fn suspended(name: String, task: &str) -> String {
    if name.is_empty() { task.to_owned() } else { name }
}

fn timer(mut fields: Fields, events: &mut Events) -> Result<Timer, SpecError> {
    let hint = "write {\"ref\": \"unique\", \"period\": 10000}";
    let Some((name, at)) = fields.text("ref")? else {
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
    fields.finish(&["ref", "period", "mode"])?;
    if !name.starts_with("unique") {
        events.shared_timers.push((name.to_owned(), at));
    }
    Ok(Timer { period_us, relative, skip: false, name: name.to_owned() })
}

/// `wait` and `sync`. A `sync` without its lock takes the lock while it waits.
fn waiting(
    mut fields: Fields,
    event: &str,
    at: usize,
    events: &mut Events,
) -> Result<(), SpecError> {
    let mut name = |key: &str| {
        let message = format!("'{event}' has no '{key}'");
        let hint = format!("write \"{event}\": {{\"ref\": \"condition\", \"mutex\": \"mutex\"}}");
        let found = fields.text(key)?.map(|(name, _)| name.to_owned());
        found.ok_or_else(|| fields.error_at(fields.start(), message).hint(hint))
    };
    let (condition, lock) = (name("ref")?, name("mutex")?);
    fields.finish(&["ref", "mutex"])?;
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
