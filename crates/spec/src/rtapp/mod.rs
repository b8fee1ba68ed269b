// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's JSON files as workloads, as they are.
//!
//! The grammar is that of rt-app's `doc/tutorial.txt`: times in µs, `global.duration` in seconds,
//! events played in the order of their keys. Comments and trailing commas are accepted, as json-c
//! does, and so is what its `workgen` completes: keys of tasks, phases and events that repeat, and
//! a bare `"suspend"`.
//!
//! What an event means is in [`model::workload::Step`]. Differences from rt-app:
//! - `calibration` is ignored: `run` is CPU time, calibrated once per machine.
//! - Forked tasks are processes, not threads, and their timers begin with them.
//! - Instances of a task are one group, and the group's name is that of its threads.
//! - Keys that rt-app does not know are refused, because they may be mistyped.
//! - A use case that never ends is stopped after [`ENDLESS_S`] seconds.

mod event;
mod json;
mod phase;
mod task;

use std::collections::BTreeSet;

use jsonc_parser::common::Ranged;
use model::{ControlGroup, Mutex, PolicyClass, Protocol, Step, TaskGroup, Workload};

use super::workload::ResolvedWorkload;
use super::{SpecError, check};
use crate::assets::Asset;
use json::{Completed, Fields, Json};

/// Keys of `global` without effect on a measure: logging, and what Fairground does by itself.
const IGNORED: [&str; 9] = [
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "frag",
    "cumulative_slack",
];

/// The kinds of `resources`; rt-app itself no longer needs them.
const RESOURCES: [&str; 12] = [
    "mutex",
    "wait",
    "signal",
    "broadcast",
    "broad",
    "sync",
    "timer",
    "sleep",
    "run",
    "mem",
    "iorun",
    "barrier",
];

/// How long a use case is played that rt-app would play until Ctrl-C.
const ENDLESS_S: u64 = 2;

/// rt-app's default of `mem_buffer_size`.
const BUFFER_BYTES: u64 = 4 << 20;

/// The settings that hold for all tasks of a file.
struct Global {
    duration_us: Option<u64>,
    policy: PolicyClass,
    /// Whether mutexes inherit priorities.
    inherits: bool,
    /// The size of each task's buffer for `mem` and `iorun`.
    buffer_bytes: u64,
    /// Whether `iorun` writes to files instead of `/dev/null`.
    writes_files: bool,
}

impl Default for Global {
    fn default() -> Global {
        Global {
            duration_us: None,
            policy: PolicyClass::Other,
            inherits: false,
            buffer_bytes: BUFFER_BYTES,
            writes_files: false,
        }
    }
}

/// Reads an rt-app file for a machine with `cpus` CPUs.
pub fn load(asset: &Asset, cpus: u32) -> Result<ResolvedWorkload, SpecError> {
    let json = Json::new(&asset.label, &asset.text);
    let completed = Completed::new(&asset.text, &json::WORDS);
    let tree = json.parse(&completed)?;
    let mut notes = Vec::new();
    let mut top = json.fields(&tree, "the file")?;
    if top.peek("tasks").is_none() && top.peek("threads").is_some() {
        let error = top.error_at(top.place("threads"), "'threads' is from rt-app before 1.0");
        return Err(error.hint(
            "write \"tasks\" with events, such as {\"tasks\": {\"t1\": {\"run\": 5000, \"timer\": \
             {\"ref\": \"unique\", \"period\": 10000}}}}",
        ));
    }
    let global = match top.take("global")? {
        Some(value) => global(&mut json.fields(value, "'global'")?, &mut notes)?,
        None => Global::default(),
    };
    if let Some(value) = top.take("resources")? {
        resources(&mut json.fields(value, "'resources'")?)?;
    }
    let tasks = top.need("tasks", "name the tasks: {\"tasks\": {\"thread0\": {…}}}")?;
    let mut places = json.places();
    places.insert("group".into(), tasks.range().start);
    let tasks = top.inner(tasks, "'tasks'")?;
    let tasks = task::tasks(tasks, &global, cpus, &mut places, &mut notes)?;
    top.finish()?;
    let mut workload = Workload {
        name: asset.stem.clone(),
        about: "rt-app file".into(),
        duration_us: global.duration_us,
        control_groups: groups_of(&tasks),
        mutexes: if global.inherits { mutexes_of(&tasks) } else { Vec::new() },
        tasks,
        ..Workload::default()
    };
    if !check::ends(&workload) && !workload.tasks.is_empty() {
        workload.duration_us = Some(ENDLESS_S * 1_000_000);
        notes.push(format!(
            "{}: it never ends; it is stopped after {ENDLESS_S} s (\"duration\" in \"global\")",
            asset.label
        ));
    }
    check::check(&workload, cpus, &places)?;
    Ok(ResolvedWorkload { workload, notes })
}

