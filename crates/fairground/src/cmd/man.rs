// SPDX-License-Identifier: GPL-2.0-only
//! `fairground man`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap_mangen::Man;

use crate::output;

/// Options of `man`.
#[derive(clap::Args)]
pub struct Args {
    /// Write this and one page per verb into a folder instead
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Prints the page, or writes all pages.
///
/// # Errors
/// When standard output is closed or the folder cannot be written.
pub fn run(args: Args) -> Result<ExitCode> {
    let command = super::command();
    match args.output {
        Some(folder) => clap_mangen::generate_to(command, &folder)
            .with_context(|| format!("{}: cannot write the pages", folder.display()))?,
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            output::print(&String::from_utf8(page)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
