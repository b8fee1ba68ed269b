// SPDX-License-Identifier: GPL-2.0-only
//! Draws which lane continues, or begins with the next event.
//!
//! Stacks on which code can be left in the middle and continued.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{Lane, Need, Races, WINDOW_NS};
use crate::core::events::{Event, EventKind};
use crate::core::task::OpsState;
use crate::core::{Core, NO_TASK, TaskId};

enum Next {
    Event(u32),
    Lane(usize),
}

impl Core {
    /// Like [`Core::run`], with callbacks that interleave.
    pub(crate) fn run_interleaved(&mut self) {
        loop {
            let is_over = self.workload.is_over() || self.ext.exit().is_some();
            let Some(races) = self.races.as_deref_mut() else { return };
            races.is_over |= is_over;
            let next = if is_over { races.any_lane() } else { self.draw() };
            match next {
                Some(Next::Event(cpu)) => self.begin_event(cpu),
                Some(Next::Lane(lane)) => self.continue_lane(lane),
                None => return,
            }
        }
    }

    /// Whether there is anything that could run while the running lane is left, and the seed wants
    /// it.
    pub(super) fn may_be_left(&mut self) -> bool {
        let Some(races) = self.races.as_deref() else { return false };
        let Some(running) = races.running.filter(|_| !races.is_over) else { return false };
        // Another CPU would take a task from a run queue that this one has locked.
        let leaves = self.machine.curr(races.lanes[running].cpu);
        let is_taken = self.machine.task(leaves).ops_state == OpsState::Queued
            || self.ext.queues().queue_of(leaves.0) != NO_TASK;
        if is_taken {
            return false;
        }
        let is_free = |lane: &usize| *lane != running && races.has_what_it_needs(*lane);
        let others = races.busy().any(|lane| is_free(&lane)) || self.next_event().is_some();
        others && self.races.as_deref_mut().is_some_and(|races| races.chance.below(2) == 0)
    }

    fn draw(&mut self) -> Option<Next> {
        let event = self.next_event();
        let races = self.races.as_deref_mut()?;
        let free: Vec<usize> = races.busy().filter(|lane| races.has_what_it_needs(*lane)).collect();
        let choices = free.len() as u64 + u64::from(event.is_some());
        if choices == 0 {
            return races.any_lane();
        }
        let drawn = races.chance.below(choices) as usize;
        free.get(drawn).map(|lane| Next::Lane(*lane)).or(event.map(Next::Event))
    }

    /// The CPU of the next event, if that can be handled now: its CPU is not inside a lane, nobody
    /// holds its run queue, and no callback was left too long ago.
    fn next_event(&self) -> Option<u32> {
        let races = self.races.as_deref()?;
        let event = self.machine.events.first()?;
        let mut busy = races.busy().map(|lane| &races.lanes[lane]).peekable();
        let Some(cpu) = self.cpu_of(event) else { return busy.peek().is_none().then_some(0) };
        let is_free = |lane: &Lane| {
            lane.cpu != cpu
                && lane.holds.iter().all(|hold| hold.queue != Some(cpu))
                && event.time <= lane.since_ns + WINDOW_NS
        };
        busy.all(|lane| is_free(lane)).then_some(cpu)
    }

    /// The CPU that handles an event; `None`: it concerns all.
    fn cpu_of(&self, event: &Event) -> Option<u32> {
        match event.kind {
            EventKind::Work | EventKind::Tick | EventKind::Resched | EventKind::Server => {
                Some(event.index)
            }
            EventKind::Wake | EventKind::Replenish => {
                Some(self.machine.task(TaskId(event.index)).cpu)
            }
            EventKind::Interrupt => self.workload.interrupted_cpu(event.index),
            EventKind::SchedulerTimer => self.ext.timer_cpu(event.index),
            EventKind::Watchdog | EventKind::Offline | EventKind::End => None,
        }
    }

    fn begin_event(&mut self, cpu: u32) {
        let Some(event) = self.machine.events.pop() else { return };
        self.machine.now = event.time;
        let core: *mut Core = self;
        let Some(races) = self.races.as_deref_mut() else { return };
        let lane = races.free_lane();
        let conductor = &raw mut races.conductor;
        let this = &mut races.lanes[lane];
        (this.event, this.core, this.conductor) = (Some(event), core, conductor);
        (this.cpu, this.since_ns, this.need) = (cpu, event.time, Need::Nothing);
        self.continue_lane(lane);
    }

