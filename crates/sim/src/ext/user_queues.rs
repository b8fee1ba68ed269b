// SPDX-License-Identifier: GPL-2.0-only
//! The numbers that a scheduler has given to its queues.

use std::collections::BTreeMap;

use super::dsq::NONE;

/// Numbers below this are found in a table, others in a map.
const TABLE: u64 = 1 << 16;

/// From a scheduler's number of a queue to the queue's index.
#[derive(Default)]
pub struct UserQueues {
    table: Vec<u32>,
    map: BTreeMap<u64, u32>,
}

impl UserQueues {
    /// The queue with this number, if the scheduler has created it.
    pub fn find(&self, id: u64) -> Option<u32> {
        let found = match id {
            0..TABLE => self.table.get(id as usize).copied(),
            _ => self.map.get(&id).copied(),
        };
        found.filter(|&queue| queue != NONE)
    }

    pub fn add(&mut self, id: u64, queue: u32) {
        if id < TABLE {
            let size = self.table.len().max(id as usize + 1);
            self.table.resize(size, NONE);
            self.table[id as usize] = queue;
        } else {
            self.map.insert(id, queue);
        }
    }

    /// Frees the number of a queue that exists.
    pub fn remove(&mut self, id: u64) {
        match id {
            0..TABLE => self.table[id as usize] = NONE,
            _ => drop(self.map.remove(&id)),
        }
    }
}
