// SPDX-License-Identifier: GPL-2.0-only
//! Maps a shared object from memory.
//!
//! The system's loader would open files, run constructors, and give the object whatever the C
//! library has. A BPF program has none of that, and neither has an object that is mapped here: its
//! only code that runs is what the simulator calls, and its only way out are the functions that the
//! simulator writes into its table.

use std::ffi::c_void;
use std::ptr::null_mut;

const PAGE: u64 = 4096;
/// The most address space that an object may take.
const LONGEST: u64 = 1 << 30;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const THREAD_LOCAL: u32 = 7;
const READ_ONLY_LATER: u32 = 0x6474_e552;
/// The section of symbols that relocations name.
const DYNAMIC_SYMBOLS: u32 = 11;
/// Bytes of a symbol.
const SYMBOL: u64 = 24;

#[cfg(target_arch = "x86_64")]
mod machine {
    pub const NUMBER: u16 = 62;
    /// A symbol's address.
    pub const SYMBOLIC: &[u32] = &[1, 6, 7];
    /// An address of the object itself.
    pub const RELATIVE: u32 = 8;
}

#[cfg(target_arch = "aarch64")]
mod machine {
    pub const NUMBER: u16 = 183;
    /// A symbol's address.
    pub const SYMBOLIC: &[u32] = &[257, 1025, 1026];
    /// An address of the object itself.
    pub const RELATIVE: u32 = 1027;
}

/// A mapped object. Dropping it removes it from memory.
pub struct Image {
    base: *mut u8,
    length: u64,
    /// Address of the table of symbols, address of the names, number of symbols; in the file.
    symbols: (u64, u64, u64),
}

struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    in_file: u64,
    in_memory: u64,
}

impl Image {
    /// Maps an object and resolves its addresses.
    ///
    /// # Errors
    /// It is no object of this machine, or needs what a scheduler cannot have. The sentence says
    /// what.
    pub fn map(object: &[u8]) -> Result<Image, String> {
        let file = Bytes(object);
        let segments = segments(&file).ok_or("it is no shared object of this machine")?;
        if segments.iter().any(|segment| segment.kind == THREAD_LOCAL) {
            return Err("it has thread-local variables; a BPF program has none".into());
        }
        let loads = || segments.iter().filter(|segment| segment.kind == LOAD);
        let end = loads().filter_map(|load| load.address.checked_add(load.in_memory)).max();
        let length = end.unwrap_or(0).next_multiple_of(PAGE);
        if length == 0 || length > LONGEST {
            return Err(format!("it takes {} MiB of memory; 1024 are possible", length >> 20));
        }
        let symbols = symbol_table(&file).ok_or("it has no symbols")?;
        let image = Image { base: reserve(length)?, length, symbols };
        for load in loads() {
            image.fill(load, &file).ok_or("a segment is not inside it")?;
        }
        for dynamic in segments.iter().filter(|segment| segment.kind == DYNAMIC) {
            image.relocate(dynamic.address, &file)?;
        }
        segments.iter().try_for_each(|segment| image.protect(segment))?;
        Ok(image)
    }

    /// First address, and the one after the last.
    pub fn range(&self) -> (u64, u64) {
        (self.base as u64, self.base as u64 + self.length)
    }

    /// Where the object defines a symbol; `None`: it does not.
    pub fn symbol(&self, object: &[u8], name: &str) -> Option<*const c_void> {
        let (file, (table, names, count)) = (Bytes(object), self.symbols);
        let symbol = (0..count).map(|index| table + index * SYMBOL).find(|&at| {
            let start = names + u64::from(file.u32(at).unwrap_or(0));
            let found = file.slice(start, name.len() as u64 + 1);
            found.is_some_and(|found| found == [name.as_bytes(), &[0]].concat())
        })?;
        let address = file.u64(symbol + 8).filter(|address| *address < self.length)?;
        let is_defined = file.u16(symbol + 6)? != 0;
        is_defined.then(|| self.base.cast_const().wrapping_add(address as usize).cast())
    }

