// SPDX-License-Identifier: GPL-2.0-only
//! Topological numbers of CPUs (`cid.c`). The machine's CPUs are numbered by node, last-level cache
//! and core, so that a CPU's cid is its number.

use crate::core::Core;
use crate::core::mask::CpuMask;

/// `SCX_CID_SHARD_SIZE_DFL`.
const SHARD_SIZE: u32 = 24;
/// `SCX_CID_SHARD_MAX_CPUS`.
const MOST: u32 = 512;

impl Core {
    /// Checks a cid from the scheduler (`scx_cid_valid`).
    pub fn cid_valid(&mut self, cid: i32) -> bool {
        let is_valid = cid >= 0 && (cid as u32) < self.machine.topology.cpus;
        if !is_valid {
            self.error(format!("invalid cid {cid}"));
        }
        is_valid
    }

    /// `struct scx_cid_topo`: for core, cache, node, shard and cluster the first cid and the index;
    /// all -1 for a wrong number. A core is a cluster of its own.
    pub fn cid_topo(&mut self, cid: i32) -> [i32; 10] {
        if !self.cid_valid(cid) {
            return [-1; 10];
        }
        let (topology, cpu) = (&self.machine.topology, cid as u32);
        let first = |mask: &CpuMask| mask.first().unwrap_or(cpu) as i32;
        let core = (first(topology.siblings(cpu)), (cpu / topology.smt) as i32);
        let (llc, node) =
            (topology.llc_of[cid as usize] as usize, topology.node_of[cid as usize] as usize);
        let (shard, shard_index) = self.shard_of(cpu);
        let topology = &self.machine.topology;
        [
            core.0,
            core.1,
            first(&topology.llcs[llc]),
            llc as i32,
            first(&topology.nodes[node]),
            node as i32,
            shard as i32,
            shard_index as i32,
            core.0,
            core.1,
        ]
    }

    /// The first cid of a CPU's shard, and the shard's index: each cache is divided into as few as
    /// have room, with their cores spread evenly (`calc_shard_layout`).
    fn shard_of(&self, cpu: u32) -> (u32, u32) {
        let topology = &self.machine.topology;
        let (mut index, mut begin) = (0, 0);
        for llc in &topology.llcs {
            let (cpus, smt) = (llc.count(), topology.smt);
            let (cores, shards) = (cpus.div_ceil(smt), cpus.div_ceil(self.ext.shard_size));
            for shard in 0..shards {
                let size = cores / shards + u32::from(shard < cores % shards);
                let end = begin + (size * smt).min(cpus);
                if cpu < end {
                    return (begin, index);
                }
                (index, begin) = (index + 1, end);
            }
        }
        (begin, index)
    }
}

/// The size of shards for `ops.cid_shard_size`.
pub(super) fn shard_size(asked: u32) -> u32 {
    if asked == 0 { SHARD_SIZE } else { asked.min(MOST) }
}
