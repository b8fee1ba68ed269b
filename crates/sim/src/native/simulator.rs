// SPDX-License-Identifier: GPL-2.0-only
//! The trial's state outside the object: what the kfuncs and helpers of one scheduler work on.

use model::Seed;

use super::abi::{self, NR_CPUS, State};
use super::maps::Map;
use super::timers::Timer;
use crate::core::{Core, TaskId};

/// A `struct cpumask`.
pub type Cpumask = [u64; NR_CPUS as usize / 64];

/// How many sets of idle CPUs a scheduler can hold at the same time.
const MASKS: usize = 8;

/// How many lines of `bpf_printk` are kept.
const MOST_NOTES: usize = 10_000;

/// The state of one trial. The object keeps a pointer to it; nothing here is shared between trials.
pub struct Simulator {
    /// The kernel, while a callback runs.
    pub core: *mut Core,
    /// The shim's state inside the object.
    pub state: *mut State,
    /// The scheduler's maps.
    pub maps: Vec<Box<Map>>,
    /// Its timers, by number.
    pub timers: Vec<Timer>,
    /// What it printed.
    pub notes: Vec<String>,
    /// What its `dump` callbacks wrote.
    pub dump: String,
    /// `bpf_get_prandom_u32`.
    pub random: Seed,
    /// Every CPU of the machine.
    pub possible: Box<Cpumask>,
    idle: Vec<Box<Cpumask>>,
    next_idle: usize,
}

impl Simulator {
    /// For a machine with so many CPUs.
    pub fn new(state: *mut State, cpus: u32, seed: Seed) -> Simulator {
        let mut possible = Box::new([0; NR_CPUS as usize / 64]);
        for cpu in 0..cpus {
            possible[cpu as usize / 64] |= 1 << (cpu % 64);
        }
        Simulator {
            core: std::ptr::null_mut(),
            state,
            maps: Vec::new(),
            timers: Vec::new(),
            notes: Vec::new(),
            dump: String::new(),
            random: seed,
            possible,
            idle: (0..MASKS).map(|_| Box::new([0; NR_CPUS as usize / 64])).collect(),
            next_idle: 0,
        }
    }

    /// Keeps a line that the scheduler printed.
    pub fn note(&mut self, line: String) {
        match self.notes.len() {
            0..MOST_NOTES => self.notes.push(line),
            MOST_NOTES => self.notes.push("further lines of bpf_printk were not kept".into()),
            _ => {}
        }
    }

    /// A copy of a set of CPUs, of the size that schedulers expect.
    ///
    /// DIVERGES: the kernel gives out its live set. A copy differs only if the scheduler claims
    /// CPUs while it holds one; the eighth copy after this one overwrites it.
    pub fn lend(&mut self, words: &[u64]) -> *const u64 {
        self.next_idle = (self.next_idle + 1) % MASKS;
        let mask = &mut self.idle[self.next_idle];
        mask[..words.len()].copy_from_slice(words);
        mask.as_ptr()
    }
}

/// How our functions get at the trial: the object hands the pointer back with every call.
pub type This = *mut Simulator;

/// The kernel that runs the present callback.
///
/// # Safety
/// `this` must be what the object was given, and the call must come from a callback.
pub unsafe fn core<'a>(this: This) -> &'a mut Core {
    // SAFETY: every callback sets it to the kernel that it was given.
    unsafe { &mut *(*this).core }
}

/// The task that the scheduler means; if there is none, the scheduler is thrown out.
///
/// # Safety
/// As for [`core`].
pub unsafe fn task(this: This, memory: *const u8, kfunc: &str) -> Option<TaskId> {
    // SAFETY: the caller's.
    let core = unsafe { core(this) };
    // SAFETY: a wrong pointer is a crash, which is reported as the scheduler's.
    let found = unsafe { core.task_at(memory) };
    if found.is_none() {
        core.error(format!("{kfunc}() was given {memory:p}, which is no task"));
    }
    found
}

/// The memory of a task, null for none.
pub fn memory(core: &Core, task: Option<TaskId>) -> *mut u8 {
    task.map_or(std::ptr::null_mut(), |task| core.task_memory(task))
}

/// The set behind a mask that the scheduler gave; without one, it is thrown out.
///
/// # Safety
/// As for [`core`]; `mask` must be null or a whole `struct cpumask`.
pub unsafe fn mask<'a>(this: This, mask: *const u64, kfunc: &str) -> Option<&'a [u64]> {
    // SAFETY: the caller's.
    let core = unsafe { core(this) };
    if mask.is_null() {
        core.error(format!("{kfunc}() was given no cpumask"));
        return None;
    }
    // SAFETY: the caller's.
    Some(unsafe { abi::cpus(mask, core.nr_cpu_ids()) })
}
