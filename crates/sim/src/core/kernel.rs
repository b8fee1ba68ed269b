// SPDX-License-Identifier: GPL-2.0-only
//! The simulated kernel: the machine's state, and the interface to the scheduler that it runs.
//!
//! [`Core`] calls the callbacks of [`Ops`], and a callback calls the kfuncs, which are methods of
//! [`Core`]. The machine (clock, events, CPUs, tasks, and the classes above sched_ext) knows
//! neither the scheduler nor the workload.

use std::rc::Rc;

use model::{Costs, Trial};

use super::control_groups::{Group, SessionPlaces};
use super::cpu::Cpu;
use super::deadline;
use super::events::Events;
use super::mask::CpuMask;
use super::memory::{Arena, TaskLayout};
use super::speed::Speeds;
use super::task::{Class, Stat, Task, TaskId};
use super::topology::Topology;
use crate::ext::ext_state::ExtState;
use crate::measure::recorder::Recorder;
use crate::player::workload_state::WorkloadState;
use crate::races::Races;

/// The simulated kernel. Methods with the name of a kfunc do what the kfunc does.
///
/// Each part of the state belongs to one folder of this crate, which holds the methods that change
/// it.
pub struct Core {
    /// CPUs, tasks, and the classes above sched_ext: `core`.
    pub(crate) machine: MachineState,
    /// sched_ext: `ext`.
    pub(crate) ext: ExtState,
    /// The workload and its progress: `player`.
    pub(crate) workload: WorkloadState,
    /// What is measured: `measure`.
    pub(crate) recorder: Recorder,
    pub(crate) ops: Rc<dyn Ops>,
    /// Where callbacks of several CPUs interleave: `races`.
    pub(crate) races: Option<Box<Races>>,
}

impl Core {
    /// A machine that is about to start the trial's workload, without a scheduler yet.
    pub fn new(trial: &Trial, layout: TaskLayout) -> Result<Core, String> {
        let workload = WorkloadState::new(trial)?;
        let mut machine = MachineState::new(trial, layout);
        machine.make_groups(workload.control_groups());
        machine.make_sessions(workload.sessions());
        let mut core = Core {
            ext: ExtState::new(&machine.topology),
            recorder: Recorder::new(workload.groups().len(), trial.trace),
            ops: Rc::new(NoScheduler),
            races: trial.races.then(|| Box::new(Races::new(trial.seed.derive("interleaving")))),
            machine,
            workload,
        };
        core.reserve_tasks();
        core.add_idle_tasks();
        Ok(core)
    }

    /// Whether the common start has been.
    pub fn has_begun(&self) -> bool {
        self.workload.has_begun()
    }
}

