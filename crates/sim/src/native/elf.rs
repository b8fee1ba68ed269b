// SPDX-License-Identifier: GPL-2.0-only
//! Maps a shared object from memory.
//!
//! The system's loader would open files, run constructors, and give the object whatever the C
//! library has. A BPF program has none of that, and neither has an object that is mapped here: its
//! only code that runs is what the simulator calls, and its only way out are the functions that the
//! simulator writes into its table.

use std::ffi::c_void;
use std::ptr::null_mut;

use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader, Rela, SectionHeader, Sym};
use object::{LittleEndian as LE, Object, ObjectSymbol, SymbolIndex, elf};

const PAGE: u64 = 4096;
/// The most address space that an object may take.
const LONGEST: u64 = 1 << 30;

const DAMAGED: &str = "its table of relocations is damaged";

#[cfg(target_arch = "x86_64")]
mod machine {
    use object::elf;

    pub const NUMBER: u16 = elf::EM_X86_64;
    /// A symbol's address.
    pub const SYMBOLIC: [u32; 3] =
        [elf::R_X86_64_64, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT];
    /// An address of the object itself.
    pub const RELATIVE: u32 = elf::R_X86_64_RELATIVE;
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use object::elf;

    pub const NUMBER: u16 = elf::EM_AARCH64;
    /// A symbol's address.
    pub const SYMBOLIC: [u32; 3] =
        [elf::R_AARCH64_ABS64, elf::R_AARCH64_GLOB_DAT, elf::R_AARCH64_JUMP_SLOT];
    /// An address of the object itself.
    pub const RELATIVE: u32 = elf::R_AARCH64_RELATIVE;
}

type File<'a> = ElfFile64<'a, LE>;
type Segment = elf::ProgramHeader64<LE>;

/// A mapped object. Dropping it removes it from memory.
pub struct Image {
    base: *mut u8,
    length: u64,
}

impl Image {
    pub fn map(object: &[u8]) -> Result<Image, String> {
        let file = shared_object(object).ok_or("it is no shared object of this machine")?;
        let segments = file.elf_program_headers();
        let of_type = |kind| segments.iter().filter(move |segment| segment.p_type(LE) == kind);
        if of_type(elf::PT_TLS).next().is_some() {
            return Err("it has thread-local variables; a BPF program has none".into());
        }
        let ends = of_type(elf::PT_LOAD).filter_map(|load| {
            let address = load.p_vaddr(LE);
            address.checked_add(load.p_memsz(LE))
        });
        let length = ends.max().unwrap_or(0).next_multiple_of(PAGE);
        if length == 0 || length > LONGEST {
            return Err(format!("it takes {} MiB of memory; 1024 are possible", length >> 20));
        }
        if file.elf_dynamic_symbol_table().is_empty() {
            return Err("it has no symbols".into());
        }
        let image = Image { base: reserve(length)?, length };
        for load in of_type(elf::PT_LOAD) {
            image.fill(load, object).ok_or("a segment is not inside it")?;
        }
        image.relocate(&file)?;
        segments.iter().try_for_each(|segment| image.protect(segment))?;
        Ok(image)
    }

    /// First address, and the one after the last.
    pub fn range(&self) -> (u64, u64) {
        (self.base as u64, self.base as u64 + self.length)
    }

