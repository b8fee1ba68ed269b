// SPDX-License-Identifier: GPL-2.0-only
//! QUEUE and STACK.

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
