// SPDX-License-Identifier: GPL-2.0-only
//! The runs of one experiment in time: sessions that resume each other are one run.

use std::collections::BTreeSet;

use model::{Clock, Record};
use stats::view::history::{History, history as look};
use store::Session;

use crate::stores::Sessions;
use crate::words;

/// One run.
pub struct Run {
    /// Its date and where it is.
    pub label: String,
    /// When it started, seconds since 1970.
    started_unix_s: u64,
    /// Its records.
    pub records: Vec<Record>,
}

/// The runs in some stores, oldest first. What somebody else has measured is no part of ours; a
/// store of somebody else's alone is.
pub fn of(stores: &[Sessions]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for store in stores {
        let own = store.sessions.iter().any(|(session, _)| session.origin.is_none());
        let mut families: Vec<(i64, Run)> = Vec::new();
        for (session, records) in &store.sessions {
            if own && session.origin.is_some() {
                continue;
            }
            let family = session.first();
            match families.iter_mut().find(|(known, _)| *known == family) {
                Some((_, run)) => run.records.extend(records.iter().cloned()),
                None => families.push((family, run(store, session, records))),
            }
        }
        runs.extend(families.into_iter().map(|(_, run)| run));
    }
    runs.sort_by_key(|run| run.started_unix_s);
    runs
}

fn run(store: &Sessions, session: &Session, records: &[Record]) -> Run {
    let date = words::date(session.started_unix_s);
    let (store, id, version) = (&store.label, session.id, &session.fairground);
    let kernels: BTreeSet<&str> =
        records.iter().map(|record| record.provenance.kernel_release.as_str()).collect();
    let kernels = kernels.into_iter().collect::<Vec<_>>().join(", ");
    Run {
        label: format!("{date}, {store} session {id}, Fairground {version}, kernels {kernels}"),
        started_unix_s: session.started_unix_s,
        records: records.to_vec(),
    }
}

/// Their history. Under a real clock another processor is another place, whose numbers are not
/// compared.
pub fn history(runs: &[Run], margin_percent: f64) -> History {
    let mut records: Vec<Vec<Record>> = runs.iter().map(|run| run.records.clone()).collect();
    let real = |record: &Record| stats::clock(record) == Clock::Real;
    let processors: BTreeSet<String> = records
        .iter()
        .flatten()
        .filter(|record| real(record))
        .map(|record| record.provenance.cpu_model.clone())
        .collect();
    if processors.len() > 1 {
        for record in records.iter_mut().flatten().filter(|record| real(record)) {
            let processor = &record.provenance.cpu_model;
            record.trial.machine.name = format!("{}, {processor}", record.trial.machine.name);
        }
    }
    let runs: Vec<stats::view::history::Run> = runs
        .iter()
        .zip(&records)
        .map(|(run, records)| stats::view::history::Run { label: &run.label, records })
        .collect();
    look(&runs, margin_percent)
}
