// SPDX-License-Identifier: GPL-2.0-only
//! Sessions: the trials of a plan that have no record yet are run, and their records are kept.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Result;
use fleet::slurm::SlurmOptions;
use model::{Backend, Experiment, Progress, Recorded, Trial, Workload};
use store::{Filter, PlanLock, Session, Store};

use super::claimable::ClaimableComparisons;
use super::detectable::expected;
use super::{Ended, RunOptions, on_slurm};
use crate::command_line;
use crate::execution::interrupt::Watch;
use crate::execution::objects::{self, Prepared};
use crate::execution::repeated::Earlier;
use crate::execution::sink::{OnProgress, Sink};
use crate::execution::{Settings, boots, emulators, interrupt, locations};
use crate::exit::bad_input;
use crate::planned_experiment::PlannedExperiment;
use crate::records::Selection;
use crate::selected::Selected;
use crate::times::words;

/// What is said about a plan before its trials run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remarks {
    /// The plan's notes, and what its number of blocks can prove.
    All,
    /// The plan's notes alone, because more blocks will follow or nothing is compared.
    Notes,
}

/// The campaign that a session belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continues {
    /// The last one with the same plan if the user resumes it, else a new one.
    AsAsked,
    /// The last one with the same plan if there is one, else a new one.
    Earlier,
    /// This one, by the number of its first session.
    Campaign(i64),
}

/// Runs one session after another for the same campaign.
pub struct CampaignRunner<'a> {
    pub execution: RunOptions,
    fleet: Option<SlurmOptions>,
    hear: &'a mut OnProgress<'a>,
    stop: Watch,
}

/// What one session has to do.
struct Task {
    /// The number of the campaign's first session.
    campaign: i64,
    left: Vec<Trial>,
    prepared: Prepared,
    store: Store,
    session: i64,
    earlier: Earlier,
}

impl<'a> CampaignRunner<'a> {
    /// Prepares for Ctrl-C, which ends the session that is running.
    pub fn new(
        execution: RunOptions,
        fleet: Option<SlurmOptions>,
        hear: &'a mut OnProgress<'a>,
    ) -> Result<CampaignRunner<'a>> {
        Ok(CampaignRunner { execution, fleet, hear, stop: interrupt::flag()? })
    }

    /// Runs the trials of a plan that have no record yet in the campaign that it continues.
    pub fn run(
        &mut self,
        planned: &PlannedExperiment,
        continues: Continues,
        remarks: Remarks,
    ) -> Result<Ended> {
        emulators::check(&planned.trials, locations::data_folder().ok().as_deref())?;
        let prepared = objects::prepare(&planned.trials, &planned.sources)?;
        let store = Store::open(&self.execution.store)?;
        // Until the end: what is left to run must not change.
        let Some(_lock) = self.lock(&store, planned)? else { return Ok(Ended::Interrupted) };
        let session = self.session(&store, planned, continues)?;
        if continues == Continues::AsAsked && self.execution.resume && session.campaign.is_none() {
            self.tell(&nothing_to_resume(&store, planned)?);
        }
        let left = left(&store, planned, session.campaign)?;
        let earlier = earlier_records(&store, session.campaign)?.with_tapes_of(&planned.trials);
        store.keep_sources(&objects::texts(planned.sources.values()))?;
        let id = store.begin(&session)?;
        self.remark(planned, remarks);
        let campaign = session.campaign.unwrap_or(id);
        let task = Task { campaign, left, prepared, store, session: id, earlier };
        let ended = self.execute(planned, task);
        if self.stop.load(Ordering::SeqCst) && ended.is_ok() {
            self.tell(&format!("interrupted; to continue: {}", command_line::resume_command()));
            return Ok(Ended::Interrupted);
        }
        if let Err(error) = ended {
            self.help_to_continue(planned);
            return Err(error);
        }
        Ok(Ended::Complete(id))
    }

    /// Waits until no other process runs the same plan with this store; `None` if the user has
    /// ended the waiting.
    fn lock(&mut self, store: &Store, planned: &PlannedExperiment) -> Result<Option<PlanLock>> {
        let stop = Arc::clone(&self.stop);
        let path = store.path().display().to_string();
        let mut waits = |process: &str| {
            (self.hear)(&Progress::Note(&format!(
                "process {process} is running this plan with {path}; waiting for its end, Ctrl-C \
                 ends the waiting"
            )));
            !stop.load(Ordering::SeqCst)
        };
        Ok(store.lock_plan(&planned.plan_id(), &mut waits)?)
    }

    /// What a session has measured, with the sessions that it resumes.
    pub fn measured(&self, session: i64) -> Result<Selected> {
        Selection::session(&self.execution.store, session).open()
    }

    /// Passes a line for the user on.
    pub fn tell(&mut self, text: &str) {
        (self.hear)(&Progress::Note(text));
    }

    /// The session as the store keeps it.
    fn session(
        &self,
        store: &Store,
        planned: &PlannedExperiment,
        continues: Continues,
    ) -> Result<Session> {
        let plan = planned.plan_id();
        let campaign = match continues {
            Continues::Campaign(first) => Some(first),
            Continues::AsAsked if !self.execution.resume => None,
            Continues::AsAsked | Continues::Earlier => earlier(store, &plan)?,
        };
        if campaign.is_none() && self.execution.resume {
            refuse_other_recordings(store, &planned.experiment)?;
        }
        let session = command_line::session(planned.experiment.clone(), plan, planned.seed);
        Ok(Session { campaign, ..session })
    }

    /// Tells what the user should know before waiting.
    fn remark(&mut self, planned: &PlannedExperiment, remarks: Remarks) {
        planned.notes.iter().for_each(|note| self.tell(note));
        if remarks == Remarks::All
            && !planned.experiment.design.exploratory
            && let Some(words) = ClaimableComparisons::of(planned).words()
        {
            self.tell(&words);
        }
    }

    fn execute(&mut self, planned: &PlannedExperiment, task: Task) -> Result<()> {
        let Task { campaign, left, prepared, store, session, earlier } = task;
        let trials = planned.trials.len();
        (self.hear)(&Progress::Planned { trials, done: trials - left.len() });
        let guests = left.iter().filter(|trial| trial.backend.boots_kernels());
        let guests: Vec<Trial> = guests.cloned().collect();
        if self.fleet.is_none()
            && let Some(time) = expected(&left, boots::at_once(&guests, self.execution.jobs))
        {
            self.tell(&format!("this takes about {}", words(time)));
        }
        let sources = planned.sources.clone();
        let RunOptions { jobs, offline, .. } = self.execution;
        let settings = Settings { sources, earlier, jobs, offline, ..Settings::default() };
        let path = store.path().to_owned();
        let mut keep = move |new: &[model::Record]| Ok(store.append_all(session, new)?);
        let mut hear = |progress: &Progress<'_>| (self.hear)(progress);
        let sink = Sink::new(&mut keep, &mut hear, &self.stop);
        match self.fleet {
            None => crate::execution::execute(&left, &prepared, &settings, &sink),
            Some(options) => {
                on_slurm::run(options, (&path, campaign), planned, left, &settings, &sink)
            }
        }
    }

    /// After a failure of the lab: where the records are, and what can be done.
    fn help_to_continue(&mut self, planned: &PlannedExperiment) {
        self.tell(&format!("the records so far are in {}", self.execution.store.display()));
        self.tell(&format!("to continue: {}", command_line::resume_command()));
        let backends = &planned.experiment.backends;
        if backends.len() > 1 && backends.contains(&Backend::MODEL) {
            self.tell("--on sim needs no virtual machine: it runs the simulator's part alone");
        }
    }
}

