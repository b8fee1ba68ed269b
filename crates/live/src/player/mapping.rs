// SPDX-License-Identifier: GPL-2.0-only
//! Memory of one task.

use std::ptr;

use crate::player::attributes::{Errno, errno};

/// Mapped memory, zero at first.
pub struct Memory {
    start: *mut u8,
    bytes: usize,
}

impl Memory {
    /// Maps this number of bytes. Async-signal-safe.
    pub fn map(bytes: u64) -> Result<Memory, Errno> {
        Memory::map_with(bytes, 0)
    }

    /// Maps memory for stacks. Most of a stack is never used, so that all stacks together may be
    /// larger than the free memory. Zero bytes need no mapping.
    pub fn map_lazily(bytes: u64) -> Result<Memory, Errno> {
        match bytes {
            0 => Ok(Memory { start: ptr::null_mut(), bytes: 0 }),
            _ => Memory::map_with(bytes, libc::MAP_NORESERVE | libc::MAP_STACK),
        }
    }

    fn map_with(bytes: u64, flags: libc::c_int) -> Result<Memory, Errno> {
        let bytes = usize::try_from(bytes).map_err(|_| libc::ENOMEM)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
        // SAFETY: a new mapping, where the kernel likes.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            Err(errno())
        } else {
            Ok(Memory { start: start.cast(), bytes })
        }
    }

    /// The first bytes of all pieces of that size.
    pub fn pieces(&self, bytes: usize) -> impl Iterator<Item = *mut u8> + use<> {
        let start = self.start;
        // SAFETY: each is inside the mapping.
        (0..self.bytes / bytes).map(move |piece| unsafe { start.add(piece * bytes) })
    }

    pub fn start(&self) -> *const u8 {
        self.start
    }

    /// Writes to `bytes` bytes from `from` on, or to those that the mapping has.
    pub fn fill(&mut self, from: u64, bytes: u64) {
        let from = (from as usize).min(self.bytes);
        let bytes = (bytes as usize).min(self.bytes - from);
        // SAFETY: the range is inside the mapping.
        unsafe { store(self.start.add(from), bytes) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: nobody else knows the mapping. Of no bytes there is none.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Stores zeros. On x86 that is one instruction for each eight bytes, so that counted instructions
/// are a definition: 128 ns for each KiB.
///
/// # Safety
/// The range must be writable.
#[cfg(target_arch = "x86_64")]
unsafe fn store(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's range; the direction flag is clear by the ABI.
    unsafe {
        std::arch::asm!(
            "rep stosq",
            "mov rcx, {rest}",
            "rep stosb",
            rest = in(reg) bytes % 8,
            inout("rcx") bytes / 8 => _,
            inout("rdi") start => _,
            in("rax") 0_u64,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn store(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's range.
    unsafe { ptr::write_bytes(std::hint::black_box(start), 0, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_written_and_nothing_beside_it() {
        let mut bytes = [7_u8; 64];
        // SAFETY: the range is inside the array.
        unsafe { store(bytes.as_mut_ptr().add(3), 21) };
        assert!(bytes[3..24].iter().all(|byte| *byte == 0));
        assert!(bytes[..3].iter().chain(&bytes[24..]).all(|byte| *byte == 7));
    }

    #[test]
    fn a_mapping_ends_where_it_ends() {
        let mut memory = Memory::map(100).expect("memory");
        memory.fill(90, 1_000_000);
        memory.fill(1_000, 1);
        assert_eq!(Memory::map(u64::MAX).err(), Some(libc::ENOMEM));
    }
}
