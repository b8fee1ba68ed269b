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
        shape: &Shape,
        mut call: impl FnMut(SymbolRange, *mut u8) -> i32,
    ) -> i32 {
        let mut most_children = shape.most_children;
        let mut failed = call(self.topology_init, most_children.as_mut_ptr().cast());
        for (id, mask) in &shape.parts {
            if failed == 0 {
                // SAFETY: the caller's.
                failed = unsafe { self.add_node(mask, *id, &mut call) };
            }
        }
        failed
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

/// A machine as the library wants it.
pub struct Shape {
    /// The most nodes of a machine, caches of a node, cores of a cache, and threads of a core.
    most_children: [u32; 5],
    /// The machine, its nodes, caches, cores and CPUs: each with its number, level by level.
    parts: Vec<(u64, CpuMask)>,
}

impl Shape {
    pub fn of(topology: &Topology) -> Shape {
        let Topology { cpus, nodes, llcs, cores, smt, .. } = topology;
        let all = [CpuMask::from_cpus(*cpus, 0..*cpus)];
        let single: Vec<CpuMask> = (0..*cpus).map(|cpu| CpuMask::from_cpus(*cpus, [cpu])).collect();
        let levels: [&[CpuMask]; 5] = [&all, nodes, llcs, cores, &single];
        let numbered = levels.iter().flat_map(|level| (0..).zip(level.iter().cloned()));
        let most = [most_within(&all, nodes), most_within(nodes, llcs), most_within(llcs, cores)];
        Shape { most_children: [most[0], most[1], most[2], *smt, 0], parts: numbered.collect() }
    }
}

fn most_within(wholes: &[CpuMask], parts: &[CpuMask]) -> u32 {
    let within = |whole: &CpuMask| {
        let is_in = |part: &&CpuMask| part.first().is_some_and(|cpu| whole.test(cpu));
        parts.iter().filter(is_in).count() as u32
    };
    wholes.iter().map(within).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use model::Machine;

    use super::*;

    #[test]
    fn a_shape_has_every_part_once() {
        let machine = Machine { cpus: 8, smt: 2, llcs: 2, ..Machine::default() };
        let shape = Shape::of(&Topology::new(&machine));
        assert_eq!(shape.most_children, [1, 2, 2, 2, 0]);
        assert_eq!(shape.parts.len(), 1 + 1 + 2 + 4 + 8);
        assert_eq!(shape.parts[3].0, 1);
        assert_eq!(shape.parts[3].1.iter().collect::<Vec<_>>(), [4, 5, 6, 7]);
    }
}