    fn fill(&self, load: &Segment, file: &Bytes) -> Option<()> {
        let bytes = file.slice(load.offset, load.in_file.min(load.in_memory))?;
        let end = load.address.checked_add(bytes.len() as u64)?;
        if end > self.length {
            return None;
        }
        // SAFETY: the place was just found to be inside the mapping, which nothing else uses.
        unsafe {
            let place = self.base.add(load.address as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        Some(())
    }

    /// Makes addresses of the object's tables true, now that it has a place.
    fn relocate(&self, dynamic: u64, file: &Bytes) -> Result<(), String> {
        let damaged = "its table of relocations is damaged";
        let entries = (0..).map(|index| dynamic + index * 16).map_while(|at| {
            let (tag, value) = (self.word(at)?, self.word(at + 8)?);
            (tag != 0).then_some((tag, value))
        });
        let entries: Vec<(u64, u64)> = entries.collect();
        let value = |tag| entries.iter().find(|(known, _)| *known == tag).map_or(0, |(_, v)| *v);
        if value(1) != 0 || value(17) != 0 {
            return Err("it needs a library; a BPF program has none".into());
        }
        for (table, size) in [(value(7), value(8)), (value(23), value(2))] {
            if table.max(size) > self.length {
                return Err(damaged.into());
            }
            for entry in (0..size / 24).map(|index| table + index * 24) {
                self.relocate_one(entry, file).map_err(|why| why.unwrap_or(damaged.into()))?;
            }
        }
        self.relocate_packed(value(36), value(35)).ok_or(damaged.into())
    }

    fn relocate_one(&self, entry: u64, file: &Bytes) -> Result<(), Option<String>> {
        let [place, info, addend] = [0, 8, 16].map(|at| self.word(entry + at));
        let (place, info) = (place.ok_or(None)?, info.ok_or(None)?);
        let addend = addend.ok_or(None)?;
        let value = match info as u32 {
            machine::RELATIVE => (self.base as u64).wrapping_add(addend),
            kind if machine::SYMBOLIC.contains(&kind) => {
                self.value_of(info >> 32, file)?.map_or(0, |value| value.wrapping_add(addend))
            }
            kind => return Err(Some(format!("it has a relocation of kind {kind}"))),
        };
        self.set_word(place, value).ok_or(None)
    }

    /// The address of a symbol; `None` for one that may be missing, and is.
    fn value_of(&self, index: u64, file: &Bytes) -> Result<Option<u64>, Option<String>> {
        let (table, names, count) = self.symbols;
        if index >= count {
            return Err(None);
        }
        let at = table + index * SYMBOL;
        let info = file.u32(at + 4).ok_or(None)?;
        let (kind, binding, section) = (info & 0xf, info >> 4 & 0xf, info >> 16);
        let name = || file.text(names + u64::from(file.u32(at).unwrap_or(0)));
        match (section, binding, kind) {
            (0, WEAK, _) => Ok(None),
            (0, ..) => Err(Some(format!("it needs {}(), which the simulator lacks", name()))),
            (_, _, CHOSEN_AT_LOADING) => {
                Err(Some(format!("{}() is chosen at loading; a BPF program has no ifunc", name())))
            }
            _ => Ok(Some((self.base as u64).wrapping_add(file.u64(at + 8).ok_or(None)?))),
        }
    }

    /// Relocations that only add where the object is, packed into bit maps (`DT_RELR`).
    fn relocate_packed(&self, table: u64, size: u64) -> Option<()> {
        let add = |at: u64| self.set_word(at, self.word(at)?.wrapping_add(self.base as u64));
        let mut next = 0;
        if table.max(size) > self.length {
            return None;
        }
        for entry in (0..size / 8).map(|index| self.word(table + index * 8)) {
            let entry = entry?;
            if entry & 1 == 0 {
                add(entry)?;
                next = entry + 8;
                continue;
            }
            for bit in (0..63).filter(|bit| entry >> (bit + 1) & 1 == 1) {
                add(next + bit * 8)?;
            }
            next += 63 * 8;
        }
        Some(())
    }

    fn protect(&self, segment: &Segment) -> Result<(), String> {
        let bits = [(1, libc::PROT_EXEC), (2, libc::PROT_WRITE), (4, libc::PROT_READ)];
        let of_flags = || bits.iter().filter(|(flag, _)| segment.flags & flag != 0);
        let end = segment.address.saturating_add(segment.in_memory).min(self.length);
        let (rights, end) = match segment.kind {
            LOAD => (of_flags().fold(0, |all, (_, right)| all | right), end.next_multiple_of(PAGE)),
            READ_ONLY_LATER => (libc::PROT_READ, end / PAGE * PAGE),
            _ => return Ok(()),
        };
        let begin = segment.address / PAGE * PAGE;
        let length = end.min(self.length).saturating_sub(begin) as usize;
        // SAFETY: the range is inside the mapping.
        let place = unsafe { self.base.add(begin.min(self.length) as usize) };
        // SAFETY: as above.
        match unsafe { libc::mprotect(place.cast(), length, rights) } {
            0 => Ok(()),
            _ => Err(format!("its memory: {}", std::io::Error::last_os_error())),
        }
    }

    fn word(&self, at: u64) -> Option<u64> {
        (at.checked_add(8)? <= self.length).then(|| {
            // SAFETY: inside the mapping, which is readable until it is protected.
            unsafe { self.base.add(at as usize).cast::<u64>().read_unaligned() }
        })
    }

    fn set_word(&self, at: u64, value: u64) -> Option<()> {
        (at.checked_add(8)? <= self.length).then(|| {
            // SAFETY: inside the mapping, which is writable until it is protected.
            unsafe { self.base.add(at as usize).cast::<u64>().write_unaligned(value) }
        })
    }
}

/// A symbol that may be missing.
const WEAK: u32 = 2;
/// A symbol whose address a function of the object would choose.
const CHOSEN_AT_LOADING: u32 = 10;

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: `reserve` mapped it.
        unsafe { libc::munmap(self.base.cast(), self.length as usize) };
    }
}

