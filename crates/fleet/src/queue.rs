// SPDX-License-Identifier: GPL-2.0-only
//! What is asked of a queue of jobs: to submit, to say how its tasks are, to cancel.

use std::collections::BTreeMap;

use anyhow::Result;
use model::machine::HERE;
use model::{Clock, Trial};

/// A task's name in its queue.
pub type TaskId = String;

/// What a chunk needs of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs {
    /// A whole node: other work disturbs a real clock.
    pub whole_node: bool,
    /// Memory for the guest and for QEMU; 0: as little as the queue gives.
    pub memory_mib: u32,
    /// The kind of node that is the machine of all trials; `None`: any node will do.
    pub kind: Option<String>,
}

/// QEMU's own memory beside the guest's, with the archive that it unpacks.
const QEMU_MIB: u32 = 1024;

impl Needs {
    /// The needs of trials that share a chunk.
    pub fn of(trials: &[Trial]) -> Needs {
        let is_real = |trial: &Trial| trial.clock() == Clock::Real;
        let guests = trials.iter().filter(|trial| trial.backend.boots_kernels());
        let memory_mib = guests.map(|trial| trial.machine.memory_mib + QEMU_MIB).max();
        let whole_node = trials.iter().any(is_real);
        let kind =
            kind(&trials[0]).filter(|_| trials.iter().all(|it| kind(it) == kind(&trials[0])));
        Needs { whole_node, memory_mib: memory_mib.unwrap_or(0), kind: kind.map(str::to_owned) }
    }
}

/// The machine of a trial, if it is a kind of node.
fn kind(trial: &Trial) -> Option<&str> {
    let name = trial.machine.name.as_str();
    (trial.backend.uses_running_kernel() && name != HERE).then_some(name)
}

/// Chunks with consecutive numbers that need the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The number of the first chunk.
    pub first: usize,
    /// The number of chunks.
    pub count: usize,
    /// What each needs.
    pub needs: Needs,
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// In the queue, or on its way back into it.
    Waiting,
    /// On a node.
    Running,
    /// It will not run again by itself.
    Ended,
}

/// A task as its queue describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Where it is.
    pub stage: Stage,
    /// The queue's own word for it, with the reason if there is one.
    pub words: String,
    /// The node, empty before there is one.
    pub node: String,
}

/// A queue of jobs. A task runs one chunk of the campaign's folder and leaves its records there.
pub trait Queue {
    /// Submits chunks and returns their tasks, in order.
    ///
    /// # Errors
    /// When the queue refuses them.
    fn submit(&mut self, array: &Array) -> Result<Vec<TaskId>>;

    /// The tasks of this campaign that the queue knows.
    ///
    /// # Errors
    /// When the queue does not answer.
    fn tasks(&mut self) -> Result<BTreeMap<TaskId, Task>>;

    /// Takes tasks out of the queue and ends those that run.
    ///
    /// # Errors
    /// When the queue does not answer.
    fn cancel(&mut self, tasks: &[TaskId]) -> Result<()>;

    /// What is known about the end of a task, for a person.
    fn last_words(&mut self, task: &TaskId) -> String;

    /// How many chunks with these needs may run at a time.
    ///
    /// # Errors
    /// When the queue does not answer.
    fn slots(&mut self, needs: &Needs) -> Result<usize>;
}
