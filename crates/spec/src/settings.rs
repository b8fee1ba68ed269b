// SPDX-License-Identifier: GPL-2.0-only
//! Side files: what a scheduler's user space sets, in `NAME.toml` beside `NAME.bpf.c`.
//!
//! ```toml
//! version = "1.1.4"           # of the program whose user space does this
//! arguments = ["--example"]   # without which the program does not start; only for programs
//! [knobs]                     # global variables of .rodata, .data and .bss
//! cpu_capacity = "= capacity" # by CPU, from the machine
//! [ops]                       # members of the ops table
//! flags = "SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING"
//! [maps]                      # numbers of entries
//! pair_ctx = "= cpus / 2"
//! [inner_maps]                # whether each element of a map of maps gets a map of its own
//! cgroup_queues = true
//! [programs]                  # whether user space loads them: those of a section `?…` only then
//! on_exec = true
//! [[start]]                   # programs of the type syscall, called before ops.init
//! program = "enable_primary_cpu"
//! for = "cpus"
//! args = { cpu_id = "= cpu" }
//! [[refuse]]                  # machines on which user space does not load it
//! if = "= cpus % 2"
//! why = "it pairs CPUs"
//! ```

use std::path::{Path, PathBuf};

use model::knob::{CALLS, INNER_MAPS, MAPS, OPS, PROGRAMS, REFUSE, START};
use model::{Knob, KnobValue, Knobs, Start, Words, refusal};
use serde::Deserialize;

use super::source::{Document, Places};
use super::{Host, SpecError, knobs};
use crate::{assets, files};

/// A side file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the contestant's `settings` hold.
    pub values: Knobs,
    /// The version of the program whose user space sets this; empty if the file does not say.
    pub version: String,
    /// What the scheduler is, for lists; empty if the file does not say.
    pub about: String,
    /// The options without which the program does not start.
    pub arguments: Vec<String>,
    places: Places,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    version: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    knobs: Knobs,
    #[serde(default)]
    ops: Knobs,
    #[serde(default)]
    maps: Knobs,
    #[serde(default)]
    inner_maps: Knobs,
    #[serde(default)]
    programs: Knobs,
    #[serde(default)]
    start: Vec<KnobValue>,
    #[serde(default)]
    refuse: Vec<KnobValue>,
}

/// Keys of other files: an experiment `mine.toml` may stand beside `mine.bpf.c`.
const OF_OTHERS: [&str; 8] =
    ["question", "scheduler", "workload", "task", "cpus", "decides", "test", "package"];

/// Keys that no other file has.
const OWN: [&str; 7] = ["knobs", "ops", "maps", "inner_maps", "programs", "start", "refuse"];

/// The side file of a scheduler's file; `None` if there is none.
///
/// # Errors
/// It cannot be read, or is no side file.
pub fn beside(file: &Path) -> Result<Option<Settings>, SpecError> {
    let Some(path) = place_beside(file) else { return Ok(None) };
    match files::text(&path, files::DEFINITION) {
        Ok(text) => match read(&path.to_string_lossy(), &text)? {
            Some(found) if !found.arguments.is_empty() => {
                let why = "a scheduler's file is no program and takes no arguments";
                Err(found.places.error("arguments", why).hint("set its [knobs]"))
            }
            found => Ok(found),
        },
        Err(fault) if fault.is_absence() => Ok(None),
        Err(fault) => Err(SpecError::new(path.to_string_lossy(), fault.to_string())),
    }
}

/// Where the side file of a scheduler's file or folder would be.
pub fn place_beside(file: &Path) -> Option<PathBuf> {
    let name = file.to_string_lossy();
    if let Some(stem) = name.strip_suffix(".bpf.c") {
        return Some(format!("{stem}.toml").into());
    }
    // A folder has it inside, with the folder's name.
    let own = file.file_name().filter(|_| file.is_dir())?;
    Some(file.join(own).with_added_extension("toml"))
}

/// The side file that comes with Fairground for a scheduler of today.
///
/// # Errors
/// As [`beside`].
pub fn of_today(name: &str) -> Result<Option<Settings>, SpecError> {
    let path = format!("schedulers/today/{name}.toml");
    assets::embedded(&path).map_or(Ok(None), |asset| read(&asset.label, &asset.text))
}

/// The side file for the sources of a scheduler of today, as its authors' tree has them: the folder
/// `scx_NAME`, its `src/bpf`, or a file in that.
///
/// # Errors
/// As [`beside`].
pub fn of_crate(path: &Path) -> Result<Option<Settings>, SpecError> {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    let root = folder.as_deref().and_then(|folder| {
        let is_inner = folder.ends_with("src/bpf");
        if is_inner { folder.ancestors().nth(2) } else { path.is_dir().then_some(folder) }
    });
    let name = root.and_then(|root| root.file_name()).unwrap_or_default();
    match name.to_string_lossy().as_ref() {
        // It includes the whole of that one.
        "scx_chaos" => of_today("scx_p2dq"),
        name => of_today(name),
    }
}

/// A file with so many constants is one whose user space sets some of them.
const MANY: usize = 8;

/// Constants that every user space of the scx project's schedulers sets alike: their names, their
/// value, and what that is.
type AlwaysSet = (&'static [&'static str], fn() -> KnobValue, &'static str);
const ALWAYS_SET: [AlwaysSet; 3] = [
    (
        &["nr_cpu_ids", "nr_cpus", "nr_possible_cpus"],
        || KnobValue::Text("= cpus".into()),
        "the number of CPUs",
    ),
    (&["all_cpus"], || KnobValue::Text("= mask".into()), "the mask of all CPUs"),
    (&["slice_ns", "cgrp_slice_ns"], || KnobValue::Int(20_000_000), "SCX_SLICE_DFL"),
];

