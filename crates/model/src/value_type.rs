// SPDX-License-Identifier: GPL-2.0-only
//! The C types of what user space sets, and the bytes of values of these types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{KnobValue, Words};

/// A C type, as far as a value can be written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueType {
    /// Its name in the source: `u64`, `struct cpu_arg`, …
    pub name: String,
    pub size: usize,
    pub kind: ValueKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    Unsigned,
    Signed,
    Bool,
    /// A number whose values have names: an enumeration, or flags.
    Named {
        is_signed: bool,
        names: BTreeMap<String, i64>,
    },
    /// An array of `char`: text that ends with a zero byte.
    Text,
    List {
        of: Box<ValueType>,
        length: usize,
    },
    /// A structure or a union.
    Members(Vec<Member>),
    /// Nothing that a file could write: a pointer, a bit field, a floating-point number.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    /// Bytes from the structure's beginning.
    pub offset: usize,
    pub ty: ValueType,
}

impl ValueType {
    /// Writes a value into the bytes of a variable; `place` names it in messages. What the value
    /// leaves out keeps its bytes: the rest of a list, other members. A member of `words` or of
    /// `cpus` stands for a number.
    ///
    /// # Errors
    /// The value has another type or does not fit; the message says what does.
    pub fn write(
        &self,
        place: &str,
        value: &KnobValue,
        words: &Words<'_>,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        if let Some(word) = value.word().filter(|_| self.kind != ValueKind::Text) {
            let filled =
                words.value(word, self).map_err(|why| format!("{place} = {value}: {why}"))?;
            return self.write(place, &filled, words, bytes);
        }
        match (&self.kind, value) {
            (ValueKind::Opaque, _) => Err(format!(
                "{place} cannot be set: a file cannot write a value of its type ({})",
                self.name
            )),
            (ValueKind::Text, KnobValue::Text(text)) => self.write_text(place, text, bytes),
            (ValueKind::List { of, length }, KnobValue::List(values)) => {
                if values.len() > *length {
                    let (has, noun) = (values.len(), self.name.as_str());
                    return Err(format!(
                        "{place} has room for {length} values ({noun}), and these are {has}"
                    ));
                }
                let parts = bytes.chunks_exact_mut(of.size.max(1));
                parts.zip(values).enumerate().try_for_each(|(index, (part, value))| {
                    of.write(&format!("{place}[{index}]"), value, words, part)
                })
            }
            (ValueKind::Members(members), KnobValue::Table(values)) => {
                values.iter().try_for_each(|(name, value)| {
                    let place = format!("{place}.{name}");
                    let found = members.iter().find(|member| member.name == *name);
                    let member = found.ok_or_else(|| self.no_member(&place, members))?;
                    let end = member.offset + member.ty.size;
                    let part = bytes.get_mut(member.offset..end).unwrap_or_default();
                    member.ty.write(&place, value, words, part)
                })
            }
            _ => self.write_number(place, value, words, bytes),
        }
    }

    fn no_member(&self, place: &str, members: &[Member]) -> String {
        let known: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        format!("there is no {place}: {} has {}", self.name, known.join(", "))
    }

    fn write_text(&self, place: &str, text: &str, bytes: &mut [u8]) -> Result<(), String> {
        if text.len() >= self.size || text.contains('\0') {
            let most = self.size.saturating_sub(1);
            return Err(format!("{place} holds text of at most {most} bytes, none of them zero"));
        }
        bytes.fill(0);
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Ok(())
    }

    fn write_number(
        &self,
        place: &str,
        value: &KnobValue,
        words: &Words<'_>,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        let number = self.number(value, words).map_err(|why| match why {
            Some(why) => format!("{place} = {}: {why}", shown(value)),
            None => format!("{place} = {}: {place} is {}", shown(value), self.article()),
        })?;
        let (lowest, highest) = self.range();
        if number < lowest || number > highest {
            let name = &self.name;
            return Err(format!(
                "{place} = {number} is out of range: {name} holds {lowest} … {highest}"
            ));
        }
        let length = bytes.len();
        bytes.copy_from_slice(&number.to_le_bytes()[..length]);
        Ok(())
    }

    /// The number that a value is for this type; `Err(None)` if it has another type.
    fn number(&self, value: &KnobValue, words: &Words) -> Result<i128, Option<String>> {
        match (value, &self.kind) {
            (KnobValue::Bool(value), ValueKind::Bool) => Ok(i128::from(*value)),
            (
                KnobValue::Int(value),
                ValueKind::Unsigned | ValueKind::Signed | ValueKind::Bool | ValueKind::Named { .. },
            ) => Ok(i128::from(*value)),
            (KnobValue::Text(text), ValueKind::Named { names, .. }) => {
                text.split('|').try_fold(0, |sum, part| {
                    let (name, condition) = part.split_once(" if ").unwrap_or((part, ""));
                    let name = name.trim();
                    let number = names.get(name).ok_or_else(|| unknown_name(name, names))?;
                    let holds = words.hold(condition.trim()).map_err(Some)?;
                    Ok(sum | if holds { i128::from(*number) } else { 0 })
                })
            }
            (KnobValue::Text(text), ValueKind::Unsigned | ValueKind::Signed) => {
                written_number(text).ok_or(None)
            }
            _ => Err(None),
        }
    }

    fn range(&self) -> (i128, i128) {
        let bits = 8 * self.size.min(8) as u32;
        match &self.kind {
            ValueKind::Bool => (0, 1),
            ValueKind::Signed | ValueKind::Named { is_signed: true, .. } => {
                (-(1 << (bits.max(1) - 1)), (1 << (bits.max(1) - 1)) - 1)
            }
            _ => (0, (1 << bits) - 1),
        }
    }

    fn article(&self) -> String {
        let name = &self.name;
        match &self.kind {
            ValueKind::Bool => "true or false (bool)".into(),
            ValueKind::Text => format!("text (char[{}])", self.size),
            ValueKind::List { of, length } => {
                format!("a list of up to {length} values, each {}", of.article())
            }
            ValueKind::Members(_) => format!("a table ({name})"),
            ValueKind::Named { .. } => format!("a number or a name of {name}"),
            _ => format!("a number ({name})"),
        }
    }
}

