// SPDX-License-Identifier: GPL-2.0-only
//! Facts of a machine that leave only if its owner says so: identities of boots, the kernel's
//! command line, names of other tasks, what a live kernel printed.

use model::{Clock, Outcome, Provenance, Record, trial};

use super::Cleaner;

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
