// SPDX-License-Identifier: GPL-2.0-only
//! Values of C types: their bytes as people read them, and the numbers inside.

use crate::inside::spread;
use crate::value_type::{ValueKind, ValueType};

/// A longer array of numbers is shown by its least, median and greatest.
const WHOLE: usize = 16;

impl ValueType {
    /// Bytes as a person writes them: a value of a simple type, or the number of values.
    pub fn words(&self, bytes: &[u8]) -> String {
        match &self.kind {
            ValueKind::Bool => (integer(bytes, false) != 0).to_string(),
            ValueKind::Signed | ValueKind::Named { is_signed: true, .. } => {
                integer(bytes, true).to_string()
            }
            ValueKind::Unsigned | ValueKind::Named { .. } => integer(bytes, false).to_string(),
            ValueKind::Text => {
                let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                format!("\"{}\"", String::from_utf8_lossy(&bytes[..end]))
            }
            ValueKind::List { length, .. } => format!("{length} values"),
            ValueKind::Members(members) => format!("{} members", members.len()),
            ValueKind::Opaque => "…".into(),
        }
    }

    /// Bytes with all that they hold: every element and member, of a long array of numbers the
    /// least, the median and the greatest.
    pub fn whole(&self, bytes: &[u8]) -> String {
        match &self.kind {
            ValueKind::List { of, length } if of.size > 0 => {
                let elements: Vec<&[u8]> = bytes.chunks_exact(of.size).take(*length).collect();
                if *length <= WHOLE {
                    let words = elements.into_iter().map(|element| of.whole(element));
                    return format!("[{}]", words.collect::<Vec<_>>().join(", "));
                }
                let words = elements.into_iter().map(|element| of.words(element));
                let numbers = words.map(|one| one.parse().ok()).collect::<Option<Vec<i128>>>();
                let nonzero = numbers.iter().flatten().filter(|number| **number != 0).count();
                let Some([least, median, greatest]) = numbers.and_then(spread) else {
                    return self.words(bytes);
                };
                format!("{length} values: {least} … {median} … {greatest}, not 0: {nonzero}")
            }
            ValueKind::Members(members) => {
                let words = members.iter().filter_map(|member| {
                    let own = bytes.get(member.offset..member.offset + member.ty.size)?;
                    Some(format!("{} {}", member.name, member.ty.whole(own)))
                });
                format!("{{{}}}", words.collect::<Vec<_>>().join(", "))
            }
            _ => self.words(bytes),
        }
    }
}

/// A number of a type, or the same number of each element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// How to get there from a variable's name: `.load`, `[].load`; empty for a plain number.
    pub path: String,
    size: usize,
    is_signed: bool,
    offsets: Vec<usize>,
}

impl Leaf {
    /// Whether it is one number, and no array's.
    pub fn is_plain(&self) -> bool {
        self.offsets.len() == 1
    }

    pub fn numbers(&self, bytes: &[u8]) -> Vec<i128> {
        let places = self.offsets.iter();
        let own = places.filter_map(|&offset| bytes.get(offset..offset + self.size));
        own.map(|own| integer(own, self.is_signed)).collect()
    }
}

/// A number of at most 8 bytes.
pub(crate) fn integer(bytes: &[u8], is_signed: bool) -> i128 {
    let mut wide = [0; 8];
    let length = bytes.len().min(8);
    wide[..length].copy_from_slice(&bytes[..length]);
    let unsigned = u64::from_le_bytes(wide);
    let unused_bits = 64 - 8 * length.max(1) as u32;
    if is_signed {
        (((unsigned << unused_bits) as i64) >> unused_bits).into()
    } else {
        unsigned.into()
    }
}

