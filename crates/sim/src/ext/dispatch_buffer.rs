// SPDX-License-Identifier: GPL-2.0-only
//! What `ops.dispatch` collects before it is flushed.

use crate::core::task_id::TaskId;

/// An insertion in the dispatch buffer, which is flushed after `ops.dispatch`.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    pub task: TaskId,
    /// The task's `qseq` at the insertion; it is stale if the task was enqueued again.
    pub qseq: u64,
    /// The target queue.
    pub dsq_id: u64,
    /// `SCX_ENQ_*`.
    pub flags: u64,
}