    /// Where the object defines a symbol; `None`: it does not.
    pub fn symbol(&self, object: &[u8], name: &str) -> Option<*const c_void> {
        let file = shared_object(object)?;
        let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name))?;
        let is_inside = !symbol.is_undefined() && symbol.address() < self.length;
        let address = symbol.address() as usize;
        is_inside.then(|| self.base.cast_const().wrapping_add(address).cast())
    }

    fn fill(&self, load: &Segment, object: &[u8]) -> Option<()> {
        let bytes = load.data(LE, object).ok()?;
        let bytes = &bytes[..bytes.len().min(usize::try_from(load.p_memsz(LE)).ok()?)];
        let end = load.p_vaddr(LE).checked_add(bytes.len() as u64)?;
        if end > self.length {
            return None;
        }
        // SAFETY: the place was just found to be inside the mapping, which nothing else uses.
        unsafe {
            let place = self.base.add(load.p_vaddr(LE) as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        Some(())
    }

    /// Makes addresses of the object's tables true, now that it has a place.
    fn relocate(&self, file: &File) -> Result<(), String> {
        let sections = file.elf_section_table();
        let dynamic = sections.dynamic(LE, file.data()).map_err(|_| DAMAGED)?;
        let entries = dynamic.map_or(&[][..], |(entries, _)| entries);
        let needs =
            |entry: &elf::Dyn64<LE>| matches!(entry.tag32(LE), Some(elf::DT_NEEDED | elf::DT_REL));
        if entries.iter().any(needs) {
            return Err("it needs a library; a BPF program has none".into());
        }
        let loaded = |section: &&elf::SectionHeader64<LE>| {
            section.sh_flags(LE) & u64::from(elf::SHF_ALLOC) != 0
        };
        for section in sections.iter().filter(loaded) {
            if let Some((entries, _)) = section.rela(LE, file.data()).map_err(|_| DAMAGED)? {
                entries.iter().try_for_each(|entry| self.relocate_one(entry, file))?;
            }
            // These only add where the object is.
            if let Some(mut packed) = section.relr(LE, file.data()).map_err(|_| DAMAGED)? {
                packed.try_for_each(|at| self.add_base(at)).ok_or(DAMAGED)?;
            }
        }
        Ok(())
    }

    fn relocate_one(&self, entry: &elf::Rela64<LE>, file: &File) -> Result<(), String> {
        let addend = entry.r_addend(LE) as u64;
        let value = match entry.r_type(LE, false) {
            machine::RELATIVE => (self.base as u64).wrapping_add(addend),
            kind if machine::SYMBOLIC.contains(&kind) => {
                let symbol = SymbolIndex(entry.r_sym(LE, false) as usize);
                self.value_of(symbol, file)?.map_or(0, |value| value.wrapping_add(addend))
            }
            kind => return Err(format!("it has a relocation of kind {kind}")),
        };
        Ok(self.set_word(entry.r_offset(LE), value).ok_or(DAMAGED)?)
    }

    /// The address of a symbol; `None` for one that may be missing, and is.
    fn value_of(&self, index: SymbolIndex, file: &File) -> Result<Option<u64>, String> {
        let symbols = file.elf_dynamic_symbol_table();
        let symbol = symbols.symbol(index).map_err(|_| DAMAGED)?;
        let name = || {
            let name = symbols.symbol_name(LE, symbol).unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        };
        match (symbol.st_shndx(LE), symbol.st_bind(), symbol.st_type()) {
            (elf::SHN_UNDEF, elf::STB_WEAK, _) => Ok(None),
            (elf::SHN_UNDEF, ..) => {
                Err(format!("it needs {}(), which the simulator lacks", name()))
            }
            (_, _, elf::STT_GNU_IFUNC) => {
                Err(format!("{}() is chosen at loading; a BPF program has no ifunc", name()))
            }
            _ => Ok(Some((self.base as u64).wrapping_add(symbol.st_value(LE)))),
        }
    }

    fn add_base(&self, at: u64) -> Option<()> {
        self.set_word(at, self.word(at)?.wrapping_add(self.base as u64))
    }

    fn protect(&self, segment: &Segment) -> Result<(), String> {
        let bits = [
            (elf::PF_X, libc::PROT_EXEC),
            (elf::PF_W, libc::PROT_WRITE),
            (elf::PF_R, libc::PROT_READ),
        ];
        let granted = bits.iter().filter(|(flag, _)| segment.p_flags(LE) & flag != 0);
        let end = segment.p_vaddr(LE).saturating_add(segment.p_memsz(LE)).min(self.length);
        let (rights, end) = match segment.p_type(LE) {
            elf::PT_LOAD => {
                (granted.fold(0, |all, (_, right)| all | right), end.next_multiple_of(PAGE))
            }
            elf::PT_GNU_RELRO => (libc::PROT_READ, end / PAGE * PAGE),
            _ => return Ok(()),
        };
        let begin = segment.p_vaddr(LE) / PAGE * PAGE;
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

fn shared_object(object: &[u8]) -> Option<File<'_>> {
    let file = File::parse(object).ok()?;
    let header = file.elf_header();
    let is_ours = (header.e_type(LE), header.e_machine(LE)) == (elf::ET_DYN, machine::NUMBER)
        && header.is_little_endian();
    is_ours.then_some(file)
}
