// SPDX-License-Identifier: GPL-2.0-only
//! The machine: CPUs, clock, events, tasks and the classes above sched_ext.
//!
//! Read in this order: [`events`] is the event queue; [`task`] and [`cpu`] hold the state;
//! `event_loop` is the main loop; `schedule`, `wake`, `change` and `tick` are the kernel's
//! `core.c`; `rt`,
//! `deadline` and `server` are the classes above sched_ext. sched_ext itself is [`crate::ext`].
//!
//! DIVERGES: the machine has no kernel threads, device interrupts or daemons; a real machine has
//! about eighty threads, which wake now and then.

use std::collections::BTreeMap;
use std::rc::Rc;

use model::{Costs, Trial};
use play::{Script, Setting};

pub(crate) mod change;
pub mod cpu;
pub(crate) mod deadline;
pub(crate) mod event_loop;
pub mod events;
pub mod mask;
pub mod memory;
pub(crate) mod rt;
pub(crate) mod schedule;
pub(crate) mod server;
pub mod task;
pub(crate) mod tick;
pub mod topology;
pub(crate) mod wake;

use crate::ext::dispatch::Dispatch;
use crate::ext::dsq::Queues;
use crate::ext::enqueue::Direct;
use crate::ext::idle::IdleMasks;
use crate::ext::timer::SchedulerTimer;
use crate::measure::recorder::{Recorder, Stat};
use crate::ops::{ExitInfo, Ops, OpsPresent};
use crate::player::main_task::MainWork;
use crate::player::objects::Objects;
use crate::player::progress::Progress;

/// A task's number inside the simulator. Idle tasks come first: the idle task of CPU *n* is number
/// *n*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// "No task" in lists.
pub const NO_TASK: u32 = u32::MAX;

/// The simulated kernel. Methods with the name of a kfunc do what the kfunc does.
pub struct Core {
    /// Time of the event that is being handled, ns since the common start.
    pub(crate) now: u64,
    /// The CPU that handles it.
    pub(crate) this_cpu: u32,
    pub(crate) events: events::Events,
    pub(crate) cpus: Vec<cpu::Cpu>,
    pub(crate) tasks: Vec<task::Task>,
    pub(crate) arena: memory::Arena,
    pub(crate) masks: Vec<mask::CpuMask>,
    pub(crate) topology: topology::Topology,
    pub(crate) costs: Costs,
    pub(crate) tick_ns: u64,
    pub(crate) tick_phase: u64,
    /// Number of tasks in the classes above sched_ext.
    pub(crate) nr_real_time: u32,
    /// Bandwidth that deadline tasks have reserved, parts in 2^20.
    pub(crate) dl_bandwidth: u64,
    /// Bandwidth that deadline tasks may reserve of each CPU, parts in 2^20; `None`: no limit.
    pub(crate) dl_limit: Option<u64>,

    pub(crate) ops: Rc<dyn Ops>,
    pub(crate) has: OpsPresent,
    pub(crate) ops_flags: u64,
    pub(crate) max_batch: u32,
    pub(crate) watchdog_ns: u64,
    pub(crate) loaded: bool,
    /// A scheduler was loaded at the start.
    pub(crate) has_scheduler: bool,
    /// The core schedules without the scheduler, while that is being loaded or unloaded.
    pub(crate) bypass: bool,
    pub(crate) exit: Option<ExitInfo>,
    /// The scheduler's source line at that time, if it is known.
    pub(crate) exit_place: String,
    /// The source line where the scheduler named a queue that does not exist.
    pub(crate) suspect: String,
    /// The scheduler exited while it was being loaded.
    pub(crate) refused: bool,
    /// The scheduler is being unloaded; its exit reason does not change any more.
    pub(crate) leaving: bool,
    /// The debug dump at the exit.
    pub(crate) dump: String,

    pub(crate) queues: Queues,
    /// User queues: small numbers are looked up in the table, others in the map.
    pub(crate) queue_table: Vec<u32>,
    pub(crate) queue_map: BTreeMap<u64, u32>,
    pub(crate) buffer: Vec<Dispatch>,
    pub(crate) nr_dispatched: u32,
    pub(crate) direct: Direct,
    pub(crate) deferred: Vec<TaskId>,
    pub(crate) idle: IdleMasks,
    pub(crate) timers: Vec<SchedulerTimer>,

