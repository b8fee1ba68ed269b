// SPDX-License-Identifier: GPL-2.0-only
//! `fairground trial`: one JSON trial on standard input, one JSON record on standard output.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use execution::locations;
use execution::repeated::Earlier;
use execution::{Settings, one};
use model::Trial;

use crate::exit::{self, bad_input};
use crate::experiment_options::On;
use crate::output;

/// Options of `trial`.
#[derive(clap::Args)]
pub struct Args {
    /// Run it on this backend instead of the trial's: sim, vm or live
    #[arg(long, value_enum, hide_possible_values = true, value_name = "BACKEND")]
    on: Option<On>,
    /// Never download a kernel
    #[arg(long)]
    offline: bool,
}

/// Runs one trial.
///
/// # Errors
/// When the trial cannot be understood, or the lab itself fails.
pub fn run(args: Args) -> Result<ExitCode> {
    let mut trial = read()?;
    if let Some(on) = args.on {
        trial.backend = on.into();
    }
    if !trial.backend.can_execute() {
        return Err(bad_input("standard input: an imported trial cannot be run here"));
    }
    let settings = Settings {
        home: locations::data_folder().ok(),
        sources: BTreeMap::new(),
        jobs: None,
        offline: args.offline,
        earlier: Earlier::default(),
        executable: None,
    };
    let Some(record) = one::one(trial, &settings, &mut output::notes)? else {
        return Ok(exit::interrupted());
    };
    output::print(&(serde_json::to_string(&record)? + "\n"))?;
    Ok(exit::of_records(&[record]))
}

fn read() -> Result<Trial> {
    let text = files::stream_text(&mut std::io::stdin(), files::TRIAL)
        .map_err(|fault| bad_input(format!("standard input: {fault}")))?;
    let mut trial: Trial = serde_json::from_str(&text).map_err(|error| {
        bad_input(format!("standard input: not one trial ({error}); `fairground plan` prints some"))
    })?;
    if trial.schema != model::trial::SCHEMA {
        return Err(bad_input(format!(
            "standard input: the trial has schema {}, this program knows {}",
            trial.schema,
            model::trial::SCHEMA
        )));
    }
    spec::tapes::fetch(&mut trial.workload, trial.machine.cpus)?;
    Ok(trial)
}