fn reserve(length: u64) -> Result<*mut u8, String> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory.
    let base = unsafe { libc::mmap(null_mut(), length as usize, rights, kind, -1, 0) };
    match base {
        libc::MAP_FAILED => Err(format!("its memory: {}", std::io::Error::last_os_error())),
        base => Ok(base.cast()),
    }
}

/// The segments of a shared object for this machine.
fn segments(file: &Bytes) -> Option<Vec<Segment>> {
    const SHARED: u16 = 3;
    // 64 bits, little-endian.
    let is_ours = file.slice(0, 6)? == b"\x7fELF\x02\x01"
        && (file.u16(16)?, file.u16(18)?) == (SHARED, machine::NUMBER);
    let (table, size, count) = (file.place(32)?, file.u16(54)?, file.u16(56)?);
    let segment = |index: u16| {
        let at = table + u64::from(index) * u64::from(size);
        Some(Segment {
            kind: file.u32(at)?,
            flags: file.u32(at + 4)?,
            offset: file.u64(at + 8)?,
            address: file.u64(at + 16)?,
            in_file: file.u64(at + 32)?,
            in_memory: file.u64(at + 40)?,
        })
    };
    if is_ours { (0..count).map(segment).collect() } else { None }
}

/// Where the dynamic symbols are, where their names are, and how many there are.
fn symbol_table(file: &Bytes) -> Option<(u64, u64, u64)> {
    let (table, size, count) = (file.place(40)?, file.u16(58)?, file.u16(60)?);
    let section = |index: u32| table + u64::from(index) * u64::from(size);
    let mut sections = (0..u32::from(count)).map(section);
    let symbols = sections.find(|&at| file.u32(at + 4) == Some(DYNAMIC_SYMBOLS))?;
    let names = section(file.u32(symbols + 40)?);
    Some((file.place(symbols + 24)?, file.place(names + 24)?, file.place(symbols + 32)? / SYMBOL))
}

/// A file's bytes, which may be anything.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(&self, at: u64, length: u64) -> Option<&'a [u8]> {
        self.0.get(usize::try_from(at).ok()?..usize::try_from(at.checked_add(length)?).ok()?)
    }

    fn u16(&self, at: u64) -> Option<u16> {
        Some(u16::from_le_bytes(self.slice(at, 2)?.try_into().ok()?))
    }

    fn u32(&self, at: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.slice(at, 4)?.try_into().ok()?))
    }

    fn u64(&self, at: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.slice(at, 8)?.try_into().ok()?))
    }

    /// A number that cannot be larger than the file.
    fn place(&self, at: u64) -> Option<u64> {
        self.u64(at).filter(|place| *place <= self.0.len() as u64)
    }

    /// A name that ends with a zero.
    fn text(&self, at: u64) -> String {
        let rest = usize::try_from(at).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }
}