/// A scheduler's table of callbacks. Meaning, arguments and defaults are those of
/// `struct sched_ext_ops`.
///
/// Methods take `&self` because they nest: a kfunc called inside `dispatch` may make the core call
/// `dequeue`. A scheduler keeps its state in its own memory (or in cells).
#[allow(unused_variables)]
pub trait Ops {
    fn present(&self) -> OpsPresent;
    /// `ops.name`.
    fn name(&self) -> String {
        "unnamed".into()
    }
    /// `ops.flags`.
    fn flags(&self) -> u64 {
        0
    }
    /// `ops.timeout_ms`; 0: the maximum, 30 s.
    fn timeout_ms(&self) -> u32 {
        0
    }
    /// `ops.dispatch_max_batch`; 0: the default, 32.
    fn dispatch_max_batch(&self) -> u32 {
        0
    }
    /// `ops.cid_shard_size`; 0: the default, 24.
    fn cid_shard_size(&self) -> u32 {
        0
    }
    /// The running callback and the source line from which it called the core, for messages. Empty
    /// if no callback runs or the line is unknown.
    fn place(&self) -> String {
        String::new()
    }
    /// Whether it has programs besides the callbacks, which events of the kernel call.
    fn traces(&self) -> bool {
        false
    }
    /// The event `sched_switch`: `preempted`: the previous task is still runnable; `state` is its
    /// state as a number.
    fn sched_switch(&self, core: &mut Core, preempted: bool, from: TaskId, to: TaskId, state: u32) {
    }
    /// The event `sched_wakeup`, or `sched_wakeup_new`.
    fn sched_wakeup(&self, core: &mut Core, task: TaskId, is_new: bool) {}
    fn init(&self, core: &mut Core) -> i32 {
        0
    }
    fn init_cids(&self, core: &mut Core) -> i32 {
        0
    }
    fn cgroup_init(&self, core: &mut Core, group: u32) -> i32 {
        0
    }
    fn cgroup_exit(&self, core: &mut Core, group: u32) {}
    fn cgroup_prep_move(&self, core: &mut Core, task: TaskId, from: u32, to: u32) -> i32 {
        0
    }
    fn cgroup_move(&self, core: &mut Core, task: TaskId, from: u32, to: u32) {}
    fn cgroup_set_weight(&self, core: &mut Core, group: u32, weight: u32) {}
    /// Period, quota and burst, µs.
    fn cgroup_set_bandwidth(&self, core: &mut Core, group: u32, us: (u64, u64, u64)) {}
    fn cgroup_set_idle(&self, core: &mut Core, group: u32, is_idle: bool) {}
    fn exit(&self, core: &mut Core, info: &ExitInfo) {}
    fn init_task(&self, core: &mut Core, task: TaskId, fork: bool) -> i32 {
        0
    }
    fn exit_task(&self, core: &mut Core, task: TaskId, cancelled: bool) {}
    fn enable(&self, core: &mut Core, task: TaskId) {}
    fn disable(&self, core: &mut Core, task: TaskId) {}
    fn select_cpu(&self, core: &mut Core, task: TaskId, prev_cpu: i32, wake_flags: u64) -> i32 {
        prev_cpu
    }
    fn enqueue(&self, core: &mut Core, task: TaskId, enq_flags: u64) {}
    fn dequeue(&self, core: &mut Core, task: TaskId, deq_flags: u64) {}
    fn dispatch(&self, core: &mut Core, cpu: i32, prev: Option<TaskId>) {}
    fn tick(&self, core: &mut Core, task: TaskId) {}
    fn runnable(&self, core: &mut Core, task: TaskId, enq_flags: u64) {}
    fn running(&self, core: &mut Core, task: TaskId) {}
    fn stopping(&self, core: &mut Core, task: TaskId, runnable: bool) {}
    fn quiescent(&self, core: &mut Core, task: TaskId, deq_flags: u64) {}
    fn r#yield(&self, core: &mut Core, from: TaskId, to: Option<TaskId>) -> bool {
        false
    }
    fn set_weight(&self, core: &mut Core, task: TaskId, weight: u32) {}
    /// The new mask is [`Core::cpus_allowed`] of the task.
    fn set_cpumask(&self, core: &mut Core, task: TaskId) {}
    fn update_idle(&self, core: &mut Core, cpu: i32, idle: bool) {}
    /// The CPU is sched_ext's again.
    fn cpu_acquire(&self, core: &mut Core, cpu: i32) {}
    /// A task of a higher class takes the CPU; the reason is `SCX_CPU_PREEMPT_*`.
    fn cpu_release(&self, core: &mut Core, cpu: i32, reason: u32, task: TaskId) {}
    fn cpu_online(&self, core: &mut Core, cpu: i32) {}
    fn cpu_offline(&self, core: &mut Core, cpu: i32) {}
    /// A timer started with [`Core::timer_start`] has expired.
    fn timer(&self, core: &mut Core, timer: u32) {}
    /// The workload has ended, and the scheduler is still loaded.
    fn workload_has_ended(&self, core: &mut Core) {}
    /// A callback is left in the middle: what it has of the scheduler's state.
    fn leave(&self) -> [u64; 4] {
        [0; 4]
    }
    fn resume(&self, own: [u64; 4]) {}
}

