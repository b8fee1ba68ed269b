// SPDX-License-Identifier: GPL-2.0-only
//! Private facts, which are left out of shared files: folders, the names of user and host, the
//! running kernel's command line, identities of boots, names of other tasks of a live machine.
//! Facts of the kernel are shared only if [`PUBLIC_FACTS`] lists them. Kernel release, processor
//! model, CPUs, versions and dates stay, because results depend on them.

use std::collections::BTreeSet;

use crate::Session;
use anyhow::Result;
use model::{Clock, Outcome, Record, SchedulerChoice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Shared;

/// Facts of a kernel that do not identify its owner.
const PUBLIC_FACTS: [&str; 30] = [
    "HZ",
    "autogroup",
    "base_slice_ns",
    "btf",
    "cache_of_cpu0",
    "clocksource",
    "compiler",
    "config_sha256",
    "core_of_cpu0",
    "emulator",
    "governor",
    "icount",
    "nodes",
    "nr_cpus",
    "original_of",
    "package",
    "patches",
    "preempt",
    "preempt_dynamic",
    "qemu",
    "rr_timeslice_ms",
    "rt_period_us",
    "rt_runtime_us",
    "sandbox",
    "sched_ext",
    "smt",
    "timer_slack_ns",
    "fair",
    "headers",
    "virtualisation",
];

/// The first folders of paths that are the same on every system.
const SYSTEM: [&str; 11] =
    ["proc", "sys", "dev", "usr", "bin", "sbin", "lib", "lib64", "boot", "etc", "objects"];

/// Common names, which identify nobody and have other meanings.
const COMMON: [&str; 8] =
    ["root", "user", "host", "localhost", "debian", "ubuntu", "fedora", "fairground"];

/// The shortest name that is removed; shorter ones occur by accident.
const NAME_MIN: usize = 4;

/// The replacement of a name. It also occurs in commands, so it has no meaning to a shell.
const HIDDEN: &str = "hidden";

/// The names that identify the owner.
#[derive(Clone, Debug, Default)]
pub struct Owner {
    names: Vec<String>,
}

impl Owner {
    pub fn here() -> Owner {
        let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let short = host.split('.').next().unwrap_or_default().to_owned();
        let users = ["USER", "LOGNAME", "SUDO_USER"].map(std::env::var);
        let users = users.into_iter().flatten();
        Owner::from_names([host, short].into_iter().chain(users))
    }

    /// From these names, without common ones.
    pub fn from_names(names: impl IntoIterator<Item = String>) -> Owner {
        let tells = |name: &String| {
            name.len() >= NAME_MIN && !COMMON.contains(&name.to_lowercase().as_str())
        };
        let mut names: Vec<String> = names.into_iter().filter(tells).collect();
        // The longest first: a host's full name contains its short one.
        names.sort_by_key(|name| (std::cmp::Reverse(name.len()), name.clone()));
        names.dedup();
        Owner { names }
    }

    /// Removes all private facts, and returns descriptions of them.
    pub fn clean(&self, shared: &mut Shared) -> Result<Vec<String>> {
        let mut left_out = BTreeSet::new();
        for (session, records) in &mut shared.sessions {
            session.command = command(&session.command);
            *session = Session {
                experiment: self.cleaned(&session.experiment)?,
                command: self.text(&session.command),
                ..session.clone()
            };
            for contestant in &mut session.experiment.contestants {
                without_folders(contestant);
            }
            session.experiment.workloads.iter_mut().for_each(without_folder);
            for record in records {
                record_facts(record, &mut left_out);
                without_folders(&mut record.trial.contestant);
                without_folder(&mut record.trial.workload);
                record.trial = self.cleaned(&record.trial)?;
                record.outcome = self.cleaned(&record.outcome)?;
                record.provenance = self.cleaned(&record.provenance)?;
            }
        }
        left_out.extend(["folders, and the names of user and host"]);
        Ok(left_out.into_iter().map(str::to_owned).collect())
    }

    fn cleaned<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<T> {
        let mut json = serde_json::to_value(value)?;
        self.walk(&mut json);
        Ok(serde_json::from_value(json)?)
    }

    fn walk(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.walk(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.walk(value)),
            _ => {}
        }
    }

    /// A text without private folders and names.
    fn text(&self, text: &str) -> String {
        let mut text = folders(text);
        for name in &self.names {
            text = replaced(&text, name);
        }
        text
    }
}

/// The facts of a record that are not shared.
fn record_facts(record: &mut Record, left_out: &mut BTreeSet<&'static str>) {
    let real = record.trial.clock() == Clock::Real;
    let provenance = &mut record.provenance;
    let facts = provenance.kernel_facts.len();
    provenance.kernel_facts.retain(|name, _| PUBLIC_FACTS.contains(&name.as_str()));
    if provenance.kernel_facts.len() < facts {
        left_out.insert("the kernel's command line");
    }
    if real && !provenance.boot_id.is_empty() {
        // Trials of one boot still belong together, but the boot is anonymous.
        let hash = model::trial::sha256_hex(provenance.boot_id.as_bytes());
        provenance.boot_id = format!("boot {}", &hash[..12]);
        left_out.insert("identities of boots");
    }
    if record.trial.backend.uses_running_kernel() {
        if !provenance.printed.is_empty() {
            left_out.insert("what was printed on the live kernel");
            provenance.printed.clear();
        }
        if let Outcome::Ejected { dump, reason } = &mut record.outcome {
            if !dump.is_empty() {
                left_out.insert("the live kernel's dumps");
                dump.clear();
            }
            let ours = |task: &str| record.trial.workload.tasks.iter().any(|g| g.name == task);
            *reason = without_tasks(reason, ours);
        }
        if record.trace.take().is_some() {
            left_out.insert("the live kernel's traces");
        }
    }
}

