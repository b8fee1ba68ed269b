// SPDX-License-Identifier: GPL-2.0-only
//! `fairground export csv|series|json|hgrm|trace|workload`: records → other tools' formats.

mod recording;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use model::{Histogram, Record};

use crate::exit::{self, bad_input};
use crate::leaving::{self, LeavingOptions};
use crate::output;
use crate::records::{self, Selection};
use store::exchange::formats;
use store::exchange::privacy::Cleaner;

/// The longest name of a file without its ending, in bytes.
const FILE_NAME_MAX: usize = 250;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: ExportKind,
}

#[derive(Subcommand)]
enum ExportKind {
    /// One line per number, with its context
    Csv(Records),
    /// Series over time: one line per interval
    Series(Records),
    /// Whole records as a JSON array, one record per line
    Json(Records),
    /// Latency distributions for HdrHistogram's plotting pages, one file each
    Hgrm {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        leaving: LeavingOptions,
        /// The folder to write to
        #[arg(short, long, value_name = "FOLDER", default_value = "hgrm")]
        output: PathBuf,
    },
    /// The events of one traced trial, as ftrace's text: for Perfetto, trace-cmd and LISA
    Trace(Trace),
    /// The recording that trials replayed, as a workload
    Workload(recording::Args),
}

#[derive(clap::Args)]
struct Records {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    leaving: LeavingOptions,
    /// The file to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Trace {
    /// The trial's identity, or its beginning; `export csv` shows it
    trial: String,
    /// The store
    #[arg(long, value_name = "FILE", default_value = crate::execution::locations::STORE)]
    store: PathBuf,
    #[command(flatten)]
    leaving: LeavingOptions,
    /// The file to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes what is wanted, to standard output or files.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.what {
        ExportKind::Csv(args) => args.write(formats::csv::write)?,
        ExportKind::Series(args) => args.write(formats::csv::write_series)?,
        ExportKind::Json(args) => args.write(json)?,
        ExportKind::Hgrm { selection, leaving, output } => {
            let (records, cleaner) = leaving_records(&selection, leaving)?;
            hgrm(&records, &output)?;
            leaving::tell(&cleaner);
        }
        ExportKind::Trace(args) => trace(&args)?,
        ExportKind::Workload(args) => recording::run(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Records {
    fn write(self, format: impl Fn(&[Record], &mut dyn Write) -> Result<()>) -> Result<()> {
        let (records, cleaner) = leaving_records(&self.selection, self.leaving)?;
        format(&records, &mut output::writer(self.output.as_deref())?)?;
        leaving::tell(&cleaner);
        Ok(())
    }
}

/// The records without what may not leave this machine, and what knows what was left out.
fn leaving_records(
    selection: &Selection,
    options: LeavingOptions,
) -> Result<(Vec<Record>, Cleaner)> {
    let mut selected = selection.open()?;
    let cleaner = selected.clean(options)?;
    Ok((selected.records, cleaner))
}

fn json(records: &[Record], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "[")?;
    for (index, record) in records.iter().enumerate() {
        let comma = if index + 1 < records.len() { "," } else { "" };
        writeln!(out, "{}{comma}", serde_json::to_string(record)?)?;
    }
    writeln!(out, "]")?;
    Ok(out.flush()?)
}

/// One file per contestant, cell, measure and group, the samples of all its trials that ended ok.
fn hgrm(records: &[Record], folder: &Path) -> Result<()> {
    let mut merged: BTreeMap<String, Histogram> = BTreeMap::new();
    for record in records.iter().filter(|record| record.outcome.is_ok()) {
        for histogram in &record.measured.histograms {
            let name = file_name(record, histogram);
            merged.entry(name).or_default().merge(histogram);
        }
    }
    std::fs::create_dir_all(folder).map_err(|error| exit::unwritable(folder, error))?;
    for (name, histogram) in merged.iter().filter(|(_, histogram)| histogram.count > 0) {
        let mut out = output::writer(Some(&folder.join(name)))?;
        formats::hgrm::write(histogram, &mut out)?;
        out.flush()?;
    }
    Ok(())
}

fn file_name(record: &Record, histogram: &Histogram) -> String {
    let (contestant, cell) = (&record.trial.contestant.name, record.trial.workload.cell());
    let machine = &record.trial.machine.name;
    let name = format!("{contestant} {cell} {machine} {} {}", histogram.name, histogram.group);
    let safe = |c: char| if c.is_alphanumeric() || "=-.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(safe).collect();
    short(&name) + ".hgrm"
}

/// A name that file systems accept: 255 bytes are the most, the ending among them.
fn short(name: &str) -> String {
    if name.len() <= FILE_NAME_MAX {
        return name.to_owned();
    }
    let hash = &model::trial::sha256_hex(name.as_bytes())[..12];
    let start = name.floor_char_boundary(FILE_NAME_MAX - hash.len() - 1);
    format!("{}-{hash}", &name[..start])
}

fn trace(args: &Trace) -> Result<()> {
    let store = store::Store::open_readonly(&args.store)?;
    let filter =
        store::Filter { trial_id: Some(args.trial.clone()), traces: true, ..Default::default() };
    let mut records = records::read(&store, &filter)?;
    let mut cleaner = args.leaving.cleaner(store.sessions()?.iter());
    leaving::clean(&mut cleaner, &mut [], &mut records)?;
    let traced = records.iter().rev().find_map(|record| record.trace.as_ref());
    let trace = traced.ok_or_else(|| {
        let found = match records.len() {
            0 => "has no such trial",
            _ => "has the trial, but without a trace; run it with --trace",
        };
        bad_input(format!("{}: {found}: {}", args.store.display(), args.trial))
    })?;
    let mut out = output::writer(args.output.as_deref())?;
    formats::ftrace::write(trace, &mut out)?;
    out.flush()?;
    leaving::tell(&cleaner);
    Ok(())
}
