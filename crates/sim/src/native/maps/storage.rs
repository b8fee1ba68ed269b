// SPDX-License-Identifier: GPL-2.0-only
//! TASK_STORAGE: one value per task, indexed by the task's number.

use super::values::Values;

/// Tasks of one piece of memory, `FAIRGROUND_PIECE_BITS` of the shim.
const PIECE: u32 = 1 << 8;

/// A word before each value: 1 if the task has it.
const HEADER: usize = 8;

/// Pieces of slots, made when a task of theirs first wants storage.
pub struct Storage {
    pieces: Vec<*mut u8>,
    owned: Vec<Option<Values>>,
    value_size: usize,
}

impl Storage {
    pub fn new(value_size: usize) -> Storage {
        Storage { pieces: Vec::new(), owned: Vec::new(), value_size }
    }

    /// From one slot to the next, bytes.
    pub fn stride(&self) -> usize {
        (HEADER + self.value_size).next_multiple_of(8)
    }

    /// Where the pieces are, for the object.
    pub fn pieces(&self) -> (*const *mut u8, u64) {
        (self.pieces.as_ptr(), self.pieces.len() as u64)
    }

    pub fn find(&self, task: u32) -> Option<*mut u8> {
        let piece = self.owned.get((task / PIECE) as usize)?.as_ref()?;
        let slot = piece.at((task % PIECE) as usize);
        // SAFETY: slots begin with their header.
        let is_there = unsafe { slot.cast::<u64>().read() } != 0;
        is_there.then(|| slot.wrapping_add(HEADER))
    }

    /// Makes a task's value, of zeros.
    pub fn make(&mut self, task: u32) -> *mut u8 {
        let index = (task / PIECE) as usize;
        while self.owned.len() <= index {
            self.owned.push(None);
            self.pieces.push(std::ptr::null_mut());
        }
        let stride = self.stride();
        if self.owned[index].is_none() {
            self.owned[index] = Values::new(PIECE as usize, stride);
        }
        let Some(piece) = &self.owned[index] else { return std::ptr::null_mut() };
        self.pieces[index] = piece.base();
        let slot = piece.at((task % PIECE) as usize);
        // SAFETY: the slot is ours, header and value.
        unsafe {
            slot.write_bytes(0, stride);
            slot.cast::<u64>().write(1);
        }
        slot.wrapping_add(HEADER)
    }

    /// Deletes a task's value; returns whether it had one.
    pub fn delete(&mut self, task: u32) -> bool {
        let Some(value) = self.find(task) else { return false };
        // SAFETY: the header stands before the value.
        unsafe { value.sub(HEADER).cast::<u64>().write(0) };
        true
    }
}