/// The table without callbacks: before a scheduler is loaded, and for trials without a scheduler.
struct NoScheduler;

impl Ops for NoScheduler {
    fn present(&self) -> OpsPresent {
        OpsPresent::default()
    }
}

/// Which callbacks a scheduler has. The core never calls an absent callback and follows the
/// kernel's default instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpsPresent {
    pub init: bool,
    pub exit: bool,
    pub select_cpu: bool,
    pub enqueue: bool,
    pub dequeue: bool,
    pub dispatch: bool,
    pub tick: bool,
    pub runnable: bool,
    pub running: bool,
    pub stopping: bool,
    pub quiescent: bool,
    pub r#yield: bool,
    pub set_weight: bool,
    pub set_cpumask: bool,
    pub set_cmask: bool,
    pub cgroup_init: bool,
    pub cgroup_exit: bool,
    pub cgroup_prep_move: bool,
    pub cgroup_move: bool,
    pub cgroup_cancel_move: bool,
    pub cgroup_set_weight: bool,
    pub cgroup_set_bandwidth: bool,
    pub cgroup_set_idle: bool,
    pub init_cids: bool,
    pub update_idle: bool,
    pub init_task: bool,
    pub exit_task: bool,
    pub enable: bool,
    pub disable: bool,
    pub cpu_acquire: bool,
    pub cpu_release: bool,
    pub cpu_online: bool,
    pub cpu_offline: bool,
}

/// Why a scheduler exited (`struct scx_exit_info`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitInfo {
    /// `SCX_EXIT_*`, see [`crate::flags`].
    pub kind: u64,
    /// The code given to `scx_bpf_exit()`.
    pub code: i64,
    /// The kind as the kernel prints it, such as `runtime error`.
    pub reason: String,
    pub message: String,
}

/// CPUs, tasks and what they share.
pub struct MachineState {
    /// Time of the event that is being handled, ns since the common start.
    pub(crate) now: u64,
    pub(crate) this_cpu: u32,
    pub(crate) events: Events,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) tasks: Vec<Task>,
    /// Counters of each task.
    pub(crate) stats: Vec<Stat>,
    pub(crate) arena: Arena,
    /// The control groups, by number.
    pub(crate) groups: Vec<Group>,
    /// The sessions of tasks, by number; 0: those of none.
    pub(super) sessions: Vec<SessionPlaces>,
    /// Whether sessions are groups.
    pub(super) autogroup: bool,
    /// Whether ordinary tasks have asked for sched_ext (`SCX_OPS_SWITCH_PARTIAL`).
    pub(crate) switches_partially: bool,
    /// The sets of CPUs that tasks are allowed to use; number 0 contains all CPUs.
    pub(crate) masks: Vec<CpuMask>,
    pub(crate) topology: Topology,
    pub(super) speeds: Speeds,
    pub(crate) costs: Costs,
    pub(crate) tick_ns: u64,
    pub(super) tick_phase: u64,
    /// What tapes count their own calls with.
    pub(crate) kernels_own: CallCosts,
    /// Number of tasks in the classes above sched_ext.
    pub(crate) nr_real_time: u32,
    /// Bandwidth that deadline tasks have reserved, parts in 2^20.
    pub(super) dl_bandwidth: u64,
    /// Bandwidth that deadline tasks may reserve of each CPU, parts in 2^20; `None`: no limit.
    pub(super) dl_limit: Option<u64>,
    /// The current task gives its CPU away by itself.
    pub(crate) yielding: bool,
    /// A timer wakes a task, and not the task that runs on the CPU.
    pub(crate) in_timer: bool,
}

const SECOND: u64 = 1_000_000_000;

/// What the functions of the kernel's fair class cost beside callbacks, percent. `eevdf` then does
/// as many jobs of `short_jobs` as EEVDF of Linux 7.3.4 itself in virtual time, 34.8 k/s.
const FAIR_CLASS_PERCENT: u64 = 57;

