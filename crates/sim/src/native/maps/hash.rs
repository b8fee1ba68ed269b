// SPDX-License-Identifier: GPL-2.0-only
//! HASH and LRU_HASH, also per CPU.

use super::storage::Values;
use super::{EXIST, NOEXIST, errno};

const NONE: u32 = u32::MAX;

/// What an entry has besides key and value.
#[derive(Clone, Copy)]
struct Link {
    /// The next entry with the same hash, or the next free one.
    next: u32,
    /// When it was last used; 0 if it is free.
    used: u64,
}

/// Chains of entries. The hash function is fixed, so that the same trial has the same order
/// everywhere.
pub struct Hash {
    heads: Vec<u32>,
    links: Vec<Link>,
    keys: Values,
    values: Values,
    key_size: usize,
    value_size: usize,
    cpus: u32,
    free: u32,
    clock: u64,
    evicts: bool,
    capacity: usize,
}

impl Hash {
    /// An empty one; `None` if there is no memory.
    pub fn new(
        capacity: usize,
        key_size: usize,
        value_size: usize,
        cpus: u32,
        evicts: bool,
    ) -> Option<Hash> {
        let mut heads = Vec::new();
        let number = (capacity.max(1) * 2).next_power_of_two();
        heads.try_reserve_exact(number).ok()?;
        heads.resize(number, NONE);
        Some(Hash {
            heads,
            links: Vec::new(),
            keys: Values::new(capacity, key_size)?,
            values: Values::new(capacity * cpus as usize, value_size)?,
            key_size,
            value_size,
            cpus,
            free: NONE,
            clock: 0,
            evicts,
            capacity,
        })
    }

    /// The value of a key; null if there is none.
    pub fn lookup(&mut self, key: &[u8], cpu: u32) -> *mut u8 {
        self.clock += 1;
        match self.find(key) {
            NONE => std::ptr::null_mut(),
            entry => {
                self.links[entry as usize].used = self.clock;
                self.value(entry, cpu)
            }
        }
    }

    /// Where the value of a key is to be written.
    pub fn insert(&mut self, key: &[u8], cpu: u32, flags: u64) -> Result<*mut u8, i64> {
        let found = self.find(key);
        match found {
            NONE if flags & EXIST != 0 => return Err(errno::ENOENT),
            NONE => {}
            _ if flags & NOEXIST != 0 => return Err(errno::EEXIST),
            entry => return Ok(self.value(entry, cpu)),
        }
        let entry = self.take().ok_or(errno::E2BIG)?;
        self.clock += 1;
        let head = self.head(key);
        self.links[entry as usize] = Link { next: self.heads[head], used: self.clock };
        self.heads[head] = entry;
        // SAFETY: entries have room for a key, and a value for each CPU.
        unsafe {
            std::ptr::copy_nonoverlapping(key.as_ptr(), self.keys.at(entry as usize), key.len());
            for cpu in 0..self.cpus {
                self.value(entry, cpu).write_bytes(0, self.value_size);
            }
        }
        Ok(self.value(entry, cpu))
    }

    pub fn delete(&mut self, key: &[u8]) -> i64 {
        let entry = self.find(key);
        if entry == NONE {
            return errno::ENOENT;
        }
        let head = self.head(key);
        let next = self.links[entry as usize].next;
        if self.heads[head] == entry {
            self.heads[head] = next;
        } else {
            let mut before = self.heads[head];
            while self.links[before as usize].next != entry {
                before = self.links[before as usize].next;
            }
            self.links[before as usize].next = next;
        }
        self.links[entry as usize] = Link { next: self.free, used: 0 };
        self.free = entry;
        0
    }

    pub fn entries(&self, cpu: u32) -> Vec<(Vec<u8>, *mut u8)> {
        let used = |entry: &u32| self.links[*entry as usize].used > 0;
        let key_and_value = |entry| (self.key(entry).to_vec(), self.value(entry, cpu));
        (0..self.links.len() as u32).filter(used).map(key_and_value).collect()
    }

    /// The key and value of the entry whose value contains an address.
    pub fn key_of(&self, inside: *const u8) -> Option<(Vec<u8>, *mut u8)> {
        let index = self.values.index_of(inside)?;
        let entry = index as u32 % self.capacity.max(1) as u32;
        Some((self.key(entry).to_vec(), self.values.at(index)))
    }

    /// A free entry: a new one, a deleted one, or the one that was not used for longest.
    fn take(&mut self) -> Option<u32> {
        if self.free == NONE && self.links.len() < self.capacity {
            self.links.push(Link { next: NONE, used: 0 });
            return Some(self.links.len() as u32 - 1);
        }
        if self.free == NONE && self.evicts {
            // DIVERGES: the kernel's LRU is approximate and keeps lists per CPU; this one is exact.
            let oldest =
                (0..self.links.len() as u32).min_by_key(|&e| self.links[e as usize].used)?;
            let key = self.key(oldest).to_vec();
            self.delete(&key);
        }
        let entry = self.free;
        (entry != NONE).then(|| {
            self.free = self.links[entry as usize].next;
            entry
        })
    }

    fn find(&self, key: &[u8]) -> u32 {
        let mut entry = self.heads[self.head(key)];
        while entry != NONE && self.key(entry) != key {
            entry = self.links[entry as usize].next;
        }
        entry
    }

    /// FNV-1a over the key's bytes.
    fn head(&self, key: &[u8]) -> usize {
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (hash ^ hash >> 32) as usize & (self.heads.len() - 1)
    }

    fn key(&self, entry: u32) -> &[u8] {
        // SAFETY: entries have room for a key.
        unsafe { std::slice::from_raw_parts(self.keys.at(entry as usize), self.key_size) }
    }

    fn value(&self, entry: u32, cpu: u32) -> *mut u8 {
        self.values.at(self.capacity * cpu as usize + entry as usize)
    }
}
