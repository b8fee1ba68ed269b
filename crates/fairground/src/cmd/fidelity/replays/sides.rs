// SPDX-License-Identifier: GPL-2.0-only
//! The figures of programs and of their replays, from the records and traces in a store.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use model::metric::PROGRAM;
use model::{Backend, Record, Trace};
use recording::traced;
use stats::replay::{Figures, FiguresByScheduler, figures, figures_of_record};
use store::{Filter, Store};

use super::taping::Recorded;
use crate::{recordings, records};

pub struct Sides<'a> {
    pub store: &'a Path,
    /// Schedulers' files, and the kernels' own schedulers that they were written after.
    pub counterparts: &'a BTreeMap<String, String>,
    pub programs: &'a [Record],
    pub replays: &'a [Record],
}

impl Sides<'_> {
    /// A program's figures, by scheduler.
    pub fn program(&self, of: &Recorded) -> Result<FiguresByScheduler> {
        let is_its = |record: &&Record| {
            let trial = &record.trial;
            trial.backend == of.backend
                && trial.workload.cell() == of.cell
                && trial.machine.name == of.machine
        };
        self.side(self.programs.iter().filter(is_its))
    }

    /// The figures of its replay on the kernel.
    pub fn replay(&self, of: &Recorded) -> Result<FiguresByScheduler> {
        self.side(self.replays_of(of, of.backend))
    }

    /// The figures of its replay in the simulator. A file stands for its counterpart too, which the
    /// simulator does not have.
    pub fn model(&self, of: &Recorded) -> Result<FiguresByScheduler> {
        let mut side = self.side(self.replays_of(of, Backend::MODEL))?;
        for (file, counterpart) in self.counterparts {
            if let Some(trials) = side.get(file).cloned() {
                side.entry(counterpart.clone()).or_insert(trials);
            }
        }
        Ok(side)
    }

    fn replays_of(&self, of: &Recorded, backend: Backend) -> impl Iterator<Item = &Record> {
        let tapes = recordings::tapes_file(&of.file).display().to_string();
        self.replays.iter().filter(move |record| {
            let recording = record.trial.workload.recording.as_ref();
            record.trial.backend == backend
                && recording.is_some_and(|recording| recording.tapes == tapes)
        })
    }

    fn side<'a>(&self, records: impl Iterator<Item = &'a Record>) -> Result<FiguresByScheduler> {
        let mut side = FiguresByScheduler::new();
        for record in records.filter(|record| record.outcome.is_ok()) {
            let figures = match record.trial.trace {
                true => of_events(&trace(self.store, record)?, record),
                false => figures_of_record(&record.measured),
            };
            side.entry(record.trial.contestant.name.clone()).or_default().extend(figures);
        }
        Ok(side)
    }
}

/// From the common start to the end of the workload, nanoseconds: of its program, or of all tasks.
pub fn wall_ns(record: &Record, trace: &Trace) -> Option<u64> {
    match record.trial.workload.program {
        Some(_) => traced::end_of_program(trace, PROGRAM),
        None => record.measured.value("completion_ns", "all").map(|ns| ns as u64),
    }
}

/// The trace of a trial; an empty one if it was not kept.
pub fn trace(store: &Path, record: &Record) -> Result<Trace> {
    let filter = Filter { trial_id: Some(record.trial.id()), traces: true, ..Filter::default() };
    let records = records::read(&Store::open_readonly(store)?, &filter)?;
    Ok(records.into_iter().rev().find_map(|record| record.trace).unwrap_or_default())
}

/// `None`: the trace has holes, or no end.
fn of_events(trace: &Trace, record: &Record) -> Option<Figures> {
    let wall_ns = wall_ns(record, trace)?;
    if trace.lost > 0 || trace.events.is_empty() {
        return None;
    }
    let members = match &record.trial.workload.program {
        Some(_) => traced::read(trace, wall_ns, "", record.trial.machine.cpus).ok()?.groups(),
        None => {
            let own = trace.tasks.iter().filter(|task| !task.group.is_empty());
            own.map(|task| (task.pid, task.group.clone())).collect()
        }
    };
    Some(figures(trace, &members, wall_ns))
}
