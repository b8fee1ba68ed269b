// SPDX-License-Identifier: GPL-2.0-only
//! `fairground doctor completions|manual`: files for shells and `man`, made from the definition
//! of the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output;

/// Options of `doctor completions`.
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Options of `doctor manual`.
#[derive(clap::Args)]
pub struct Manual {
    /// Write this page and one for each verb into a folder instead
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Prints a shell's completion script.
///
/// # Errors
/// When standard output is closed.
pub fn completions(args: Completions) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cmd::command(), "fairground", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, or writes all pages into a folder.
///
/// # Errors
/// When standard output is closed or the folder cannot be written.
pub fn manual(args: Manual) -> Result<ExitCode> {
    let command = crate::cmd::command();
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