    fn continue_lane(&mut self, lane: usize) {
        let state: *mut Core = self;
        let Some(races) = self.races.as_deref_mut() else { return };
        races.running = Some(lane);
        let stops = races.stops.iter_mut().filter(|stop| stop.lane == Some(lane));
        stops.for_each(|stop| stop.lane = None);
        let (conductor, stack) = (&raw mut races.conductor, &raw mut races.lanes[lane].stack);
        // SAFETY: this code runs on the conductor's stack; the lane's was left, or is new.
        unsafe { Stack::switch(conductor, stack, state.cast::<c_void>()) };
        let Some(races) = self.races.as_deref_mut() else { return };
        races.running = None;
        if let Some(panic) = races.lanes[lane].panic.take() {
            resume_unwind(panic);
        }
    }
}

impl Races {
    pub(super) fn busy(&self) -> impl Iterator<Item = usize> {
        let lanes = self.lanes.iter().enumerate();
        lanes.filter(|(_, lane)| lane.event.is_some()).map(|(number, _)| number)
    }

    /// A lane that can go on; else any, because two that wait for each other must not stop the
    /// trial.
    fn any_lane(&self) -> Option<Next> {
        let free = self.busy().find(|lane| self.has_what_it_needs(*lane));
        free.or_else(|| self.busy().next()).map(Next::Lane)
    }

    fn free_lane(&mut self) -> usize {
        if let Some(free) = self.lanes.iter().position(|lane| lane.event.is_none()) {
            return free;
        }
        let mut lane = Box::new(Lane {
            stack: Stack::running(),
            core: std::ptr::null_mut(),
            conductor: std::ptr::null_mut(),
            event: None,
            cpu: 0,
            since_ns: 0,
            holds: Vec::new(),
            need: Need::Nothing,
            reads: Default::default(),
            panic: None,
        });
        let own: *mut Lane = &raw mut *lane;
        lane.stack = Stack::new(live, own.cast());
        self.lanes.push(lane);
        self.lanes.len() - 1
    }
}

/// The code of a lane: it handles the event that it is given, and leaves itself until it gets
/// another one.
extern "C" fn live(lane: *mut c_void) -> ! {
    let lane: *mut Lane = lane.cast();
    loop {
        // SAFETY: the conductor has filled the lane in and waits; what both use is reached by
        // pointers alone.
        unsafe {
            let core = (*lane).core;
            let handled = catch_unwind(AssertUnwindSafe(|| {
                if let Some(event) = (*lane).event {
                    (*core).handle(event);
                }
            }));
            (*lane).panic = handled.err();
            (*lane).event = None;
            (*lane).holds.clear();
            Stack::switch(&raw mut (*lane).stack, (*lane).conductor, core.cast());
        }
    }
}

/// Enough for a callback and the engine below and above it, bytes.
const BYTES: usize = 512 << 10;

/// What runs on a stack when that is entered for the first time; it never returns.
pub type Entry = extern "C" fn(*mut c_void) -> !;

/// A stack, and where its code was left.
pub struct Stack {
    /// In words, so that the alignment is known. Its pages are used when they are touched.
    memory: Vec<u64>,
    left_at: usize,
}

impl Stack {
    pub fn running() -> Stack {
        Stack { memory: Vec::new(), left_at: 0 }
    }

    /// A stack whose code begins with `entry`, which gets `argument`.
    pub fn new(entry: Entry, argument: *mut c_void) -> Stack {
        // As `switch` leaves a stack: r15, r14, r13, r12, rbx, rbp and the address to return to.
        const WORDS: usize = 7;
        // A fault's report reads beyond what is used.
        const MARGIN: usize = 512;
        let mut memory = vec![0_u64; BYTES / 8];
        let top = memory.len() - MARGIN;
        let aligned = top - top % 2 - (memory.as_ptr() as usize / 8) % 2;
        memory[aligned - WORDS + 2] = entry as *const () as u64;
        memory[aligned - WORDS + 3] = argument as u64;
        memory[aligned - 1] = begin as *const () as u64;
        let left_at = memory.as_ptr() as usize + 8 * (aligned - WORDS);
        Stack { memory, left_at }
    }

    /// Leaves the code that runs on `from` and continues that of `to`. Returns when another switch
    /// continues `from`. `state` is what the codes share: all of it may have changed then.
    ///
    /// # Safety
    /// `from` must be the running code's stack, and `to` one whose code was left.
    pub unsafe fn switch(from: *mut Stack, to: *mut Stack, state: *mut c_void) {
        // SAFETY: the caller's.
        unsafe {
            debug_assert!((*to).left_at != 0 && (*to).memory.len() != 1);
            switch(&raw mut (*from).left_at, (*to).left_at, state);
        }
    }
}

/// Saves the registers that a function must keep on the stack and exchanges the stacks.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(from: *mut usize, to: usize, state: *mut c_void) {
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Calls the entry (in r13) with its argument (in r12).
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    std::arch::naked_asm!("mov rdi, r12", "call r13", "ud2")
}

/// Nothing comes here: [`super::ARE_POSSIBLE`].
#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn switch(_from: *mut usize, _to: usize, _state: *mut c_void) {}

#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn begin() {}
