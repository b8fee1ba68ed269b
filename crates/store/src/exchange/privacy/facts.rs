// SPDX-License-Identifier: GPL-2.0-only
//! Facts of a machine that leave only if its owner says so: identities of boots, the kernel's
//! command line, names of other tasks, what a live kernel printed.
//! So do the names of a recorded machine's threads, which are called t1, t2, … otherwise, a thread
//! always the same.

use std::collections::{BTreeMap, BTreeSet};

use model::tape::{self, TapeFault};
use model::{Clock, Outcome, Provenance, Record, Shared, Workload, metric, trial};

use super::Cleaner;
use super::words::replaced;

/// Facts of a kernel that do not identify its owner.
pub const PUBLIC_FACTS: [&str; 31] = [
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
    "source_tree_sha256",
    "virtualisation",
];

impl Cleaner {
    pub(super) fn without_facts(&mut self, record: &mut Record) {
        let is_real = record.trial.clock() == Clock::Real;
        let provenance = &mut record.provenance;
        let facts = provenance.kernel_facts.len();
        provenance.kernel_facts.retain(|name, _| PUBLIC_FACTS.contains(&name.as_str()));
        if provenance.kernel_facts.len() < facts {
            self.left_out.insert("the kernel's command line");
        }
        if is_real && !provenance.boot_id.is_empty() && !is_anonymous(&provenance.boot_id) {
            // Trials of one boot still belong together, but the boot is anonymous.
            let hash = trial::sha256_hex(provenance.boot_id.as_bytes());
            provenance.boot_id = format!("boot {}", &hash[..12]);
            self.left_out.insert("identities of boots");
        }
        if record.trial.backend.uses_running_kernel() {
            self.without_live_facts(record);
        }
    }

    fn without_live_facts(&mut self, record: &mut Record) {
        let Provenance { printed, variables, inside, .. } = &mut record.provenance;
        if !printed.is_empty() || !variables.is_empty() || !inside.is_empty() {
            self.left_out.insert("what was printed on the live kernel, and variables there");
            printed.clear();
            variables.clear();
            *inside = Default::default();
        }
        if let Outcome::Ejected { dump, reason } = &mut record.outcome {
            if !dump.is_empty() {
                self.left_out.insert("the live kernel's dumps");
                dump.clear();
            }
            let ours = |task: &str| record.trial.workload.tasks.iter().any(|g| g.name == task);
            *reason = without_tasks(reason, ours);
        }
        if !self.choice.live_traces && record.trace.take().is_some() {
            self.left_out.insert("the live kernel's traces");
        }
    }
}

/// Whether a boot's identity came from here.
fn is_anonymous(boot_id: &str) -> bool {
    let hash = boot_id.strip_prefix("boot ").unwrap_or_default();
    hash.len() == 12 && hash.chars().all(|c| c.is_ascii_hexdigit())
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

/// Whether a text is an object's hash, which tells a reader nothing.
pub fn is_object(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[derive(Default)]
pub struct Names {
    /// What became of names that folders tell apart.
    pub known: BTreeMap<String, String>,
    /// The numbers of the names of control groups.
    control_groups: BTreeMap<String, usize>,
}

impl Names {
    /// The last part of a name; a number tells it from others: `a/main`, `b/main`.
    pub fn unique(&mut self, name: &str, last: String) -> String {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let numbered = (2..).map(|number| format!("{last} ({number})"));
        let is_free = |name: &String| self.known.values().all(|known| known != name);
        let free = std::iter::once(last.clone()).chain(numbered).find(is_free);
        let clean = free.expect("numbers do not end");
        self.known.insert(name.into(), clean.clone());
        clean
    }

    /// The path of a control group with each name replaced by `c1`, `c2`, …
    pub fn tree(&mut self, path: &str) -> String {
        let anonymous = path.split('/').filter(|name| !name.is_empty()).map(|name| {
            let next = self.control_groups.len() + 1;
            format!("c{}", self.control_groups.entry(name.to_owned()).or_insert(next))
        });
        anonymous.collect::<Vec<_>>().join("/")
    }
}

/// How many cleaned parts of records are remembered; a store has few different ones.
const REMEMBERED: usize = 64;

/// Parts that were cleaned: before, whether of a recording, after.
pub struct Memo<T>(Vec<(T, bool, Shared<T>)>);

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo(Vec::new())
    }
}

