// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's phases: events with rounds, a policy and CPUs of their own.

use std::collections::BTreeSet;

use model::{Policy, PolicyClass, Step, UtilClamp};

use super::event::{self, Events};
use super::json::Fields;
use super::{Global, scheduling};
use crate::SpecError;
use crate::check::ENDLESS;
use crate::source::Places;

/// A phase, before it becomes steps.
pub struct Phase {
    at: usize,
    /// How often it is played; `None`: without end.
    pub rounds: Option<u64>,
    policy: Option<Policy>,
    /// Its CPUs, if they are not the task's.
    cpus: Option<Vec<u32>>,
    uclamp: UtilClamp,
    /// The control group that the task moves to.
    pub group: Option<String>,
    steps: Vec<Step>,
    /// Where each step is written.
    places: Vec<usize>,
    /// What is in it and not played, for the user.
    pub ignored: BTreeSet<&'static str>,
}

impl Phase {
    /// The events that are left of an object.
    pub fn of_events(task: &str, mut fields: Fields, global: &Global) -> Result<Phase, SpecError> {
        let mut events = Events::new(task, global);
        while let Some((key, value)) = fields.next() {
            event::read(&fields, key, value, &mut events)?;
        }
        if !events.any {
            let error = fields.error_at(fields.start(), "there are no events");
            return Err(error.hint("write e.g. \"run\": 1000"));
        }
        let (steps, places, ignored) = (events.steps, events.places, events.ignored);
        let (policy, cpus, group, at) = (None, None, None, fields.start());
        let uclamp = UtilClamp::default();
        Ok(Phase { at, rounds: Some(1), policy, cpus, uclamp, group, steps, places, ignored })
    }

    /// The steps, which the rest of the reader may change.
    pub fn steps_mut(&mut self) -> &mut [Step] {
        &mut self.steps
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub fn placed(&self) -> impl Iterator<Item = (&Step, usize)> {
        self.steps.iter().zip(self.places.iter().copied())
    }
}

/// Reads a task's phases; `class` is that of its policy.
pub fn all(
    task: &str,
    mut fields: Fields,
    global: &Global,
    class: PolicyClass,
) -> Result<Vec<Phase>, SpecError> {
    let (mut phases, mut class) = (Vec::new(), class);
    while let Some(((_, at), value)) = fields.next() {
        let phase = read(task, fields.inner(value, "a phase")?, global, class)?;
        class = phase.policy.map_or(class, |policy| policy.class);
        phases.push(Phase { at, ..phase });
    }
    Ok(phases)
}

fn read(
    task: &str,
    mut fields: Fields,
    global: &Global,
    class: PolicyClass,
) -> Result<Phase, SpecError> {
    let rounds = fields.integer("loop")?.map_or(Some(1), |(rounds, _)| rounds_of(rounds));
    let policy = scheduling::of_phase(&mut fields, class)?;
    let cpus = scheduling::cpus(&mut fields)?;
    let group = scheduling::group(&mut fields)?;
    let uclamp = scheduling::uclamp(&mut fields)?;
    let ignored = scheduling::others(&mut fields)?;
    let mut phase = Phase::of_events(task, fields, global)?;
    phase.ignored.extend(ignored);
    Ok(Phase { rounds, policy, cpus, uclamp, group, ..phase })
}

/// A phase that is not played at least once is played without end, as in rt-app.
fn rounds_of(rounds: i64) -> Option<u64> {
    u64::try_from(rounds).ok().filter(|rounds| *rounds > 0)
}

/// The steps of a list that is put together, which notes where each is written.
pub struct Assembled<'a> {
    pub steps: Vec<Step>,
    /// The list's path, e.g. `task[0].steps`.
    pub path: String,
    /// Steps that will stand before these in the list.
    pub before: usize,
    /// Where the values of the file are.
    pub places: &'a mut Places,
}

impl Assembled<'_> {
    fn next(&self) -> String {
        format!("{}[{}]", self.path, self.before + self.steps.len())
    }

    fn push(&mut self, step: Step, at: usize) {
        self.places.insert(self.next(), at);
        self.steps.push(step);
    }

    /// Appends phases. Policy, clamps and control group stay until a phase changes them. CPUs do
    /// not: if one phase has its own, every phase sets them, because rounds begin again at the
    /// first.
    pub fn append(&mut self, phases: &[Phase], usual_cpus: &[u32]) {
        let moves = phases.iter().any(|phase| phase.cpus.is_some());
        for phase in phases {
            if let Some(policy) = phase.policy {
                self.push(Step::Policy(policy), phase.at);
            }
            if !phase.uclamp.is_none() {
                self.push(Step::Uclamp(phase.uclamp), phase.at);
            }
            if let Some(group) = &phase.group {
                self.push(Step::Group(group.clone()), phase.at);
            }
            if moves {
                let cpus = phase.cpus.as_deref().unwrap_or(usual_cpus);
                self.push(Step::Affinity(cpus.to_vec()), phase.at);
            }
            self.append_steps(phase);
        }
    }

    fn append_steps(&mut self, phase: &Phase) {
        if phase.rounds == Some(1) {
            for (step, at) in phase.placed() {
                self.push(step.clone(), at);
            }
        } else if !phase.steps.is_empty() {
            let path = self.next();
            for (index, at) in phase.places.iter().enumerate() {
                self.places.insert(format!("{path}.loop.steps[{index}]"), *at);
            }
            let count = phase.rounds.unwrap_or(ENDLESS);
            self.push(Step::Loop { count, steps: phase.steps.clone() }, phase.at);
        }
    }
}
