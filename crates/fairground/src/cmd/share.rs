// SPDX-License-Identifier: GPL-2.0-only
//! `fairground share [EXPERIMENT]`: one small sealed file of an experiment's records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use model::tape_text::TapeText;
use model::{Record, SchedulerChoice, Trial};
use store::{SchedulerSource, Session};

use crate::advice::ask;
use crate::exit::bad_input;
use crate::leaving::LeavingOptions;
use crate::records::Selection;
use crate::{output, recordings};
use store::exchange::privacy::{Choice, Cleaner, Owner};
use store::exchange::share::{About, ENDING, Shared, is_sentence};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Your name or nickname, as sites of shared files show it; it is not verified
    #[arg(long, value_name = "NAME", default_value = "")]
    by: String,
    /// A sentence for its readers
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    #[command(flatten)]
    leaving: LeavingOptions,
    /// Share also the event traces, which may be large
    #[arg(long)]
    traces: bool,
    /// Share also the tapes of recordings: what each thread did and when, with the threads' names
    #[arg(long)]
    tapes: bool,
    /// Only show what would leave this machine
    #[arg(long)]
    dry_run: bool,
    /// The file to write [default: EXPERIMENT.fairground]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    for (option, text) in [("--by", &args.by), ("--note", &args.note)] {
        if !is_sentence(text) {
            return Err(bad_input(format!("{option}: one line of at most 200 characters")));
        }
    }
    let sessions = places(args.selection.sessions_of_one_store(args.traces)?);
    let kept = args.selection.texts()?;
    let records = || sessions.iter().flat_map(|(_, records)| records);
    let store = args.selection.one_store()?;
    let own = if args.tapes { tapes_texts(records(), &kept, &store)? } else { Vec::new() };
    let kept_back = if args.tapes { Vec::new() } else { tapes_left_out(records()) };
    let (mut sources, lost) = sources(records(), kept);
    sources.extend(own);
    let lost = lost.into_iter().map(|name| format!("the text of {name}"));
    let left_out = lost.chain(kept_back).collect();
    let mut shared = Shared {
        about: About {
            by: args.by.clone(),
            note: args.note.clone(),
            fairground: crate::execution::VERSION.into(),
            left_out,
        },
        sources,
        sessions,
        seal: String::new(),
    };
    let choice = Choice {
        host: args.leaving.with_host,
        // Tapes have them.
        thread_names: args.leaving.thread_names || args.tapes,
        ..Choice::default()
    };
    let sessions = shared.sessions.iter().map(|(session, _)| session);
    let mut cleaner = Cleaner::new(choice, Owner::here(), sessions);
    shared.clean(&mut cleaner)?;
    write(&args, &shared, &cleaner)
}

/// Sessions whose campaign is a place in the list, as in shared files.
fn places(mut sessions: Vec<(Session, Vec<Record>)>) -> Vec<(Session, Vec<Record>)> {
    let ids: Vec<i64> = sessions.iter().map(|(session, _)| session.id).collect();
    for (session, _) in &mut sessions {
        let place = session.campaign.and_then(|first| ids.iter().position(|id| *id == first));
        session.campaign = place.map(|place| place as i64);
    }
    sessions
}

/// The texts of the schedulers that the records are of, and the names of those that are lost: a
/// record of before the store kept them, whose file has changed since.
fn sources<'a>(
    records: impl Iterator<Item = &'a Record>,
    kept: Vec<SchedulerSource>,
) -> (Vec<SchedulerSource>, BTreeSet<String>) {
    let wanted: BTreeMap<String, String> = records
        .filter_map(|record| match &record.trial.contestant.scheduler {
            SchedulerChoice::File { file, sha256, .. } => Some((sha256.clone(), file.clone())),
            _ => None,
        })
        .collect();
    let mut known: BTreeMap<String, SchedulerSource> =
        crate::execution::objects::texts(&compile::builtin())
            .into_iter()
            .map(|source| (source.sha256.clone(), source))
            .collect();
    known.extend(kept.into_iter().map(|source| (source.sha256.clone(), source)));
    let (mut sources, mut lost) = (Vec::new(), BTreeSet::new());
    for (sha256, file) in wanted {
        match known.remove(&sha256) {
            Some(source) => sources.push(source),
            None => {
                lost.insert(file.rsplit('/').next().unwrap_or_default().to_owned());
            }
        }
    }
    sources.sort_by(|a, b| (&a.name, &a.sha256).cmp(&(&b.name, &b.sha256)));
    (sources, lost)
}