/// A kernel's reason without the names of tasks that are not part of the workload: `firefox[1234]`.
fn without_tasks(reason: &str, ours: impl Fn(&str) -> bool) -> String {
    let word = |word: &str| match word.split_once('[') {
        Some((name, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            let start = name.rfind('(').map_or(0, |at| at + 1);
            let name = if ours(&name[start..]) { name } else { &format!("{}task", &name[..start]) };
            format!("{name}[{rest}")
        }
        _ => word.to_owned(),
    };
    reason.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A file's name is what is left of its path.
fn last(path: &mut String) {
    if let Some((_, name)) = path.rsplit_once('/') {
        *path = name.to_owned();
    }
}

/// Tapes are in a file of their owner.
fn without_folder(workload: &mut model::Workload) {
    workload.recording.iter_mut().for_each(|recorded| last(&mut recorded.tapes));
}

/// A contestant that is named by a path keeps the file's name.
fn without_folders(contestant: &mut model::Contestant) {
    contestant.kernel.as_mut().map(last);
    if let SchedulerChoice::File { file, .. } = &mut contestant.scheduler {
        last(file);
    }
}

/// A command whose paths are only the files' names.
fn command(command: &str) -> String {
    let without = |word: &str| match word.rsplit_once('/') {
        Some((before, name)) if name.chars().any(char::is_alphanumeric) => {
            let quote = if before.starts_with('\'') { "'" } else { "" };
            format!("{quote}{name}")
        }
        _ => word.to_owned(),
    };
    command.split(' ').map(without).collect::<Vec<_>>().join(" ")
}

/// A text in which paths from the root or from home, except system folders, are reduced to the last
/// name.
fn folders(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (before, path) = rest.split_at(at);
        let end = path.find(|c: char| c.is_whitespace() || "'\"`;,()<>|".contains(c));
        let (path, after) = path.split_at(end.unwrap_or(path.len()));
        let starts = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '.');
        let home = before.ends_with('~');
        let first = path.split('/').nth(1).unwrap_or_default();
        let deep = path.matches('/').count() > 1;
        clean.push_str(before);
        if (starts && deep || home) && !SYSTEM.contains(&first) && !first.is_empty() {
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            clean.push_str("…/");
            clean.push_str(name);
        } else {
            clean.push_str(path);
        }
        rest = after;
    }
    clean + rest
}

/// A text without a name where it occurs as a word.
fn replaced(text: &str, name: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, found) = rest.split_at(at);
        let after = &found[name.len()..];
        let word = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        clean.push_str(before);
        let alone = word(before.chars().next_back()) && word(after.chars().next());
        clean.push_str(if alone { HIDDEN } else { name });
        rest = after;
    }
    clean + rest
}

/// Whether a text can be shared as a name, for `--by` and `--note`.
pub fn is_sentence(text: &str) -> bool {
    text.chars().count() <= 200 && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_folders_go_and_the_systems_stay() {
        assert_eq!(folders("read /home/ada/x/mine.bpf.c:3"), "read …/mine.bpf.c:3");
        assert_eq!(folders("'/tmp/work/a b'"), "'…/a b'");
        assert_eq!(folders("~/secret/a.toml"), "~…/a.toml");
        assert_eq!(folders("no /sys/kernel/sched_ext here"), "no /sys/kernel/sched_ext here");
        assert_eq!(folders("7/8 of a/b, 3 M/s"), "7/8 of a/b, 3 M/s");
        assert_eq!(folders("https://example.org/a/b"), "https://example.org/a/b");
        assert_eq!(folders("/"), "/");
    }

    #[test]
    fn commands_keep_the_names_of_files() {
        let said = "fairground run /home/ada/x.toml --store ../../b.db --scheduler 'a/m.bpf.c k=1'";
        let shared = "fairground run x.toml --store b.db --scheduler 'm.bpf.c k=1'";
        assert_eq!(command(said), shared);
        assert!(crate::exchange::shell::is_plain_command(shared));
    }

    #[test]
    fn strangers_tasks_are_not_named() {
        let stall = |name: &str| format!("runnable task stall ({name}[12] failed to run)");
        let ours = |name: &str| name == "hog";
        assert_eq!(without_tasks(&stall("firefox"), ours), stall("task"));
        assert_eq!(without_tasks(&stall("hog"), ours), stall("hog"));
    }

    #[test]
    fn names_go_where_they_are_words() {
        let owner = Owner::from_names(["ada-laptop".into(), "lovelace".into(), "root".into()]);
        let text = "lovelace@ada-laptop: lovelaces root";
        assert_eq!(owner.text(text), "hidden@hidden: lovelaces root");
    }
}
