// SPDX-License-Identifier: GPL-2.0-only
//! Direct dispatch: insertion by `ops.select_cpu` and `ops.enqueue`.

use crate::core::task_id::TaskId;

/// Whether an insertion is a direct dispatch (`direct_dispatch_task`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {
    /// No: it goes to the dispatch buffer.
    None,
    /// Yes, for this task, which is being woken or enqueued.
    Of(TaskId),
    /// The task was directly dispatched already.
    Done,
}
