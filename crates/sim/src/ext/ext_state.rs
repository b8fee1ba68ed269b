// SPDX-License-Identifier: GPL-2.0-only
//! The state of sched_ext: the loaded scheduler, its queues, and what a callback has asked for.

use super::dsq::Queues;
use super::idle::IdleMasks;
use super::queues::UserQueues;
use super::timer::SchedulerTimer;
use crate::core::kernel::{ExitInfo, OpsPresent};
use crate::core::task::TaskId;
use crate::core::topology::Topology;
use crate::flags::{DSP_DFL_MAX_BATCH, DSQ_BYPASS, DSQ_GLOBAL, DSQ_LOCAL, WATCHDOG_MAX_TIMEOUT};

/// sched_ext's part of the kernel's state.
pub struct ExtState {
    pub(super) has: OpsPresent,
    pub(super) ops_flags: u64,
    pub(super) max_batch: u32,
    /// The most cids of a shard.
    pub(super) shard_size: u32,
    pub(super) watchdog_ns: u64,
    pub(super) loaded: bool,
    /// Events of the kernel call programs of the scheduler.
    pub(super) traces: bool,
    /// The core schedules without the scheduler, while that is being loaded or unloaded.
    pub(super) bypass: bool,
    pub(super) exit: Option<ExitInfo>,
    /// It exited because the simulator lacks what it uses.
    pub(super) lacks: bool,
    /// The scheduler's source line at that time, if it is known.
    pub(super) exit_place: String,
    /// The source line where the scheduler named a queue that does not exist.
    pub(super) suspect: String,
    /// The scheduler is being unloaded; its exit reason does not change any more.
    pub(super) leaving: bool,

    pub(super) queues: Queues,
    pub(super) user_queues: UserQueues,
    pub(crate) buffer: Vec<Dispatch>,
    pub(crate) nr_dispatched: u32,
    pub(crate) direct: Direct,
    pub(super) deferred: Vec<TaskId>,
    pub(super) idle: IdleMasks,
    pub(super) timers: Vec<SchedulerTimer>,

    /// `ops.cpu_release` runs.
    pub(crate) releasing: bool,
    /// A task was inserted with `SCX_ENQ_IMMED`.
    pub(crate) uses_immed: bool,
    pub(crate) events: EventCounts,
}

/// What has happened since the scheduler was loaded, by the names of `struct scx_event_stats`.
///
/// DIVERGES: what only nested schedulers, offline CPUs, tasks with disabled migration and a long
/// bypass mode bring about does not happen.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventCounts {
    pub select_cpu_fallback: i64,
    pub dispatch_keep_last: i64,
    pub enq_skip_exiting: i64,
    pub reenq_immed: i64,
    pub refill_slice_dfl: i64,
    pub bypass_dispatch: i64,
    pub bypass_activate: i64,
}

impl ExtState {
    /// sched_ext without a scheduler, on a machine of this shape.
    pub(crate) fn new(topology: &Topology) -> ExtState {
        ExtState {
            has: OpsPresent::default(),
            ops_flags: 0,
            max_batch: DSP_DFL_MAX_BATCH,
            shard_size: super::cids::shard_size(0),
            watchdog_ns: WATCHDOG_MAX_TIMEOUT,
            loaded: false,
            traces: false,
            bypass: true,
            exit: None,
            lacks: false,
            exit_place: String::new(),
            suspect: String::new(),
            leaving: false,
            queues: builtin_queues(topology),
            user_queues: UserQueues::default(),
            buffer: Vec::new(),
            nr_dispatched: 0,
            direct: Direct::None,
            deferred: Vec::new(),
            idle: IdleMasks::new(topology),
            timers: Vec::new(),
            releasing: false,
            uses_immed: false,
            events: EventCounts::default(),
        }
    }

    #[inline]
    pub(crate) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Why the scheduler exited, if it has.
    #[inline]
    pub(crate) fn exit(&self) -> Option<&ExitInfo> {
        self.exit.as_ref()
    }

    /// The scheduler's source line when it exited; empty if it is unknown.
    pub(crate) fn exit_place(&self) -> &str {
        &self.exit_place
    }

    /// Whether the exit is the simulator's fault: see [`Core::lacks`](crate::Core).
    pub(crate) fn lacks(&self) -> bool {
        self.lacks
    }

    #[inline]
    pub(crate) fn queues(&self) -> &Queues {
        &self.queues
    }

    pub(crate) fn reserve_tasks(&mut self, tasks: usize) {
        self.queues.reserve_tasks(tasks);
    }

    pub(crate) fn add_task(&mut self) {
        self.queues.add_task();
    }

    /// Whether direct dispatches to other CPUs wait for the end of the current operation.
    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }
}

/// One local queue per CPU, one global queue per node, and one for bypass, in this order.
fn builtin_queues(topology: &Topology) -> Queues {
    let cpus = (0..topology.cpus).map(|_| DSQ_LOCAL);
    let nodes = topology.nodes.iter().map(|_| DSQ_GLOBAL);
    let mut queues = Queues::default();
    for id in cpus.chain(nodes).chain([DSQ_BYPASS]) {
        queues.add_queue(id);
    }
    queues
}

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

/// An insertion in the dispatch buffer, which is flushed after `ops.dispatch`.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    pub task: TaskId,
    /// The task's `qseq` at the insertion; it is stale if the task was enqueued again.
    pub qseq: u64,
    pub dsq_id: u64,
    /// `SCX_ENQ_*`.
    pub flags: u64,
}
