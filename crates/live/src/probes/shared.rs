// SPDX-License-Identifier: GPL-2.0-only
//! Memory that BPF programs and user space share.

use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};
use std::{io, ptr};

/// The values of an array map, mapped into our memory. Everything is read and written volatile: the
/// other side may do so at any time, and every value is plain data of which any bytes are valid.
pub struct SharedMap<T> {
    start: *mut T,
    entries: usize,
    _values: PhantomData<T>,
}

// SAFETY: it is memory shared with the kernel anyway; all access is volatile and by value.
unsafe impl<T: Copy + Send> Send for SharedMap<T> {}
// SAFETY: as above.
unsafe impl<T: Copy + Send> Sync for SharedMap<T> {}

impl<T: Copy> SharedMap<T> {
    /// Maps `entries` values of a map that was made with `BPF_F_MMAPABLE`.
    pub fn new(map: &impl AsFd, entries: usize) -> io::Result<SharedMap<T>> {
        SharedMap::map(entries, libc::MAP_SHARED, map.as_fd().as_raw_fd())
    }

    /// Memory of our own for `entries` values, zero at first. Forked processes do not have it.
    pub fn own(entries: usize) -> io::Result<SharedMap<T>> {
        let own = SharedMap::<T>::map(entries, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: the range is this mapping. No forked process needs it.
        unsafe { libc::madvise(own.start.cast(), own.bytes(), libc::MADV_DONTFORK) };
        Ok(own)
    }

    /// All pages are there at once: reading and writing them needs nothing from the kernel.
    fn map(entries: usize, kind: i32, file: i32) -> io::Result<SharedMap<T>> {
        let (bytes, access) = (entries * size_of::<T>(), libc::PROT_READ | libc::PROT_WRITE);
        let kind = kind | libc::MAP_POPULATE;
        // SAFETY: a fresh mapping, of a map of at least this size; nothing of ours is touched.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedMap { start: start.cast(), entries, _values: PhantomData })
    }

    pub fn len(&self) -> usize {
        self.entries
    }

    /// The address of a value, for callers that know how long the mapping lives.
    pub fn place(&self, index: usize) -> *mut T {
        assert!(index < self.entries, "a shared map has no value {index}");
        // SAFETY: inside the mapping.
        unsafe { self.start.add(index) }
    }

    pub fn get(&self, index: usize) -> T {
        assert!(index < self.entries, "a shared map has no value {index}");
        // SAFETY: inside the mapping, and any bytes are a `T`.
        unsafe { self.start.add(index).read_volatile() }
    }

    pub fn set(&self, index: usize, value: T) {
        assert!(index < self.entries, "a shared map has no value {index}");
        // SAFETY: inside the mapping.
        unsafe { self.start.add(index).write_volatile(value) }
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.entries).map(|index| self.get(index))
    }
}

impl<T> SharedMap<T> {
    fn bytes(&self) -> usize {
        self.entries * size_of::<T>()
    }
}

impl SharedMap<u8> {
    /// Reads a plain value at a byte offset.
    pub fn read<V: Copy>(&self, offset: usize) -> V {
        assert!(offset + size_of::<V>() <= self.entries, "a shared section has no byte {offset}");
        // SAFETY: inside the mapping; variables are aligned in their section.
        unsafe { self.start.add(offset).cast::<V>().read_volatile() }
    }

    /// Writes a plain value at a byte offset.
    pub fn write<V: Copy>(&self, offset: usize, value: V) {
        assert!(offset + size_of::<V>() <= self.entries, "a shared section has no byte {offset}");
        // SAFETY: inside the mapping; variables are aligned in their section.
        unsafe { self.start.add(offset).cast::<V>().write_volatile(value) }
    }
}

impl<T> Drop for SharedMap<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping, and there are no borrows of it.
        unsafe { libc::munmap(self.start.cast(), self.bytes()) };
    }
}
