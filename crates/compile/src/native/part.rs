// SPDX-License-Identifier: GPL-2.0-only
//! A scheduler's compiled part, prepared for the linker.
//!
//! The ecosystem's headers declare kfuncs as weak, because a kernel may lack them. A call of one
//! that the model lacks must be the linker's error and not a null pointer, so such symbols become
//! strong. What is only asked for (`&variable`) stays weak, and is null where it is missing. A weak
//! option of the kernel's configuration that is missing reads as zero, as libbpf lets it.
//!
//! Each source of a scheduler has its licence, by the same name; they become weak.
//!
//! Programs that the simulator never starts lose the mark that keeps them, so that the linker
//! leaves them out with all that only they use.

use std::collections::BTreeSet;

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{LittleEndian as LE, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolIndex};

use super::programs;

/// `SHF_GNU_RETAIN`.
const RETAIN: u64 = 1 << 21;
/// Where an ELF header of a section has its flags, and a symbol its binding, bytes.
const FLAGS_AT: usize = 8;
const BINDING_AT: usize = 4;

/// Relocations of calls.
#[cfg(target_arch = "aarch64")]
const CALLS: &[u32] = &[elf::R_AARCH64_CALL26, elf::R_AARCH64_JUMP26];
#[cfg(not(target_arch = "aarch64"))]
const CALLS: &[u32] = &[elf::R_X86_64_PLT32];

/// The names of the kernel's configuration options (`__kconfig`) among an object's symbols, of
/// those whose binding is weak or not as wanted.
pub fn options(object: &[u8], wanted: impl Fn(bool) -> bool) -> BTreeSet<String> {
    let Ok(file) = object::File::parse(object) else { return BTreeSet::new() };
    let names = file.symbols().filter(|symbol| wanted(symbol.is_weak()));
    let names = names.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names.filter(|name| name.starts_with("CONFIG_")).collect()
}

/// The symbols in sections with a mark that keeps them. Linkers before binutils 2.36 do not know
/// the mark, and are told these names.
pub fn kept(object: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(object) else { return Vec::new() };
    let is_kept = |symbol: &object::Symbol| {
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let flags = section.map(|section| section.flags());
        symbol.is_global()
            && matches!(flags, Some(SectionFlags::Elf { sh_flags }) if sh_flags & RETAIN != 0)
    };
    let names = file.symbols().filter(is_kept).filter_map(|one| one.name().ok().map(str::to_owned));
    names.collect()
}

/// Prepares a relocatable object in place; one that is none stays as it is, for the linker.
pub fn prepare(part: &mut [u8], with_optional: bool) {
    for (at, byte) in changes(part, with_optional).unwrap_or_default() {
        if let Some(place) = part.get_mut(at) {
            *place = byte;
        }
    }
}

/// Offsets in the file, and the bytes to put there.
fn changes(part: &[u8], with_optional: bool) -> object::Result<Vec<(usize, u8)>> {
    let header = FileHeader64::<LE>::parse(part)?;
    let sections = header.sections(LE, part)?;
    let symbols = sections.symbols(LE, part, elf::SHT_SYMTAB)?;
    let mut changes = Vec::new();
    let of_table = symbols.symbols().as_ptr() as usize - part.as_ptr() as usize;
    let mut bind = |index: usize, symbol: &elf::Sym64<LE>, to: u8| {
        let at = of_table + index * size_of::<elf::Sym64<LE>>() + BINDING_AT;
        changes.push((at, to << 4 | symbol.st_type()));
    };
    for (index, symbol) in symbols.symbols().iter().enumerate() {
        let section = symbols.symbol_section(LE, symbol, SymbolIndex(index))?;
        let section = section.and_then(|section| sections.section(section).ok());
        let name = section.map(|section| sections.section_name(LE, section)).transpose()?;
        if name == Some(b"license") && symbol.st_bind() == elf::STB_GLOBAL {
            bind(index, symbol, elf::STB_WEAK);
        }
    }
    let table = header.e_shoff(LE) as usize;
    for section in sections.iter() {
        let Some((calls, _)) = section.rela(LE, part)? else { continue };
        for call in calls.iter().filter(|one| CALLS.contains(&one.r_type(LE, false))) {
            let symbol = SymbolIndex(call.r_sym(LE, false) as usize);
            let called = symbols.symbol(symbol)?;
            if called.st_shndx(LE) == elf::SHN_UNDEF && called.st_bind() == elf::STB_WEAK {
                bind(symbol.0, called, elf::STB_GLOBAL);
            }
        }
    }
    for (index, section) in sections.iter().enumerate() {
        let flags = section.sh_flags(LE);
        let is_code = flags & u64::from(elf::SHF_EXECINSTR) != 0;
        let name = String::from_utf8_lossy(sections.section_name(LE, section)?).into_owned();
        if is_code && flags & RETAIN != 0 && !programs::is_started(&name, with_optional) {
            let at = table + index * usize::from(header.e_shentsize(LE)) + FLAGS_AT;
            let bytes = (flags & !RETAIN).to_le_bytes();
            changes.extend(bytes.into_iter().enumerate().map(|(i, byte)| (at + i, byte)));
        }
    }
    Ok(changes)
}
