// SPDX-License-Identifier: GPL-2.0-only
//! `fairground history [EXPERIMENT] [STORE …]`: how an experiment's numbers have changed from
//! session to session, and whether the newest session is worse. With `--gate` only the last two
//! sessions are compared, for a change under review.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use model::Record;
use report::junit::{self, Case, CaseResult};
use serde::Serialize;
use stats::compare::verdict::MARGIN_PERCENT;
use stats::decide::gate::{Gate, gate};
use stats::records::merge::name_processors_if_several;
use stats::view;
use stats::view::history::History;
use store::Session;

use crate::cmd::check::verified::{Growth, growths};
use crate::exit::{self, bad_input};
use crate::leaving::{self, LeavingOptions};
use crate::records::Selection;
use crate::selected::StoreRecords;
use crate::{output, times};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Only the newest N sessions
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Compare only the last session with the one before, measure by measure
    #[arg(long, conflicts_with = "last")]
    gate: bool,
    /// The store with the session to compare with; without it, the one before in the same store
    #[arg(long, value_name = "FILE", requires = "gate")]
    before: Option<PathBuf>,
    /// Smaller changes do not count, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = MARGIN_PERCENT)]
    margin: f64,
    /// Fail too if the verifier looks at this many percent more instructions of a scheduler
    #[arg(long, value_name = "PERCENT", requires = "gate", value_parser = times::percent)]
    verified: Option<f64>,
    /// How to print it: table, json, or with --gate junit, where each number is a test
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    format: GateFormat,
}

/// How to print a history or a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum GateFormat {
    #[default]
    Table,
    Json,
    Junit,
}

/// Shows the history, or the gate, and fails if the newest session is worse.
pub fn run(args: Args) -> Result<ExitCode> {
    let margin = args.margin;
    if !margin.is_finite() || margin < 0.0 {
        return Err(bad_input(format!("--margin {margin}: write percent, 0 or more")));
    }
    if args.format == GateFormat::Junit && !args.gate {
        return Err(bad_input("--format junit: a history has no tests; add --gate"));
    }
    let is_worse = if args.gate { show_gate(&args)? } else { show_history(&args)? };
    Ok(if is_worse { ExitCode::from(exit::MISBEHAVED) } else { ExitCode::SUCCESS })
}

fn show_history(args: &Args) -> Result<bool> {
    let mut campaigns = past_campaigns(&args.selection.all_sessions()?);
    if let Some(last) = args.last {
        campaigns.drain(..campaigns.len().saturating_sub(last));
    }
    // The first session of a series is no failure, so that CI can begin with it.
    if campaigns.len() < 2 {
        output::tell("there is one session only: run it again after a change, or name more stores");
    }
    let history = changes(&campaigns, args.margin);
    match args.format {
        GateFormat::Json => output::print_json(&history)?,
        GateFormat::Table | GateFormat::Junit => {
            output::print(&report::terminal::history_text::history(&history))?;
        }
    }
    Ok(history.has_regressed())
}

/// Compares the last session of an experiment with the one before; whether anything is worse.
fn show_gate(args: &Args) -> Result<bool> {
    let store = args.selection.one_store()?;
    let mut now = args.selection.open()?;
    let last = now.sessions.last().map(|session| session.experiment.name.clone());
    let name = last.unwrap_or_default();
    let mut before: Vec<Record> = match &args.before {
        Some(store) => Selection::last_of(store, &name).open()?.records,
        None => args.selection.previous()?.ok_or_else(|| {
            bad_input(format!(
                "{}: {name} was measured only once; run it again after the change, or name the \
                 store of the earlier session: --before FILE",
                store.display()
            ))
        })?,
    };
    // CI publishes what the gate says.
    let mut cleaner =
        LeavingOptions { with_host: false, thread_names: true }.cleaner(now.sessions.iter());
    leaving::clean(&mut cleaner, &mut [], &mut now.records)?;
    leaving::clean(&mut cleaner, &mut [], &mut before)?;
    let gate = gate(&before, &now.records, args.margin);
    if gate.lines.is_empty() && gate.broken.is_empty() {
        let places = gate.one_sided.join("; ");
        return Err(bad_input(format!(
            "{name}: the two sessions have no contestant, workload and machine in common: {places}"
        )));
    }
    let growths = args.verified.map(|_| growths(&before, &now.records)).unwrap_or_default();
    let most = args.verified.unwrap_or(f64::INFINITY);
    if args.verified.is_some() && growths.is_empty() {
        return Err(bad_input(format!(
            "--verified: the two sessions of {name} have no scheduler that the same kernel has \
             verified; measure both with --on vm or --on live"
        )));
    }
    let grown: Vec<&Growth> = growths.iter().filter(|growth| growth.percent() > most).collect();
    match args.format {
        GateFormat::Json => {
            output::print_json(&GateWithGrowths { gate: &gate, verified: &growths })?;
        }
        GateFormat::Junit => output::print_exact(&gate_as_tests(&name, &gate, &growths, most))?,
        GateFormat::Table => {
            output::print(&report::terminal::gate_text::gate(&gate))?;
            if !growths.is_empty() {
                output::print(&growth_text(&growths, grown.len(), most))?;
            }
        }
    }
    Ok(gate.is_shut() || !grown.is_empty())
}

