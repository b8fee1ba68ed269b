// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's phases: events with rounds, a policy and CPUs of their own.
//!
//! rt-app's scheduling parameters of a task or phase: policy, budget or slice, CPUs; and those that
//! nothing here has.

use std::collections::BTreeSet;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use model::play::control_groups;
use model::play::policy::CLASSES;
use model::{Policy, PolicyClass, Step, UtilClamp};

use super::Global;
use super::event::{self, Events};
use super::json::Fields;
use crate::check::ENDLESS;
use crate::source::{Places, advice};
use crate::{SpecError, policy};

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
    let policy = of_phase(&mut fields, class)?;
    let cpus = cpus(&mut fields)?;
    let group = group(&mut fields)?;
    let uclamp = uclamp(&mut fields)?;
    let ignored = others(&mut fields)?;
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

/// The default priority that rt-app gives to real-time tasks.
const DEFAULT_PRIORITY: i64 = 10;
const UNBOUND: &str = "nodes_membind, memory is not bound";
/// The utilisation of a whole CPU, the highest clamp.
const UTIL_FULL: u32 = 1024;

/// The class with a name of rt-app's, such as `SCHED_FIFO`.
pub fn class(fields: &Fields, name: &str, at: usize) -> Result<PolicyClass, SpecError> {
    let names = CLASSES.map(|(name, _)| format!("SCHED_{}", name.to_uppercase()));
    let found = names.iter().position(|known| known == name).map(|place| CLASSES[place].1);
    found.ok_or_else(|| {
        let hint = advice(name, names.iter().map(String::as_str));
        fields.error_at(at, format!("unknown policy '{name}'")).maybe_hint(hint)
    })
}

/// Runtime, deadline and period in µs, where the file has them.
#[derive(Clone, Copy, Default)]
struct Budget {
    runtime: Option<u64>,
    deadline: Option<u64>,
    period: Option<u64>,
}

impl Budget {
    fn take(fields: &mut Fields) -> Result<Budget, SpecError> {
        Ok(Budget {
            runtime: fields.unsigned("dl-runtime")?,
            deadline: fields.unsigned("dl-deadline")?,
            period: fields.unsigned("dl-period")?,
        })
    }

    /// What a task object may have instead: the keys of rt-app before 1.0. Its `runtime` is an
    /// event as well.
    fn or_old(self, fields: &mut Fields) -> Result<Budget, SpecError> {
        let (period, deadline) = (fields.unsigned("period")?, fields.unsigned("deadline")?);
        let event = fields.peek("runtime").map(|value| fields.as_integer(value, "runtime"));
        let runtime = event.transpose()?.and_then(|us| u64::try_from(us).ok());
        Ok(Budget {
            runtime: self.runtime.or(runtime),
            deadline: self.deadline.or(deadline),
            period: self.period.or(period),
        })
    }

    fn is_empty(&self) -> bool {
        self.runtime.or(self.deadline).or(self.period).is_none()
    }
}

/// The policy of a task; `None` if the file leaves it to the contestant.
pub fn of_task(fields: &mut Fields, default: PolicyClass) -> Result<Option<Policy>, SpecError> {
    let named = named_class(fields)?;
    let class = named.map_or(default, |(class, _)| class);
    let budget = Budget::take(fields)?;
    let whole = budget.or_old(fields)?;
    policy(fields, named, default, if class == PolicyClass::Deadline { whole } else { budget })
}

/// The policy that a phase changes to, which without a name is of the class so far; `None` if it
/// changes nothing.
pub fn of_phase(fields: &mut Fields, so_far: PolicyClass) -> Result<Option<Policy>, SpecError> {
    let (named, budget) = (named_class(fields)?, Budget::take(fields)?);
    if named.is_none() && budget.is_empty() && fields.peek("priority").is_none() {
        return Ok(None);
    }
    let policy = policy(fields, named, so_far, budget)?;
    Ok(Some(policy.unwrap_or_default()))
}

fn named_class(fields: &mut Fields) -> Result<Option<(PolicyClass, usize)>, SpecError> {
    let Some((name, at)) = fields.text("policy")? else { return Ok(None) };
    Ok(Some((class(fields, name, at)?, at)))
}