/// What is said when `--resume` finds no campaign with this plan.
fn nothing_to_resume(store: &Store, planned: &PlannedExperiment) -> Result<String> {
    let name = &planned.experiment.name;
    let sessions = store.sessions()?;
    let own = sessions.iter().rev().find(|s| s.experiment.name == *name && s.origin.is_none());
    let other = own.map(|session| format!("; the last of {name} was `{}`", session.command));
    let (store, other) = (store.path().display(), other.unwrap_or_default());
    Ok(format!("--resume: {store} has no campaign with this plan, so a new one begins{other}"))
}

/// The last campaign with this plan. Imported sessions are no part of it.
fn earlier(store: &Store, plan: &str) -> Result<Option<i64>> {
    let sessions = store.sessions()?.into_iter().rev();
    let mut own = sessions.filter(|session| session.plan == plan && session.origin.is_none());
    Ok(own.next().map(|session| session.first()))
}

/// What the campaign has measured in virtual machines.
fn earlier_records(store: &Store, campaign: Option<i64>) -> Result<Earlier> {
    match campaign {
        Some(_) => {
            let filter = Filter { campaign, ..Filter::default() };
            Ok(Earlier::new(store.records(&filter)?))
        }
        None => Ok(Earlier::default()),
    }
}

/// The trials that have no record in the campaign.
fn left(store: &Store, planned: &PlannedExperiment, campaign: Option<i64>) -> Result<Vec<Trial>> {
    let done = match campaign {
        Some(_) => store.trial_ids_done(&Filter { campaign, ..Filter::default() })?,
        None => BTreeSet::new(),
    };
    Ok(planned.trials.iter().filter(|trial| !done.contains(&trial.id())).cloned().collect())
}

/// Refuses to begin anew if the last campaign with a recording of the same name had other tapes, or
/// had them in another file.
fn refuse_other_recordings(store: &Store, experiment: &Experiment) -> Result<()> {
    let sessions = store.sessions()?;
    let own: Vec<&Session> = sessions.iter().filter(|session| session.origin.is_none()).collect();
    for workload in &experiment.workloads {
        let Some(now) = &workload.recording else { continue };
        let earlier =
            own.iter().rev().find_map(|session| Some((session.id, like(session, workload)?)));
        if let Some((session, then)) = earlier
            && let Some(why) = difference(now, then, session)
        {
            let path = store.path().display();
            return Err(bad_input(format!(
                "--resume: {path}: {why}; bring the file back, or run without --resume to begin a \
                 new campaign"
            )));
        }
    }
    Ok(())
}

/// The recording of a session's workload with the same name and parameters.
fn like<'a>(session: &'a Session, wanted: &Workload) -> Option<&'a Recorded> {
    let same =
        |known: &&Workload| known.name == wanted.name && known.parameters == wanted.parameters;
    session.experiment.workloads.iter().find(same)?.recording.as_ref()
}

fn difference(now: &Recorded, then: &Recorded, session: i64) -> Option<String> {
    let (file, sha256) = (&now.tapes, &now.sha256);
    if then.sha256 != *sha256 {
        return Some(format!(
            "the SHA-256 of {file} is {sha256}, session {session} was planned with {} of {}",
            then.sha256, then.tapes
        ));
    }
    (then.tapes != *file).then(|| {
        format!(
            "session {session} has the tapes {sha256} from the file {}, now they are in {file}, \
             and the identity of a trial has the name of the file",
            then.tapes
        )
    })
}
