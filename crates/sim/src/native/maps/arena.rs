// SPDX-License-Identifier: GPL-2.0-only
//! ARENA: memory that a scheduler allocates by pages, at addresses of this process.

use std::ffi::c_void;
use std::ptr::null_mut;

const PAGE: usize = 4096;
/// Where the ecosystem's arenas begin, and the distance to the place of the next one.
const FIRST: usize = 1 << 44;
const DISTANCE: usize = 1 << 32;
/// The number of arenas that a process has room for.
const PLACES: usize = 64;

/// Whether an arena could be there.
pub fn has_room_at(address: usize) -> bool {
    (FIRST..FIRST + PLACES * DISTANCE).contains(&address)
}

pub struct Arena {
    base: *mut u8,
    pages: usize,
    /// Of each page so far.
    pages_in_use: Vec<PageUse>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PageUse {
    Free,
    /// Allocated; it is mapped, and stays so.
    Allocated,
    /// Not to be allocated, and not mapped.
    Reserved,
}

impl Arena {
    /// An empty arena; `None` if there is no place for it.
    pub fn new(pages: usize) -> Option<Arena> {
        let pages = pages.clamp(1, DISTANCE / PAGE);
        let place = |index| map(FIRST + index * DISTANCE, 1, libc::PROT_NONE);
        let base = (0..PLACES).find_map(place)?;
        Some(Arena { base, pages, pages_in_use: Vec::new() })
    }

    /// Allocates pages of zeros, at an address or wherever they fit first; null: there is no room.
    pub fn allocate(&mut self, at: *mut u8, count: u32) -> *mut u8 {
        let count = count as usize;
        let Some(first) = self.place(at, count).filter(|_| count > 0) else { return null_mut() };
        let address = self.base as usize + first * PAGE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: pages of the arena; those that were used before are zeros already.
        let mapped = unsafe {
            libc::mprotect(address as *mut c_void, count * PAGE, rights) == 0
                || map_fixed(address, count * PAGE, rights)
        };
        if !mapped {
            return null_mut();
        }
        self.set(first, count, PageUse::Allocated);
        address as *mut u8
    }

    /// Frees pages. Their content is gone, and they stay readable.
    pub fn free(&mut self, at: *mut u8, count: u32) {
        let Some(first) = self.number(at) else { return };
        for page in first..first.saturating_add(count as usize).min(self.pages_in_use.len()) {
            if self.pages_in_use[page] == PageUse::Allocated {
                let address = self.base.wrapping_add(page * PAGE).cast::<c_void>();
                // SAFETY: a page of the arena that is mapped.
                unsafe { libc::madvise(address, PAGE, libc::MADV_DONTNEED) };
                self.pages_in_use[page] = PageUse::Free;
            }
        }
    }

    /// Keeps pages from being allocated, unless some of them are in use. `at` is an address, or an
    /// offset: the kernel takes the lower 32 bits.
    pub fn reserve(&mut self, at: *mut u8, count: u32) -> i32 {
        let (first, count) = ((at as usize & (DISTANCE - 1)) / PAGE, count as usize);
        if first.saturating_add(count) > self.pages {
            return -libc::EINVAL;
        }
        if !self.is_free(first, count) {
            return -libc::EBUSY;
        }
        self.set(first, count, PageUse::Reserved);
        0
    }

    /// The first page for so many.
    fn place(&self, at: *mut u8, count: usize) -> Option<usize> {
        if !at.is_null() {
            let first = self.number(at)?;
            return (first + count <= self.pages && self.is_free(first, count)).then_some(first);
        }
        let mut run = 0;
        for (page, in_use) in self.pages_in_use.iter().enumerate() {
            run = if *in_use == PageUse::Free { run + 1 } else { 0 };
            if run == count {
                return Some(page + 1 - count);
            }
        }
        let first = self.pages_in_use.len() - run;
        (first + count <= self.pages).then_some(first)
    }

    fn is_free(&self, first: usize, count: usize) -> bool {
        let known = self.pages_in_use.iter().skip(first).take(count);
        known.copied().all(|page| page == PageUse::Free)
    }

    fn set(&mut self, first: usize, count: usize, to: PageUse) {
        if self.pages_in_use.len() < first + count {
            self.pages_in_use.resize(first + count, PageUse::Free);
        }
        self.pages_in_use[first..first + count].fill(to);
    }

    /// The number of the page at an address of the arena.
    fn number(&self, at: *mut u8) -> Option<usize> {
        let offset = (at as usize).checked_sub(self.base as usize)?;
        (offset.is_multiple_of(PAGE) && offset / PAGE < self.pages).then_some(offset / PAGE)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let bytes = self.pages_in_use.len().max(1) * PAGE;
        // SAFETY: the arena's own range; what is not mapped in it does not matter.
        unsafe { libc::munmap(self.base.cast(), bytes) };
    }
}

/// New memory at this address, unless something is there.
fn map(address: usize, pages: usize, rights: i32) -> Option<*mut u8> {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let kind = kind | libc::MAP_FIXED_NOREPLACE;
    let place = address as *mut c_void;
    // SAFETY: nothing that exists is touched.
    let base = unsafe { libc::mmap(place, pages * PAGE, rights, kind, -1, 0) };
    if base == libc::MAP_FAILED {
        return None;
    }
    if base != place {
        // SAFETY: just made; a kernel without the flag takes the address for a wish.
        unsafe { libc::munmap(base, pages * PAGE) };
        return None;
    }
    Some(base.cast())
}

/// Memory at an address of ours.
unsafe fn map_fixed(address: usize, bytes: usize, rights: i32) -> bool {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller's.
    unsafe { libc::mmap(address as *mut c_void, bytes, rights, kind, -1, 0) != libc::MAP_FAILED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeros_and_fit_first() {
        let mut arena = Arena::new(8).expect("there is room");
        assert_eq!(arena.reserve(null_mut(), 2), 0);
        let one = arena.allocate(null_mut(), 2);
        let two = arena.allocate(null_mut(), 3);
        assert_eq!(one, arena.base.wrapping_add(2 * PAGE));
        assert_eq!(two, one.wrapping_add(2 * PAGE));
        assert_eq!(arena.allocate(null_mut(), 2), null_mut(), "one page is left");
        // SAFETY: allocated.
        unsafe { one.write(7) };
        arena.free(one, 2);
        // SAFETY: freed pages stay readable.
        assert_eq!(unsafe { one.read() }, 0);
        assert_eq!(arena.allocate(null_mut(), 2), one);
        assert_eq!(arena.reserve(one, 1), -libc::EBUSY);
        assert_eq!(arena.reserve(null_mut(), 9), -libc::EINVAL);
        let last = arena.base.wrapping_add(7 * PAGE);
        assert_eq!(arena.allocate(last, 1), last);
        assert_eq!(arena.allocate(last, 1), null_mut());
    }

    #[test]
    fn arenas_lie_apart() {
        let (one, two) = (Arena::new(1 << 20), Arena::new(1 << 20));
        let (one, two) = (one.expect("room"), two.expect("room"));
        let distance = (one.base as usize).abs_diff(two.base as usize);
        assert!(distance >= DISTANCE);
    }
}
