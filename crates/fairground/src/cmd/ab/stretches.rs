// SPDX-License-Identifier: GPL-2.0-only
//! Stretch after stretch: a scheduler is loaded, frames are counted, it is unloaded, and the record
//! is kept.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use live::trial::{Watched, beside};
use model::{Progress, Record};
use store::Store;

use super::frame_logs::FrameLogs;
use super::game::{Frames, Game};
use super::{Args, LEFT_OUT};
use crate::execution::interrupt::{self, Watch};
use crate::execution::sink::{OnProgress, Sink};
use crate::execution::{live as on_live, objects};
use crate::exit::{self, bad_input};
use crate::planned_experiment::PlannedExperiment;
use crate::{command_line, output};

/// How often the logs are read.
const LOOK: Duration = Duration::from_millis(100);
/// The first frame must come within this many stretches.
const PATIENCE: u32 = 3;

pub struct Stretches<'a> {
    args: &'a Args,
    game: Game,
    logs: FrameLogs,
    stop: Watch,
}

pub struct Ended {
    /// The session; none if no stretch was begun.
    pub session: Option<i64>,
    pub why: End,
}

/// Why there are no more stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    User,
    Program,
}

impl End {
    pub fn words(self) -> Option<&'static str> {
        match self {
            End::Complete => None,
            End::User => Some("interrupted"),
            End::Program => Some("the program has ended"),
        }
    }

    /// The exit code where there is no answer.
    pub fn without_answer(self) -> ExitCode {
        match self {
            End::Complete | End::Program => ExitCode::from(exit::MISBEHAVED),
            End::User => exit::interrupted(),
        }
    }
}

impl<'a> Stretches<'a> {
    /// Prepares for Ctrl-C, which ends the stretch that runs.
    pub fn new(args: &'a Args, game: Game, frames: &Frames) -> Result<Stretches<'a>> {
        let logs = FrameLogs::new(frames.place());
        Ok(Stretches { args, game, logs, stop: interrupt::flag()? })
    }

    /// Waits for the first frame, then until the user plays.
    pub fn await_frames(&mut self, frames: &Frames) -> Result<()> {
        let patience = Instant::now() + self.args.stretch * PATIENCE;
        while !self.logs.has_frames() && self.end().is_none() {
            if Instant::now() > patience {
                return Err(bad_input(frames.why_none()));
            }
            self.wait(LOOK);
        }
        if self.end() == Some(End::Program) {
            return Err(bad_input(format!("the program has ended; {}", frames.why_none())));
        }
        self.wait(self.args.after.unwrap_or_default());
        Ok(())
    }

    /// Runs the trials of a plan until it, the program or the user ends.
    pub fn run(&mut self, planned: &PlannedExperiment, hear: &mut OnProgress<'_>) -> Result<Ended> {
        if let Some(why) = self.end() {
            return Ok(Ended { session: None, why });
        }
        let prepared = objects::prepare(&planned.trials, &planned.sources)?;
        let store = Store::open(&self.args.store)?;
        store.keep_sources(&objects::texts(planned.sources.values()))?;
        let experiment = planned.experiment.clone();
        let session = command_line::session(experiment, planned.plan_id(), planned.seed);
        let session = store.begin(&session)?;
        let mut keep = move |new: &[Record]| Ok(store.append_all(session, new)?);
        let stop = std::sync::Arc::clone(&self.stop);
        let sink = Sink::new(&mut keep, hear, &stop);
        sink.set_objects(prepared.hashes());
        sink.progress(&Progress::Planned { trials: planned.trials.len(), done: 0 });
        let mut why = End::Complete;
        for trial in &planned.trials {
            sink.progress(&Progress::TrialStarted(trial));
            let (context, group) = (on_live::context(trial.position), self.game.group());
            match beside(trial, &context, group, &mut || self.watch()) {
                Some(record) => sink.record(record),
                // What was given up is no record.
                None => {
                    why = self.end().unwrap_or(End::User);
                    break;
                }
            }
        }
        sink.error()?;
        Ok(Ended { session: Some(session), why })
    }

    /// Waits for the end of a stretch, and measures its frames.
    fn watch(&mut self) -> Watched {
        let from = SystemTime::now() + LEFT_OUT;
        if !self.wait(self.args.stretch) {
            return None;
        }
        let to = SystemTime::now();
        self.logs.look();
        Some(self.logs.between(from, to))
    }

    /// Reads the logs for a while; false if something ends it before.
    fn wait(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            self.logs.look();
            if self.end().is_some() {
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            sleep(left.min(LOOK));
        }
    }

    fn end(&mut self) -> Option<End> {
        if self.stop.load(std::sync::atomic::Ordering::SeqCst) {
            return Some(End::User);
        }
        self.game.has_ended().then_some(End::Program)
    }
}

impl Drop for Stretches<'_> {
    fn drop(&mut self) {
        if !self.game.has_ended() {
            output::tell("the program goes on");
        }
    }
}