/// The control groups that tasks are in or move to, each once.
fn groups_of(tasks: &[TaskGroup]) -> Vec<ControlGroup> {
    fn named(steps: &[Step], names: &mut BTreeSet<String>) {
        for step in steps {
            match step {
                Step::Group(name) if !name.is_empty() => drop(names.insert(name.clone())),
                other => named(other.inner(), names),
            }
        }
    }
    let mut names = BTreeSet::new();
    for task in tasks {
        names.extend(Some(task.group.clone()).filter(|name| !name.is_empty()));
        named(&task.steps, &mut names);
    }
    names.into_iter().map(|name| ControlGroup { name, ..ControlGroup::default() }).collect()
}

/// All mutexes, each once, with priority inheritance.
fn mutexes_of(tasks: &[TaskGroup]) -> Vec<Mutex> {
    fn named<'a>(steps: &'a [Step], names: &mut BTreeSet<&'a str>) {
        for step in steps {
            names.extend(step.mutex());
            named(step.inner(), names);
        }
    }
    let mut names = BTreeSet::new();
    tasks.iter().for_each(|task| named(&task.steps, &mut names));
    let inherits =
        |name: &str| Mutex { name: name.into(), protocol: Protocol::Inherit, ceiling: 0 };
    names.into_iter().map(inherits).collect()
}

fn global(fields: &mut Fields, notes: &mut Vec<String>) -> Result<Global, SpecError> {
    let duration_us = match fields.integer("duration")? {
        None | Some((..=0, _)) => None,
        Some((seconds, at)) => Some(microseconds(fields, seconds, at)?),
    };
    let policy = fields.text("default_policy")?;
    let policy =
        policy.map_or(Ok(PolicyClass::Other), |(name, at)| phase::class(fields, name, at))?;
    let inherits = fields.boolean("pi_enabled")?.is_some_and(|(inherits, _)| inherits);
    let buffer_bytes = fields.unsigned("mem_buffer_size")?.unwrap_or(BUFFER_BYTES);
    let writes_files = device(fields, notes)?;
    let mut ignored = Vec::new();
    for key in IGNORED {
        ignored.extend(fields.take(key)?.map(|_| key));
    }
    ignored.extend(fields.take_beginning("log"));
    if !ignored.is_empty() {
        notes.push(format!("{}: ignored in 'global': {}", fields.file(), ignored.join(", ")));
    }
    fields.finish()?;
    Ok(Global { duration_us, policy, inherits, buffer_bytes, writes_files })
}

/// Whether `iorun` writes to a file. Nobody's own file is written to, and no device except
/// `/dev/null`.
fn device(fields: &mut Fields, notes: &mut Vec<String>) -> Result<bool, SpecError> {
    match fields.text("io_device")? {
        None | Some(("/dev/null", _)) => Ok(false),
        Some((device, at)) if device.starts_with("/dev/") => {
            let message = format!("'iorun' does not write to the device '{device}'");
            let hint = "write \"/dev/null\", or a file's name for a file of each task's own";
            Err(fields.error_at(at, message).hint(hint))
        }
        Some((file, _)) => {
            let instead = "'iorun' writes to a file of each task's own";
            notes.push(format!("{}: instead of '{file}', {instead}", fields.file()));
            Ok(true)
        }
    }
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
            let hint = super::source::advice(kind, RESOURCES);
            return Err(resource.error_at(at, message).maybe_hint(hint));
        }
        resource.take("target")?;
        resource.finish()?;
    }
    Ok(())
}
