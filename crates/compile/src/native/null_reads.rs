// SPDX-License-Identifier: GPL-2.0-only
//! The lines that may read through a null pointer of the kernel's structures: a kernel reads zeros
//! there (`BPF_PROBE_MEM`), and its verifier asks for no check.
//!
//! They are found in the BPF object. A load of a member of a kernel's structure has a relocation,
//! because its place differs from kernel to kernel. Where the pointer of such a load was loaded by
//! another one, it was never checked by the verifier. Pointers that a helper, a kfunc or an
//! argument gives are not among them: the verifier asks for a check of those that may be null.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSection};

/// Bytes of an instruction.
const STEP: usize = 8;
/// The relocation of a member's offset, `BPF_CORE_FIELD_BYTE_OFFSET`.
const MEMBER: usize = 0;
/// The register of the stack's frame.
const FRAME: u8 = 10;

/// A line, and the last component of its file.
pub type Line = (String, u32);

/// The lines of a BPF object.
pub fn null_reads(twin: &[u8]) -> Vec<Line> {
    lines(twin).unwrap_or_default().into_iter().collect()
}

fn lines(twin: &[u8]) -> Option<BTreeSet<Line>> {
    let file = object::File::parse(twin).ok()?;
    let types = file.section_by_name(".BTF")?.data().ok()?;
    let more = file.section_by_name(".BTF.ext")?.data().ok()?;
    let texts = types.get(number(types, 4)? + number(types, 16)?..)?;
    let mut found = BTreeSet::new();
    let members = records(more, texts, 24)?;
    let mut places = records(more, texts, 16)?;
    for (section, of_section) in members {
        let code = file.section_by_name(&section)?.data().ok()?;
        let is_member = |record: &&&[u8]| number(record, 12) == Some(MEMBER);
        let of_members = of_section.iter().filter(is_member);
        let loads = of_members.map(|record| Some(number(record, 0)? / STEP));
        let loads: BTreeSet<usize> = loads.collect::<Option<_>>()?;
        let lines = places.remove(&section).unwrap_or_default();
        let unchecked = loads.iter().filter(|&&load| is_unchecked(code, &loads, load));
        found.extend(unchecked.filter_map(|load| line_of(&lines, texts, load * STEP)));
    }
    Some(found)
}

/// The records of one kind in `.BTF.ext`, by the section of code. The header has the place and
/// the length of each kind.
fn records<'a>(
    more: &'a [u8],
    texts: &[u8],
    header_at: usize,
) -> Option<BTreeMap<String, Vec<&'a [u8]>>> {
    let begin = number(more, 4)? + number(more, header_at)?;
    let mut rest = more.get(begin..)?.get(..number(more, header_at + 4)?)?;
    let mut found: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    let size = number(rest, 0).filter(|&size| size >= 16)?;
    rest = &rest[4..];
    while !rest.is_empty() {
        let (name, count) = (text(texts, number(rest, 0)?)?, number(rest, 4)?);
        let bytes = rest.get(8..)?.get(..count.checked_mul(size)?)?;
        found.entry(name).or_default().extend(bytes.chunks_exact(size));
        rest = &rest[8 + bytes.len()..];
    }
    Some(found)
}

/// Whether the pointer of this load was read from another structure of the kernel, on the straight
/// way there. Where that is not certain, it was not.
fn is_unchecked(code: &[u8], members: &BTreeSet<usize>, load: usize) -> bool {
    let Some(first) = instruction(code, load).filter(Instruction::is_load) else { return false };
    let (mut register, mut slot) = (first.source, None);
    for index in (0..load).rev() {
        let Some(one) = instruction(code, index) else { return false };
        if one.ends_the_way() || (one.is_call() && slot.is_none() && register < 6) {
            return false;
        }
        match slot {
            Some(at) if one.is_spill() && one.offset == at => (register, slot) = (one.source, None),
            Some(_) => {}
            None if !one.writes(register) => {}
            None if one.is_move() => register = one.source,
            None if !one.is_load() => return false,
            None if one.source == FRAME => slot = Some(one.offset),
            None => return members.contains(&index),
        }
    }
    false
}

/// An instruction of BPF, as far as it matters.
struct Instruction {
    operation: u8,
    target: u8,
    source: u8,
    offset: i16,
}

fn instruction(code: &[u8], index: usize) -> Option<Instruction> {
    let bytes = code.get(index * STEP..)?.get(..STEP)?;
    let offset = i16::from_le_bytes([bytes[2], bytes[3]]);
    Some(Instruction { operation: bytes[0], target: bytes[1] & 15, source: bytes[1] >> 4, offset })
}

impl Instruction {
    /// The class of an instruction: its lowest three bits.
    fn class(&self) -> u8 {
        self.operation & 7
    }

    /// `LDX`.
    fn is_load(&self) -> bool {
        self.class() == 1
    }

    /// A register's value is kept in the frame.
    fn is_spill(&self) -> bool {
        self.operation == 0x7b && self.target == FRAME
    }

    /// `r = r` of 64 bits, and no cast of an address.
    fn is_move(&self) -> bool {
        self.operation == 0xbf && self.offset == 0
    }

    fn is_call(&self) -> bool {
        self.operation == 0x85
    }

    /// `exit` or a jump without a condition: what stands before it does not lead here.
    fn ends_the_way(&self) -> bool {
        matches!(self.operation, 0x95 | 0x05 | 0x06)
    }

    /// Loads, arithmetic, and what an atomic operation brings back.
    fn writes(&self, register: u8) -> bool {
        let is_value = matches!(self.class(), 0 | 1 | 4 | 7) && self.operation != 0;
        let is_atomic = self.class() == 3 && self.operation >> 5 == 6;
        (is_value && self.target == register) || (is_atomic && self.source == register)
    }
}

/// The line of an instruction: that of the last record up to it.
fn line_of(lines: &[&[u8]], texts: &[u8], at: usize) -> Option<Line> {
    let before = lines.iter().filter(|record| number(record, 0).is_some_and(|begin| begin <= at));
    let last = before.max_by_key(|record| number(record, 0))?;
    let path = text(texts, number(last, 4)?)?;
    let file = path.rsplit('/').next()?.to_owned();
    Some((file, u32::try_from(number(last, 12)? >> 10).ok()?))
}

/// Four bytes of the object, which is of a little-endian target.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*four) as usize)
}

fn text(texts: &[u8], at: usize) -> Option<String> {
    let rest = texts.get(at..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}
