// SPDX-License-Identifier: GPL-2.0-only
//! Which line of the scheduler an address is.

use std::borrow::Cow;

use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection};

/// A place in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The file, as the compiler was told.
    pub file: String,
    /// The line.
    pub line: u32,
}

/// The source line of an address in a native object; `None` for what is not the scheduler's.
pub fn find_line(native: &[u8], address: u64) -> Option<Line> {
    let file = object::File::parse(native).ok()?;
    let load = |id: gimli::SectionId| -> Result<Cow<[u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, RunTimeEndian::default()));
    let context = addr2line::Context::from_dwarf(dwarf).ok()?;
    let found = context.find_location(address).ok()??;
    let file = found.file?.trim_start_matches("./").to_owned();
    Some(Line { file, line: found.line? })
}