/// The values of a file without a side file that its user space sets without doubt, with a note.
pub fn without_side_file(name: &str, sha256: &str, host: &Host) -> Knobs {
    let has = (host.knobs)(sha256).unwrap_or_default();
    // A value that is in the file for the verifier, or because it is never used.
    let is_placeholder = |default: &[u8]| {
        let end = default.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        matches!(default[..end], [] | [1 | 32 | 64]) || default.iter().all(|byte| *byte == 0xff)
    };
    let (mut values, mut said) = (Knobs::new(), Vec::new());
    for (constants, value, words) in ALWAYS_SET {
        for knob in has.iter().filter(|knob| constants.contains(&knob.name.as_str())) {
            if knob.is_constant && is_placeholder(&knob.default) {
                said.push(format!("{} to {words}", knob.name));
                values.insert(knob.name.clone(), value());
            }
        }
    }
    note_own_values(name, &has, said.len());
    if !said.is_empty() {
        let said = said.join(", ");
        assets::note(&format!("note: {name}: set as its program would, unless you set it: {said}"));
    }
    values
}

/// Notes that a file without a side file runs with its own values, except for `set` of them, if its
/// user space would very likely set others.
fn note_own_values(name: &str, has: &[Knob], set: usize) {
    let constants = has.iter().filter(|knob| knob.is_constant).count();
    let calls = has.iter().filter(|knob| knob.name.starts_with(START)).count();
    if constants < MANY && calls == 0 {
        return;
    }
    let calls =
        if calls == 0 { String::new() } else { format!(", and {calls} programs are not called") };
    let own = constants - set;
    assets::note(&format!(
        "note: {name}: {own} knobs have the values of the file{calls}; its program may set \
         others, which {name}.toml beside it could say"
    ));
}

fn read(label: &str, text: &str) -> Result<Option<Settings>, SpecError> {
    let document = Document::parse(label, text)?;
    let has = |keys: &[&str]| keys.iter().any(|key| document.places.has(key));
    if has(&OF_OTHERS) && !has(&OWN) {
        return Ok(None);
    }
    let file: File = document.read()?;
    let File { version, about, arguments, ops, maps, inner_maps, programs, .. } = file;
    let mut values = file.knobs;
    let with = |prefix: &'static str| move |(name, value)| (format!("{prefix}{name}"), value);
    values.extend(ops.into_iter().map(with(OPS)));
    values.extend(maps.into_iter().map(with(MAPS)));
    values.extend(inner_maps.into_iter().map(with(INNER_MAPS)));
    values.extend(programs.into_iter().map(with(PROGRAMS)));
    for (name, list) in [(CALLS, file.start), (REFUSE, file.refuse)] {
        if !list.is_empty() {
            values.insert(name.into(), KnobValue::List(list));
        }
    }
    let settings = Settings { values, version, about, arguments, places: document.places };
    Start::of(&settings.values).map_err(|why| {
        let hint = "write program = \"NAME\", args = {…}, and for = \"cpus\" if it is for each";
        settings.places.error(CALLS, why).hint(hint)
    })?;
    refusal::check(&settings.values, &Words::of_any_machine()).map_err(|why| {
        let hint = "write if = \"= cpus % 2\", or another condition, and why = \"…\"";
        settings.places.error(REFUSE, why).hint(hint)
    })?;
    Ok(Some(settings))
}

impl Settings {
    /// The values that another version has too. What it lacks is left out, with a note.
    pub fn of_another_version(self, name: &str, sha256: &str, host: &Host) -> Knobs {
        let mut values = self.values;
        let has = (host.knobs)(sha256).unwrap_or_default();
        let mut lacking = knobs::take_unknown(&mut values, &has);
        while let Err(fault) = knobs::check(name, sha256, &values, host) {
            let key = fault.knob.split('[').next().unwrap_or_default().to_owned();
            if values.remove(&key).is_none() {
                break;
            }
            lacking.push(key);
        }
        let lacks = if lacking.is_empty() {
            String::new()
        } else {
            format!("; left out, because it lacks them: {}", lacking.join(", "))
        };
        let passed_over = if Start::let_fail(&mut values) {
            "; a program that they call is passed over if it fails"
        } else {
            ""
        };
        let version = &self.version;
        assets::note(&format!(
            "note: {name} has the settings that its program has in version \
             {version}{lacks}{passed_over}"
        ));
        values
    }

    /// Refuses what the scheduler of this name and SHA-256 lacks. One that does not compile is
    /// refused elsewhere.
    ///
    /// # Errors
    /// At the line that names it.
    pub fn check(&self, name: &str, sha256: &str, host: &Host) -> Result<(), SpecError> {
        if (host.knobs)(sha256).is_err() {
            return Ok(());
        }
        knobs::check(name, sha256, &self.values, host).map_err(|fault| {
            let is_elsewhere = [OPS, MAPS, INNER_MAPS, PROGRAMS, CALLS]
                .iter()
                .any(|of| fault.knob.starts_with(of));
            let of_knobs = format!("knobs.{}", fault.knob);
            let place =
                if is_elsewhere && !self.places.has(&of_knobs) { &fault.knob } else { &of_knobs };
            self.places.error(place, fault.message).maybe_hint(fault.hint)
        })
    }
}