fn policy(
    fields: &mut Fields,
    named: Option<(PolicyClass, usize)>,
    default: PolicyClass,
    budget: Budget,
) -> Result<Option<Policy>, SpecError> {
    let priority = fields.integer("priority")?;
    let at = named.map(|(_, at)| at).or(priority.map(|(_, at)| at)).unwrap_or(fields.start());
    let class = named.map_or(default, |(class, _)| class);
    let says_nothing = named.is_none() && priority.is_none() && budget.is_empty();
    if says_nothing && class == PolicyClass::Other {
        return Ok(None);
    }
    let policy = with_numbers(class, priority.map(|(number, _)| number), budget);
    policy::check(&policy)
        .map_err(|(message, hint)| fields.error_at(at, message).maybe_hint(hint))?;
    Ok(Some(policy))
}

/// A policy with what its class heeds. `dl-runtime` of a fair task is the slice that it asks for.
fn with_numbers(class: PolicyClass, priority: Option<i64>, budget: Budget) -> Policy {
    let runtime_us = budget.runtime.unwrap_or(0);
    let base = Policy { class, ..Policy::default() };
    match class {
        PolicyClass::Other | PolicyClass::Batch => {
            Policy { nice: small(priority.unwrap_or(0)), runtime_us, ..base }
        }
        PolicyClass::Fifo | PolicyClass::Rr => {
            Policy { priority: small(priority.unwrap_or(DEFAULT_PRIORITY)), ..base }
        }
        PolicyClass::Idle => base,
        PolicyClass::Deadline => {
            let period_us = budget.period.unwrap_or(runtime_us);
            let deadline_us = budget.deadline.unwrap_or(period_us);
            Policy { runtime_us, period_us, deadline_us, ..base }
        }
    }
}

/// Converts a number; one that does not fit becomes a value that the policy's check refuses.
fn small<T: TryFrom<i64> + From<u16>>(number: i64) -> T {
    T::try_from(number).unwrap_or_else(|_| T::from(u16::MAX))
}

pub fn cpus(fields: &mut Fields) -> Result<Option<Vec<u32>>, SpecError> {
    let Some(value): Option<&Value> = fields.take("cpus")? else { return Ok(None) };
    let cpus = fields.as_numbers(value, "cpus")?;
    if cpus.is_empty() {
        let error = fields.error_at(value.range().start, "an empty list of CPUs");
        return Err(error.hint("name at least one CPU, or delete it for all"));
    }
    Ok(Some(cpus))
}

/// The control group of a task or phase, without the slash of the root; empty: the root. An
/// empty name names none, as in rt-app.
pub fn group(fields: &mut Fields) -> Result<Option<String>, SpecError> {
    let named = fields.text("taskgroup")?.filter(|(group, _)| !group.is_empty());
    let Some((group, at)) = named else { return Ok(None) };
    let group = group.trim_matches('/');
    if !group.is_empty() {
        control_groups::check_name(group)
            .map_err(|refusal| fields.error_at(at, refusal.message).hint(refusal.hint))?;
    }
    Ok(Some(group.to_owned()))
}

/// Clamps of the utilisation; -1 sets none.
pub fn uclamp(fields: &mut Fields) -> Result<UtilClamp, SpecError> {
    let mut clamp = |key: &'static str| {
        let Some((number, at)) = fields.integer(key)?.filter(|(number, _)| *number != -1) else {
            return Ok(None);
        };
        match u32::try_from(number) {
            Ok(clamp) if clamp <= UTIL_FULL => Ok(Some(clamp)),
            _ => {
                let error = fields.error_at(at, format!("{number} is out of range for '{key}'"));
                Err(error.hint(format!("write 0 … {UTIL_FULL}, or -1 for none")))
            }
        }
    };
    Ok(UtilClamp { min: clamp("util_min")?, max: clamp("util_max")? })
}

/// The parameter of a task or phase that is ignored, if it has one.
pub fn others(fields: &mut Fields) -> Result<Option<&'static str>, SpecError> {
    match fields.take("nodes_membind")? {
        None => Ok(None),
        Some(nodes) => fields.as_numbers(nodes, "nodes_membind").map(|_| Some(UNBOUND)),
    }
}
