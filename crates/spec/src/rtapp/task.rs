// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's tasks → groups.
//!
//! A task that starts by itself and is forked too becomes two groups, the second a template with
//! the ending `-fork`. A task that does neither is left out.

use std::collections::{BTreeMap, BTreeSet};

use model::{Policy, PolicyClass, Step, TaskGroup};

use super::json::Fields;
use super::names::GroupNames;
use super::phase::{self, Assembled, Phase};
use super::{Global, scheduling, timers};
use crate::SpecError;
use crate::check::ENDLESS;
use crate::near::advice;
use crate::source::Places;

pub struct Task<'v> {
    name: &'v str,
    at: usize,
    /// How many start by themselves.
    pub instances: u64,
    /// How often its phases are played; `None`: without end.
    rounds: Option<u64>,
    delay_us: u64,
    policy: Option<Policy>,
    cpus: Vec<u32>,
    /// Its phases; a task without has one.
    pub phases: Vec<Phase>,
}

pub fn tasks(
    mut fields: Fields,
    global: &Global,
    cpus: u32,
    places: &mut Places,
    notes: &mut Vec<String>,
) -> Result<Vec<TaskGroup>, SpecError> {
    let mut tasks = Vec::new();
    while let Some(((name, at), value)) = fields.next() {
        let task = task(name, fields.inner(value, "a task")?, global)?;
        tasks.push(Task { at, ..task });
    }
    known(&fields, &tasks)?;
    let forked = forked(&tasks);
    timers::settle(&mut tasks, &forked);
    let ignored: BTreeSet<&str> = tasks
        .iter()
        .flat_map(|task| &task.phases)
        .flat_map(|phase| phase.ignored.clone())
        .collect();
    notes.extend(ignored.iter().map(|what| format!("{}: ignored: {what}", fields.file())));
    for task in tasks.iter().filter(|task| task.has_late_phases()) {
        let never = "the phases after an endless one never come";
        notes.push(format!("{}: task '{}': {never}", fields.file(), task.name));
    }
    Ok(groups(fields.file(), (&tasks, &forked), cpus, places, notes))
}

fn task<'v>(name: &'v str, mut fields: Fields, global: &Global) -> Result<Task<'v>, SpecError> {
    let instances = fields.unsigned("instance")?.unwrap_or(1);
    let delay_us = fields.unsigned("delay")?.unwrap_or(0);
    let mut rounds = fields.integer("loop")?.and_then(|(rounds, _)| u64::try_from(rounds).ok());
    let policy = scheduling::of_task(&mut fields, global.policy)?;
    let cpus = scheduling::cpus(&mut fields)?.unwrap_or_default();
    let ignored = scheduling::others(&mut fields)?;
    let mut phases = match fields.take("phases")? {
        Some(phases) => {
            let class = policy.map_or(PolicyClass::Other, |policy| policy.class);
            let phases = phase::all(name, fields.inner(phases, "'phases'")?, global, class);
            fields.finish()?;
            phases?
        }
        None => vec![Phase::of_events(name, fields, global)?],
    };
    // A sole endless phase is the same as an endless task.
    if let [Phase { rounds: endless @ None, .. }] = &mut phases[..] {
        (*endless, rounds) = (Some(1), None);
    }
    if let Some(first) = phases.first_mut() {
        first.ignored.extend(ignored);
    }
    Ok(Task { name, at: 0, instances, rounds, delay_us, policy, cpus, phases })
}

/// Refuses forks of tasks that are not there.
fn known(fields: &Fields, tasks: &[Task]) -> Result<(), SpecError> {
    let names = tasks.iter().map(|task| task.name);
    for (step, at) in tasks.iter().flat_map(|task| &task.phases).flat_map(Phase::placed) {
        if let Step::Fork { task, .. } = step
            && !names.clone().any(|name| name == task)
        {
            let error = fields.error_at(at, format!("there is no task '{task}' to fork"));
            return Err(error.maybe_hint(advice(task, names)));
        }
    }
    Ok(())
}

