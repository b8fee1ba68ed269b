// SPDX-License-Identifier: GPL-2.0-only
//! Zeroed memory for equal elements, which never moves.

/// Elements side by side. The system gives their pages when they are first touched, so a large map
/// that is hardly used costs hardly anything.
pub struct Values {
    base: *mut u8,
    bytes: usize,
    stride: usize,
}

/// What structures with timers and locks inside need.
const ALIGNMENT: usize = 8;

impl Values {
    /// So many elements; `None` if there is no memory.
    pub fn new(count: usize, size: usize) -> Option<Values> {
        let stride = size.max(1).next_multiple_of(ALIGNMENT);
        let bytes = count.max(1).checked_mul(stride)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        (base != libc::MAP_FAILED).then(|| Values { base: base.cast(), bytes, stride })
    }

    /// The first element.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// From one element to the next, bytes.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// An element. The index must be in range.
    pub fn at(&self, index: usize) -> *mut u8 {
        debug_assert!((index + 1) * self.stride <= self.bytes);
        self.base.wrapping_add(index * self.stride)
    }

    /// The element that an address lies in.
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