    pub(crate) script: Script,
    pub(crate) progress: Vec<Progress>,
    pub(crate) objects: Objects,
    /// The task that starts and ends the trial.
    pub(crate) main: TaskId,
    pub(crate) main_work: MainWork,
    pub(crate) next_pid: i32,
    pub(crate) live_finite: u32,
    pub(crate) live_tasks: u32,
    /// The current task gives its CPU away by itself.
    pub(crate) yielding: bool,
    pub(crate) over: bool,
    pub(crate) time_limit_ns: u64,
    pub(crate) timed_out: bool,

    pub(crate) stats: Vec<Stat>,
    pub(crate) recorder: Recorder,
}

/// The first process number that the workload's tasks get.
pub const FIRST_PID: i32 = 1000;

const SECOND: u64 = 1_000_000_000;

impl Core {
    /// A machine that is about to start the trial's workload, without a scheduler yet.
    ///
    /// # Errors
    /// The reason why the workload cannot be played, as a sentence.
    pub fn new(trial: &Trial, layout: memory::TaskLayout) -> Result<Core, String> {
        let topology = topology::Topology::new(&trial.machine);
        if trial.workload.program.is_some() {
            return Err("a real program cannot run in the simulator; use the vm backend".into());
        }
        let script =
            Script::new(&trial.workload, Setting::for_trial(trial)).map_err(|it| it.to_string())?;
        let tick_ns = SECOND / u64::from(trial.machine.hz.clamp(1, 10_000));
        let all = mask::CpuMask::of(topology.cpus, 0..topology.cpus);
        let mut core = Core {
            now: 0,
            this_cpu: 0,
            events: events::Events::new(trial.seed.derive("order").0),
            cpus: (0..topology.cpus).map(cpu::Cpu::new).collect(),
            tasks: Vec::new(),
            arena: memory::Arena::new(layout),
            masks: vec![all],
            idle: IdleMasks::new(&topology),
            costs: trial.machine.costs,
            tick_ns,
            tick_phase: trial.seed.derive("tick phase").below(tick_ns),
            nr_real_time: 0,
            dl_bandwidth: 0,
            dl_limit: deadline::limit(trial.machine.rt_runtime_us),
            ops: Rc::new(crate::ext::NoScheduler),
            has: OpsPresent::default(),
            ops_flags: 0,
            max_batch: crate::flags::DSP_DFL_MAX_BATCH,
            watchdog_ns: crate::flags::WATCHDOG_MAX_TIMEOUT,
            loaded: false,
            has_scheduler: false,
            bypass: true,
            exit: None,
            exit_place: String::new(),
            suspect: String::new(),
            refused: false,
            leaving: false,
            dump: String::new(),
            queues: Queues::default(),
            queue_table: Vec::new(),
            queue_map: BTreeMap::new(),
            buffer: Vec::new(),
            nr_dispatched: 0,
            direct: Direct::None,
            deferred: Vec::new(),
            timers: Vec::new(),
            objects: Objects::new(&script),
            progress: Vec::new(),
            main: TaskId(NO_TASK),
            main_work: MainWork::Starting,
            next_pid: FIRST_PID,
            live_finite: 0,
            live_tasks: 0,
            yielding: false,
            over: false,
            time_limit_ns: trial.timeout_ms.saturating_mul(1_000_000),
            timed_out: false,
            stats: Vec::new(),
            recorder: Recorder::new(script.groups.len(), trial.trace),
            script,
            topology,
        };
        core.add_builtin_queues();
        core.add_idle_tasks();
        Ok(core)
    }

    fn add_idle_tasks(&mut self) {
        for cpu in 0..self.topology.cpus {
            let flags = crate::flags::PF_IDLE | crate::flags::PF_KTHREAD;
            let new = task::NewTask {
                pid: 0,
                tgid: 0,
                comm: "swapper",
                policy: Default::default(),
                mask: 0,
                parent: None,
                cpu,
                flags,
                group: u32::MAX,
            };
            let id = self.add_task(&new);
            self.tasks[id.0 as usize].class = task::Class::Idle;
        }
    }

    /// All tasks except the idle tasks.
    pub(crate) fn all_tasks(&self) -> impl DoubleEndedIterator<Item = TaskId> + use<> {
        (self.topology.cpus..self.tasks.len() as u32).map(TaskId)
    }

    #[inline]
    pub(crate) fn task(&self, id: TaskId) -> &task::Task {
        &self.tasks[id.0 as usize]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, id: TaskId) -> &mut task::Task {
        &mut self.tasks[id.0 as usize]
    }

    #[inline]
    pub(crate) fn cpu_mut(&mut self, cpu: u32) -> &mut cpu::Cpu {
        &mut self.cpus[cpu as usize]
    }
}