/// The gate as JSON.
#[derive(Serialize)]
struct GateWithGrowths<'a> {
    #[serde(flatten)]
    gate: &'a Gate,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    verified: &'a [Growth],
}

/// A test for each number of the gate, and for each scheduler that a kernel has verified.
fn gate_as_tests(name: &str, gate: &Gate, growths: &[Growth], most: f64) -> String {
    let mut cases = junit::gate(gate);
    cases.extend(growths.iter().map(|growth| Case {
        class: "verified instructions".into(),
        name: growth.place(),
        result: match growth.percent() > most {
            true => CaseResult::Failed(growth.words()),
            false => CaseResult::Passed,
        },
    }));
    junit::junit(name, &cases)
}

/// What the verifier has looked at, below what the gate says.
fn growth_text(growths: &[Growth], grown: usize, most: f64) -> String {
    let (word, all) = (if grown > 0 { "regressed" } else { "passed" }, growths.len());
    let lines = growths.iter().map(|growth| format!("  {}\n", growth.words()));
    let lines: String = lines.collect();
    format!("verified instructions {word}: {grown} of {all} grew by more than {most} %\n{lines}")
}

/// A campaign with its records, as a history has it.
pub struct PastCampaign {
    /// Its date, and which store and session have it.
    pub label: String,
    /// When it started, seconds since 1970.
    started_unix_s: u64,
    pub records: Vec<Record>,
}

/// The campaigns in some stores, oldest first. In a store with campaigns of its own, imported ones
/// do not count; in a store with imports only they count. Sessions that resume each other are one
/// campaign.
fn past_campaigns(stores: &[StoreRecords]) -> Vec<PastCampaign> {
    let mut all: Vec<PastCampaign> = stores.iter().flat_map(of_store).collect();
    all.sort_by_key(|campaign| campaign.started_unix_s);
    all
}

/// The campaigns of one store, in the order of their first sessions.
fn of_store(store: &StoreRecords) -> Vec<PastCampaign> {
    let has_own = store.sessions.iter().any(|(session, _)| session.origin.is_none());
    let mut campaigns: Vec<(i64, PastCampaign)> = Vec::new();
    for (session, records) in &store.sessions {
        if has_own && session.origin.is_some() {
            continue;
        }
        let first = session.first();
        match campaigns.iter_mut().find(|(known, _)| *known == first) {
            Some((_, campaign)) => campaign.records.extend(records.iter().cloned()),
            None => campaigns.push((first, begun(store, session, records))),
        }
    }
    campaigns.into_iter().map(|(_, campaign)| campaign).collect()
}

/// A campaign with the records of its first session.
fn begun(store: &StoreRecords, session: &Session, records: &[Record]) -> PastCampaign {
    let date = times::date(session.started_unix_s);
    let (store, id, version) = (&store.label, session.id, &session.fairground);
    let kernels: BTreeSet<&str> =
        records.iter().map(|record| record.provenance.kernel_release.as_str()).collect();
    let kernels = kernels.into_iter().collect::<Vec<_>>().join(", ");
    PastCampaign {
        label: format!("{date}, {store} session {id}, Fairground {version}, kernels {kernels}"),
        started_unix_s: session.started_unix_s,
        records: records.to_vec(),
    }
}

/// How the numbers have changed. Under a real clock another processor is another machine, whose
/// numbers are not compared.
fn changes(campaigns: &[PastCampaign], margin_percent: f64) -> History {
    let mut records: Vec<Vec<Record>> =
        campaigns.iter().map(|campaign| campaign.records.clone()).collect();
    name_processors_if_several(&mut records);
    let labelled = campaigns.iter().zip(&records);
    let sessions: Vec<view::history::Session> = labelled
        .map(|(campaign, records)| view::history::Session { label: &campaign.label, records })
        .collect();
    view::history::history(&sessions, margin_percent)
}
