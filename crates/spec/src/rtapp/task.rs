// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's tasks → groups.
//!
//! A task that starts by itself and is forked too becomes two groups, the second a template with
//! the ending `-fork`. A task that does neither is left out.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::PROGRAM;
use model::{Policy, PolicyClass, Step, TaskGroup, UtilClamp};

use super::json::Fields;
use super::phase::{self, Assembled, Phase};
use super::{Global, event};
use crate::SpecError;
use crate::check::{ENDLESS, NAME_BYTES_MAX};
use crate::source::{Places, advice};

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
    uclamp: UtilClamp,
    /// The control group that its tasks start in.
    group: Option<String>,
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
    event::settle_timers(&mut tasks, &forked);
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
    let policy = phase::of_task(&mut fields, global.policy)?;
    let cpus = phase::cpus(&mut fields)?.unwrap_or_default();
    let group = phase::group(&mut fields)?;
    let uclamp = phase::uclamp(&mut fields)?;
    let ignored = phase::others(&mut fields)?;
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
    Ok(Task { name, at: 0, instances, rounds, delay_us, policy, cpus, uclamp, group, phases })
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
        let moved = template && self.group.as_ref().is_some_and(|group| !group.is_empty());
        let delayed = usize::from(template && self.delay_us > 0) + usize::from(moved);
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
            uclamp: self.uclamp,
            group: self.group.clone().unwrap_or_default(),
            session: String::new(),
            template,
            steps: assembled.steps,
        };
        if template { as_template(group) } else { group }
    }
}

/// A template's steps are played once: what repeats becomes a loop, what delays becomes a
/// sleep, and a control group becomes a move.
fn as_template(group: TaskGroup) -> TaskGroup {
    let mut steps = match group.repeat {
        Some(1) => group.steps,
        rounds => vec![Step::Loop { count: rounds.unwrap_or(ENDLESS), steps: group.steps }],
    };
    if group.delay_us > 0 {
        steps.insert(0, Step::SleepUs(group.delay_us));
    }
    if !group.group.is_empty() {
        steps.insert(0, Step::Group(group.group));
    }
    TaskGroup { count: 1, repeat: None, delay_us: 0, group: String::new(), steps, ..group }
}

/// Names that have a meaning in metrics.
const TAKEN: [&str; 2] = ["all", PROGRAM];

pub struct GroupNames {
    given: BTreeSet<String>,
    /// The names that tasks will keep.
    kept: BTreeSet<String>,
    made: BTreeMap<String, u32>,
}

impl GroupNames {
    /// No names yet, for tasks that are called so in the file.
    pub fn new<'a>(tasks: impl Iterator<Item = &'a str>) -> GroupNames {
        let kept = tasks.filter(|name| **name == written(name, NAME_BYTES_MAX)).map(str::to_owned);
        GroupNames {
            given: TAKEN.map(str::to_owned).into(),
            kept: kept.collect(),
            made: BTreeMap::new(),
        }
    }

    /// The name of a task's group: its own if that is possible, else cut or numbered.
    pub fn give(&mut self, task: &str) -> String {
        if self.kept.contains(task) && self.given.insert(task.to_owned()) {
            return task.to_owned();
        }
        self.new_name(task, "")
    }

    /// The name of a task's group of forked processes.
    pub fn give_forked(&mut self, task: &str) -> String {
        self.new_name(task, "-fork")
    }

    fn new_name(&mut self, task: &str, ending: &str) -> String {
        let made = self.made.entry(format!("{task} {ending}")).or_default();
        loop {
            let number = if *made == 0 { String::new() } else { made.to_string() };
            *made += 1;
            let room = NAME_BYTES_MAX - ending.len() - number.len();
            let name = format!("{}{number}{ending}", written(task, room));
            if !self.kept.contains(&name) && self.given.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A name in the letters that are allowed, cut to so many bytes.
fn written(name: &str, bytes: usize) -> String {
    let allowed = |letter: char| letter.is_alphanumeric() || "_.:-+".contains(letter);
    let mut written = String::new();
    for letter in name.chars().map(|letter| if allowed(letter) { letter } else { '_' }) {
        if written.len() + letter.len_utf8() > bytes {
            break;
        }
        written.push(letter);
    }
    if written.is_empty() { "task".into() } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_where_it_can_be() {
        let tasks = ["a", "a", "a1", "a name of 20 letters", "a_name_of_20_le", "all", ""];
        let mut names = GroupNames::new(tasks.into_iter());
        assert_eq!(
            tasks.map(|task| names.give(task)),
            ["a", "a2", "a1", "a_name_of_20_l1", "a_name_of_20_le", "all1", "task"]
        );
        assert_eq!(names.give_forked("a"), "a-fork");
        assert_eq!(names.give_forked("a_name_of_20_le"), "a_name_of_-fork");
        assert_eq!(names.give_forked("a_name_of_20_xx"), "a_name_of1-fork");
    }
}
