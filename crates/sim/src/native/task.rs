// SPDX-License-Identifier: GPL-2.0-only
//! `struct task_struct` as schedulers see it in the simulator.
//!
//! A scheduler is compiled against a `struct task_struct` of our own (`compile/native/shim/task_struct.h`):
//! the kernel's names and types, but only the fields that the model maintains. BPF programs are relocated
//! to whatever layout their kernel has, so the layout is free; and a field that the model lacks is
//! the compiler's error, with file and line, instead of a silent zero. The types below are the same memory seen from
//! Rust; loading a scheduler compares sizes and offsets.

/// CPUs that a `cpumask_t` has room for, as in the kernel's headers.
pub const NR_CPUS: usize = 8192;

/// `struct cpumask`.
pub type Cpumask = [u64; NR_CPUS / 64];

/// `struct thread_info`; only `cpu` is maintained.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct ThreadInfo {
    /// Always 0.
    pub flags: u64,
    /// Always 0.
    pub syscall_work: u64,
    /// Always 0.
    pub status: u32,
    /// The CPU that the task is on or ran on last.
    pub cpu: u32,
}

/// `struct sched_entity`.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct SchedEntity {
    /// When the running time was last accounted for, nanoseconds.
    pub exec_start: u64,
    /// CPU time so far, nanoseconds, as of the last accounting.
    pub sum_exec_runtime: u64,
    /// `sum_exec_runtime` when the task was last switched to.
    pub prev_sum_exec_runtime: u64,
    /// Migrations so far.
    pub nr_migrations: u64,
}

/// `struct sched_ext_entity`.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct SchedExtEntity {
    /// The remaining slice, nanoseconds. Schedulers write it.
    pub slice: u64,
    /// The key in priority queues. Schedulers write it.
    pub dsq_vtime: u64,
    /// `SCX_TASK_*`.
    pub flags: u32,
    /// `SCX_DSQ_*` flags of the queue's node, 0.
    pub dsq_flags: u32,
    /// 1 … 10,000; 100 is nice 0.
    pub weight: u32,
    /// The CPU that the task sticks to while it is moved by a property change, or -1.
    pub sticky_cpu: i32,
    /// What `ops.select_cpu()` answered last.
    pub selected_cpu: i32,
    /// The number of the task's present stay with the scheduler.
    pub ops_qseq: u32,
    /// When the task last became runnable, in jiffies.
    pub runnable_at: u64,
    /// The task's number in the sched_ext core; never used twice.
    pub tid: u64,
    /// Set by `ops.init_task()`: the task is not to be scheduled by this scheduler.
    pub disallow: bool,
}

/// `struct task_struct`: hot fields first, the mask (1 KiB) last.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct TaskStruct {
    /// The CPU is in here.
    pub thread_info: ThreadInfo,
    /// `TASK_*`: 0 is runnable.
    pub state: u32,
    /// `PF_*`.
    pub flags: u32,
    /// 1 while the task runs.
    pub on_cpu: u8,
    /// 1 while the task is runnable.
    pub on_rq: u8,
    /// How deep migration is disabled.
    pub migration_disabled: u16,
    /// A CPU that the task ran on recently.
    pub recent_used_cpu: i32,
    /// The CPU that the task is woken on or was woken on last.
    pub wake_cpu: i32,
    /// The priority in effect, 0 … 139.
    pub prio: i32,
    /// 100 … 139: 120 + nice.
    pub static_prio: i32,
    /// The priority without inheritance.
    pub normal_prio: i32,
    /// 1 … 99 for real-time policies, else 0.
    pub rt_priority: u32,
    /// `SCHED_*`.
    pub policy: u32,
    /// How many CPUs `cpus_ptr` has.
    pub nr_cpus_allowed: i32,
    /// The thread's number.
    pub pid: i32,
    /// The process's number.
    pub tgid: i32,
    /// Ours: the index of this memory in the engine's table of tasks.
    pub index: u32,
    /// The sched_ext part.
    pub scx: SchedExtEntity,
    /// The fair part.
    pub se: SchedEntity,
    /// The CPUs that the task may use: `cpus_mask` of this memory.
    pub cpus_ptr: *const Cpumask,
    /// The address space; null for kernel threads, equal for the threads of a process.
    pub mm: *const u8,
    /// Who forked it.
    pub real_parent: *const TaskStruct,
    /// The same.
    pub parent: *const TaskStruct,
    /// The process's first thread.
    pub group_leader: *const TaskStruct,
    /// Voluntary switches.
    pub nvcsw: u64,
    /// Involuntary switches.
    pub nivcsw: u64,
    /// User time, nanoseconds.
    pub utime: u64,
    /// System time, nanoseconds.
    pub stime: u64,
    /// When it was forked, nanoseconds.
    pub start_time: u64,
    /// The same.
    pub start_boottime: u64,
    /// `EXIT_*`.
    pub exit_state: i32,
    /// Bit 0: sleeping for a device.
    pub in_iowait: u32,
    /// The name, with a zero at its end.
    pub comm: [u8; 16],
    /// The CPUs that the task may use.
    pub cpus_mask: Cpumask,
}
