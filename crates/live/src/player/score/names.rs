// SPDX-License-Identifier: GPL-2.0-only
//! Names and their numbers.

use model::{Channel, TaskGroup};

/// Everything that has been named so far; the position is the number.
pub struct Names {
    groups: Vec<(String, bool)>,
    channels: Vec<(String, u32)>,
    pub locks: Vec<String>,
    pub conditions: Vec<String>,
    pub semaphores: Vec<String>,
    pub barriers: Vec<String>,
}

impl Names {
    /// With the groups and channels, which must be declared; the others come with their first use.
    pub fn new(groups: &[&TaskGroup], channels: &[Channel]) -> Names {
        Names {
            groups: groups.iter().map(|group| (group.name.clone(), group.template)).collect(),
            channels: channels
                .iter()
                .map(|channel| (channel.name.clone(), channel.count))
                .collect(),
            locks: Vec::new(),
            conditions: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
        }
    }

    pub fn lock(&mut self, name: &str) -> usize {
        first_use(&mut self.locks, name)
    }

    pub fn condition(&mut self, name: &str) -> usize {
        first_use(&mut self.conditions, &format!("condition {name}"))
    }

    /// `suspend` and `resume` without a name mean their own group.
    pub fn suspension(&mut self, name: &str, group: &TaskGroup) -> usize {
        let name = if name.is_empty() { &group.name } else { name };
        first_use(&mut self.conditions, &format!("suspend {name}"))
    }

    pub fn channel(&self, name: &str) -> Result<usize, String> {
        match self.channels.iter().position(|(known, _)| known == name) {
            Some(number) if self.channels[number].1 > 0 => Ok(number),
            Some(_) => Err(format!("channel `{name}` has count = 0; write at least 1")),
            None => Err(format!("no channel is called `{name}`; declare it with [[channel]]")),
        }
    }

    pub fn template(&self, name: &str) -> Result<usize, String> {
        match self.groups.iter().position(|(known, _)| known == name) {
            Some(number) if self.groups[number].1 => Ok(number),
            Some(_) => Err(format!("`fork` needs a template; write template = true in `{name}`")),
            None => Err(format!("`fork` names `{name}`, but no task group is called so")),
        }
    }
}

/// The number of a name, which is added when it is new.
pub fn first_use(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}
