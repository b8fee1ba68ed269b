// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's source line of an address.

use std::borrow::Cow;

use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    pub file: String,
    pub line: u32,
}

/// The suffix of a scheduler's own source, in contrast to headers.
const OWN: &str = ".bpf.c";

/// The source line of an address in a native object: where functions of headers are inlined, the
/// scheduler's line that calls them. `None` for what is not the scheduler's.
pub fn find_line(native: &[u8], address: u64) -> Option<SourceLine> {
    let file = object::File::parse(native).ok()?;
    let load = |id: gimli::SectionId| -> Result<Cow<[u8]>, gimli::Error> {
        let section = file.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, RunTimeEndian::default()));
    let context = addr2line::Context::from_dwarf(dwarf).ok()?;
    let mut frames = context.find_frames(address).skip_all_loads().ok()?;
    let mut innermost = None;
    while let Some(frame) = frames.next().ok()? {
        let Some((Some(file), Some(line))) = frame.location.map(|at| (at.file, at.line)) else {
            continue;
        };
        let found = SourceLine { file: file.trim_start_matches("./").to_owned(), line };
        if found.file.ends_with(OWN) {
            return Some(found);
        }
        innermost.get_or_insert(found);
    }
    innermost
}
