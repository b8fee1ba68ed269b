// SPDX-License-Identifier: GPL-2.0-only
//! QUEUE, STACK, BLOOM_FILTER and RINGBUF.

use std::collections::VecDeque;

use super::{EXIST, errno};

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
/// DIVERGES: it always has the kernel's default of five hash functions, and no random seed.
pub struct Bloom {
    bits: Vec<u64>,
    mask: u64,
}

const HASHES: u64 = 5;

impl Bloom {
    /// Returns an empty filter with the number of bits that the kernel uses for this many entries;
    /// `None` if it needs too much memory.
    pub fn new(entries: usize) -> Option<Bloom> {
        let bits = (entries as u64 * HASHES / 5 * 7).next_power_of_two().max(64);
        let bits = (bits <= 8 * MOST_BYTES as u64).then_some(bits)?;
        Some(Bloom { bits: vec![0; (bits / 64) as usize], mask: bits - 1 })
    }

    fn places(&self, value: &[u8]) -> [(usize, u64); HASHES as usize] {
        let (prime, mut hash) = (0x0000_0100_0000_01b3, 0xcbf2_9ce4_8422_2325_u64);
        value.iter().for_each(|byte| hash = (hash ^ u64::from(*byte)).wrapping_mul(prime));
        std::array::from_fn(|_| {
            hash = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let bit = (hash >> 20) & self.mask;
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

    /// Whether a value may have been added.
    pub fn peek(&self, value: &[u8]) -> i64 {
        let is_set = |(word, bit): (usize, u64)| self.bits[word] & bit != 0;
        if self.places(value).into_iter().all(is_set) { 0 } else { errno::ENOENT }
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