impl ValueType {
    /// Its numbers in the order of the source. What the kernel manages is none of them: timers,
    /// locks, lists and trees.
    pub fn leaves(&self) -> Vec<Leaf> {
        let leaf = |is_signed| {
            vec![Leaf { path: String::new(), size: self.size, is_signed, offsets: vec![0] }]
        };
        match &self.kind {
            _ if self.name.starts_with("struct bpf_") => Vec::new(),
            ValueKind::Signed | ValueKind::Named { is_signed: true, .. } => leaf(true),
            ValueKind::Bool | ValueKind::Unsigned | ValueKind::Named { .. } => leaf(false),
            ValueKind::List { of, length } => {
                let places = || (0..*length).map(|index| index * of.size);
                let every = |leaf: Leaf| Leaf {
                    path: format!("[]{}", leaf.path),
                    offsets: places()
                        .flat_map(|place| leaf.offsets.iter().map(move |offset| place + offset))
                        .collect(),
                    ..leaf
                };
                of.leaves().into_iter().map(every).collect()
            }
            ValueKind::Members(members) => {
                let inside = members.iter().flat_map(|member| {
                    let name = &member.name;
                    let path = if name.is_empty() { String::new() } else { format!(".{name}") };
                    member.ty.leaves().into_iter().map(move |leaf| Leaf {
                        path: format!("{path}{}", leaf.path),
                        offsets: leaf.offsets.iter().map(|at| member.offset + at).collect(),
                        ..leaf
                    })
                });
                inside.collect()
            }
            ValueKind::Text | ValueKind::Opaque => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_type::Member;

    fn number(size: usize, kind: ValueKind) -> ValueType {
        ValueType { name: "number".into(), size, kind }
    }

    fn list(of: ValueType, length: usize) -> ValueType {
        let size = of.size * length;
        ValueType { name: "list".into(), size, kind: ValueKind::List { of: Box::new(of), length } }
    }

    #[test]
    fn values_are_shown_with_all_that_they_hold() {
        let signed = number(2, ValueKind::Signed);
        assert_eq!(list(signed.clone(), 3).whole(&[1, 0, 0xff, 0xff, 0, 0]), "[1, -1, 0]");
        let mut bytes = [0; 40];
        bytes[..6].copy_from_slice(&[5, 0, 0xfe, 0xff, 7, 0]);
        let long = list(signed, 20).whole(&bytes);
        assert_eq!(long, "20 values: -2 … 0 … 7, not 0: 3");
        let member = |name: &str, offset, ty| Member { name: name.into(), offset, ty };
        let pair = vec![
            member("is_on", 0, number(1, ValueKind::Bool)),
            member("map", 8, number(8, ValueKind::Opaque)),
        ];
        let pair = number(16, ValueKind::Members(pair));
        assert_eq!(pair.whole(&[1; 16]), "{is_on true, map …}");
        let pairs = list(pair, 17);
        assert_eq!(pairs.whole(&[0; 272]), "17 values");
        assert_eq!(number(0, ValueKind::Opaque).whole(&[]), "…");
    }

    #[test]
    fn each_number_is_found_by_its_path() {
        let member = |name: &str, offset, ty| Member { name: name.into(), offset, ty };
        let lock = ValueType {
            name: "struct bpf_spin_lock".into(),
            ..number(4, ValueKind::Members(vec![member("val", 0, number(4, ValueKind::Unsigned))]))
        };
        let pair = number(
            12,
            ValueKind::Members(vec![
                member("lock", 0, lock),
                member(
                    "",
                    4,
                    number(
                        4,
                        ValueKind::Members(vec![
                            member("load", 0, number(2, ValueKind::Signed)),
                            member("comm", 2, number(2, ValueKind::Text)),
                        ]),
                    ),
                ),
                member("is_on", 8, number(1, ValueKind::Bool)),
            ]),
        );
        let pairs = number(24, ValueKind::List { of: Box::new(pair), length: 2 });
        let mut bytes = [0; 24];
        (bytes[4], bytes[5], bytes[16], bytes[20]) = (0xfe, 0xff, 7, 1);
        let found: Vec<(String, Vec<i128>)> =
            pairs.leaves().iter().map(|leaf| (leaf.path.clone(), leaf.numbers(&bytes))).collect();
        assert_eq!(found, [("[].load".into(), vec![-2, 7]), ("[].is_on".into(), vec![0, 1])]);
        let plain = number(8, ValueKind::Unsigned).leaves();
        assert_eq!(plain[0].numbers(&[0xff; 8]), [i128::from(u64::MAX)]);
    }
}