/// Shows what will leave this machine, and writes it.
fn write(args: &Args, shared: &Shared, cleaner: &Cleaner) -> Result<ExitCode> {
    let name = shared.sessions.last().map(|(session, _)| session.experiment.name.clone());
    let usual = || format!("{}.{ENDING}", name.unwrap_or_default()).into();
    let path = args.output.clone().unwrap_or_else(usual);
    let bytes = shared.pack()?;
    contents(shared, cleaner).iter().for_each(output::tell);
    if shared.records().any(|record| record.trial.workload.recording.is_some()) {
        // Tapes can be more than what anybody reads.
        let read = Shared::unpack(&bytes);
        read.map_err(|why| bad_input(format!("it cannot be shared with its tapes: {why}")))?;
    }
    if args.dry_run {
        output::tell(format_args!("not written: {}, because of --dry-run", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    agree(args, &shared.sessions)?;
    output::write(Some(&path), &bytes)?;
    let (trials, texts) = (shared.records().count(), shared.sources.len());
    let recordings = count_recordings(shared.records(), &shared.sources);
    let (texts, kib) = (texts - recordings, bytes.len().div_ceil(1024));
    let recordings =
        if recordings > 0 { format!(", recordings: {recordings}") } else { String::new() };
    output::tell(format_args!(
        "wrote {}: {trials} trials, texts of schedulers: {texts}{recordings}, {kib} KiB",
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Everything that will leave this machine, for its owner to look at before it is written.
fn contents(shared: &Shared, cleaner: &Cleaner) -> Vec<String> {
    let (trials, sessions) = (shared.records().count(), shared.sessions.len());
    let mut lines = vec![
        "what will leave this machine:".to_owned(),
        format!("  sessions: {sessions}, trials: {trials}, with their numbers, dates and outcomes"),
    ];
    lines.extend(shared.sources.iter().flat_map(texts_of));
    lines.extend(cleaner.leaving().into_iter().map(|line| format!("  {line}")));
    if shared.records().any(|record| record.trace.is_some()) {
        lines.push("  traces: when each task ran, slept and was woken".into());
    }
    let about = &shared.about;
    let said = [("your name", &about.by), ("your note", &about.note)];
    let said = said.into_iter().filter(|(_, text)| !text.is_empty());
    lines.extend(said.map(|(what, text)| format!("  {what}: {text}")));
    lines.extend(about.left_out.iter().map(|what| format!("left out: {what}")));
    lines
}

/// A line for each of its files.
fn texts_of(source: &SchedulerSource) -> Vec<String> {
    let file = |(name, text): &(String, String)| {
        format!("  a text of {}: {name}, {} bytes", source.name, text.len())
    };
    source.files.iter().map(file).collect()
}

/// Asks before it shares what nobody has named: the last experiment.
fn agree(args: &Args, sessions: &[(Session, Vec<Record>)]) -> Result<()> {
    if !args.selection.is_default() || args.output.is_some() {
        return Ok(());
    }
    let last = sessions.last().map_or("", |(session, _)| session.experiment.name.as_str());
    let named = format!("nothing was written; name what to share: fairground share {last}");
    let question = format!("Share '{last}', the last experiment?");
    if ask::agrees_here(&question)? { Ok(()) } else { Err(bad_input(named)) }
}

/// One trial for each recording, by the SHA-256 of its tapes.
fn recordings_of<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeMap<&'a str, &'a Trial> {
    let of_record = |record: &'a Record| {
        let recorded = record.trial.workload.recording.as_ref()?;
        Some((recorded.sha256.as_str(), &record.trial))
    };
    records.filter_map(of_record).collect()
}

/// How many recordings the records play.
fn count_recordings<'a>(
    records: impl Iterator<Item = &'a Record>,
    texts: &[SchedulerSource],
) -> usize {
    let is_there = |sha256: &&str| texts.iter().any(|text| text.sha256 == **sha256);
    recordings_of(records).into_keys().filter(is_there).count()
}

/// The texts of the tapes, from the store or from the files that were played.
fn tapes_texts<'a>(
    records: impl Iterator<Item = &'a Record>,
    kept: &[SchedulerSource],
    store: &Path,
) -> Result<Vec<SchedulerSource>> {
    let mut texts = Vec::new();
    for (sha256, trial) in recordings_of(records) {
        if let Some(known) = kept.iter().find(|source| source.sha256 == sha256) {
            texts.push(known.clone());
            continue;
        }
        let mut trial = trial.clone();
        recordings::fetch(&mut trial, store)?;
        let tapes = TapeText::of([&*trial.workload]);
        texts.extend(tapes.into_iter().map(|tapes| SchedulerSource {
            sha256: tapes.sha256,
            name: trial.workload.cell(),
            files: vec![(store::TAPES.into(), tapes.text)],
        }));
    }
    Ok(texts)
}

/// What is not shared, for the owner and for readers.
fn tapes_left_out<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let what = |trial: &Trial| {
        format!(
            "the tapes of {}: what each thread did and when; --tapes shares them",
            trial.workload.cell()
        )
    };
    recordings_of(records).into_values().map(what).collect()
}
