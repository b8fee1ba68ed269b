// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs share what.

use model::Machine;

use super::mask::CpuMask;

/// The machine's shape, as masks.
pub struct Topology {
    pub cpus: u32,
    /// Threads per core.
    pub smt: u32,
    /// The last-level cache of each CPU.
    pub llc_of: Vec<u32>,
    pub node_of: Vec<u32>,
    pub cores: Vec<CpuMask>,
    /// The CPUs of each last-level cache.
    pub llcs: Vec<CpuMask>,
    pub nodes: Vec<CpuMask>,
    /// The speed of each CPU whose siblings are idle, without a boost; 1024 is full.
    pub capacity: Vec<u64>,
}

/// How far two CPUs are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    Same,
    Smt,
    /// The same last-level cache.
    Llc,
    Node,
    /// Another node.
    Remote,
}

impl Topology {
    pub fn new(machine: &Machine) -> Topology {
        let cpus = machine.cpus.max(1);
        let part = |cpu: u32, parts: u32| {
            (u64::from(cpu) * u64::from(parts.clamp(1, cpus)) / u64::from(cpus)) as u32
        };
        let llc_of: Vec<u32> = (0..cpus).map(|cpu| part(cpu, machine.llcs)).collect();
        let node_of: Vec<u32> = (0..cpus).map(|cpu| part(cpu, machine.nodes)).collect();
        let smt = machine.smt.max(1);
        let core_of: Vec<u32> = (0..cpus).map(|cpu| cpu / smt).collect();
        let speed =
            |cpu: usize| u64::from(machine.capacity.get(cpu).copied().unwrap_or(1024).max(1));
        Topology {
            cpus,
            smt,
            cores: groups(cpus, &core_of),
            llcs: groups(cpus, &llc_of),
            nodes: groups(cpus, &node_of),
            llc_of,
            node_of,
            capacity: (0..cpus as usize).map(speed).collect(),
        }
    }

    /// How far two CPUs are from each other.
    pub fn distance(&self, a: u32, b: u32) -> Distance {
        let (x, y) = (a as usize, b as usize);
        if a == b {
            Distance::Same
        } else if a / self.smt == b / self.smt {
            Distance::Smt
        } else if self.llc_of[x] == self.llc_of[y] {
            Distance::Llc
        } else if self.node_of[x] == self.node_of[y] {
            Distance::Node
        } else {
            Distance::Remote
        }
    }

    pub fn siblings(&self, cpu: u32) -> &CpuMask {
        &self.cores[(cpu / self.smt) as usize]
    }
}

fn groups(cpus: u32, group_of: &[u32]) -> Vec<CpuMask> {
    let count = group_of.iter().max().map_or(1, |last| last + 1);
    let mut masks = vec![CpuMask::empty(cpus); count as usize];
    for (cpu, &group) in group_of.iter().enumerate() {
        masks[group as usize].set(cpu as u32);
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_follow_the_tree() {
        let machine = Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2, ..Machine::default() };
        let topology = Topology::new(&machine);
        let from_0 = [0, 1, 3, 5, 15].map(|cpu| topology.distance(0, cpu));
        use Distance::*;
        assert_eq!(from_0, [Same, Smt, Llc, Node, Remote]);
        assert_eq!(topology.siblings(5).iter().collect::<Vec<_>>(), [4, 5]);
        assert_eq!(topology.llcs[1].iter().collect::<Vec<_>>(), [4, 5, 6, 7]);
    }
}
