// SPDX-License-Identifier: GPL-2.0-only
//! The state of the machine: clock, events, CPUs, tasks, and the classes above sched_ext.
//!
//! It knows neither the scheduler nor the workload.

use model::{Costs, Trial};

use super::control_groups::Group;
use super::cpu::Cpu;
use super::deadline;
use super::events::Events;
use super::mask::CpuMask;
use super::memory::{Arena, TaskLayout};
use super::sessions::SessionPlaces;
use super::speed::Speeds;
use super::task::{Class, Stat, Task, TaskId};
use super::topology::Topology;

/// CPUs, tasks and what they share.
pub struct MachineState {
    /// Time of the event that is being handled, ns since the common start.
    pub(crate) now: u64,
    /// The CPU that handles it.
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
    Costs { callback_ns, look_ns: 0, queue_lock_ns: 0, kick_ns: 0, ..costs }
}

/// What a call of a task costs where the kernel's own scheduler is at work, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallCosts {
    /// One that wakes a sleeper.
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

    /// The class of the CPU's current task.
    #[inline]
    pub(crate) fn curr_class(&self, cpu: u32) -> Class {
        self.task(self.curr(cpu)).class
    }
}
