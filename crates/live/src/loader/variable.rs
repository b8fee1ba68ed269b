// SPDX-License-Identifier: GPL-2.0-only
//! The global variables of a BPF object, as its BTF describes them, and the knobs among them.

use libbpf_rs::OpenObject;
use libbpf_rs::btf::types::{Array, DataSec, Enum, Enum64, Int, IntEncoding, Struct, Var};
use libbpf_rs::btf::{Btf, BtfKind, BtfType, HasSize};
use model::KnobValue;

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

/// A knob: a `const volatile` number or Boolean of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    pub name: String,
    /// `u64`, `bool`, …
    pub type_name: String,
    pub default: String,
}

/// Whether a variable can be set by an experiment. The headers' own are not knobs.
pub fn is_knob(variable: &Variable) -> bool {
    let own = variable.name.starts_with("__")
        || variable.name.starts_with("scx_lib_")
        || variable.name.ends_with("_dump_len");
    let scalar = matches!(variable.kind, VariableKind::Integer { .. } | VariableKind::Bool);
    variable.section == ".rodata" && scalar && !own
}

/// The knob with its default, read from the section's initial bytes.
pub fn knob(variable: &Variable, section: &[u8]) -> Knob {
    let bytes = section.get(variable.offset..variable.offset + variable.size).unwrap_or_default();
    Knob {
        name: variable.name.clone(),
        type_name: variable.type_name.clone(),
        default: default(&variable.kind, bytes),
    }
}

fn default(kind: &VariableKind, bytes: &[u8]) -> String {
    let mut wide = [0; 8];
    wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let unsigned = u64::from_le_bytes(wide);
    let unused_bits = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    match kind {
        VariableKind::Bool => (unsigned != 0).to_string(),
        VariableKind::Integer { signed: true } => {
            (((unsigned << unused_bits) as i64) >> unused_bits).to_string()
        }
        _ => unsigned.to_string(),
    }
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

/// The bytes of a value for a variable.
///
/// # Errors
/// If the value does not fit; the error names those that do.
pub fn encode(variable: &Variable, value: KnobValue) -> Result<Vec<u8>, String> {
    let bits = 8 * variable.size as u32;
    let (lowest, highest) = match variable.kind {
        VariableKind::Integer { signed: true } => {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        }
        VariableKind::Integer { signed: false } => (0, (1_i128 << bits) - 1),
        _ => (0, 1),
    };
    let number = match (value, &variable.kind) {
        (KnobValue::Bool(value), VariableKind::Bool) => i128::from(value),
        (KnobValue::Bool(_), _) => {
            return Err(format!("{} is a number ({})", variable.name, variable.type_name));
        }
        (KnobValue::Int(value), _) => i128::from(value),
    };
    if number < lowest || number > highest {
        let kind = &variable.type_name;
        return Err(format!(
            "{} = {number} is out of range: {kind} holds {lowest} … {highest}",
            variable.name
        ));
    }
    Ok(number.to_le_bytes()[..variable.size].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(kind: VariableKind, size: usize) -> Variable {
        Variable {
            section: ".rodata".into(),
            name: "slice_us".into(),
            offset: 0,
            size,
            kind,
            type_name: "T".into(),
        }
    }

    #[test]
    fn every_width_and_sign_is_encoded() {
        let encode = |signed, size, value| {
            encode(&variable(VariableKind::Integer { signed }, size), KnobValue::Int(value))
        };
        assert_eq!(encode(false, 1, 255), Ok(vec![255]));
        assert_eq!(encode(true, 2, -2), Ok(vec![0xfe, 0xff]));
        assert_eq!(encode(false, 8, i64::MAX).map(|bytes| bytes.len()), Ok(8));
        assert!(encode(false, 4, -1).unwrap_err().contains("0 … 4294967295"));
        assert!(encode(true, 1, 128).unwrap_err().contains("-128 … 127"));
    }

    #[test]
    fn truth_values_are_not_numbers() {
        let number = variable(VariableKind::Integer { signed: false }, 4);
        assert!(encode(&number, KnobValue::Bool(true)).unwrap_err().contains("is a number"));
        let flag = variable(VariableKind::Bool, 1);
        assert_eq!(encode(&flag, KnobValue::Bool(true)), Ok(vec![1]));
        assert_eq!(encode(&flag, KnobValue::Int(0)), Ok(vec![0]));
        assert!(encode(&flag, KnobValue::Int(2)).is_err());
    }

    #[test]
    fn defaults_keep_their_sign() {
        assert_eq!(default(&VariableKind::Integer { signed: true }, &[0xff, 0xff]), "-1");
        assert_eq!(default(&VariableKind::Integer { signed: false }, &[0xff, 0xff]), "65535");
        assert_eq!(default(&VariableKind::Bool, &[1]), "true");
    }

    #[test]
    fn sections_are_told_apart() {
        assert!(is_section("fifo.data", ".data"));
        assert!(is_section(".data.uei_dump", ".data.uei_dump"));
        assert!(!is_section(".data.uei_dump", ".data"));
        assert!(!is_section("fifo.bss", ".data"));
    }
}
