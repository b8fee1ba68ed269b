// SPDX-License-Identifier: GPL-2.0-only
//! Verbs under the names that they once had. They take the same options, end with the same exit
//! codes, and tell the new name on standard error.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use super::{fidelity, generate, history, kernel, report};
use crate::output::renamed;

/// The old names; no help shows them.
#[derive(Subcommand)]
pub enum OldName {
    /// Now `fidelity --counterparts`
    #[command(hide = true)]
    Control(Box<fidelity::Args>),
    /// Now `history --gate`
    #[command(hide = true)]
    Gate(history::gate::Args),
    /// Now `report FOLDER`
    #[command(hide = true)]
    Gallery(Gallery),
    /// Now `kernel calibrate`
    #[command(hide = true)]
    Calibrate(kernel::calibrate::Args),
    /// Now `generate completions`
    #[command(hide = true)]
    Completions(generate::Completions),
    /// Now `generate manual`
    #[command(hide = true)]
    Man(generate::Manual),
}

/// Options of `gallery`.
#[derive(clap::Args)]
pub struct Gallery {
    /// The folder with the shared files
    folder: PathBuf,
    /// The contestant that the others are compared with, wherever it took part
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The folder to write the site to
    #[arg(short, long, value_name = "FOLDER", default_value = report::gallery::FOLDER)]
    output: PathBuf,
}

/// Tells the new name and does what it does.
///
/// # Errors
/// As the verb.
pub fn run(old: OldName) -> Result<ExitCode> {
    match old {
        OldName::Control(mut args) => {
            renamed("control", "fidelity --counterparts");
            args.counterparts = true;
            fidelity::run(*args)
        }
        OldName::Gate(args) => {
            renamed("gate", "history --gate");
            history::gate::run(args)
        }
        OldName::Gallery(Gallery { folder, baseline, output }) => {
            renamed("gallery", "report FOLDER");
            report::gallery::run(&folder, baseline.as_deref(), &output)
        }
        OldName::Calibrate(args) => {
            renamed("calibrate", "kernel calibrate");
            kernel::calibrate::run(args)
        }
        OldName::Completions(args) => {
            renamed("completions", "generate completions");
            generate::completions(args)
        }
        OldName::Man(args) => {
            renamed("man", "generate manual");
            generate::manual(args)
        }
    }
}
