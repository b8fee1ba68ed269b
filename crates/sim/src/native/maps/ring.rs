// SPDX-License-Identifier: GPL-2.0-only
//! RINGBUF: records for user space.

/// Limit of the kept bytes, so that a verbose scheduler does not fill the memory.
const MOST_BYTES: usize = 256 << 20;

/// Records in order of submission. The model assumes that user space reads at once, so there is
/// always space for a record.
#[derive(Default)]
pub struct Ring {
    reserved: Vec<Box<[u64]>>,
    submitted: Vec<Vec<u8>>,
    bytes: usize,
}

/// Before each record: its length.
const HEADER_WORDS: usize = 1;

impl Ring {
    /// Memory for a record; null when the record would be too much.
    pub fn reserve(&mut self, size: u64) -> *mut u8 {
        let bytes = size as usize;
        if size > MOST_BYTES as u64 || self.bytes + bytes > MOST_BYTES {
            return std::ptr::null_mut();
        }
        self.bytes += bytes;
        let mut record = vec![0u64; HEADER_WORDS + bytes.div_ceil(8)].into_boxed_slice();
        record[0] = size;
        let data = record[HEADER_WORDS..].as_mut_ptr();
        self.reserved.push(record);
        data.cast()
    }

    /// Ends the reservation of `data`; whether it is ours.
    pub fn settle(&mut self, data: *const u8, submit: bool) -> bool {
        let is_it = |record: &[u64]| record[HEADER_WORDS..].as_ptr().cast() == data;
        let Some(index) = self.reserved.iter().position(|record| is_it(record)) else {
            return false;
        };
        let record = self.reserved.swap_remove(index);
        let size = record[0] as usize;
        if submit {
            let bytes = record[HEADER_WORDS..].iter().flat_map(|word| word.to_ne_bytes());
            self.submitted.push(bytes.take(size).collect());
        } else {
            self.bytes -= size;
        }
        true
    }

    /// Adds a whole record.
    pub fn output(&mut self, record: &[u8]) -> bool {
        let fits = self.bytes + record.len() <= MOST_BYTES;
        if fits {
            self.bytes += record.len();
            self.submitted.push(record.to_vec());
        }
        fits
    }

    /// What user space has read so far; it is forgotten here.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        self.bytes = 0;
        std::mem::take(&mut self.submitted)
    }
}
