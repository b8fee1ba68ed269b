// SPDX-License-Identifier: GPL-2.0-only
//! RINGBUF: records for user space. The model's user space reads each record at once and keeps
//! nothing, so a record's memory ends with its submission.

/// Limit of the reserved bytes, so that a scheduler that submits nothing does not fill the memory.
const MOST_BYTES: usize = 256 << 20;

/// The records that are reserved and not yet submitted.
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
