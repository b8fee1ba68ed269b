// SPDX-License-Identifier: GPL-2.0-only
//! The contestants of an experiment together: none twice, each with a name that tells it from the
//! others.
//!
//! What `live` runs: on the running kernel a contestant is what really runs there, or it is left
//! out by name before anything runs.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use model::{Contestant, SchedulerChoice};

use super::contestant::{self, ENDING, Entry, OPTION};
use super::source::Places;
use super::{Host, Overrides, SpecError, knobs, today};
use crate::assets;
use crate::source::unknown_name;

/// A contestant, and how the user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entrant {
    pub contestant: Contestant,
    /// The place for messages.
    pub origin: SpecError,
    /// The kernel that the user wrote, if any.
    pub kernel: Option<String>,
    /// Whether the user chose its name.
    is_named: bool,
    /// Where its file is, for names; a built-in one has no folder.
    path: PathBuf,
}

impl Entrant {
    pub fn is_option(&self) -> bool {
        self.origin.file.starts_with(OPTION)
    }

    fn sha256(&self) -> Option<&str> {
        match &self.contestant.scheduler {
            SchedulerChoice::File { sha256, .. } => Some(sha256),
            _ => None,
        }
    }

    fn error(&self, message: String) -> SpecError {
        SpecError { message, ..self.origin.clone() }
    }
}

/// Those of the file, without schedulers of today that are not here, then those of the command
/// line.
pub fn all(
    entries: Vec<Entry>,
    base: &Path,
    places: &Places,
    over: &Overrides,
    host: &Host,
    notes: &mut Vec<String>,
) -> Result<Vec<Entrant>, SpecError> {
    let mut all = Vec::new();
    let has_entries = !entries.is_empty();
    for (index, entry) in entries.into_iter().enumerate() {
        let path = format!("scheduler[{index}]");
        let (is_named, kernel) = (entry.name.is_some(), entry.kernel.clone());
        let contestant = contestant::from_entry(entry, &path, places, base, host)?;
        if let Some(why) = today::why_absent(&contestant, host) {
            notes.push(why);
            continue;
        }
        let (origin, path) = (places.error(&path, ""), place(&contestant, base));
        all.push(Entrant { contestant, origin, kernel, is_named, path });
    }
    for option in &over.schedulers {
        let contestant = contestant::from_option(option, host)?;
        let origin = SpecError::new(format!("{OPTION} {option}"), "");
        let (_, kernel) = contestant::split_kernel(option);
        let path = place(&contestant, Path::new(""));
        all.push(Entrant { contestant, origin, kernel, is_named: false, path });
    }
    if all.is_empty() && has_entries {
        let error = places.error("scheduler", "no scheduler of the experiment is here");
        return Err(error.hint("`fairground get NAME` builds one"));
    }
    if all.is_empty() {
        let hint = "add a [[scheduler]], or --scheduler NAME";
        return Err(places.error("", "no scheduler").hint(hint));
    }
    refuse_twice(&all, host)?;
    tell_apart(&mut all);
    unique(&all)?;
    Ok(all)
}

/// The path of a contestant's first file, or of its folder.
fn place(contestant: &Contestant, base: &Path) -> PathBuf {
    match &contestant.scheduler {
        SchedulerChoice::File { file, .. } if assets::is_path(file) || file.ends_with(ENDING) => {
            let all_files = file.split('+').all(|part| part.ends_with(ENDING));
            let first = file.split('+').next().filter(|_| all_files).unwrap_or(file);
            let path = base.join(first);
            // The folder of a crate's sources has its crate's name.
            let of_crate = path.ends_with("src/bpf").then(|| path.ancestors().nth(2)).flatten();
            let path = of_crate.map_or(path.clone(), Path::to_owned);
            let has_folder = path.parent().is_some_and(|folder| !folder.as_os_str().is_empty());
            if has_folder { path } else { Path::new(".").join(path) }
        }
        SchedulerChoice::File { file, .. } => file.into(),
        _ => PathBuf::new(),
    }
}

/// The same scheduler twice would be compared with itself.
fn refuse_twice(all: &[Entrant], host: &Host) -> Result<(), SpecError> {
    for (index, entrant) in all.iter().enumerate() {
        if let Some(first) = all[..index].iter().find(|first| is_same(first, entrant, host)) {
            let name = &first.contestant.name;
            let error = entrant.error(format!("this is the scheduler '{name}' again"));
            return Err(error.hint("name each scheduler once"));
        }
    }
    Ok(())
}

