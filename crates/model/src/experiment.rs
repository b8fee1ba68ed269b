// SPDX-License-Identifier: GPL-2.0-only
//! An experiment: one question, resolved from one file; how it was planned, and its progress.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::usual::{is_default, is_true, yes};
use crate::{Backend, Contestant, Machine, MeasureKey, Outcome, Trial, Workload};

/// An experiment with everything that its file refers to already read: contestants × workloads ×
/// machines × repeats. The plan is a pure function of it and a seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The file's stem.
    pub name: String,
    /// The question that it answers, one sentence.
    pub question: String,
    /// The backends in the order of execution; each executes its part of the same plan.
    #[serde(alias = "backend", deserialize_with = "one_or_more")]
    pub backends: Vec<Backend>,
    /// The name of the contestant that the others are compared with.
    pub baseline: String,
    pub contestants: Vec<Contestant>,
    /// The cells: every workload with every combination of its parameters.
    pub workloads: Vec<Workload>,
    /// Variants of workloads that use the number of CPUs, for machines with another number than the
    /// first one: the same cells, with other counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaled: Vec<Scaled>,
    pub machines: Vec<Machine>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only_on: BTreeMap<String, Backend>,
    /// The cells that only some of the machines have, with the names of those machines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cells_on: BTreeMap<String, Vec<String>>,
    /// The contestants that `live` leaves out: other kernels' own schedulers than this kernel's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_on_live: Vec<String>,
    /// Number of blocks. Each boots every kernel afresh, so this is also the number of boots per
    /// contestant and cell.
    pub blocks: u32,
    /// Trials of each cell inside one boot.
    pub trials_per_boot: u32,
    /// Wall-clock limit of each trial.
    pub timeout_ms: u64,
    /// Which cells are traced in their first block: `["wake_under_hogs hogs=3"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<String>,
    /// Whether every trial is traced, in all blocks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trace_every_trial: bool,
    /// Whether callbacks of several CPUs interleave in the simulator (`soak --races`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub races: bool,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub probes: bool,
    /// What was declared about the plan.
    #[serde(default, skip_serializing_if = "Design::is_plain")]
    pub design: Design,
}

/// A workload as it is on machines of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaled {
    /// The machines' number of CPUs.
    pub cpus: u32,
    /// Its cell is that of one of the experiment's workloads.
    pub workload: Workload,
}

impl Experiment {
    pub fn has(&self, backend: Backend, machine: &Machine) -> bool {
        self.only_on.get(&machine.name).is_none_or(|only| *only == backend)
    }

    pub fn has_cell(&self, workload: &Workload, machine: &Machine) -> bool {
        self.cells_on.is_empty()
            || self.cells_on.get(&workload.cell()).is_none_or(|on| on.contains(&machine.name))
    }

    pub fn on_machine<'a>(&'a self, workload: &'a Workload, machine: &Machine) -> &'a Workload {
        let cell = workload.cell();
        let fits = |scaled: &&Scaled| scaled.cpus == machine.cpus && scaled.workload.cell() == cell;
        self.scaled.iter().find(fits).map_or(workload, |scaled| &scaled.workload)
    }
}

/// The declarations that a reader must know to believe the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The user asked to run the plan although it may be too short to prove anything.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exploratory: bool,
    /// Blocks were added until no interval of a shift was wider than ± this many percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_percent: Option<f64>,
    /// The number of blocks was chosen, before any result was looked at, to take this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<u64>,
    /// The noise between identical contestants before the experiment (A/A trials).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scatter: Vec<Scatter>,
    /// What a recommendation is judged by; empty where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aims: Vec<Aim>,
    /// The contestants that are the scheduler in use, or stand for it, of a recommendation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_use: Vec<String>,
}

impl Design {
    /// Whether nothing was declared: a fixed number of blocks.
    pub fn is_plain(&self) -> bool {
        *self == Design::default()
    }
}

/// The scatter of one measure in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scatter {
    pub backend: Backend,
    pub machine: String,
    /// The cell, as [`Workload::cell`].
    pub cell: String,
    /// The measure, as reports name it: `completion_ns all`.
    pub measure: String,
    /// The standard deviation of natural logarithms between independent trials; 0.01 is about 1 %.
    pub deviation: f64,
    #[serde(alias = "runs")]
    pub trials: usize,
}

/// Progress of a running experiment. Backends emit these events and never print.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    Planned {
        trials: usize,
        /// Of these, already in the store (`--resume`).
        done: usize,
    },
    BootStarted {
        boot: u32,
        kernel: &'a str,
    },
    /// The guest is ready for its first trial.
    Booted {
        boot: u32,
        /// Wall time from the start of QEMU to the guest's first word.
        boot_ms: u64,
    },
    TrialStarted(&'a Trial),
    /// A trial has its record, and the record is in the store.
    TrialFinished(&'a Trial, &'a Outcome),
    /// A notice for the user: KVM does not work, a kernel is missing.
    Note(&'a str),
}

/// Reads `"sim"` as well as `["sim", "vm"]`, each backend once.
pub fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Backend>, D::Error> {
    let backends = from.deserialize_any(OneOrMore)?;
    let twice = |(index, backend): (usize, &Backend)| backends[..index].contains(backend);
    if backends.is_empty() || backends.iter().enumerate().any(twice) {
        return Err(D::Error::custom("each backend must stand there once, and at least one"));
    }
    Ok(backends)
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Vec<Backend>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sim, vm, live, or a list of them")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Vec<Backend>, E> {
        Backend::deserialize(StrDeserializer::new(word)).map(|backend| vec![backend])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<Backend>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list))
    }
}

/// A deciding measure, and the measures that must not get worse. Stored with the session, so that
/// every form of the answer follows from the same rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aim {
    pub name: String,
    pub decides: Watched,
    /// The measures that must not get worse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keeps: Vec<Watched>,
}

/// A measure of a cell, and how much of it matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// The cell's name, `wake_under_hogs hogs=3`.
    pub cell: String,
    pub measure: MeasureKey,
    /// Its meaning, in plain words.
    pub words: String,
    /// Smaller differences do not matter, in percent of the current scheduler.
    pub percent: f64,
    /// Smaller differences do not matter, in the measure's unit. If the current scheduler has 0,
    /// only this margin applies.
    #[serde(default, skip_serializing_if = "is_default")]
    pub least: f64,
    /// How far the simulator's differences are from a kernel's, if the simulator has measured: no
    /// smaller difference of it says anything.
    #[serde(default, skip_serializing_if = "is_default")]
    pub model_error: Option<ModelError>,
}

/// How far four of five differences of the simulator are from a kernel's at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    /// In percent of the current scheduler.
    Percent(f64),
    /// In the measure's unit.
    Value(f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Vec<Backend>, String> {
        let mut from = serde_json::Deserializer::from_str(json);
        one_or_more(&mut from).map_err(|error| error.to_string())
    }

    #[test]
    fn one_backend_or_a_list_without_repeats() {
        assert_eq!(read(r#""sim""#), Ok(vec![Backend::Sim]));
        assert_eq!(read(r#"["sim", "vm"]"#), Ok(vec![Backend::Sim, Backend::Vm]));
        assert!(read("[]").unwrap_err().contains("at least one"));
        assert!(read(r#"["vm", "vm"]"#).unwrap_err().contains("once"));
        assert!(read(r#""xen""#).unwrap_err().contains("unknown variant `xen`"));
        assert!(read("3").unwrap_err().contains("a list of them"));
    }
}
