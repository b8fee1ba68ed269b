// SPDX-License-Identifier: GPL-2.0-only
//! The idle CPUs, as schedulers see them.

use crate::core::mask::CpuMask;
use crate::core::topology::Topology;

/// The idle CPUs that schedulers see.
pub struct IdleMasks {
    /// Whether the core tracks idle CPUs.
    pub(super) enabled: bool,
    pub(super) cpus: CpuMask,
    /// CPUs of cores that are idle as a whole; only tracked with SMT.
    pub(super) cores: CpuMask,
    /// Cores have several threads.
    pub(super) smt: bool,
    /// A search begins with the last-level cache, because there are several.
    pub(super) by_llc: bool,
    /// A search goes on with the node, because nodes differ from caches.
    pub(super) by_node: bool,
}

impl IdleMasks {
    /// No CPU is idle yet.
    pub(super) fn new(topology: &Topology) -> IdleMasks {
        let mismatch = topology.llcs.len() != topology.nodes.len();
        IdleMasks {
            enabled: true,
            cpus: CpuMask::empty(topology.cpus),
            cores: CpuMask::empty(topology.cpus),
            smt: topology.smt > 1,
            by_llc: topology.llcs.len() > 1,
            by_node: topology.nodes.len() > 1 && mismatch,
        }
    }

    /// Whether the CPU and its siblings are idle.
    #[inline]
    pub(super) fn is_core_idle(&self, cpu: u32) -> bool {
        self.cpus.test(cpu) && (!self.smt || self.cores.test(cpu))
    }

    /// Marks a CPU as idle or busy.
    #[inline]
    pub(super) fn update(&mut self, cpu: u32, idle: bool, topology: &Topology) {
        match idle {
            true => self.cpus.set(cpu),
            false => self.cpus.clear(cpu),
        }
        if self.smt {
            self.update_core(idle, topology.siblings(cpu));
        }
    }

    #[inline(never)]
    fn update_core(&mut self, idle: bool, core: &CpuMask) {
        if !idle {
            self.cores.remove(core);
        } else if core.is_subset(&self.cpus) {
            self.cores.add(core);
        }
    }

    /// Takes a CPU out of the masks; returns whether it was idle.
    #[inline]
    pub(super) fn claim(&mut self, cpu: u32, topology: &Topology) -> bool {
        if self.smt {
            self.update_core(false, topology.siblings(cpu));
        }
        let was_idle = self.cpus.test(cpu);
        self.cpus.clear(cpu);
        was_idle
    }
}