/// A value in a message, where text is told from what it would mean without quotation marks.
fn shown(value: &KnobValue) -> String {
    match value {
        KnobValue::Text(text) => format!("\"{text}\""),
        other => other.to_string(),
    }
}

fn unknown_name(name: &str, names: &BTreeMap<String, i64>) -> Option<String> {
    let known: Vec<&str> = names.keys().map(String::as_str).collect();
    Some(format!("'{name}' is none of {}", known.join(", ")))
}

/// A number as text, for those that TOML lacks: from 2^63 on, and hexadecimal ones.
fn written_number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok().filter(|number| *number > i128::from(i64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuFacts;

    fn ty(name: &str, size: usize, kind: ValueKind) -> ValueType {
        ValueType { name: name.into(), size, kind }
    }

    fn list(of: ValueType, length: usize) -> ValueType {
        ty("array", of.size * length, ValueKind::List { of: Box::new(of), length })
    }

    fn written(ty: &ValueType, value: &str) -> Result<Vec<u8>, String> {
        #[derive(serde::Deserialize)]
        struct File {
            x: KnobValue,
        }
        let file: File = serde_json::from_str(&format!("{{\"x\": {value}}}")).expect("a value");
        let cpus = CpuFacts {
            capacity: vec![1024, 512],
            llc: vec![0, 0],
            node: vec![0, 0],
            core: vec![0, 0],
        };
        let mut bytes = vec![0xee; ty.size];
        let words = Words { cpus, numbers: &[("cpu", 7)], is_example: false };
        ty.write("x", &file.x, &words, &mut bytes)?;
        Ok(bytes)
    }

    fn byte() -> ValueType {
        ty("u8", 1, ValueKind::Unsigned)
    }

    #[test]
    fn lists_and_tables_keep_what_they_leave_out() {
        assert_eq!(written(&list(byte(), 3), "[1, 2]"), Ok(vec![1, 2, 0xee]));
        let long = written(&list(byte(), 3), "[1, 2, 3, 4]").unwrap_err();
        assert_eq!(long, "x has room for 3 values (array), and these are 4");
        let member = |name: &str, offset| Member { name: name.into(), offset, ty: byte() };
        let pair = ty("struct pair", 2, ValueKind::Members(vec![member("a", 0), member("b", 1)]));
        assert_eq!(written(&pair, r#"{"b": 3}"#), Ok(vec![0xee, 3]));
        let unknown = written(&pair, r#"{"c": 3}"#).unwrap_err();
        assert_eq!(unknown, "there is no x.c: struct pair has a, b");
        let deep = written(&list(pair, 2), r#"[{"a": 1}, {"a": 300}]"#).unwrap_err();
        assert_eq!(deep, "x[1].a = 300 is out of range: u8 holds 0 … 255");
    }

    #[test]
    fn words_mean_what_the_type_can_hold() {
        assert_eq!(written(&list(byte(), 3), "\"= cpus\""), Ok(vec![0, 1, 0xee]));
        assert_eq!(written(&byte(), "\"= cpus\""), Ok(vec![2]));
        assert_eq!(written(&byte(), "\"=cpu\""), Ok(vec![7]));
        assert_eq!(written(&byte(), "\"= mask\""), Ok(vec![3]));
        assert_eq!(written(&list(byte(), 3), "\"= mask\""), Ok(vec![3, 0xee, 0xee]));
        let signed = ty("s8", 1, ValueKind::Signed);
        assert_eq!(written(&list(signed, 3), "\"= sibling\""), Ok(vec![1, 0, 0xee]));
        let truth = ty("bool", 1, ValueKind::Bool);
        assert_eq!(written(&truth, "\"= smt\""), Ok(vec![1]));
        assert_eq!(written(&truth, "\"= node\""), Ok(vec![0]));
        assert_eq!(written(&truth, "\"= not node\""), Ok(vec![1]));
        let small = written(&list(byte(), 1), "\"= cpus\"").unwrap_err();
        assert!(small.ends_with("the machine has 2 CPUs, and there is room for 1"), "{small}");
        let unknown = written(&byte(), "\"= cores\"").unwrap_err();
        assert!(unknown.contains("no 'cores'; there are cpu, cpus, "), "{unknown}");
    }

    #[test]
    fn text_and_names() {
        let text = ty("array", 4, ValueKind::Text);
        assert_eq!(written(&text, "\"abc\""), Ok(b"abc\0".to_vec()));
        assert!(written(&text, "\"abcd\"").unwrap_err().contains("at most 3 bytes"));
        let names = [("A".to_owned(), 1), ("B".to_owned(), 4)].into();
        let flags = ty("flags", 1, ValueKind::Named { is_signed: false, names });
        assert_eq!(written(&flags, "\"A | B\""), Ok(vec![5]));
        assert_eq!(written(&flags, "\"C\"").unwrap_err(), "x = \"C\": 'C' is none of A, B");
        assert_eq!(written(&flags, "\"A if node | B if not node\""), Ok(vec![4]));
        assert!(written(&flags, "\"A if cold\"").unwrap_err().contains("no 'cold'"));
        assert_eq!(written(&byte(), "\"0xff\""), Ok(vec![255]));
        assert_eq!(written(&byte(), "\"much\"").unwrap_err(), "x = \"much\": x is a number (u8)");
    }
}
