// SPDX-License-Identifier: GPL-2.0-only
//! TASK_STORAGE and CGRP_STORAGE: one value per owner, indexed by the number of the task or group.
//!
//! [`Values`] is zeroed memory for elements of equal size. It never moves.

/// Tasks of one piece of memory, `FAIRGROUND_PIECE_BITS` of the shim.
const PIECE: u32 = 1 << 8;

/// A word before each value: 1 if the task has it.
const HEADER: usize = 8;

/// Pieces of slots, made when a task of theirs first wants storage.
pub struct Storage {
    /// Whose values these are.
    pub kind: u32,
    pieces: Vec<*mut u8>,
    owned: Vec<Option<Values>>,
    value_size: usize,
}

impl Storage {
    pub fn new(kind: u32, value_size: usize) -> Storage {
        Storage { kind, pieces: Vec::new(), owned: Vec::new(), value_size }
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

    /// All owners with their values.
    pub fn owned(&self) -> Vec<(u32, *mut u8)> {
        let owners = 0..self.owned.len() as u32 * PIECE;
        owners.filter_map(|owner| Some((owner, self.find(owner)?))).collect()
    }

    /// Whether the address is inside a task's value.
    pub fn contains(&self, inside: *const u8) -> bool {
        self.owned.iter().flatten().any(|piece| piece.index_of(inside).is_some())
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

/// Contiguous elements. The system provides a page at its first use, so a large map that is hardly
/// used costs little.
pub struct Values {
    base: *mut u8,
    bytes: usize,
    stride: usize,
}

/// What structures with timers and locks inside need.
const ALIGNMENT: usize = 8;

impl Values {
    /// Allocates the elements; `None` if there is not enough memory.
    pub fn new(count: usize, size: usize) -> Option<Values> {
        let stride = size.max(1).next_multiple_of(ALIGNMENT);
        let bytes = count.max(1).checked_mul(stride)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        (base != libc::MAP_FAILED).then(|| Values { base: base.cast(), bytes, stride })
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Distance between two elements, bytes.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// An element. The index must be in range.
    pub fn at(&self, index: usize) -> *mut u8 {
        debug_assert!((index + 1) * self.stride <= self.bytes);
        self.base.wrapping_add(index * self.stride)
    }

    /// The index of the element that contains an address.
    pub fn index_of(&self, inside: *const u8) -> Option<usize> {
        let offset = (inside as usize).checked_sub(self.base as usize)?;
        (offset < self.bytes).then(|| offset / self.stride)
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
