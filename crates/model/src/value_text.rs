// SPDX-License-Identifier: GPL-2.0-only
//! The bytes of values of C types, as people read them.

use crate::value_numbers::integer;
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
                let Ok(mut numbers) =
                    words.map(|one| one.parse()).collect::<Result<Vec<i128>, _>>()
                else {
                    return self.words(bytes);
                };
                numbers.sort_unstable();
                let nonzero = numbers.iter().filter(|number| **number != 0).count();
                let (least, median) = (numbers[0], numbers[numbers.len() / 2]);
                let greatest = numbers[numbers.len() - 1];
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
}
