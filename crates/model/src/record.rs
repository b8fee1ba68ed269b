// SPDX-License-Identifier: GPL-2.0-only
//! The result of a trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::inside::Inside;
use crate::trial::hex16;
use crate::{Histogram, Metric, Series, Shared, Trace, Trial};

/// The result of one trial. Records are the only memory: every table and picture is a function of
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub trial: Trial,
    pub outcome: Outcome,
    /// What was measured. Under a virtual clock the same trial gives the same bytes here.
    pub measured: Measured,
    /// Where, when and with what; may differ between two executions of the same trial.
    pub provenance: Provenance,
    /// The events, if the trial asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl Record {
    /// A record that says only how the trial ended.
    pub fn without_measurement(trial: Trial, outcome: Outcome, provenance: Provenance) -> Record {
        Record { trial, outcome, measured: Measured::default(), provenance, trace: None }
    }
}

/// How a trial ended. Everything but [`Outcome::Ok`] is shown in reports, and nothing is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Outcome {
    /// It reached its end, and the scheduler under test was active before and after.
    Ok,
    /// The workload was still running at the trial's time limit, and could be stopped.
    Timeout {
        /// What was still running.
        reason: String,
    },
    /// No response: the guest was killed from outside, or the live scheduler was unloaded.
    Hung { reason: String },
    /// The kernel ejected the sched_ext scheduler, or another one was active at the end.
    Ejected {
        /// The kernel's reason, e.g. `runnable task stall (hog[123] failed to run for 30.2s)`.
        reason: String,
        /// The kernel's debug dump; empty if there is none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        dump: String,
    },
    /// The kernel panicked.
    Crashed {
        /// The console's last lines.
        text: String,
    },
    /// The workload itself failed: a program ended with an error, or its output was not understood.
    Failed {
        /// What went wrong.
        reason: String,
    },
    /// This backend, kernel or machine cannot run it.
    Unsupported {
        /// Why, and what would help.
        reason: String,
    },
}

impl Outcome {
    pub fn is_ok(&self) -> bool {
        *self == Outcome::Ok
    }

    /// The outcome's name in one word, as in the store and in tables.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Timeout { .. } => "timeout",
            Outcome::Hung { .. } => "hung",
            Outcome::Ejected { .. } => "ejected",
            Outcome::Crashed { .. } => "crashed",
            Outcome::Failed { .. } => "failed",
            Outcome::Unsupported { .. } => "unsupported",
        }
    }

    /// The reason in one line; empty for `ok`.
    pub fn reason(&self) -> &str {
        match self {
            Outcome::Ok => "",
            Outcome::Crashed { text } => text.lines().next().unwrap_or_default(),
            Outcome::Timeout { reason }
            | Outcome::Hung { reason }
            | Outcome::Ejected { reason, .. }
            | Outcome::Failed { reason }
            | Outcome::Unsupported { reason } => reason,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Numbers, sorted by name and group.
    pub metrics: Vec<Metric>,
    /// Distributions, sorted by name and group.
    pub histograms: Vec<Histogram>,
    /// Measures over time, in the order of [`crate::series::SERIES`]. Imported records and those of
    /// older versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
}

impl Measured {
    /// The identity of the measurement: equal exactly when two trials measured the same, byte for
    /// byte.
    pub fn hash(&self) -> String {
        hex16(self)
    }

    /// A number by name and group; `None` if it is missing.
    pub fn value(&self, name: &str, group: &str) -> Option<f64> {
        let metric = self.metrics.iter().find(|m| m.name == name && m.group == group)?;
        metric.value
    }

    pub fn histogram(&self, name: &str, group: &str) -> Option<&Histogram> {
        self.histograms.iter().find(|h| h.name == name && h.group == group)
    }

    /// A series by name; `None` if it is missing.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name && series.missing.is_none())
    }

    /// Adds a distribution. If its largest samples were only counted, the quantiles that are still
    /// exact become numbers (`name.p50`), and the others are missing.
    pub fn distribution(&mut self, histogram: Histogram) {
        if histogram.is_complete() {
            return self.histograms.push(histogram);
        }
        let (name, group, count) = (&histogram.name, &histogram.group, histogram.count);
        let kept = histogram.buckets.iter().map(|(_, samples)| samples).sum();
        let why = format!("{} of {count} samples are not in the histogram", count.abs_diff(kept));
        let exact = |quantile| histogram.quantile_of_cut(quantile).map(|value| value as f64);
        let numbers = [
            ("p50", exact(0.5)),
            ("p90", exact(0.9)),
            ("p99", exact(0.99)),
            ("p999", exact(0.999)),
            ("max", (kept < count).then_some(histogram.max as f64)),
        ];
        self.metrics.extend(numbers.map(|(statistic, value)| {
            let name = format!("{name}.{statistic}");
            match value {
                Some(value) => Metric::number(&name, group, value),
                None => Metric::missing(&name, group, &why),
            }
        }));
    }

    /// Sorts by name and group, so that equal measurements have equal bytes.
    pub fn sort(&mut self) {
        self.metrics.sort_by(|a, b| (&a.name, &a.group).cmp(&(&b.name, &b.group)));
        self.histograms.sort_by(|a, b| (&a.name, &a.group).cmp(&(&b.name, &b.group)));
    }
}