fn is_same(one: &Entrant, other: &Entrant, host: &Host) -> bool {
    let (one, other) = (&one.contestant, &other.contestant);
    let same = match (&one.scheduler, &other.scheduler) {
        (SchedulerChoice::File { sha256, .. }, SchedulerChoice::File { sha256: text, .. }) => {
            let changed = |knobs| knobs::changed(sha256, knobs, host);
            let (ours, others) = (one.scheduler.values(), other.scheduler.values());
            sha256 == text && (ours == others || changed(&ours) == changed(&others))
        }
        (ours, others) => ours == others,
    };
    same && one.kernel == other.kernel
}

/// Names those that nobody has named: files of one name by their folders, and a scheduler on two
/// kernels by the kernel.
fn tell_apart(all: &mut [Entrant]) {
    let known = all.to_vec();
    for entrant in all.iter_mut().filter(|entrant| !entrant.is_named) {
        let stem = stem(&entrant.path);
        let is_rival = |other: &&Entrant| {
            let other_text = other.sha256().is_some() && other.sha256() != entrant.sha256();
            let takes_it = other.is_named && other.contestant.name == entrant.contestant.name;
            other_text && (takes_it || !other.is_named && self::stem(&other.path) == stem)
        };
        let rivals: Vec<&Path> =
            known.iter().filter(is_rival).map(|other| other.path.as_path()).collect();
        if entrant.sha256().is_some() && !rivals.is_empty() {
            let label = label(&entrant.path, &rivals);
            let name = &mut entrant.contestant.name;
            *name = name.replacen(&stem, &label, 1);
        }
    }
    let names: Vec<String> = all.iter().map(|entrant| entrant.contestant.name.clone()).collect();
    for entrant in all.iter_mut().filter(|entrant| !entrant.is_named) {
        let name = &entrant.contestant.name;
        let is_shared = names.iter().filter(|other| *other == name).count() > 1;
        if let (true, Some(kernel)) = (is_shared, &entrant.kernel) {
            entrant.contestant.name = format!("{name}@{kernel}");
        }
    }
}

/// The shortest end of a path that no other one has, without the file's ending.
fn label(path: &Path, others: &[&Path]) -> String {
    let longest = path.components().count().max(2);
    let mut ends = (2..=longest).map(|parts| (parts, end(path, parts)));
    let differs =
        |(parts, text): &(usize, String)| others.iter().all(|other| end(other, *parts) != *text);
    ends.find(differs).map_or_else(|| end(path, longest), |(_, text)| text)
}

/// The last parts of a path, without the file's ending.
fn end(path: &Path, parts: usize) -> String {
    let all: Vec<Component> = path.components().collect();
    let last: PathBuf = all[all.len().saturating_sub(parts)..].iter().collect();
    let text = last.display().to_string();
    text.strip_suffix(ENDING).unwrap_or(&text).to_owned()
}

fn stem(path: &Path) -> String {
    end(path, 1)
}

fn unique(all: &[Entrant]) -> Result<(), SpecError> {
    for (index, entrant) in all.iter().enumerate() {
        let name = &entrant.contestant.name;
        if all[..index].iter().any(|first| first.contestant.name == *name) {
            let error = entrant.error(format!("a second scheduler '{name}'"));
            return Err(error.hint("give each its own name"));
        }
    }
    Ok(())
}

/// Which contestants belong together, by their names. `fidelity --counterparts` compares them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// For each contestant that is a file written after a kernel's own scheduler: the contestant
    /// that is this scheduler.
    pub counterparts: BTreeMap<String, String>,
    /// For each contestant that changes another: that other one.
    pub bases: BTreeMap<String, String>,
}

impl Relations {
    /// Both of a pair must be contestants.
    pub(crate) fn check(
        &self,
        contestants: &[Contestant],
        places: &Places,
    ) -> Result<(), SpecError> {
        let names: Vec<&str> =
            contestants.iter().map(|contestant| contestant.name.as_str()).collect();
        for (table, pairs) in [("pairs", &self.counterparts), ("bases", &self.bases)] {
            for (changed, base) in pairs {
                let unknown =
                    [changed, base].into_iter().find(|name| !names.contains(&name.as_str()));
                if let Some(name) = unknown {
                    let path = format!("{table}.{changed}");
                    return Err(unknown_name(places, &path, "scheduler", name, &names));
                }
            }
        }
        Ok(())
    }
}