/// The groups of all tasks, those of forked tasks that also start by themselves last.
fn groups(
    file: &str,
    (tasks, forked): (&[Task], &[usize]),
    cpus: u32,
    places: &mut Places,
    notes: &mut Vec<String>,
) -> Vec<TaskGroup> {
    let is_forked = |index: usize| forked.contains(&index);
    let mut names = GroupNames::new(tasks.iter().map(|task| task.name));
    let mut templates: BTreeMap<String, String> = BTreeMap::new();
    let mut groups = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let is_template = task.instances == 0;
        if is_template && !is_forked(index) {
            notes
                .push(format!("{file}: task '{}' has no instances and nobody forks it", task.name));
            continue;
        }
        let name = names.give(task.name);
        if name != task.name {
            notes.push(format!("{file}: task '{}' is called '{name}' here", task.name));
        }
        if is_template {
            templates.insert(task.name.to_owned(), name.clone());
        }
        groups.push(task.group(name, is_template, groups.len(), cpus, places));
    }
    for (_, task) in
        tasks.iter().enumerate().filter(|(index, task)| is_forked(*index) && task.instances > 0)
    {
        let name = names.give_forked(task.name);
        notes.push(format!("{file}: forked tasks '{}' are the group '{name}'", task.name));
        templates.insert(task.name.to_owned(), name.clone());
        groups.push(task.group(name, true, groups.len(), cpus, places));
    }
    groups.iter_mut().for_each(|group| rename_forks(&mut group.steps, &templates));
    groups
}

/// The indices of the tasks that others fork: of those with one name the first.
fn forked(tasks: &[Task]) -> Vec<usize> {
    let steps = tasks.iter().flat_map(|task| &task.phases).flat_map(Phase::steps);
    let names = steps.filter_map(|step| match step {
        Step::Fork { task, .. } => Some(task),
        _ => None,
    });
    names.filter_map(|name| tasks.iter().position(|task| task.name == name)).collect()
}

/// Forks name tasks; groups may be called otherwise.
fn rename_forks(steps: &mut [Step], names: &BTreeMap<String, String>) {
    for step in steps {
        match step {
            Step::Fork { task, .. } => {
                if let Some(name) = names.get(task) {
                    task.clone_from(name);
                }
            }
            Step::Loop { steps, .. } => rename_forks(steps, names),
            _ => {}
        }
    }
}

impl Task<'_> {
    fn has_late_phases(&self) -> bool {
        self.phases
            .split_last()
            .is_some_and(|(_, all)| all.iter().any(|phase| phase.rounds.is_none()))
    }

    /// Its group, which will be the workload's with that number.
    fn group(
        &self,
        name: String,
        template: bool,
        number: usize,
        cpus: u32,
        places: &mut Places,
    ) -> TaskGroup {
        let all: Vec<u32> = (0..cpus).collect();
        let usual = if self.cpus.is_empty() { &all } else { &self.cpus };
        let path = format!("task[{number}]");
        places.insert(path.clone(), self.at);
        let delayed = usize::from(template && self.delay_us > 0);
        let looped = template && self.rounds != Some(1);
        let path = if looped {
            format!("{path}.steps[{delayed}].loop.steps")
        } else {
            format!("{path}.steps")
        };
        let before = if looped { 0 } else { delayed };
        let mut assembled = Assembled { steps: Vec::new(), path, before, places };
        assembled.append(&self.phases, usual);
        let group = TaskGroup {
            name,
            count: u32::try_from(self.instances).unwrap_or(u32::MAX),
            repeat: self.rounds,
            delay_us: self.delay_us,
            jitter_us: 0,
            policy: self.policy,
            affinity: self.cpus.clone(),
            template,
            steps: assembled.steps,
        };
        if template { as_template(group) } else { group }
    }
}

/// A template's steps are played once: what repeats becomes a loop, what delays becomes a sleep.
fn as_template(group: TaskGroup) -> TaskGroup {
    let mut steps = match group.repeat {
        Some(1) => group.steps,
        rounds => vec![Step::Loop { count: rounds.unwrap_or(ENDLESS), steps: group.steps }],
    };
    if group.delay_us > 0 {
        steps.insert(0, Step::SleepUs(group.delay_us));
    }
    TaskGroup { count: 1, repeat: None, delay_us: 0, steps, ..group }
}
