// SPDX-License-Identifier: GPL-2.0-only
//! The simulator compared with a kernel: the difference is the model's error.

use std::collections::BTreeSet;

use anyhow::Result;
use model::{Backend, Experiment, Record};
use report::agreement::{BACKENDS, claims_markdown, figures_markdown, summary_markdown};

use super::Measured;
use crate::exit::bad_input;

/// The experiment that the published table is of.
pub const EXPERIMENT: &str = "fidelity";

/// The simulator and a kernel.
pub struct Sides {
    /// The backend that is taken to be right.
    reference: Backend,
}

impl Sides {
    /// The sides of an experiment.
    ///
    /// # Errors
    /// When it does not run on both.
    pub fn of(experiment: &Experiment) -> Result<Sides> {
        let backends = &experiment.backends;
        let kernel = backends.iter().copied().find(|backend| !backend.is_model());
        match kernel.filter(|_| backends.contains(&Backend::MODEL)) {
            Some(reference) => Ok(Sides { reference }),
            None => Err(bad_input(format!(
                "{}: fidelity compares the simulator with a kernel; write on = [\"sim\", \"vm\"], \
                 or --on sim,vm",
                experiment.name
            ))),
        }
    }

    /// The tables, with the kernels that were measured above them.
    pub fn text(&self, measured: &Measured<'_>) -> String {
        let Measured { records, comparison, all } = *measured;
        let agreement = stats::agreement(records, comparison, self.reference, Backend::MODEL);
        let mut text = format!("Kernel: {}.\n\n", self.kernels(records));
        text.push_str(&summary_markdown(&agreement, &BACKENDS));
        text.push_str(&claims_markdown(&agreement));
        if all {
            text.push('\n');
            text.push_str(&figures_markdown(&agreement, &BACKENDS));
        }
        text
    }

    fn kernels(&self, records: &[Record]) -> String {
        let measured = records.iter().filter(|record| record.trial.backend == self.reference);
        let releases = measured.map(|record| record.provenance.kernel_release.as_str());
        let releases: BTreeSet<&str> = releases.filter(|release| !release.is_empty()).collect();
        releases.into_iter().collect::<Vec<_>>().join(", ")
    }
}
