// SPDX-License-Identifier: GPL-2.0-only
//! The past campaigns of one experiment, oldest first: sessions that resume each other are one
//! campaign.

use std::collections::BTreeSet;

use model::Record;
use stats::records::processor::name_processors_if_several;
use stats::view::{self, history::History};
use store::Session;

use crate::dates;
use crate::selected::StoreRecords;

/// A campaign with its records, as a history has it.
pub struct PastCampaign {
    /// Its date, and which store and session have it.
    pub label: String,
    /// When it started, seconds since 1970.
    started_unix_s: u64,
    pub records: Vec<Record>,
}

/// The campaigns in some stores, oldest first. In a store with campaigns of its own, imported ones
/// do not count; in a store with imports only they count.
pub fn campaigns(stores: &[StoreRecords]) -> Vec<PastCampaign> {
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
    let date = dates::date(session.started_unix_s);
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
pub fn history(campaigns: &[PastCampaign], margin_percent: f64) -> History {
    let mut records: Vec<Vec<Record>> =
        campaigns.iter().map(|campaign| campaign.records.clone()).collect();
    name_processors_if_several(&mut records);
    let labelled = campaigns.iter().zip(&records);
    let sessions: Vec<view::history::Session> = labelled
        .map(|(campaign, records)| view::history::Session { label: &campaign.label, records })
        .collect();
    view::history::history(&sessions, margin_percent)
}
