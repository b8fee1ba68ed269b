// SPDX-License-Identifier: GPL-2.0-only
//! The trial's state outside the object: what the kfuncs and helpers of one scheduler work on.

use model::Seed;

use super::abi::{self, NR_CPUS, SharedState};
use super::maps::Map;
use crate::core::{Core, TaskId};

/// A `struct cpumask`.
type Cpumask = [u64; NR_CPUS as usize / 64];

/// Number of sets of idle CPUs that a scheduler can hold at the same time.
const MASKS: usize = 8;

/// Number of lines of `bpf_printk` that are kept.
const MOST_NOTES: usize = 10_000;

/// A `struct bpf_timer` that was initialised.
pub struct Timer {
    /// The scheduler's map variable.
    pub map: *mut u8,
    /// The key of the map's entry that contains the timer.
    pub key: Vec<u8>,
    pub value: *mut u8,
    /// What the timer calls when it expires, once it is set.
    pub callback: Option<TimerCallback>,
}

/// `int callback(void *map, int *key, void *value)`.
pub type TimerCallback = unsafe extern "C" fn(*mut u8, *mut u8, *mut u8) -> i32;

/// The state of one trial. The object keeps a pointer to it; nothing here is shared between trials.
pub struct Simulator {
    /// The kernel, while a callback runs.
    pub core: *mut Core,
    /// The shim's state inside the object.
    pub state: *mut SharedState,
    /// The scheduler's maps.
    pub maps: Vec<Box<Map>>,
    /// The scheduler's timers, by number.
    pub timers: Vec<Timer>,
    /// What the scheduler printed.
    pub notes: Vec<String>,
    /// `bpf_get_prandom_u32`.
    pub random: Seed,
    /// Every CPU of the machine.
    pub possible: Box<Cpumask>,
    /// The last `struct scx_cmask` that a callback was given.
    pub cmask: Vec<u64>,
    idle: Vec<Box<Cpumask>>,
    next_idle: usize,
}

impl Simulator {
    /// The state of a trial on a machine with this number of CPUs.
    pub fn new(state: *mut SharedState, cpus: u32, seed: Seed) -> Simulator {
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
            random: seed,
            possible,
            cmask: Vec::with_capacity(NR_CPUS as usize / 64 + 3),
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

/// The pointer that the object passes to every kfunc and helper.
pub type This = *mut Simulator;

/// The kernel that runs the present callback.
///
/// # Safety
/// `this` must be what the object was given, and the call must come from a callback.
pub unsafe fn core<'a>(this: This) -> &'a mut Core {
    // SAFETY: every callback sets it to the kernel that it was given.
    unsafe { &mut *(*this).core }
}

/// The task at the scheduler's pointer. If there is none, the scheduler is ejected.
///
/// # Safety
/// As for [`core`].
pub unsafe fn task(this: This, memory: *const u8, kfunc: &str) -> Option<TaskId> {
    // SAFETY: the caller's.
    let core = unsafe { core(this) };
    // SAFETY: a wrong pointer is a crash, which is reported as the scheduler's.
    let found = unsafe { core.task_at(memory) };
    if found.is_none() {
        refuse_task(core, memory, kfunc);
    }
    found
}

#[cold]
fn refuse_task(core: &mut Core, memory: *const u8, kfunc: &str) {
    core.error(format!("{kfunc}() was given {memory:p}, which is no task"));
}

/// The memory of a task, null for none.
pub fn memory(core: &Core, task: Option<TaskId>) -> *mut u8 {
    task.map_or(std::ptr::null_mut(), |task| core.task_memory(task))
}

/// The words of the scheduler's mask. A null pointer ejects the scheduler.
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