/// The kernel that runs here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningKernel {
    /// `6.18.44-amd64`
    pub release: String,
    /// Why this process cannot load a sched_ext scheduler here; `None` if it can.
    pub no_sched_ext: Option<String>,
}

impl RunningKernel {
    /// Whether a kernel's name in an experiment, such as `6.12` or `7`, means this one.
    pub fn is(&self, kernel: &str) -> bool {
        let rest = self.release.strip_prefix(kernel);
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
        kernel.starts_with(|c: char| c.is_ascii_digit()) && rest.is_some_and(is_whole)
    }

    /// The option that names this kernel's own scheduler: `kernel:6.18`.
    pub fn option(&self) -> String {
        let numbers: Vec<&str> = self.release.split(['.', '-', '+']).take(2).collect();
        format!("kernel:{}", numbers.join("."))
    }

    /// Why a contestant is not what runs here; `None` if it is, or can be loaded.
    pub fn why_not(&self, contestant: &Contestant) -> Option<String> {
        let kernel = contestant.kernel.as_deref()?;
        let is_other = contestant.scheduler == SchedulerChoice::Kernel && !self.is(kernel);
        is_other.then(|| format!("Linux {} runs here, not {kernel}", self.release))
    }
}

/// What `live` leaves out of an experiment, and a sentence about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    pub left_out: Vec<String>,
    pub note: Option<String>,
}

/// Refuses what the user asked for and this kernel is not or cannot load, and leaves out other
/// kernels of an experiment's file.
pub fn admit(entrants: &[Entrant], running: &RunningKernel) -> Result<Admitted, SpecError> {
    for entrant in entrants.iter().filter(|entrant| entrant.is_option()) {
        refuse_other_kernel(entrant, running)?;
    }
    let (other, here): (Vec<&Entrant>, Vec<&Entrant>) =
        entrants.iter().partition(|entrant| running.why_not(&entrant.contestant).is_some());
    let left_out = names(&other);
    refuse_unloadable(&here, running)?;
    let (release, own) = (&running.release, running.option());
    let note = (!left_out.is_empty()).then(|| {
        let has_own = here.iter().any(|e| e.contestant.scheduler == SchedulerChoice::Kernel);
        let more =
            if has_own { String::new() } else { format!("; --scheduler {own} adds its own") };
        format!("left out on live: {}; Linux {release} runs here{more}", left_out.join(", "))
    });
    Ok(Admitted { left_out, note })
}

fn names(entrants: &[&Entrant]) -> Vec<String> {
    entrants.iter().map(|entrant| entrant.contestant.name.clone()).collect()
}

/// An option that names a kernel means it, whatever scheduler runs on it.
fn refuse_other_kernel(entrant: &Entrant, running: &RunningKernel) -> Result<(), SpecError> {
    let is_kernel = entrant.contestant.scheduler == SchedulerChoice::Kernel;
    let kernel = if is_kernel { &entrant.contestant.kernel } else { &entrant.kernel };
    let Some(kernel) = kernel.as_ref().filter(|kernel| !running.is(kernel)) else { return Ok(()) };
    let own = if is_kernel { running.option() } else { format!("no @{kernel}") };
    let message = format!("Linux {} runs here, not {kernel}", running.release);
    let error = SpecError { message, ..entrant.origin.clone() };
    Err(error.hint(format!("write {own}, or --on vm to boot {kernel}")))
}

/// A kernel that loads no scheduler makes an experiment about them pointless.
fn refuse_unloadable(here: &[&Entrant], running: &RunningKernel) -> Result<(), SpecError> {
    let Some(why) = &running.no_sched_ext else { return Ok(()) };
    let is_loaded = |entrant: &&&Entrant| entrant.contestant.scheduler.is_sched_ext();
    let loaded: Vec<&Entrant> = here.iter().filter(is_loaded).copied().collect();
    if loaded.is_empty() {
        return Ok(());
    }
    let others = here.iter().filter(|entrant| !entrant.contestant.scheduler.is_sched_ext());
    let mut run: Vec<String> =
        others.filter_map(|entrant| contestant::option(&entrant.contestant, true)).collect();
    if !run.contains(&running.option()) {
        run.insert(0, running.option());
    }
    let message = format!("{why}, and {} would have to be loaded", names(&loaded).join(", "));
    let hint = format!("write --on sim or --on vm; what runs here: --scheduler {}", run.join(", "));
    Err(SpecError::new("--on live", message).hint(hint))
}
