// SPDX-License-Identifier: GPL-2.0-only
//! The trial's state outside the object: what the kfuncs and helpers of one scheduler work on.
//!
//! Kfuncs whose arguments or results have another form in a scheduler than in the engine: CPU sets
//! are words of memory, tasks are addresses, nodes and caches are numbers.

use model::Seed;

use super::abi::{self, NR_CPUS, SharedState};
use super::maps::Map;
use crate::core::mask::{CpuMask, next_in_all};
use crate::core::{Core, TaskId, memory};
use crate::flags::{NO_NODE, PICK_IDLE_IN_NODE};

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

/// The kernel's error number for "no idle CPU".
const EBUSY: i32 = -libc::EBUSY;

impl Core {
    /// The task whose memory begins at this address, if there is one.
    ///
    /// # Safety
    /// An aligned pointer other than null is followed: the word before it is read. A wrong pointer
    /// may crash the process.
    pub(super) unsafe fn task_at(&self, memory: *const u8) -> Option<TaskId> {
        if memory.is_null() || !memory.cast::<u64>().is_aligned() {
            return None;
        }
        // SAFETY: a wrong pointer is a crash, which is reported as the scheduler's.
        let task = unsafe { memory::owner(memory) };
        let known = self.machine.tasks.get(task.0 as usize)?;
        std::ptr::eq(known.memory, memory).then_some(task)
    }

    /// `bpf_jiffies64()`: ticks since boot.
    pub(super) fn jiffies(&self) -> u64 {
        self.now() / self.machine.tick_ns
    }

    /// A CPU set from the words of a scheduler's `struct cpumask`.
    pub(super) fn cpu_set(&self, words: &[u64]) -> CpuMask {
        CpuMask::from_words(self.nr_cpu_ids(), words)
    }

    /// The CPUs of a node, or an error number (`validate_node`). A number without a node ejects the
    /// scheduler, and so does the question without `SCX_OPS_BUILTIN_IDLE_PER_NODE`.
    fn node_mask(&mut self, node: i32) -> Result<CpuMask, i32> {
        if !self.idle_is_per_node() {
            self.error("per-node idle tracking is disabled".into());
            return Err(-libc::EOPNOTSUPP);
        }
        if node == NO_NODE {
            return Err(-libc::ENOENT);
        }
        let found = self.topology().nodes.get(node as usize).cloned();
        found.ok_or_else(|| {
            self.error(format!("invalid node {node}"));
            -libc::EINVAL
        })
    }

    /// Whether idle CPUs of the machine may be asked for: not with
    /// `SCX_OPS_BUILTIN_IDLE_PER_NODE`, which ejects the scheduler.
    pub(super) fn idle_is_global(&mut self) -> bool {
        if self.idle_is_per_node() {
            self.error("per-node idle tracking is enabled".into());
        }
        !self.idle_is_per_node()
    }

    /// `scx_bpf_pick_idle_cpu_node()`: a CPU of the node first; then of any node, unless the flags
    /// demand the node.
    pub(super) fn pick_idle_cpu_node(&mut self, cpus: &CpuMask, node: i32, flags: u64) -> i32 {
        let mut near = match self.node_mask(node) {
            Ok(near) => near,
            Err(error) => return error,
        };
        near.keep(cpus);
        let rest = flags & !PICK_IDLE_IN_NODE;
        match self.pick_idle_cpu(&near, rest) {
            EBUSY if flags & PICK_IDLE_IN_NODE == 0 => self.pick_idle_cpu(cpus, rest),
            answer => answer,
        }
    }

    /// `scx_bpf_pick_any_cpu_node()`: an idle CPU as above; if there is none, any CPU of the set.
    pub(super) fn pick_any_cpu_node(&mut self, cpus: &CpuMask, node: i32, flags: u64) -> i32 {
        let mut near = match self.node_mask(node) {
            Ok(near) => near,
            Err(error) => return error,
        };
        near.keep(cpus);
        match self.pick_idle_cpu_node(cpus, node, flags) {
            cpu if cpu >= 0 => cpu,
            _ if flags & PICK_IDLE_IN_NODE != 0 => self.pick_any_cpu(&near, flags),
            _ => self.pick_any_cpu(cpus, flags),
        }
    }

    /// The words of the set of idle CPUs, or of the CPUs whose whole core is idle; of one node or
    /// of the machine.
    pub(super) fn idle_words(&mut self, whole_cores: bool, node: Option<i32>) -> Vec<u64> {
        if !self.idle_tracked() {
            return vec![0; self.nr_cpu_ids().div_ceil(64) as usize];
        }
        let near = match node {
            Some(node) => self.node_mask(node).ok(),
            None => self.idle_is_global().then(|| self.machine.masks[0].clone()),
        };
        let mut mask = if whole_cores { self.idle_smtmask() } else { self.idle_cpumask() }.clone();
        mask.keep(&near.unwrap_or(CpuMask::empty(self.nr_cpu_ids())));
        mask.words().to_vec()
    }

    /// `bpf_cpumask_any_and_distribute()`: the next CPU of both sets after the machine's rotating
    /// cursor; the number of CPUs if the sets share none.
    pub(super) fn distribute(&mut self, a: &[u64], b: &[u64]) -> u32 {
        let (a, b) = (self.cpu_set(a), self.cpu_set(b));
        let here = self.machine.this_cpu;
        let found = next_in_all(&[&a, &b], self.machine.cpus[here as usize].cursor.wrapping_add(1));
        if let Some(cpu) = found {
            self.machine.cpus[here as usize].cursor = cpu;
        }
        found.unwrap_or(self.nr_cpu_ids())
    }

    /// `scx_bpf_cpu_node()`: the CPU's node; -1 for a wrong number, which ejects the scheduler.
    pub(super) fn cpu_node(&mut self, cpu: i32) -> i32 {
        let valid = self.cpu_valid(cpu, "");
        if valid { self.topology().node_of[cpu as usize] as i32 } else { -1 }
    }

    /// The CPUs that share the CPU's last-level cache: the first one, and their number.
    pub(super) fn llc(&mut self, cpu: u32) -> (u32, u32) {
        let topology = self.topology();
        let llc = &topology.llcs[topology.llc_of[cpu as usize] as usize];
        (llc.first().unwrap_or(cpu), llc.count())
    }

    /// `scx_bpf_cpuperf_cap()`: the CPU's capacity, 1 … 1024.
    pub(super) fn cpu_capacity(&mut self, cpu: i32) -> u32 {
        let valid = self.cpu_valid(cpu, "");
        if valid { self.topology().capacity[cpu as usize] as u32 } else { 1024 }
    }
}
