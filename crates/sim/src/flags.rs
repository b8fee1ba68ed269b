// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of the sched_ext interface, with the values of Linux 7.x.

/// `SCX_SLICE_DFL`: the slice of a task whose scheduler has set none, ns.
pub const SLICE_DFL: u64 = 20_000_000;
/// `SCX_SLICE_BYPASS`: the slice while the core schedules by itself, ns.
pub const SLICE_BYPASS: u64 = 5_000_000;
/// `SCX_SLICE_INF`: never runs out.
pub const SLICE_INF: u64 = u64::MAX;
/// `SCX_DSP_DFL_MAX_BATCH`.
pub const DSP_DFL_MAX_BATCH: u32 = 32;
/// `SCX_DSP_MAX_LOOPS`: rounds of `ops.dispatch` before the CPU does other work.
pub const DSP_MAX_LOOPS: u32 = 32;
/// `SCX_WATCHDOG_MAX_TIMEOUT`, ns.
pub const WATCHDOG_MAX_TIMEOUT: u64 = 30_000_000_000;

/// `SCX_DSQ_FLAG_BUILTIN`.
pub const DSQ_FLAG_BUILTIN: u64 = 1 << 63;
const DSQ_FLAG_LOCAL_ON: u64 = 1 << 62;
/// `SCX_DSQ_INVALID`.
pub const DSQ_INVALID: u64 = DSQ_FLAG_BUILTIN;
/// `SCX_DSQ_GLOBAL`.
pub const DSQ_GLOBAL: u64 = DSQ_FLAG_BUILTIN | 1;
/// `SCX_DSQ_LOCAL`.
pub const DSQ_LOCAL: u64 = DSQ_FLAG_BUILTIN | 2;
/// `SCX_DSQ_BYPASS`.
pub const DSQ_BYPASS: u64 = DSQ_FLAG_BUILTIN | 3;
/// `SCX_DSQ_LOCAL_ON`; the CPU is in the lower 32 bits.
pub const DSQ_LOCAL_ON: u64 = DSQ_FLAG_BUILTIN | DSQ_FLAG_LOCAL_ON;
/// `SCX_DSQ_LOCAL_CPU_MASK`.
pub const DSQ_LOCAL_CPU_MASK: u64 = 0xffff_ffff;

/// `SCX_ENQ_WAKEUP`.
pub const ENQ_WAKEUP: u64 = 1;
/// `ENQUEUE_RESTORE`: the second half of a property change.
pub const ENQ_RESTORE: u64 = 2;
/// `ENQUEUE_MOVE`: the change may bring the task to another place in its queue.
pub const ENQ_MOVE: u64 = 4;
/// `ENQUEUE_NOCLOCK`.
pub const ENQ_NOCLOCK: u64 = 8;
/// A move between CPUs, which is not `runnable` and `quiescent`; schedulers do not see this flag.
pub const ENQ_MIGRATING: u64 = 0x10;
/// `ENQUEUE_CLASS`: the property that changes is the class.
pub const ENQ_CLASS: u64 = 0x40;
/// `SCX_ENQ_HEAD`.
pub const ENQ_HEAD: u64 = 0x0001_0000;
/// `ENQUEUE_MIGRATED`.
pub const ENQ_MIGRATED: u64 = 0x0004_0000;
/// `ENQUEUE_INITIAL`: a new task.
pub const ENQ_INITIAL: u64 = 0x0008_0000;
/// `SCX_ENQ_CPU_SELECTED`.
pub const ENQ_CPU_SELECTED: u64 = 0x0010_0000;
/// `SCX_ENQ_PREEMPT`.
pub const ENQ_PREEMPT: u64 = 1 << 32;
/// `SCX_ENQ_IMMED`.
pub const ENQ_IMMED: u64 = 1 << 33;
/// `SCX_ENQ_RESCUE`.
pub const ENQ_RESCUE: u64 = 1 << 34;
/// `SCX_ENQ_PREEMPT_LAZY`.
pub const ENQ_PREEMPT_LAZY: u64 = 1 << 35;
/// What goes to the head of a queue in order of arrival.
pub const ENQ_AT_HEAD: u64 = ENQ_HEAD | ENQ_PREEMPT | ENQ_PREEMPT_LAZY;
/// `SCX_ENQ_REENQ`.
pub const ENQ_REENQ: u64 = 1 << 40;
/// `SCX_ENQ_LAST`.
pub const ENQ_LAST: u64 = 1 << 41;
/// `SCX_ENQ_CLEAR_OPSS`; internal.
pub const ENQ_CLEAR_OPSS: u64 = 1 << 56;
/// `SCX_ENQ_DSQ_PRIQ`; internal.
pub const ENQ_DSQ_PRIQ: u64 = 1 << 57;
/// `SCX_ENQ_IGNORE_CAPS`; internal, and seen by `ops.runnable` of a running task that changes.
pub const ENQ_IGNORE_CAPS: u64 = 1 << 60;
/// The flags that a scheduler must not set itself.
pub const ENQ_INTERNAL_MASK: u64 = 0xff << 56;

