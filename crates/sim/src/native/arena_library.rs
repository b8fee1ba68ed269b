// SPDX-License-Identifier: GPL-2.0-only
//! What the user space of the ecosystem's arena library (`lib/arena.bpf.c`) does once it has called
//! `arena_init`: it describes the machine, from the whole to each CPU, by the library's programs.

use compile::native::{Facts, SymbolRange};

use crate::core::mask::CpuMask;
use crate::core::topology::Topology;

/// Where the library's programs are.
#[derive(Clone, Copy, Debug)]
pub struct ArenaLibrary {
    pub init: SymbolRange,
    topology_init: SymbolRange,
    alloc_mask: SymbolRange,
    node_init: SymbolRange,
}

/// `struct arena_topology_node_init_args`, which begins with `struct arena_alloc_mask_args`.
#[repr(C)]
#[derive(Default)]
struct Node {
    bitmap: u64,
    data_size: u64,
    id: u64,
}

impl ArenaLibrary {
    /// `None` for a scheduler without the library.
    pub fn of(facts: &Facts) -> Option<ArenaLibrary> {
        let callables = &facts.callables;
        let place = |name| callables.iter().find(|one| one.name == name).map(|one| one.place);
        Some(ArenaLibrary {
            init: place("arena_init")?,
            topology_init: place("arena_topology_init")?,
            alloc_mask: place("arena_alloc_mask")?,
            node_init: place("arena_topology_node_init")?,
        })
    }

    /// Describes the machine. `call` calls a program with its argument. The result is that of the
    /// first call that fails, or 0.
    ///
    /// # Safety
    /// The programs must be the library's.
    pub unsafe fn describe(
        &self,
        topology: &Topology,
        mut call: impl FnMut(SymbolRange, *mut u8) -> i32,
    ) -> i32 {
        let most = |wholes: &[CpuMask], parts: &[CpuMask]| {
            let within = |whole: &CpuMask| {
                let first = |part: &&CpuMask| part.first().is_some_and(|cpu| whole.test(cpu));
                parts.iter().filter(first).count() as u32
            };
            wholes.iter().map(within).max().unwrap_or(0)
        };
        let Topology { nodes, llcs, cores, .. } = topology;
        let nr_nodes = nodes.len() as u32;
        let mut children = [nr_nodes, most(nodes, llcs), most(llcs, cores), topology.smt, 0];
        let failed = call(self.topology_init, children.as_mut_ptr().cast());
        if failed != 0 {
            return failed;
        }
        let all = CpuMask::from_cpus(topology.cpus, 0..topology.cpus);
        let cpus: Vec<CpuMask> =
            (0..topology.cpus).map(|cpu| CpuMask::from_cpus(topology.cpus, [cpu])).collect();
        let levels: [&[CpuMask]; 5] = [&[all], nodes, llcs, cores, &cpus];
        let each = levels.iter().flat_map(|level| level.iter().enumerate());
        for (id, mask) in each {
            // SAFETY: the caller's.
            let failed = unsafe { self.add_node(mask, id as u64, &mut call) };
            if failed != 0 {
                return failed;
            }
        }
        0
    }

    /// A part of the machine with these CPUs.
    unsafe fn add_node(
        &self,
        mask: &CpuMask,
        id: u64,
        call: &mut impl FnMut(SymbolRange, *mut u8) -> i32,
    ) -> i32 {
        let mut node = Node { id, ..Node::default() };
        let argument = (&raw mut node).cast::<u8>();
        let failed = call(self.alloc_mask, argument);
        if failed != 0 {
            return failed;
        }
        for (index, word) in mask.words().iter().enumerate() {
            let place = node.bitmap as *mut u64;
            // SAFETY: the library has given a bitmap with a bit for each CPU, in its arena.
            unsafe { place.add(index).write(*word) };
        }
        call(self.node_init, argument)
    }
}
