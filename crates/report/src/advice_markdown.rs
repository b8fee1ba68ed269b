// SPDX-License-Identifier: GPL-2.0-only
//! Whether kernels confirm the simulator's advice, as Markdown for documents and the terminal.

use stats::decide::recommend::{Against, Confirmation, Lost, MeasureDistances};

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// A care on a machine with `cpus` CPUs.
pub struct AdviceCell {
    pub care: String,
    pub cpus: u32,
    /// Of each side.
    pub blocks: u32,
    /// `None`: not measured.
    pub confirmation: Option<Confirmation>,
}

/// A row for each cell, the sums, the verdicts that differ, and the simulator's error.
pub fn tables(cells: &[AdviceCell]) -> String {
    let mut text = format!("{}\n{}\n", cell_rows(cells).markdown(), sums(cells));
    let differences = difference_rows(cells);
    if !differences.is_empty() {
        text += &format!("\nVerdicts that differ:\n\n{}", differences.markdown());
    }
    let errors = error_rows(cells);
    if !errors.is_empty() {
        text += &format!("\nHow far the simulator's differences are:\n\n{}", errors.markdown());
    }
    text
}

fn cell_rows(cells: &[AdviceCell]) -> Table {
    let mut table = Table::new(&[
        ("care", Left),
        ("CPUs", Right),
        ("blocks", Right),
        ("verdicts that agree", Right),
        ("the simulator's choice", Left),
        ("the kernel's best", Left),
        ("among them", Left),
        ("with the choice", Right),
        ("with the best", Right),
    ]);
    for AdviceCell { care, cpus, blocks, confirmation } in cells {
        let fields = match confirmation {
            None => ["–", "not measured", "", "", "", "", ""].map(str::to_owned),
            Some(found) => {
                let Lost { choice, best, unit } = found.lost;
                [
                    blocks.to_string(),
                    format!("{} of {}", found.agreeing(), found.verdicts.len() - found.doubtful()),
                    found.choice.clone(),
                    if found.distinguishes {
                        found.best.join(", ")
                    } else {
                        "no differences".into()
                    },
                    if found.is_among_best() { "yes" } else { "no" }.into(),
                    units::number_or_dash(choice, unit),
                    units::number_or_dash(best, unit),
                ]
            }
        };
        table.add([care.clone(), cpus.to_string()].into_iter().chain(fields));
    }
    table
}

/// The shares that matter, over all cells that were measured.
fn sums(cells: &[AdviceCell]) -> String {
    let measured: Vec<&Confirmation> =
        cells.iter().filter_map(|cell| cell.confirmation.as_ref()).collect();
    let doubtful: usize = measured.iter().map(|found| found.doubtful()).sum();
    let all = measured.iter().map(|found| found.verdicts.len()).sum::<usize>() - doubtful;
    let agree: usize = measured.iter().map(|found| found.agreeing()).sum();
    let telling: Vec<_> = measured.iter().filter(|it| it.distinguishes).collect();
    let among = telling.iter().filter(|it| it.is_among_best()).count();
    format!(
        "{} of {} cells were measured. {agree} of {all} verdicts agree ({} %). In {doubtful} more \
         the simulator gives none, because the difference is within its error. Where the kernel \
         distinguishes any candidate, the simulator's choice is among the kernel's best in {among} \
         of {} cells.",
        measured.len(),
        cells.len(),
        if all == 0 {
            "–".to_owned()
        } else {
            format!("{:.1}", 100.0 * agree as f64 / all as f64)
        },
        telling.len(),
    )
}

fn difference_rows(cells: &[AdviceCell]) -> Table {
    let columns = ["care", "CPUs", "candidate", "simulator", "kernel"];
    let mut table =
        Table::new(&columns.map(|heading| (heading, if heading == "CPUs" { Right } else { Left })));
    for AdviceCell { care, cpus, confirmation, .. } in cells {
        let verdicts = confirmation.iter().flat_map(|it| &it.verdicts);
        let differ = |(_, predicted, measured): &&(String, Against, Against)| {
            *predicted != Against::Doubtful && predicted != measured
        };
        for (name, predicted, measured) in verdicts.filter(differ) {
            let cpus = cpus.to_string();
            table.add([care, &cpus, name, word(*predicted), word(*measured)].map(str::to_owned));
        }
    }
    table
}

fn word(verdict: Against) -> &'static str {
    match verdict {
        Against::Better => "better",
        Against::AsGood => "as good",
        Against::Worse => "worse",
        Against::Doubtful => "within error",
    }
}

/// The measures of each care, with the distances of all candidates on all numbers of CPUs.
fn error_rows(cells: &[AdviceCell]) -> Table {
    let mut table = Table::new(&[
        ("care", Left),
        ("measure", Left),
        ("differences", Right),
        ("four of five are within", Right),
    ]);
    let mut all: Vec<(&str, MeasureDistances)> = Vec::new();
    for AdviceCell { care, confirmation, .. } in cells {
        for own in confirmation.iter().flat_map(|found| &found.distances) {
            let same = |(name, known): &&mut (&str, MeasureDistances)| {
                name == care
                    && known.watched.measure == own.watched.measure
                    && known.watched.words == own.watched.words
            };
            match all.iter_mut().find(same) {
                Some((_, known)) => known.candidates.extend(&own.candidates),
                None => all.push((care, own.clone())),
            }
        }
    }
    for (care, distances) in all {
        let error = distances.error().map(|error| units::model_error(error, distances.unit));
        table.add([
            care.to_owned(),
            distances.watched.words.clone(),
            distances.candidates.len().to_string(),
            error.unwrap_or_else(|| "–".into()),
        ]);
    }
    table
}