/// `SCX_DEQ_SLEEP`.
pub const DEQ_SLEEP: u64 = 1;
/// `DEQUEUE_SAVE`: the first half of a property change.
pub const DEQ_SAVE: u64 = 2;
/// `DEQUEUE_MOVE`: the task may come back elsewhere in its queue.
pub const DEQ_MOVE: u64 = 4;
/// `DEQUEUE_NOCLOCK`.
pub const DEQ_NOCLOCK: u64 = 8;
/// `DEQUEUE_SPECIAL`: the sleep cannot end by a normal wake-up; the task is dead.
pub const DEQ_SPECIAL: u64 = 0x0001_0000;
/// `DEQUEUE_CLASS`.
pub const DEQ_CLASS: u64 = 0x40;
/// `SCX_DEQ_SCHED_CHANGE`.
pub const DEQ_SCHED_CHANGE: u64 = 1 << 33;

/// `SCX_WAKE_FORK`.
pub const WAKE_FORK: u64 = 4;
/// `SCX_WAKE_TTWU`.
pub const WAKE_TTWU: u64 = 8;
/// `SCX_WAKE_SYNC`.
pub const WAKE_SYNC: u64 = 16;

/// `SCX_PICK_IDLE_CORE`.
pub const PICK_IDLE_CORE: u64 = 1;
/// `SCX_PICK_IDLE_IN_NODE`.
pub const PICK_IDLE_IN_NODE: u64 = 2;

/// `NUMA_NO_NODE`.
pub const NO_NODE: i32 = -1;

/// `SCX_REENQ_ANY`.
pub const REENQ_ANY: u64 = 1;

/// `SCX_KICK_IDLE`.
pub const KICK_IDLE: u64 = 1;
/// `SCX_KICK_PREEMPT`.
pub const KICK_PREEMPT: u64 = 2;
/// `SCX_KICK_WAIT`.
pub const KICK_WAIT: u64 = 4;
/// `SCX_KICK_PREEMPT_LAZY`.
pub const KICK_PREEMPT_LAZY: u64 = 8;

/// `SCX_OPS_KEEP_BUILTIN_IDLE`.
pub const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
/// `SCX_OPS_ENQ_LAST`.
pub const OPS_ENQ_LAST: u64 = 2;
/// `SCX_OPS_ENQ_EXITING`.
pub const OPS_ENQ_EXITING: u64 = 4;
/// `SCX_OPS_SWITCH_PARTIAL`.
pub const OPS_SWITCH_PARTIAL: u64 = 8;
/// `SCX_OPS_ENQ_MIGRATION_DISABLED`.
pub const OPS_ENQ_MIGRATION_DISABLED: u64 = 16;
/// `SCX_OPS_BUILTIN_IDLE_PER_NODE`.
pub const OPS_BUILTIN_IDLE_PER_NODE: u64 = 64;
/// `SCX_OPS_ALWAYS_ENQ_IMMED`.
pub const OPS_ALWAYS_ENQ_IMMED: u64 = 128;
/// `SCX_OPS_TID_TO_TASK`.
pub const OPS_TID_TO_TASK: u64 = 256;

/// `SCX_TASK_REENQ_KFUNC`, of `p->scx.flags`.
pub const TASK_REENQ_KFUNC: u32 = 1 << 12;
/// `SCX_TASK_REENQ_IMMED`.
pub const TASK_REENQ_IMMED: u32 = 2 << 12;
/// `SCX_TASK_REENQ_PREEMPTED`.
pub const TASK_REENQ_PREEMPTED: u32 = 3 << 12;

/// `SCX_CPU_PREEMPT_RT`.
pub const PREEMPT_RT: u32 = 0;
/// `SCX_CPU_PREEMPT_DL`.
pub const PREEMPT_DL: u32 = 1;
/// `SCX_CPU_PREEMPT_STOP`.
pub const PREEMPT_STOP: u32 = 2;

/// `SCX_DSQ_ITER_REV`.
pub const DSQ_ITER_REV: u64 = 1 << 16;

/// `SCX_EXIT_UNREG`: unloaded from user space.
pub const EXIT_UNREG: u64 = 64;
/// `SCX_EXIT_UNREG_BPF`: `scx_bpf_exit()`.
pub const EXIT_UNREG_BPF: u64 = 65;
/// `SCX_EXIT_ERROR`: the core found a mistake.
pub const EXIT_ERROR: u64 = 1024;
/// `SCX_EXIT_ERROR_BPF`: `scx_bpf_error()`.
pub const EXIT_ERROR_BPF: u64 = 1025;
/// `SCX_EXIT_ERROR_STALL`: a task did not run for too long.
pub const EXIT_ERROR_STALL: u64 = 1026;
/// `SCX_EXIT_ERROR_REENQ`: a task came back too often.
pub const EXIT_ERROR_REENQ: u64 = 1027;

/// `PF_EXITING`.
pub const PF_EXITING: u32 = 0x4;
/// `PF_IDLE`.
pub const PF_IDLE: u32 = 0x2;
/// `PF_FORKNOEXEC`: has not called exec since it was forked.
pub const PF_FORKNOEXEC: u32 = 0x40;
/// `PF_KTHREAD`.
pub const PF_KTHREAD: u32 = 0x0020_0000;
