// SPDX-License-Identifier: GPL-2.0-only
//! QUEUE, STACK and RINGBUF.

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
