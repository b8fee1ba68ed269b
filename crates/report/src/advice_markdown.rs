// SPDX-License-Identifier: GPL-2.0-only
//! Whether kernels confirm the simulator's advice, as Markdown for documents and the terminal.

use stats::decide::recommend::{Against, Confirmation, Lost};

use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::units;

/// A care on a machine with `cpus` CPUs.
pub struct AdviceCell {
    pub care: String,
    pub cpus: u32,
    /// `None`: not measured.
    pub confirmation: Option<Confirmation>,
}

/// A row for each cell, the sums, and the verdicts that differ.
pub fn tables(cells: &[AdviceCell]) -> String {
    let mut text = format!("{}\n{}\n", cell_rows(cells).markdown(), sums(cells));
    let differences = difference_rows(cells);
    if !differences.is_empty() {
        text += &format!("\nVerdicts that differ:\n\n{}", differences.markdown());
    }
    text
}

fn cell_rows(cells: &[AdviceCell]) -> Table {
    let mut table = Table::new(&[
        ("care", Left),
        ("CPUs", Right),
        ("verdicts that agree", Right),
        ("the simulator's choice", Left),
        ("the kernel's best", Left),
        ("among them", Left),
        ("with the choice", Right),
        ("with the best", Right),
    ]);
    for AdviceCell { care, cpus, confirmation } in cells {
        let fields = match confirmation {
            None => ["not measured", "", "", "", "", ""].map(str::to_owned),
            Some(found) => {
                let Lost { choice, best, unit } = found.lost;
                [
                    format!("{} of {}", found.agreeing(), found.verdicts.len()),
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
    let all: usize = measured.iter().map(|found| found.verdicts.len()).sum();
    let agree: usize = measured.iter().map(|found| found.agreeing()).sum();
    let telling: Vec<_> = measured.iter().filter(|it| it.distinguishes).collect();
    let among = telling.iter().filter(|it| it.is_among_best()).count();
    format!(
        "{} of {} cells were measured. {agree} of {all} verdicts agree ({} %). Where the kernel \
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
    for AdviceCell { care, cpus, confirmation } in cells {
        let verdicts = confirmation.iter().flat_map(|it| &it.verdicts);
        for (name, predicted, measured) in verdicts.filter(|(_, one, other)| one != other) {
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
    }
}
