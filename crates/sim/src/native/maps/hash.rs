// SPDX-License-Identifier: GPL-2.0-only
//! HASH and LRU_HASH, also per CPU; QUEUE, STACK, BLOOM_FILTER and RINGBUF.

use std::collections::VecDeque;

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

/// Values without keys.
pub struct ValueQueue {
    values: VecDeque<Vec<u8>>,
    capacity: usize,
    value_size: usize,
    last_first: bool,
}

impl ValueQueue {
    /// An empty one; stacks give the last value first.
    pub fn new(capacity: usize, value_size: usize, last_first: bool) -> ValueQueue {
        ValueQueue { values: VecDeque::new(), capacity, value_size, last_first }
    }

    /// Adds a value; with `BPF_EXIST` the oldest makes room.
    pub fn push(&mut self, value: &[u8], flags: u64) -> i64 {
        if self.values.len() >= self.capacity {
            if flags & EXIST == 0 {
                return errno::E2BIG;
            }
            self.values.pop_front();
        }
        self.values.push_back(value.to_vec());
        0
    }

    /// Copies the next value, which stays or goes; whether there is one.
    pub fn pop(&mut self, to: &mut [u8], stay: bool) -> bool {
        let next = if self.last_first { self.values.back() } else { self.values.front() };
        let Some(value) = next else { return false };
        to[..self.value_size].copy_from_slice(value);
        if !stay {
            if self.last_first {
                self.values.pop_back();
            } else {
                self.values.pop_front();
            }
        }
        true
    }
}

/// BLOOM_FILTER: a set that may also claim to have what was never added.
///
/// DIVERGES: it has no random seed.
pub struct Bloom {
    bits: Vec<u64>,
    mask: u64,
    hashes: u64,
}

/// The kernel's default number of hash functions, and the most.
const HASHES: u64 = 5;
pub const MOST_HASHES: u64 = 15;

impl Bloom {
    /// Returns an empty filter with the number of bits that the kernel uses for this many entries
    /// and hash functions, 0 for its default; `None` if it needs too much memory.
    pub fn new(entries: usize, hashes: u64) -> Option<Bloom> {
        let hashes = if hashes == 0 { HASHES } else { hashes };
        let bits = (entries as u64 * hashes / 5 * 7).next_power_of_two().max(64);
        let bits = (bits <= 8 * MOST_BYTES as u64).then_some(bits)?;
        Some(Bloom { bits: vec![0; (bits / 64) as usize], mask: bits - 1, hashes })
    }

    fn places(&self, value: &[u8]) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (prime, mut hash) = (0x0000_0100_0000_01b3, 0xcbf2_9ce4_8422_2325_u64);
        value.iter().for_each(|byte| hash = (hash ^ u64::from(*byte)).wrapping_mul(prime));
        let mask = self.mask;
        (0..self.hashes).map(move |_| {
            hash = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let bit = (hash >> 20) & mask;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    pub fn add(&mut self, value: &[u8], flags: u64) -> i64 {
        if flags != 0 {
            return errno::EINVAL;
        }
        for (word, bit) in self.places(value) {
            self.bits[word] |= bit;
        }
        0
    }

    #[cfg(test)]
    pub fn bits_set(&self) -> u32 {
        self.bits.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether a value may have been added.
    pub fn peek(&self, value: &[u8]) -> i64 {
        let is_set = |(word, bit): (usize, u64)| self.bits[word] & bit != 0;
        if self.places(value).all(is_set) { 0 } else { errno::ENOENT }
    }
}

/// Limit of the reserved bytes, so that a scheduler that submits nothing does not fill the memory.
const MOST_BYTES: usize = 256 << 20;

/// RINGBUF: the records that are reserved and not yet submitted. The model's user space reads each
/// record at once and keeps nothing, so a record's memory ends with its submission.
#[derive(Default)]
pub struct Ring {
    reserved: Vec<Box<[u64]>>,
    words: usize,
}

impl Ring {
    /// Memory for a record; null when the record would be too much.
    pub fn reserve(&mut self, size: u64) -> *mut u8 {
        let words = usize::try_from(size).unwrap_or(usize::MAX).div_ceil(8).max(1);
        if words > MOST_BYTES / 8 - self.words {
            return std::ptr::null_mut();
        }
        self.words += words;
        let mut record = vec![0; words].into_boxed_slice();
        let data = record.as_mut_ptr();
        self.reserved.push(record);
        data.cast()
    }

    /// Ends the reservation of `data`; whether it is ours.
    pub fn settle(&mut self, data: *const u8) -> bool {
        let found = self.reserved.iter().position(|record| record.as_ptr().cast() == data);
        if let Some(index) = found {
            self.words -= self.reserved.swap_remove(index).len();
        }
        found.is_some()
    }
}