/// Where, when and with what a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// This program's version.
    pub fairground: String,
    /// `uname -r` of the kernel under test.
    pub kernel_release: String,
    /// `uname -v`.
    pub kernel_version: String,
    /// SHA-256 of the kernel image (`vm`), empty where unknown.
    pub kernel_sha256: String,
    /// Configuration facts that matter: `HZ`, `preempt`, `sched_ext`, `autogroup`, `rt_runtime_us`,
    /// `rt_period_us`, `timer_slack_ns` …
    pub kernel_facts: Shared<BTreeMap<String, String>>,
    /// `kvm`, `tcg`, or `none` (live).
    pub accelerator: String,
    /// The processor's model name, as the kernel under test sees it.
    pub cpu_model: String,
    /// CPUs that the kernel under test has.
    pub cpus: u32,
    /// The boot: the kernel's `boot_id`, or under a virtual clock the host's number for it.
    pub boot_id: String,
    /// The number of trials that ran in this boot before this one.
    pub boot_position: u32,
    /// The active scheduler before the workload started.
    pub scheduler_before: Shared<ActiveScheduler>,
    pub scheduler_after: Shared<ActiveScheduler>,
    /// Instructions or loop rounds per second that `run_us` was calibrated to; 0 where it does not
    /// apply.
    pub calibration_rounds_per_ms: u64,
    pub probes: String,
    /// The cost of the probes: number of calls and mean nanoseconds of each BPF program, when the
    /// kernel counts them.
    pub probe_cost: BTreeMap<String, ProbeCost>,
    /// Versions of the real programs that took part, and the SHA-256 of the scheduler's object (16
    /// digits).
    pub programs: Shared<BTreeMap<String, String>>,
    /// When the trial started, seconds since 1970 on the host; 0 where there is no such clock.
    pub started_unix_s: u64,
    /// Host time that the trial took.
    pub wall_ms: u64,
    pub notes: Vec<String>,
    /// The first lines that the scheduler printed with `bpf_printk`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// Of a traced trial: the scheduler's global variables at its end, as `name = value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Of a traced trial: what the scheduler did and held.
    #[serde(skip_serializing_if = "Inside::is_empty")]
    pub inside: Inside,
}

/// The name of the scheduler's object among the programs of [`Provenance`].
pub const OBJECT: &str = "scheduler object";

impl Provenance {
    /// The SHA-256 of the scheduler's object (16 digits): what the compiler and the headers made of
    /// the text. `None` for schedulers that are no file.
    pub fn object(&self) -> Option<&str> {
        self.programs.get(OBJECT).map(String::as_str)
    }

    /// The facts of the host that a virtual machine's numbers depend on, with their values: the
    /// guest's image, QEMU and its firmware.
    pub fn guest_facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let value = |name| self.kernel_facts.get(name).map(|value| (name, value.as_str()));
        ["guest_image", "qemu", "firmware"].into_iter().filter_map(value)
    }

    /// The first of the [`guest_facts`](Self::guest_facts) that differs, and its two values. A fact
    /// that one side lacks differs from nothing.
    pub fn unlike_guest<'a>(
        &'a self,
        other: &'a Provenance,
    ) -> Option<(&'a str, &'a str, &'a str)> {
        self.guest_facts().find_map(|(name, value)| {
            let other = other.kernel_facts.get(name)?;
            (value != other).then_some((name, value, other.as_str()))
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeCost {
    pub runs: u64,
    /// Mean time of a call, nanoseconds.
    pub mean_ns: f64,
}

/// The scheduler that the kernel says is active.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ActiveScheduler {
    /// `/sys/kernel/sched_ext/state`, or `absent`.
    pub sched_ext_state: String,
    /// `/sys/kernel/sched_ext/root/ops`, empty when none is loaded.
    pub sched_ext_ops: String,
    /// `/sys/kernel/sched_ext/enable_seq`: the number of schedulers loaded since boot, which shows
    /// a reload.
    pub sched_ext_enable_seq: u64,
    /// The built-in fair scheduler of this kernel: `cfs` or `eevdf`, by its debug features or
    /// version; `bore_cfs` or `bore` with that patch.
    pub fair: String,
}

/// The built-in fair scheduler of a release of the kernel: EEVDF replaced CFS in Linux 6.6. Empty
/// for a text that is no release.
pub fn fair_scheduler(release: &str) -> &'static str {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match version {
        (0, _) => "",
        _ if version >= (6, 6) => "eevdf",
        _ => "cfs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eevdf_began_with_6_6() {
        assert_eq!(fair_scheduler("6.1.0-50-cloud-amd64"), "cfs");
        assert_eq!(fair_scheduler("6.5.13"), "cfs");
        assert_eq!(fair_scheduler("6.6.0"), "eevdf");
        assert_eq!(fair_scheduler("7.3.4+deb13-cloud-amd64"), "eevdf");
        assert_eq!(fair_scheduler("unknown"), "");
    }
}