/// The machine's costs; a scheduler that stands for the kernel's own calls no kfuncs, has no
/// dispatch queues, and kicks nobody.
fn costs(trial: &Trial) -> Costs {
    let costs = trial.machine.costs;
    if !trial.contestant.stands_for_kernel {
        return costs;
    }
    let callback_ns = costs.callback_ns * FAIR_CLASS_PERCENT / 100;
    Costs { callback_ns, look_ns: 0, scan_ns: 0, queue_lock_ns: 0, kick_ns: 0, ..costs }
}

/// What a call of a task costs where the kernel's own scheduler is at work, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallCosts {
    pub wake_ns: u64,
    /// One that sleeps, until the CPU has another task.
    pub sleep_ns: u64,
}

impl CallCosts {
    fn new(trial: &Trial) -> CallCosts {
        /// Callbacks for a task that wakes up, and for one that sleeps and its successor.
        const WAKING: u64 = 3;
        const SLEEPING: u64 = 4;
        let costs = trial.machine.costs;
        let callback_ns = costs.callback_ns * FAIR_CLASS_PERCENT / 100;
        let switch_ns = costs.schedule_ns + costs.context_switch_ns;
        CallCosts {
            wake_ns: costs.syscall_ns + costs.wakeup_ns + WAKING * callback_ns,
            sleep_ns: costs.syscall_ns + switch_ns + SLEEPING * callback_ns,
        }
    }
}

impl MachineState {
    /// The trial's machine with its idle CPUs, and without tasks yet.
    pub fn new(trial: &Trial, layout: TaskLayout) -> MachineState {
        let topology = Topology::new(&trial.machine);
        let tick_ns = SECOND / u64::from(trial.machine.hz.clamp(1, 10_000));
        MachineState {
            now: 0,
            this_cpu: 0,
            events: Events::new(trial.seed.derive("order").0),
            cpus: (0..topology.cpus).map(Cpu::new).collect(),
            tasks: Vec::new(),
            stats: Vec::new(),
            arena: Arena::new(layout),
            groups: Vec::new(),
            sessions: Vec::new(),
            autogroup: trial.machine.autogroup,
            switches_partially: false,
            masks: vec![CpuMask::from_cpus(topology.cpus, 0..topology.cpus)],
            costs: costs(trial),
            kernels_own: CallCosts::new(trial),
            tick_ns,
            tick_phase: trial.seed.derive("tick phase").below(tick_ns),
            nr_real_time: 0,
            dl_bandwidth: 0,
            dl_limit: deadline::limit(trial.machine.rt_runtime_us),
            yielding: false,
            in_timer: false,
            speeds: Speeds::new(&trial.machine, &topology),
            topology,
        }
    }

    /// All tasks except the idle tasks.
    pub(crate) fn all_tasks(&self) -> impl DoubleEndedIterator<Item = TaskId> + use<> {
        (self.topology.cpus..self.tasks.len() as u32).map(TaskId)
    }

    #[inline]
    pub(crate) fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.0 as usize]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, id: TaskId) -> &mut Task {
        &mut self.tasks[id.0 as usize]
    }

    #[inline]
    pub(crate) fn cpu_mut(&mut self, cpu: u32) -> &mut Cpu {
        &mut self.cpus[cpu as usize]
    }

    /// The running task; the idle task on an idle CPU.
    #[inline]
    pub(crate) fn curr(&self, cpu: u32) -> TaskId {
        self.cpus[cpu as usize].curr
    }

    /// Whether the CPU's idle task runs.
    #[inline]
    pub(crate) fn is_idle(&self, cpu: u32) -> bool {
        self.curr(cpu).0 == cpu
    }

    #[inline]
    pub(crate) fn curr_class(&self, cpu: u32) -> Class {
        self.task(self.curr(cpu)).class
    }
}
