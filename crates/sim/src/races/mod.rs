// SPDX-License-Identifier: GPL-2.0-only
//! Callbacks of several CPUs that interleave, for `soak --races`.
//!
//! Each event is handled on a lane, a stack of its own. In front of a kfunc, a helper or a lock,
//! the code of a lane may be left: then the events of other CPUs that come within [`WINDOW_NS`]
//! are handled, or lanes continue that were left before. The trial's seed draws what comes next
//! (`conductor`). As on a kernel, a lane waits while another one has the run queue, the task or the
//! lock that it needs. `lost_updates` sees which writes make others undone.
//!
//! Other trials do not come here, and their schedulers are compiled without the points at which
//! lanes are left.
//!
//! DIVERGES: a callback is left in front of calls alone. Between two CPUs that read and write
//! without a call in between, a kernel has races that this does not show.

mod conductor;
pub mod lost_updates;

use std::collections::BTreeMap;
use std::ffi::c_void;

use model::Seed;

use crate::core::events::Event;
use crate::core::task::State;
use crate::core::{Core, TaskId};
use crate::ext::ext_state::{Direct, Dispatch};
use conductor::Stack;
use lost_updates::{LostUpdates, Reads, Runs};

/// For how long a callback may be left, ns: as long as a hypervisor or an interrupt that cannot be
/// masked holds a CPU up.
const WINDOW_NS: u64 = 20_000;

/// Whether lanes can be left on this processor.
pub const ARE_POSSIBLE: bool = cfg!(target_arch = "x86_64");

/// What a running callback holds in the kernel: its task's lock, a run queue's; or it is alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    pub runs: Runs,
    pub task: Option<TaskId>,
    pub queue: Option<u32>,
    pub alone: bool,
}

/// What a lane that was left needs to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Nothing,
    Hold(Hold),
    Lock(u64),
    /// Another lane has ended.
    End(usize),
}

/// Handles one event after another.
struct Lane {
    stack: Stack,
    core: *mut Core,
    conductor: *mut Stack,
    /// The event that is being handled; `None`: the lane is free.
    event: Option<Event>,
    cpu: u32,
    since_ns: u64,
    holds: Vec<Hold>,
    need: Need,
    reads: Reads,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

/// A callback was left, and these began before it continued.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    pub stopped: Runs,
    pub line: u64,
    pub meanwhile: Vec<Runs>,
    /// It has not continued yet.
    lane: Option<usize>,
}

/// The lanes of a trial.
pub struct Races {
    chance: Seed,
    /// Boxed, because the code of a lane has its address.
    #[allow(clippy::vec_box)]
    lanes: Vec<Box<Lane>>,
    conductor: Stack,
    /// The lane whose code runs.
    running: Option<usize>,
    /// The trial is over: lanes continue without being left.
    is_over: bool,
    /// Locks that are held, by address, and by which lane.
    locks: BTreeMap<u64, usize>,
    pub updates: LostUpdates,
    /// The last times that callbacks were left.
    pub stops: Vec<Stop>,
}

/// The parts of the kernel's state that belong to a CPU or a call, as a lane leaves them.
struct Own {
    this_cpu: u32,
    in_timer: bool,
    yielding: bool,
    direct: Direct,
    buffer: Vec<Dispatch>,
    nr_dispatched: u32,
    releasing: bool,
    /// The CPU's task that is about to sleep, and how: until then nobody can wake it.
    falls_asleep: Option<(TaskId, State)>,
    of_scheduler: [u64; 4],
}

impl Own {
    /// Takes the state of a lane on this CPU.
    fn take(core: &mut Core, cpu: u32) -> Own {
        let current = core.machine.curr(cpu);
        let state = core.machine.task(current).state;
        let sleeps = matches!(state, State::Sleeping | State::DiskSleep);
        if sleeps {
            core.machine.task_mut(current).state = State::Runnable;
        }
        let ops = std::rc::Rc::clone(&core.ops);
        Own {
            falls_asleep: sleeps.then_some((current, state)),
            of_scheduler: ops.leave(),
            this_cpu: core.machine.this_cpu,
            in_timer: std::mem::take(&mut core.machine.in_timer),
            yielding: std::mem::take(&mut core.machine.yielding),
            direct: std::mem::replace(&mut core.ext.direct, Direct::None),
            buffer: std::mem::take(&mut core.ext.buffer),
            nr_dispatched: std::mem::take(&mut core.ext.nr_dispatched),
            releasing: std::mem::take(&mut core.ext.releasing),
        }
    }

    fn give_back(self, core: &mut Core) {
        core.machine.this_cpu = self.this_cpu;
        core.machine.in_timer = self.in_timer;
        core.machine.yielding = self.yielding;
        core.ext.direct = self.direct;
        core.ext.buffer = self.buffer;
        core.ext.nr_dispatched = self.nr_dispatched;
        core.ext.releasing = self.releasing;
        if let Some((task, state)) = self.falls_asleep {
            core.machine.task_mut(task).state = state;
        }
        let ops = std::rc::Rc::clone(&core.ops);
        ops.resume(self.of_scheduler);
    }
}

impl Races {
    /// No lanes yet; `chance` draws.
    pub fn new(chance: Seed) -> Races {
        Races {
            chance,
            lanes: Vec::new(),
            conductor: Stack::running(),
            running: None,
            is_over: false,
            locks: BTreeMap::new(),
            updates: LostUpdates::default(),
            stops: Vec::new(),
        }
    }

