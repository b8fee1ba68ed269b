// SPDX-License-Identifier: GPL-2.0-only
//! Room for many tasks at once.

use std::mem::MaybeUninit;

/// The size of a page of memory.
const PAGE: usize = 4096;
/// Fewer pages are left to come one by one.
const FEW_PAGES: usize = 16;

/// Makes room for exactly this many more items, and populates its pages in one system call. Without
/// that, the first write to each page is a page fault.
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) {
    list.reserve_exact(more);
    populate(list.spare_capacity_mut());
}

fn populate<T>(room: &mut [MaybeUninit<T>]) {
    let pages = room.as_mut_ptr_range();
    let begin = (pages.start as usize).next_multiple_of(PAGE);
    let end = pages.end as usize / PAGE * PAGE;
    if begin + FEW_PAGES * PAGE <= end {
        // SAFETY: the pages lie inside the room, and the advice does not change what is in them. A
        // kernel that does not know it (before 5.14) refuses, and the pages come one by one.
        unsafe { libc::madvise(begin as *mut _, end - begin, libc::MADV_POPULATE_WRITE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_list_stays() {
        let mut list: Vec<u64> = (0..5).collect();
        reserve(&mut list, 100_000);
        assert!(list.capacity() >= 100_005);
        list.extend(5..100_005);
        assert!(list.iter().copied().eq(0..100_005));
    }
}
