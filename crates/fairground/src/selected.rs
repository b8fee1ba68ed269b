// SPDX-License-Identifier: GPL-2.0-only
//! What a reading verb has chosen: the records of one store, or of several put together.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use model::{Contestant, Design, Experiment, Record};
use stats::records::merge::{Merged, Part, merge, name_objects_if_several};
use stats::view::consensus::{Question, questions};
use stats::{Comparison, Recommendation};
use store::Session;
use store::exchange::privacy::Cleaner;

use crate::leaving::{self, LeavingOptions};
use crate::{comparison, exit, times};

pub struct StoreRecords {
    /// What tables call the store.
    pub label: String,
    /// The sessions, oldest first, each with its own records.
    pub sessions: Vec<(Session, Vec<Record>)>,
}

/// The chosen records of all stores.
pub struct Selected {
    /// The sessions that the records belong to: store by store, oldest first.
    pub sessions: Vec<Session>,
    /// The records, each trial once.
    pub records: Vec<Record>,
    /// Where they come from and how they were put together; nothing for a single store.
    notes: Vec<String>,
    /// Trials that should have measured the same and did not.
    contradictions: Vec<String>,
    stores: Vec<StoreRecords>,
}

impl StoreRecords {
    fn sessions(&self) -> impl Iterator<Item = Session> {
        self.sessions.iter().map(|(session, _)| session.clone())
    }

    /// Where its numbers come from, in a line.
    fn describe(&self, records: &[Record]) -> String {
        let joined = |facts: BTreeSet<String>| {
            let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
            facts.join(", ")
        };
        let dates = self.sessions.iter().map(|(session, _)| times::date(session.started_unix_s));
        let kernels = records.iter().map(|record| record.provenance.kernel_release.clone());
        let processors = records.iter().map(|record| record.provenance.cpu_model.clone());
        format!(
            "{}: {} trials of {}; kernels: {}; processors: {}",
            self.label,
            records.len(),
            joined(dates.collect()),
            joined(kernels.collect()),
            joined(processors.collect()),
        )
    }
}

/// The records of sessions, by campaign, then in the order of the plan.
fn in_order(sessions: Vec<(Session, Vec<Record>)>) -> Vec<Record> {
    let by_campaign = sessions.into_iter().flat_map(|(session, records)| {
        records.into_iter().map(move |record| (session.first(), record))
    });
    let mut records: Vec<(i64, Record)> = by_campaign.collect();
    records.sort_by_key(|(campaign, record)| (*campaign, record.trial.position));
    records.into_iter().map(|(_, record)| record).collect()
}

impl Selected {
    pub fn new(mut stores: Vec<StoreRecords>) -> Selected {
        let sessions = stores.iter().flat_map(StoreRecords::sessions).collect();
        if let [only] = stores.as_mut_slice() {
            let mut records = in_order(std::mem::take(&mut only.sessions));
            let (notes, contradictions) = (name_objects_if_several(&mut records), Vec::new());
            return Selected { sessions, records, notes, contradictions, stores };
        }
        let (mut notes, mut parts) = (Vec::new(), Vec::new());
        for store in &stores {
            let mut records = in_order(store.sessions.clone());
            notes.push(store.describe(&records));
            notes.extend(name_objects_if_several(&mut records));
            parts.push(Part { label: store.label.clone(), records });
        }
        let Merged { records, notes: remarks, contradictions } = merge(parts);
        notes.extend(remarks);
        Selected { sessions, records, notes, contradictions, stores }
    }

    /// These records alone.
    pub fn of_records(records: Vec<Record>) -> Selected {
        let (sessions, stores) = (Vec::new(), Vec::new());
        Selected { sessions, records, notes: Vec::new(), contradictions: Vec::new(), stores }
    }

    /// Removes what may not leave this machine.
    pub fn clean(&mut self, options: LeavingOptions) -> Result<Cleaner> {
        let mut cleaner = options.cleaner(self.sessions.iter());
        leaving::clean(&mut cleaner, &mut self.sessions, &mut self.records)?;
        self.notes.iter_mut().for_each(|note| *note = cleaner.text(note));
        Ok(cleaner)
    }

    /// Compares the records, and says where they come from.
    pub fn compare(&self, baseline: Option<String>) -> Result<Comparison> {
        let mut comparison = comparison::compare(&self.sessions, &self.records, baseline)?;
        comparison.notes.splice(0..0, self.notes.iter().cloned());
        Ok(comparison)
    }

    /// The advice that the last session asked for, for each contestant that stands for the
    /// scheduler in use, as if it were the only one; empty if it asked for none.
    pub fn advice(&self) -> Result<Vec<Recommendation>> {
        self.sessions
            .last()
            .map_or_else(|| Ok(Vec::new()), |session| self.advice_of(&session.experiment))
    }

    /// The advice that an experiment asks for, whose trials these records are of.
    pub fn advice_of(&self, experiment: &Experiment) -> Result<Vec<Recommendation>> {
        let Design { aims, in_use, .. } = &experiment.design;
        if aims.is_empty() {
            return Ok(Vec::new());
        }
        let needs_nothing = |contestant: &&Contestant| !contestant.scheduler.is_sched_ext();
        let easy = experiment.contestants.iter().filter(needs_nothing);
        let easy: Vec<String> = easy.map(|contestant| contestant.name.clone()).collect();
        let against = |now: &String| {
            let takes_part = |name: &String| name == now || !in_use.contains(name);
            let records = self.records.iter();
            let records: Vec<Record> = records
                .filter(|record| takes_part(&record.trial.contestant.name))
                .cloned()
                .collect();
            let comparison = comparison::compare(&self.sessions, &records, Some(now.clone()))?;
            Ok(stats::recommend(&records, &comparison, aims, &easy))
        };
        in_use.iter().map(against).collect()
    }

    /// How several stores answer the same questions.
    pub fn questions(&self, baseline: &str) -> Result<Vec<Question>> {
        let contribution = |store: &StoreRecords| {
            let sessions: Vec<Session> = store.sessions().collect();
            let records = in_order(store.sessions.clone());
            comparison::contribution(store.label.clone(), &sessions, &records, Some(baseline))
        };
        let contributions = self.stores.iter().map(contribution).collect::<Result<Vec<_>>>()?;
        Ok(questions(&contributions))
    }

    /// Whether the records are of several stores.
    pub fn is_several(&self) -> bool {
        self.stores.len() > 1
    }

    /// 1 if two stores contradict each other.
    pub fn exit_code(&self) -> ExitCode {
        let agree = self.contradictions.is_empty();
        if agree { ExitCode::SUCCESS } else { ExitCode::from(exit::MISBEHAVED) }
    }
}
