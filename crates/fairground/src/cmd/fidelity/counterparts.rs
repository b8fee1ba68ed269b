// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers' files compared with their counterparts, the kernels' own schedulers that they were
//! written after. A difference between the two on kernels is the price of sched_ext together with
//! what the file does differently; a difference between a kernel and the simulator is the model's
//! error.

use anyhow::Result;
use model::{Backend, Record};
use report::agreement::{
    BACKENDS, COUNTERPARTS, claims_markdown, figures_markdown, summary_markdown,
};
use spec::contestants::Relations;

use super::Measured;
use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;

/// The experiment that the published table is of.
pub const EXPERIMENT: &str = "control";

pub struct Counterparts {
    /// The backend whose kernels have the counterparts.
    backend: Backend,
    relations: Relations,
}

impl Counterparts {
    pub fn of(planned: &PlannedExperiment) -> Result<Counterparts> {
        let (experiment, relations) = (&planned.experiment, planned.relations.clone());
        if relations.counterparts.is_empty() {
            return Err(bad_input(format!(
                "{}: no counterparts; write pairs = {{ cfs = \"cfs-6.1\" }}: a file's name, its \
                 counterpart's",
                experiment.name
            )));
        }
        let kernel = experiment.backends.iter().find(|backend| !backend.is_model());
        let backend = *kernel.ok_or_else(|| {
            bad_input(format!(
                "{}: the counterparts are parts of kernels; write on = \"vm\", or --on vm",
                experiment.name
            ))
        })?;
        Ok(Counterparts { backend, relations })
    }

    /// The tables: files and counterparts on kernels, then the files on kernels and in the
    /// simulator if it ran.
    pub fn text(&self, measured: &Measured<'_>) -> String {
        let Measured { records, comparison, all } = *measured;
        let counterparts = &self.relations.counterparts;
        let tax = stats::counterparts(records, self.backend, counterparts);
        let tables = summary_markdown(&tax, &COUNTERPARTS);
        let mut text = format!("Pairs: {}.\n\n{tables}", self.releases(records));
        text.push_str(&self.effects(records));
        if all {
            text.push_str(&figures_markdown(&tax, &COUNTERPARTS));
        }
        let mut error = stats::agreement(records, comparison, self.backend, Backend::MODEL);
        error.figures.retain(|figure| counterparts.contains_key(&figure.contestant));
        if !error.figures.is_empty() {
            text.push_str("\nThe same files, on the kernel and in the simulator:\n\n");
            text.push_str(&summary_markdown(&error, &BACKENDS));
            text.push_str(&claims_markdown(&error));
        }
        text
    }

    /// What each original changes of its base, beside what its file changes of the file's base;
    /// empty where the experiment names no bases.
    fn effects(&self, records: &[Record]) -> String {
        let Relations { counterparts, bases } = &self.relations;
        let effects = stats::effects(records, self.backend, counterparts, bases);
        if effects.is_empty() { String::new() } else { report::effects_markdown::tables(&effects) }
    }

    /// What was compared: `cfs on 7.3.4 for cfs-6.1 on 6.1.0`.
    fn releases(&self, records: &[Record]) -> String {
        let pair = |(file, counterpart): (&String, &String)| {
            let (file_on, on) = (release(records, file), release(records, counterpart));
            format!("{file} on {file_on} for {counterpart} on {on}")
        };
        self.relations.counterparts.iter().map(pair).collect::<Vec<_>>().join("; ")
    }
}

fn release<'a>(records: &'a [Record], contestant: &str) -> &'a str {
    let of_contestant = |record: &&Record| {
        let trial = &record.trial;
        !trial.backend.is_model() && trial.contestant.name == contestant
    };
    let measured = records.iter().filter(of_contestant);
    let releases = measured.map(|record| record.provenance.kernel_release.as_str());
    releases.filter(|release| !release.is_empty()).max().unwrap_or("no kernel")
}
