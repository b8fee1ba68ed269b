// SPDX-License-Identifier: GPL-2.0-only
//! Tasks that wait for the end of others, as threads join threads: each task of a joined group
//! posts a semaphore when it ends, and the one that joins them takes it as often as there are
//! tasks. Such a semaphore is a futex, and so is the thread number for which `pthread_join` waits.

use crate::TaskGroup;
use crate::play::limits::Refusal;
use crate::play::names::first_use;
use crate::play::op::{Op, Resolver};

/// A group's name for the semaphore of its ends.
pub(super) fn semaphore(group: &str) -> String {
    format!("join {group}")
}

impl Resolver<'_> {
    pub(super) fn join(&mut self, name: &str) -> Result<(), Refusal> {
        let tasks = self.workload.tasks.iter();
        let joined = tasks.clone().find(|group| group.name == name).ok_or_else(|| {
            let known: Vec<&str> = tasks.map(|group| group.name.as_str()).collect();
            let hint = format!("there are {}", known.join(", "));
            Refusal::new(format!("there is no task '{name}'"), hint)
        })?;
        check_joined(joined)?;
        self.check_joining()?;
        let own = self.group.name.as_str();
        if reaches(&self.names.joins, name, own) {
            let message = format!("'{own}' and '{name}' would wait for each other's end");
            return Err(Refusal::new(message, "let one of them end without a join"));
        }
        if self.names.joins.iter().any(|(_, joined)| joined == name) {
            let message = format!("the tasks '{name}' are joined twice");
            return Err(Refusal::new(message, "a thread is joined once: write one step 'join'"));
        }
        self.names.joins.push((own.to_owned(), name.to_owned()));
        let semaphore = first_use(&mut self.names.semaphores, &semaphore(name));
        let (count, start) = (u64::from(joined.count), self.ops.len());
        let end = start + 2;
        self.ops.extend([Op::LoopStart { count, end }, Op::Take(semaphore), Op::LoopEnd { start }]);
        Ok(())
    }

    fn check_joining(&self) -> Result<(), Refusal> {
        // A loop that has not ended does not know its end.
        let is_open = |op: &Op| matches!(op, Op::LoopStart { end: 0, .. });
        let is_once = self.group.count <= 1 && self.group.repeat == Some(1);
        if is_once && !self.group.template && !self.ops.iter().any(is_open) {
            return Ok(());
        }
        Err(Refusal::new(
            "a thread is joined once, and this step would be played more often",
            "write it outside loops, in a task with repeat = 1 and without a count",
        ))
    }
}

fn check_joined(group: &TaskGroup) -> Result<(), Refusal> {
    let name = &group.name;
    if group.template {
        let message = format!("'{name}' is a template");
        return Err(Refusal::new(message, "write wait_children in the task that forks it"));
    }
    if group.repeat.is_none() && !group.steps.contains(&crate::Step::Exit) {
        let message = format!("the tasks '{name}' never end");
        return Err(Refusal::new(message, format!("add 'repeat = …' to the task '{name}'")));
    }
    if group.steps.contains(&crate::Step::Tape) {
        let message = format!("the tasks '{name}' play tapes");
        return Err(Refusal::new(message, "who waited for their ends is on tapes, too"));
    }
    Ok(())
}

/// Whether the end of a group needs that of another one.
fn reaches(joins: &[(String, String)], from: &str, to: &str) -> bool {
    let next = joins.iter().filter(|(own, _)| own == from);
    from == to || next.into_iter().any(|(_, joined)| reaches(joins, joined, to))
}
