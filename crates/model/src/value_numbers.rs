// SPDX-License-Identifier: GPL-2.0-only
//! The numbers inside values of C types.

use crate::value_type::{ValueKind, ValueType};

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

    /// All of them in a value.
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
