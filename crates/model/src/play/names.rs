// SPDX-License-Identifier: GPL-2.0-only
//! Names and their numbers.

use crate::workload::Timer;
use crate::{Channel, ControlGroup, Policy, TaskGroup};

use crate::play::control_groups::{self, GroupNode};
use crate::play::limits::MAX_TIMERS;
use crate::play::{Refusal, TimerPlan, limits};

/// Everything that has been named so far; the position is the number.
pub struct Names {
    groups: Vec<(String, bool)>,
    channels: Vec<String>,
    pub locks: Vec<String>,
    conditions: Vec<String>,
    /// Those of steps, and those of groups that are joined.
    pub semaphores: Vec<String>,
    /// The waits of tasks for the end of a group.
    pub joins: Vec<(String, String)>,
    pub barriers: Vec<String>,
    /// The timers that tasks share.
    pub timers: Vec<String>,
    /// The policies and lists of CPUs that tasks change to.
    pub policies: Vec<Policy>,
    pub affinities: Vec<Vec<u32>>,
    pub control_groups: Vec<GroupNode>,
    /// The changes of control groups, each with the group's number.
    pub group_changes: Vec<(usize, ControlGroup)>,
}

impl Names {
    /// The groups and channels, which must be declared. Other names are created at their first use.
    pub fn new(
        groups: &[&TaskGroup],
        channels: &[Channel],
        control_groups: Vec<GroupNode>,
    ) -> Names {
        Names {
            groups: groups.iter().map(|group| (group.name.clone(), group.template)).collect(),
            channels: channels.iter().map(|channel| channel.name.clone()).collect(),
            locks: Vec::new(),
            conditions: Vec::new(),
            semaphores: Vec::new(),
            joins: Vec::new(),
            barriers: Vec::new(),
            timers: Vec::new(),
            policies: Vec::new(),
            affinities: Vec::new(),
            control_groups,
            group_changes: Vec::new(),
        }
    }

    /// A control group's number; none for the workload's own.
    pub fn control_group(&self, name: &str) -> Result<Option<usize>, Refusal> {
        match control_groups::number(&self.control_groups, name) {
            None if !name.is_empty() => {
                let known = self.control_groups.iter().map(|node| node.settings.name.as_str());
                Err(Refusal::unknown("group", name, known))
            }
            number => Ok(number),
        }
    }

    /// The number of a control group that a task or a program starts in.
    pub fn starting_group(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let number = self.control_group(name)?;
        if number.is_some_and(|number| self.control_groups[number].settings.absent) {
            let message = format!("the group '{name}' is not there at the beginning");
            let hint = "start elsewhere, and enter it by { group = … } after make_group";
            return Err(Refusal::new(message, hint));
        }
        Ok(number)
    }

    /// The number of a control group that steps make and remove.
    pub fn absent_group(&self, name: &str) -> Result<usize, Refusal> {
        match self.control_group(name)? {
            Some(number) if self.control_groups[number].settings.absent => Ok(number),
            _ => {
                let message = format!("the group '{name}' is there from the beginning");
                let hint = "add 'absent = true' to its table: steps make and remove such groups";
                Err(Refusal::new(message, hint))
            }
        }
    }

    /// How many conditions there are; a name that tasks suspend under is one too.
    pub fn conditions(&self) -> usize {
        self.conditions.len()
    }

    pub fn lock(&mut self, name: &str) -> usize {
        first_use(&mut self.locks, name)
    }

    pub fn semaphore(&mut self, name: &str) -> usize {
        first_use(&mut self.semaphores, &format!("semaphore {name}"))
    }

    pub fn condition(&mut self, name: &str) -> usize {
        first_use(&mut self.conditions, &format!("condition {name}"))
    }

    /// `suspend` and `resume` without a name mean the task's own group.
    pub fn suspension(&mut self, name: &str, group: &str) -> usize {
        let name = if name.is_empty() { group } else { name };
        first_use(&mut self.conditions, &format!("suspend {name}"))
    }

    pub fn channel(&self, name: &str) -> Result<usize, Refusal> {
        let known = self.channels.iter().position(|known| known == name);
        known.ok_or_else(|| {
            Refusal::new(format!("there is no channel '{name}'"), "declare it with [[channel]]")
        })
    }

    pub fn template(&self, name: &str) -> Result<usize, Refusal> {
        match self.groups.iter().position(|(known, _)| known == name) {
            Some(number) if self.groups[number].1 => Ok(number),
            Some(_) => Err(Refusal::new(
                format!("'{name}' starts by itself and cannot be forked"),
                format!("add 'template = true' to the task '{name}'"),
            )),
            None => Err(Refusal::new(
                format!("there is no task '{name}' to fork"),
                "add a [[task]] with 'template = true'",
            )),
        }
    }
}

/// The timers of one group's tasks.
#[derive(Default)]
pub struct Timers {
    names: Vec<String>,
    pub plans: Vec<TimerPlan>,
}

impl Timers {
    /// The number of a timer in its task; `shared` are the names of those that tasks share.
    pub fn number(&mut self, timer: &Timer, shared: &mut Vec<String>) -> Result<usize, Refusal> {
        if timer.period_us == 0 {
            return Err(Refusal::new("a timer's period cannot be 0", "write its period_us"));
        }
        if timer.shared && timer.name.is_empty() {
            return Err(Refusal::new("a shared timer needs a name", "write its name"));
        }
        let plan = TimerPlan {
            period_ns: limits::time_ns(timer.period_us)?,
            relative: timer.relative,
            skip: timer.skip,
            shared: timer.shared.then(|| first_use(shared, &timer.name)),
        };
        let number = first_use(&mut self.names, &timer.name);
        match self.plans.get(number) {
            Some(known) if TimerPlan { period_ns: plan.period_ns, ..*known } == plan => {}
            Some(_) => {
                let message = format!("the timer '{}' was different before", timer.name);
                return Err(Refusal::new(message, "give each timer of a task its own name"));
            }
            None if number >= MAX_TIMERS => {
                let message = format!("a task cannot have more than {MAX_TIMERS} timers");
                return Err(Refusal::new(message, "give the others to a second task"));
            }
            None => self.plans.push(plan),
        }
        Ok(number)
    }
}

pub fn first_use(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}
