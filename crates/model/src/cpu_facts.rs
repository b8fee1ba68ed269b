// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's user space knows of each CPU.

use crate::Machine;

const FULL: u32 = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuFacts {
    /// Speed; 1024 is full.
    pub capacity: Vec<u32>,
    /// The number of its last-level cache, from 0.
    pub llc: Vec<u32>,
    /// The number of its NUMA node.
    pub node: Vec<u32>,
    /// The first CPU of its core.
    pub core: Vec<u32>,
}

impl Default for CpuFacts {
    fn default() -> CpuFacts {
        CpuFacts::of(&Machine::default())
    }
}

impl CpuFacts {
    /// The words that stand for them.
    pub const WORDS: &[&str] =
        &["cpus", "capacity", "llc", "node", "smt", "fastest", "slowest", "mask", "sibling"];

    pub fn of(machine: &Machine) -> CpuFacts {
        let cpus = machine.cpus.max(1);
        let part = |parts: u32| {
            let of =
                move |cpu: u32| u64::from(cpu) * u64::from(parts.clamp(1, cpus)) / u64::from(cpus);
            (0..cpus).map(move |cpu| of(cpu) as u32).collect()
        };
        let smt = machine.smt.max(1);
        let speed = |cpu: u32| machine.capacity.get(cpu as usize).copied().unwrap_or(FULL).max(1);
        CpuFacts {
            capacity: (0..cpus).map(speed).collect(),
            llc: part(machine.llcs),
            node: part(machine.nodes),
            core: (0..cpus).map(|cpu| cpu / smt * smt).collect(),
        }
    }

    pub fn cpus(&self) -> u32 {
        self.capacity.len() as u32
    }

    /// What a word means for an array.
    pub fn list(&self, word: &str) -> Option<Vec<u32>> {
        Some(match word {
            "cpus" | "mask" => (0..self.cpus()).collect(),
            "capacity" => self.capacity.clone(),
            "llc" => self.llc.clone(),
            "node" => self.node.clone(),
            "smt" | "sibling" => self.core.clone(),
            "fastest" | "slowest" => {
                let mut cpus: Vec<u32> = (0..self.cpus()).collect();
                cpus.sort_by_key(|cpu| std::cmp::Reverse(self.capacity[*cpu as usize]));
                if word == "slowest" {
                    cpus.reverse();
                }
                cpus
            }
            _ => return None,
        })
    }

    /// What a word means for a number: the greatest capacity, the fastest or slowest CPU, threads
    /// of a core, or how many there are.
    pub fn count(&self, word: &str) -> u32 {
        let list = self.list(word).unwrap_or_default();
        let mut kinds = list.clone();
        kinds.sort_unstable();
        kinds.dedup();
        match word {
            "capacity" => kinds.last().copied().unwrap_or(FULL),
            "fastest" | "slowest" => list.first().copied().unwrap_or(0),
            "smt" => self.cpus().div_ceil(kinds.len().max(1) as u32),
            _ => kinds.len() as u32,
        }
    }

    /// What a word means for a Boolean: whether CPUs differ in it, or share a core.
    pub fn differ(&self, word: &str) -> bool {
        match word {
            "capacity" | "fastest" | "slowest" => {
                self.capacity.iter().any(|speed| *speed != self.capacity[0])
            }
            _ => self.count(word) > 1,
        }
    }

    /// By CPU, another CPU of its core.
    pub fn siblings(&self) -> Vec<Option<u32>> {
        let pairs = self.pairs("smt");
        let of = |cpu| pairs.iter().find(|(one, _)| *one == cpu).map(|(_, other)| *other);
        (0..self.cpus()).map(of).collect()
    }

    /// A bit for each of the first 64 CPUs.
    pub fn mask(&self) -> u64 {
        (0..self.cpus().min(64)).fold(0, |mask, cpu| mask | 1 << cpu)
    }

    /// The ordered pairs of different CPUs that have the same in a list: `llc`, `node`, `smt`.
    pub fn pairs(&self, word: &str) -> Vec<(u32, u32)> {
        let list = self.list(word).unwrap_or_default();
        let all = (0..self.cpus()).flat_map(|one| (0..self.cpus()).map(move |two| (one, two)));
        all.filter(|(one, two)| one != two && list[*one as usize] == list[*two as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_counts_and_pairs_follow_the_machine() {
        let capacity = vec![512, 512, 1024, 1024];
        let machine = Machine { cpus: 4, smt: 2, llcs: 2, capacity, ..Machine::default() };
        let cpus = CpuFacts::of(&machine);
        let lists = ["cpus", "llc", "node", "smt", "fastest"].map(|word| cpus.list(word).unwrap());
        assert_eq!(lists[0], [0, 1, 2, 3]);
        assert_eq!((&lists[1], &lists[2]), (&vec![0, 0, 1, 1], &vec![0; 4]));
        assert_eq!((&lists[3], &lists[4]), (&vec![0, 0, 2, 2], &vec![2, 3, 0, 1]));
        let counts = CpuFacts::WORDS.iter().map(|word| cpus.count(word)).collect::<Vec<_>>();
        assert_eq!(counts, [4, 1024, 2, 1, 2, 2, 1, 4, 2]);
        let differ: Vec<bool> = CpuFacts::WORDS.iter().map(|word| cpus.differ(word)).collect();
        assert_eq!(differ, [true, true, true, false, true, true, true, true, true]);
        assert_eq!(cpus.siblings(), [1, 0, 3, 2].map(Some));
        assert_eq!(CpuFacts::default().siblings(), [None]);
        assert_eq!(cpus.pairs("smt"), [(0, 1), (1, 0), (2, 3), (3, 2)]);
        assert!(!CpuFacts::default().differ("smt"));
        assert_eq!(cpus.mask(), 0xf);
    }
}
