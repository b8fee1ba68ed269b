// SPDX-License-Identifier: GPL-2.0-only
//! Kfuncs whose arguments or results have another form in a scheduler than in the engine: CPU sets
//! are words of memory, tasks are addresses, nodes and caches are numbers.

use crate::core::mask::{CpuMask, next_in_all};
use crate::core::{Core, TaskId, memory};
use crate::flags::{NO_NODE, PICK_IDLE_IN_NODE};

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
