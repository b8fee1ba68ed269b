// SPDX-License-Identifier: GPL-2.0-only
//! `fairground fidelity [EXPERIMENT]`: the same trials in the simulator and on a kernel, and how
//! far their numbers are apart.

use std::process::ExitCode;

use anyhow::Result;
use model::{Backend, Experiment, Record};
use stats::Comparison;

use super::beside;
pub use super::beside::Args;
use crate::exit::bad_input;

/// The experiment that METHOD.md's table is of.
const EXPERIMENT: &str = "fidelity";

/// Runs the experiment on both and shows the errors.
///
/// # Errors
/// As `run`; and when the experiment does not ask both.
pub fn run(args: Args) -> Result<ExitCode> {
    beside::run(args, EXPERIMENT, |asked| reference(&asked.experiment), text)
}

/// The backend that is taken to be right.
fn reference(experiment: &Experiment) -> Result<Backend> {
    let backends = &experiment.backends;
    let other = backends.iter().copied().find(|&backend| backend != Backend::Sim);
    match other.filter(|_| backends.contains(&Backend::Sim)) {
        Some(reference) => Ok(reference),
        None => Err(bad_input(format!(
            "{}: fidelity compares the simulator with a kernel; write on = [\"sim\", \"vm\"], or \
             --on sim,vm",
            experiment.name
        ))),
    }
}

fn text(records: &[Record], comparison: &Comparison, reference: Backend, all: bool) -> String {
    let agreement = stats::agreement(records, comparison, reference, Backend::Sim);
    let of = |record: &&Record| record.trial.backend == reference;
    let kernels = records.iter().filter(of).map(|record| &record.provenance.kernel_release);
    let mut kernels: Vec<&String> = kernels.filter(|release| !release.is_empty()).collect();
    kernels.sort();
    kernels.dedup();
    let kernels: Vec<&str> = kernels.into_iter().map(String::as_str).collect();
    let mut text = format!("Kernel: {}.\n\n", kernels.join(", "));
    text.push_str(&report::agreement::tables(&agreement));
    if all {
        text.push('\n');
        text.push_str(&report::agreement::figures(&agreement));
    }
    text
}
