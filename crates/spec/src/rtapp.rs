// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's JSON files as workloads, as they are.
//!
//! The grammar is that of rt-app 1.0's `doc/tutorial.txt`: times in µs, `global.duration` in
//! seconds, events played in the order of their keys, keys made unique by suffixes (`run0`, `run1`,
//! `sleep_a`). Comments and trailing commas are accepted, as json-c does. Duplicate keys are not:
//! json-c would keep one of them in silence.
//!
//! What an event means is in [`model::workload::Step`]. Differences from rt-app:
//! - `calibration` is ignored: `run` is CPU time, calibrated once per machine.
//! - Forked tasks are processes, not threads.
//! - Names longer than 15 bytes are cut, as the kernel does with threads' names.

mod event;
mod json;
mod task;

use model::{PolicyClass, Workload};

use super::workload::ResolvedWorkload;
use super::{SpecError, check};
use crate::assets::Asset;
use json::{Fields, Json};

/// Keys of `global` without effect on a measure: logging, and what Fairground does by itself.
const IGNORED: [&str; 11] = [
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "frag",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// The kinds of `resources`; rt-app itself no longer needs them.
const RESOURCES: [&str; 9] =
    ["mutex", "wait", "signal", "broadcast", "broad", "sync", "timer", "sleep", "run"];

/// The settings that hold for all tasks of a file.
struct Global {
    duration_us: Option<u64>,
    policy: PolicyClass,
}

/// Reads an rt-app file for a machine with `cpus` CPUs.
///
/// # Errors
/// Syntax, duplicate keys, unknown keys, events that are not supported; each with line and column.
pub fn load(asset: &Asset, cpus: u32) -> Result<ResolvedWorkload, SpecError> {
    let json = Json::new(&asset.label, &asset.text);
    let tree = json.parse()?;
    let mut notes = Vec::new();
    let mut top = json.fields(&tree, "the file")?;
    let global = match top.take("global") {
        Some(value) => global(&mut json.fields(value, "'global'")?, &mut notes)?,
        None => Global { duration_us: None, policy: PolicyClass::Other },
    };
    if let Some(value) = top.take("resources") {
        resources(&mut json.fields(value, "'resources'")?)?;
    }
    let tasks = top.need("tasks", "name the tasks: {\"tasks\": {\"thread0\": {…}}}")?;
    let mut places = json.places();
    let tasks =
        task::tasks(json.fields(tasks, "'tasks'")?, &global, cpus, &mut places, &mut notes)?;
    top.finish(&["global", "resources", "tasks"])?;
    let workload = Workload {
        name: asset.stem.clone(),
        about: "rt-app file".into(),
        duration_us: global.duration_us,
        tasks,
        ..Workload::default()
    };
    check::check(&workload, cpus, &places)?;
    Ok(ResolvedWorkload { workload, notes })
}

fn global(fields: &mut Fields, notes: &mut Vec<String>) -> Result<Global, SpecError> {
    let duration_us = match fields.integer("duration")? {
        None | Some((-1, _)) => None,
        Some((seconds, at)) => Some(microseconds(fields, seconds, at)?),
    };
    let policy = fields.text("default_policy")?;
    let policy =
        policy.map_or(Ok(PolicyClass::Other), |(name, at)| task::class(fields, name, at))?;
    if let Some((true, at)) = fields.boolean("pi_enabled")? {
        let hint = "set it to false: mutexes have no priority inheritance here";
        return Err(fields.error_at(at, "'pi_enabled' is not supported").hint(hint));
    }
    let ignored: Vec<&str> = IGNORED.into_iter().filter(|key| fields.take(key).is_some()).collect();
    if !ignored.is_empty() {
        notes.push(format!("{}: ignored in 'global': {}", fields.file(), ignored.join(", ")));
    }
    fields.finish(&[&["duration", "default_policy", "pi_enabled"], &IGNORED[..]].concat())?;
    Ok(Global { duration_us, policy })
}

fn microseconds(fields: &Fields, seconds: i64, at: usize) -> Result<u64, SpecError> {
    u64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1_000_000)).ok_or_else(
        || fields.error_at(at, format!("a duration of {seconds} s")).hint("write seconds, or -1"),
    )
}

fn resources(fields: &mut Fields) -> Result<(), SpecError> {
    while let Some((_, value)) = fields.next() {
        let mut resource = fields.inner(value, "a resource")?;
        if let Some((kind, at)) = resource.text("type")?
            && !RESOURCES.contains(&kind)
        {
            let message = format!("unknown resource type '{kind}'");
            let hint = super::near::advice(kind, RESOURCES);
            return Err(resource.error_at(at, message).maybe_hint(hint));
        }
        resource.take("target");
        resource.finish(&["type", "target"])?;
    }
    Ok(())
}
