// SPDX-License-Identifier: GPL-2.0-only
//! Zeroed memory for elements of equal size. It never moves.

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
