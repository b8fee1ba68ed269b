// SPDX-License-Identifier: GPL-2.0-only
//! The global variables of a BPF object, as its BTF describes them, and the knobs among them.

use libbpf_rs::OpenObject;
use libbpf_rs::btf::types::{Array, DataSec, Enum, Enum64, Int, IntEncoding, Struct, Var};
use libbpf_rs::btf::{Btf, BtfKind, BtfType, HasSize};
use model::{Knob, KnobKind};

/// The type of a variable, as far as the loader needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// A number; also an enumeration.
    Integer {
        signed: bool,
    },
    Bool,
    Structure(String),
    /// Anything else.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The section, which is also the end of its map's name: `.rodata`.
    pub section: String,
    pub name: String,
    /// Its offset in the section, bytes.
    pub offset: usize,
    /// Its length, bytes.
    pub size: usize,
    pub kind: VariableKind,
    /// The name of its type, `u64`.
    pub type_name: String,
}

/// A member of a structure: name, first byte, length in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// Its offset, bytes.
    pub offset: usize,
    /// The offset of the next member, or the structure's end: the end of the bytes to clear.
    pub end: usize,
}

pub fn variables(btf: &Btf) -> Vec<Variable> {
    let mut found = Vec::new();
    for section in btf.type_by_kind::<DataSec>() {
        let name = text(section.name());
        for place in section.iter() {
            let Some(variable) = btf.type_by_id::<Var>(place.ty) else { continue };
            let Some(ty) = variable.next_type() else { continue };
            found.push(Variable {
                section: name.clone(),
                name: text(variable.name()),
                offset: place.offset as usize,
                size: place.size,
                kind: kind(&ty),
                type_name: type_name(&ty),
            });
        }
    }
    found
}

fn kind(ty: &BtfType) -> VariableKind {
    let bare = ty.skip_mods_and_typedefs();
    match bare.kind() {
        BtfKind::Int => match Int::try_from(bare).map(|int| int.encoding) {
            Ok(IntEncoding::Bool) => VariableKind::Bool,
            Ok(IntEncoding::Signed) => VariableKind::Integer { signed: true },
            _ => VariableKind::Integer { signed: false },
        },
        BtfKind::Enum | BtfKind::Enum64 => VariableKind::Integer { signed: is_signed(bare) },
        BtfKind::Struct => VariableKind::Structure(text(bare.name())),
        _ => VariableKind::Other,
    }
}

fn is_signed(enumeration: BtfType) -> bool {
    let wide = || Enum64::try_from(enumeration).is_ok_and(|found| found.is_signed());
    Enum::try_from(enumeration).map_or_else(|_| wide(), |found| found.is_signed())
}

/// The name as the source has it: the first named type below `const` and `volatile`.
fn type_name(ty: &BtfType) -> String {
    let mut ty = *ty;
    while ty.is_mod() {
        match ty.next_type() {
            Some(next) => ty = next,
            None => break,
        }
    }
    if Array::try_from(ty).is_ok() { "array".into() } else { text(ty.name()) }
}

fn text(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The members of a structure; `None` when there is no such structure.
pub fn members(btf: &Btf, structure: &str) -> Option<Vec<Member>> {
    let found =
        btf.type_by_kind::<Struct>().find(|s| s.name().is_some_and(|name| name == structure))?;
    let size = found.size();
    let starts: Vec<(String, usize)> =
        found.iter().map(|member| (text(member.name), bit_offset(member.attr) / 8)).collect();
    let end = |index: usize| starts.get(index + 1).map_or(size, |(_, next)| *next);
    Some(
        starts
            .iter()
            .enumerate()
            .map(|(index, (name, offset))| Member {
                name: name.clone(),
                offset: *offset,
                end: end(index),
            })
            .collect(),
    )
}

fn bit_offset(attribute: libbpf_rs::btf::types::MemberAttr) -> usize {
    use libbpf_rs::btf::types::MemberAttr::{BitField, Normal};
    match attribute {
        Normal { offset } | BitField { offset, .. } => offset as usize,
    }
}

/// The knob that a variable is, with its default from the section's initial bytes; `None` if no
/// experiment can set it. The headers' own are not knobs.
pub fn knob(variable: &Variable, section: &[u8]) -> Option<Knob> {
    let own = variable.name.starts_with("__")
        || variable.name.starts_with("scx_lib_")
        || variable.name.ends_with("_dump_len");
    let kind = match variable.kind {
        VariableKind::Integer { signed: true } => KnobKind::Signed,
        VariableKind::Integer { signed: false } => KnobKind::Unsigned,
        VariableKind::Bool => KnobKind::Bool,
        VariableKind::Structure(_) | VariableKind::Other => return None,
    };
    let bytes = section.get(variable.offset..variable.offset + variable.size)?;
    (variable.section == ".rodata" && !own).then(|| Knob {
        name: variable.name.clone(),
        kind,
        type_name: variable.type_name.clone(),
        default: bytes.to_vec(),
    })
}

/// libbpf puts the object's name before the common sections' names.
pub fn is_section(map: &str, section: &str) -> bool {
    map == section || (map.ends_with(section) && section.matches('.').count() == 1)
}

/// Overwrites a variable's initial value in an object that is not loaded yet.
pub fn write(object: &mut OpenObject, variable: &Variable, bytes: &[u8]) {
    let place = variable.offset..variable.offset + bytes.len();
    let mut maps = object.maps_mut();
    let map = maps.find(|map| is_section(&map.name().to_string_lossy(), &variable.section));
    if let Some(mut map) = map
        && let Some(place) = map.initial_value_mut().and_then(|value| value.get_mut(place))
    {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_apart() {
        assert!(is_section("fifo.data", ".data"));
        assert!(is_section(".data.uei_dump", ".data.uei_dump"));
        assert!(!is_section(".data.uei_dump", ".data"));
        assert!(!is_section("fifo.bss", ".data"));
    }
}