impl<T: Clone + PartialEq> Memo<T> {
    /// What became of a value, of a recording or not.
    pub fn get(&self, value: &T, is_recorded: bool) -> Option<Shared<T>> {
        let known = self.0.iter().find(|(of, flag, _)| *flag == is_recorded && of == value);
        known.map(|(_, _, clean)| clean.clone())
    }

    pub fn keep(&mut self, value: &T, is_recorded: bool, clean: &Shared<T>) {
        if self.0.len() >= REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((value.clone(), is_recorded, clean.clone()));
    }
}

/// What is left out, in words for the owner and for readers.
pub const THREADS: &str =
    "the names of recorded threads, which are called t1, t2, …; --thread-names keeps them";
pub const TASKS: &str = "the names of other tasks; --thread-names keeps them";

/// From this length on, a name is also found inside of words: `worker` in `worker3`.
const INSIDE_MIN: usize = 5;

#[derive(Default)]
pub struct Threads {
    /// From their names to anonymous ones.
    names: BTreeMap<String, String>,
    /// The cells that replay a recording.
    cells: BTreeSet<String>,
}

impl Threads {
    /// Whether the groups of a workload are named after threads.
    pub fn are_of(workload: &Workload) -> bool {
        workload.recording.is_some()
    }

    pub fn learn(&mut self, workload: &Workload) {
        if !Threads::are_of(workload) || !self.cells.insert(workload.cell()) {
            return;
        }
        let totals = workload.totals.iter().map(|total| &total.name);
        for name in workload.tasks.iter().map(|group| &group.name).chain(totals) {
            self.anonymous(name);
        }
    }

    pub fn play(&self, cell: &str) -> bool {
        self.cells.contains(cell)
    }

    pub fn anonymous(&mut self, name: &str) -> String {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let is_taken = |name: &String| self.names.values().any(|taken| taken == name);
        let mut names = (self.names.len() + 1..).map(|number| format!("t{number}"));
        let anonymous = names.find(|name| !is_taken(name)).expect("numbers do not end");
        self.names.insert(name.into(), anonymous.clone());
        anonymous
    }

    /// A group of a recording; one that no workload has is a thread too.
    pub fn group(&mut self, name: &str) -> String {
        let known = self.text(name);
        let is_fixed = name.is_empty() || [metric::ALL, metric::PROGRAM].contains(&name);
        if known != name || is_fixed { known } else { self.anonymous(name) }
    }

    /// A text in which threads are anonymous.
    pub fn text(&self, text: &str) -> String {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        if [metric::ALL, metric::PROGRAM].contains(&text) {
            return text.into();
        }
        let mut names: Vec<(&String, &String)> = self.names.iter().collect();
        // A name may be part of a longer one.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(text.to_owned(), |text, (name, anonymous)| {
            if name.len() >= INSIDE_MIN {
                text.replace(name.as_str(), anonymous)
            } else {
                replaced(&text, name, anonymous)
            }
        })
    }
}

/// Tapes whose threads have the names of their groups.
///
/// # Errors
/// If the text is no tapes.
pub fn rename_tapes(text: &str, workload: &Workload) -> Result<String, TapeFault> {
    let mut tapes = tape::read(text)?;
    let groups = workload.tasks.iter();
    let names = groups.flat_map(|group| std::iter::repeat_n(&group.name, group.count as usize));
    for (tape, name) in tapes.iter_mut().zip(names) {
        tape.name.clone_from(name);
    }
    Ok(tape::write(&tapes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_tasks_are_not_named() {
        let stall = |name: &str| format!("runnable task stall ({name}[12] failed to run)");
        let ours = |name: &str| name == "hog";
        assert_eq!(without_tasks(&stall("firefox"), ours), stall("task"));
        assert_eq!(without_tasks(&stall("hog"), ours), stall("hog"));
    }
}
