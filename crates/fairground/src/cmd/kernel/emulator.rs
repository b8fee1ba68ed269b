// SPDX-License-Identifier: GPL-2.0-only
//! `fairground kernel emulator build|show`: the emulator for virtual time.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use vm::emulator::{self, Emulator};
use vm::kernels::build::steps::Site;

use crate::execution::interrupt;
use crate::measure::at_least_one;
use crate::{build_progress, output};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: EmulatorAction,
}

#[derive(Subcommand)]
enum EmulatorAction {
    /// Build it from Debian's source of QEMU with the patches of `emulator/`
    Build {
        /// Compilers at a time; all CPUs without it
        #[arg(long, value_name = "N", value_parser = at_least_one())]
        jobs: Option<usize>,
    },
    /// Say whether and where it is installed, and what it was built from
    Show,
}

pub fn run(home: &Path, args: Args) -> Result<ExitCode> {
    let emulator = match args.action {
        EmulatorAction::Build { jobs } => {
            let (jobs, stop) = (build_progress::jobs(jobs), interrupt::flag()?);
            let site = Site { home, downloads: None, jobs, stop: &stop };
            Some(build_progress::watch(|hear| vm::emulator::qemu_build::build(&site, hear))?)
        }
        EmulatorAction::Show => emulator::find(home)?,
    };
    output::print(&match emulator {
        Some(emulator) => table(&emulator),
        None => format!("no emulator yet; `{}` makes it\n", emulator::COMMAND),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table(emulator: &Emulator) -> String {
    let facts = &emulator.facts;
    let rows = [
        ("program", emulator.program.display().to_string()),
        ("version", facts.version.clone()),
        ("source", format!("{}, SHA-256 {}", facts.source, facts.source_sha256)),
        ("patches", format!("SHA-256 {}", facts.content_sha256)),
        ("compiler", facts.compiler.clone()),
        ("sha256", facts.sha256.clone()),
    ];
    output::table(&rows.map(|(name, text)| vec![name.to_owned(), text]))
}
