// SPDX-License-Identifier: GPL-2.0-only
//! `fairground control [EXPERIMENT]`: schedulers' files beside the kernels' own schedulers that
//! they are written after. What differs on kernels is the price of sched_ext together with what the
//! files do differently; what differs between a kernel and the simulator is the model's error.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Experiment, Record};
use stats::Comparison;

use super::beside;
pub use super::beside::Args;
use crate::exit::bad_input;
use crate::question::Asked;

/// The experiment that METHOD.md's table is of.
const EXPERIMENT: &str = "control";

/// Runs the experiment and sets its pairs side by side.
///
/// # Errors
/// As `run`; and when the experiment has no pairs, or asks no kernel.
pub fn run(args: Args) -> Result<ExitCode> {
    let sides = |asked: &Asked| Ok((kernel(&asked.experiment, &asked.pairs)?, asked.pairs.clone()));
    beside::run(args, EXPERIMENT, sides, text)
}

/// The backend that has kernels with schedulers of their own.
fn kernel(experiment: &Experiment, pairs: &BTreeMap<String, String>) -> Result<Backend> {
    if pairs.is_empty() {
        return Err(bad_input(format!(
            "{}: no pairs; write pairs = {{ cfs = \"cfs-6.1\" }}: a file's name, its original's",
            experiment.name
        )));
    }
    let kernel = experiment.backends.iter().find(|&&backend| backend != Backend::Sim);
    kernel.copied().ok_or_else(|| {
        bad_input(format!(
            "{}: the originals are parts of kernels; write on = \"vm\", or --on vm",
            experiment.name
        ))
    })
}

fn text(
    records: &[Record],
    comparison: &Comparison,
    (kernel, pairs): (Backend, BTreeMap<String, String>),
    all: bool,
) -> String {
    let tax = stats::control(records, kernel, &pairs);
    let mut text =
        format!("Pairs: {}.\n\n{}", said(records, &pairs), report::agreement::copies(&tax));
    if all {
        text.push_str(&report::agreement::figures_of_copies(&tax));
    }
    let mut error = stats::agreement(records, comparison, kernel, Backend::Sim);
    error.figures.retain(|figure| pairs.contains_key(&figure.contestant));
    if !error.figures.is_empty() {
        text.push_str("\nThe same files, on the kernel and in the simulator:\n\n");
        text.push_str(&report::agreement::tables(&error));
    }
    text
}

/// `cfs on 7.3.4 for cfs-6.1 on 6.1.0`.
fn said(records: &[Record], pairs: &BTreeMap<String, String>) -> String {
    let release = |name: &String| {
        let of = |record: &&Record| {
            let trial = &record.trial;
            trial.backend != Backend::Sim && trial.contestant.name == *name
        };
        let releases = records.iter().filter(of).map(|r| r.provenance.kernel_release.as_str());
        releases.filter(|release| !release.is_empty()).max().unwrap_or("no kernel").to_owned()
    };
    let pair = |(file, original): (&String, &String)| {
        format!("{file} on {} for {original} on {}", release(file), release(original))
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("; ")
}
