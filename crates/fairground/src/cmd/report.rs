// SPDX-License-Identifier: GPL-2.0-only
//! `fairground report`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use report::html::About;
use store::Session;

use crate::output;
use crate::records::Chosen;
use crate::{lineage, summary, words};

/// Options of `report`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// The contestant that the others are compared with, instead of the experiment's
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
}

/// Writes the page.
///
/// # Errors
/// When the store cannot be read, has no records, or the file cannot be written.
pub fn run(args: Args) -> Result<ExitCode> {
    let (sessions, records) = args.chosen.with_traces()?;
    let comparison = summary::compare(&sessions, &records, args.baseline)?;
    let page = report::html::page(&comparison, &records, &about(&sessions));
    let to_file = args.output.as_os_str() != "-";
    let mut out = output::writer(to_file.then_some(&args.output))?;
    out.write_all(page.as_bytes())?;
    out.flush()?;
    if to_file {
        output::tell(format_args!("wrote {}", args.output.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn about(sessions: &[Session]) -> About {
    let experiment = sessions.last().map(|session| &session.experiment);
    let commands = sessions.iter().map(|session| session.command.clone());
    About {
        title: experiment.map(|e| e.name.clone()).unwrap_or_default(),
        question: experiment.map(|e| e.question.clone()).unwrap_or_default(),
        commands: commands.chain([words::command()]).collect(),
        generated: date(),
        family: lineage::members(),
    }
}

/// Today in UTC, as `2026-01-31`: civil-from-days of the proleptic Gregorian calendar.
pub fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}
