// SPDX-License-Identifier: GPL-2.0-only
//! `fairground compare [EXPERIMENT] [STORE …]`: records → statistics → a table.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::Record;
use stats::{Comparison, Difference, Identity};
use store::{Filter, Store};

use crate::output::{self, Format};
use crate::records::{self, Selection};
use crate::{comparison, exit};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// The contestant that the others are compared with, instead of the experiment's
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Only say whether two stores have the same measurements, byte for byte
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    #[arg(conflicts_with_all = ["names", "baseline"])]
    identical: Option<Vec<PathBuf>>,
    /// For any two contestants, the measure that tells them apart best
    #[arg(long, conflicts_with_all = ["baseline", "identical"])]
    apart: bool,
    /// How to print it: table or json
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: Format,
}

/// Compares the chosen records, or says whether two stores are identical.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some([first, second]) = args.identical.as_deref() {
        return identical(first, second, args.format);
    }
    let opened = args.selection.open()?;
    let comparison = opened.compare(args.baseline)?;
    let records = &opened.records;
    if args.apart {
        return apart(&comparison, records, args.format);
    }
    match args.format {
        Format::Json => output::print_json(&comparison)?,
        Format::Table => {
            let agreement = report::agreement::agreed(&comparison, records);
            output::print(&report::terminal::table(
                &comparison,
                agreement.as_ref(),
                output::colour(),
            ))?;
            if opened.is_several() {
                let questions = opened.questions(&comparison.baseline)?;
                output::print(&report::terminal::consensus_text::consensus(&questions))?;
            }
            comparison::misbehaviours(records).iter().for_each(output::tell);
        }
    }
    Ok(opened.exit_code())
}

fn apart(comparison: &Comparison, records: &[Record], format: Format) -> Result<ExitCode> {
    let pairs = stats::decide::separation::separations(records, comparison);
    match format {
        Format::Json => output::print_json(&pairs)?,
        Format::Table => output::print(&report::separation::text(&pairs))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn identical(first: &Path, second: &Path, format: Format) -> Result<ExitCode> {
    let identity = stats::identical(&all(first)?, &all(second)?);
    match format {
        Format::Json => output::print_json(&identity)?,
        Format::Table => output::print(&describe(&identity))?,
    }
    let same = identity.is_identical();
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(exit::MISBEHAVED) })
}

fn all(path: &Path) -> Result<Vec<Record>> {
    records::read(&Store::open_readonly(path)?, &Filter::default())
}

fn describe(identity: &Identity) -> String {
    if identity.is_identical() {
        return format!("identical: {} trials, byte for byte\n", identity.same);
    }
    let (same, differ) = (identity.same, identity.differences.len());
    let mut text = format!("not identical: {same} trials are the same, {differ} differ\n");
    for trial in &identity.differences {
        let what = match &trial.difference {
            Difference::OnlyInFirst => "only in the first store".into(),
            Difference::OnlyInSecond => "only in the second store".into(),
            Difference::Outcome(words) => format!("outcomes {words}"),
            Difference::Measured(lines) => lines.join("\n    "),
        };
        text += &format!("  {} {}\n    {what}\n", trial.trial, trial.label);
    }
    text
}