    /// Whether another lane holds the task or the queue.
    fn is_held_elsewhere(&self, own: usize, hold: &Hold) -> bool {
        let is_held = |held: &Hold| {
            held.task.is_some() && held.task == hold.task
                || held.queue.is_some() && held.queue == hold.queue
        };
        let mut others = self.busy().filter(|lane| *lane != own);
        others.any(|lane| hold.alone || self.lanes[lane].holds.iter().any(is_held))
    }

    fn has_what_it_needs(&self, lane: usize) -> bool {
        match self.lanes[lane].need {
            Need::Nothing => true,
            Need::Hold(hold) => !self.is_held_elsewhere(lane, &hold),
            Need::Lock(lock) => !self.locks.contains_key(&lock),
            Need::End(other) => self.lanes[other].event.is_none(),
        }
    }

    fn running_lane(&mut self) -> Option<&mut Lane> {
        self.running.map(|running| &mut *self.lanes[running])
    }

    fn note_stop(&mut self, stop: Stop) {
        const MOST: usize = 64;
        if self.stops.len() == MOST {
            self.stops.remove(0);
        }
        self.stops.push(stop);
    }

    /// The callback that runs on the running lane.
    fn runs(&self) -> Runs {
        let lane = self.running.map(|lane| &self.lanes[lane]);
        lane.and_then(|lane| lane.holds.last()).map(|hold| hold.runs).unwrap_or_default()
    }

    pub fn on_read(&mut self, place: u64, line: u64) {
        let Some(running) = self.running else { return };
        self.updates.read(&mut self.lanes[running].reads, place, line);
    }

    pub fn on_write(&mut self, place: u64, line: u64, time_ns: u64) {
        let (Some(running), runs) = (self.running, self.runs()) else { return };
        let reads = &mut self.lanes[running].reads;
        self.updates.write(reads, (place, line), (running, runs), time_ns);
    }
}

/// What schedulers' code calls.
impl Core {
    fn races(&mut self) -> Option<&mut Races> {
        self.races.as_deref_mut()
    }

    /// A callback begins, when its task and run queue are free.
    pub(crate) fn enter_callback(&mut self, hold: Hold) {
        self.await_hold(hold);
        let Some(races) = self.races() else { return };
        let open = races.stops.iter_mut().rev().filter(|stop| stop.lane.is_some());
        open.for_each(|stop| {
            if !stop.meanwhile.contains(&hold.runs) {
                stop.meanwhile.push(hold.runs);
            }
        });
        let Some(lane) = races.running_lane() else { return };
        if lane.holds.is_empty() {
            lane.reads.clear();
        }
        lane.holds.push(hold);
    }

    fn await_hold(&mut self, hold: Hold) {
        while let Some(races) = self.races()
            && let Some(own) = races.running
            && races.is_held_elsewhere(own, &hold)
        {
            self.leave_lane(Need::Hold(hold));
        }
    }

    pub(crate) fn leave_callback(&mut self) {
        if let Some(lane) = self.races().and_then(Races::running_lane) {
            lane.holds.pop();
        }
    }

    /// A point where the seed may draw that others go on.
    pub(crate) fn race_point(&mut self, line: u64) {
        if self.may_be_left()
            && let Some(races) = self.races()
        {
            let stopped = races.runs();
            races.note_stop(Stop { stopped, line, meanwhile: Vec::new(), lane: races.running });
            self.leave_lane(Need::Nothing);
        }
    }

    /// A callback inserts a task that may be in another one's hands (`wait_ops_state`).
    pub(crate) fn await_task(&mut self, task: TaskId) {
        self.await_hold(Hold { task: Some(task), ..Hold::default() });
    }

    /// Takes a lock; false: the lane has it already.
    pub(crate) fn race_lock(&mut self, lock: u64) -> bool {
        while let Some(races) = self.races()
            && let Some(own) = races.running
        {
            match races.locks.get(&lock) {
                Some(holder) if *holder == own => return false,
                Some(_) => self.leave_lane(Need::Lock(lock)),
                None => {
                    races.locks.insert(lock, own);
                    break;
                }
            }
        }
        true
    }

    pub(crate) fn race_unlock(&mut self, lock: u64) {
        if let Some(races) = self.races() {
            races.locks.remove(&lock);
        }
    }

    /// A wake-up came before its task was asleep. A task that is on its way there stays awake
    /// (`ttwu_runnable`). Otherwise the wake-up comes again after the lane that has the task's CPU
    /// (`ttwu` waits for `p->on_cpu`).
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_again(&mut self, task: TaskId, wake_flags: u64) {
        if self.workload.stays_awake(task) {
            let this = self.machine.task_mut(task);
            this.wakes = this.wakes.wrapping_add(1);
            return;
        }
        let cpu = self.machine.task(task).cpu;
        let is_current = self.machine.curr(cpu) == task;
        let Some(races) = self.races.as_deref_mut().filter(|_| is_current) else { return };
        let other = races.lanes.iter().position(|lane| lane.event.is_some() && lane.cpu == cpu);
        if let (Some(own), Some(other)) = (races.running, other)
            && own != other
        {
            self.leave_lane(Need::End(other));
            self.wake(task, wake_flags);
        }
    }

    /// Leaves the code of the running lane until the conductor continues it.
    fn leave_lane(&mut self, need: Need) {
        let Some(lane) = self.races().and_then(Races::running_lane) else { return };
        lane.need = need;
        let (stack, cpu) = (&raw mut lane.stack, lane.cpu);
        let own = Own::take(self, cpu);
        let state: *mut Core = self;
        let Some(races) = self.races() else { return };
        let conductor = &raw mut races.conductor;
        // SAFETY: the lane's code runs, on its stack, and the conductor's was left when it started.
        unsafe { Stack::switch(stack, conductor, state.cast::<c_void>()) };
        own.give_back(self);
    }
}
