// SPDX-License-Identifier: GPL-2.0-only
//! Knobs: the `const volatile` numbers and Booleans of a scheduler's file that an experiment can
//! set.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KnobValue {
    Bool(bool),
    /// For integer knobs of any width and sign.
    Int(i64),
}

/// As `--scheduler` takes it.
impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobValue::Bool(value) => value.fmt(f),
            KnobValue::Int(value) => value.fmt(f),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    Unsigned,
    Signed,
    Bool,
}

/// A knob as a compiled scheduler has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    pub name: String,
    pub kind: KnobKind,
    /// The name of its type in the source: `u64`, `bool`, …
    pub type_name: String,
    /// The initial value as it is in memory, little-endian; as long as the type.
    pub default: Vec<u8>,
}

impl Knob {
    /// The bytes of a value.
    ///
    /// # Errors
    /// The value does not fit; the message says which do.
    pub fn encode(&self, value: KnobValue) -> Result<Vec<u8>, String> {
        let Knob { name, type_name, .. } = self;
        let bits = 8 * self.default.len() as u32;
        let (lowest, highest) = match self.kind {
            KnobKind::Signed => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            KnobKind::Unsigned => (0, (1_i128 << bits) - 1),
            KnobKind::Bool => (0, 1),
        };
        let number = match (value, self.kind) {
            (KnobValue::Bool(_), KnobKind::Unsigned | KnobKind::Signed) => {
                return Err(format!("{name} = {value}: {name} is a number ({type_name})"));
            }
            (KnobValue::Bool(value), KnobKind::Bool) => i128::from(value),
            (KnobValue::Int(value), _) => i128::from(value),
        };
        if number < lowest || number > highest {
            return Err(format!(
                "{name} = {number} is out of range: {type_name} holds {lowest} … {highest}"
            ));
        }
        Ok(number.to_le_bytes()[..self.default.len()].to_vec())
    }

    /// The default as a person writes it.
    pub fn default_words(&self) -> String {
        let mut wide = [0; 8];
        let length = self.default.len().min(8);
        wide[..length].copy_from_slice(&self.default[..length]);
        let unsigned = u64::from_le_bytes(wide);
        let unused_bits = 64 - 8 * length.max(1) as u32;
        match self.kind {
            KnobKind::Bool => (unsigned != 0).to_string(),
            KnobKind::Signed => (((unsigned << unused_bits) as i64) >> unused_bits).to_string(),
            KnobKind::Unsigned => unsigned.to_string(),
        }
    }
}

/// As messages list it: `slice_us (u64, 20000)`.
impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.type_name, self.default_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(kind: KnobKind, default: &[u8]) -> Knob {
        let default = default.to_vec();
        Knob { name: "slice_us".into(), kind, type_name: "T".into(), default }
    }

    #[test]
    fn every_width_and_sign_is_encoded() {
        let encode = |kind, size, value| knob(kind, &vec![0; size]).encode(KnobValue::Int(value));
        assert_eq!(encode(KnobKind::Unsigned, 1, 255), Ok(vec![255]));
        assert_eq!(encode(KnobKind::Signed, 2, -2), Ok(vec![0xfe, 0xff]));
        assert_eq!(encode(KnobKind::Unsigned, 8, i64::MAX).map(|bytes| bytes.len()), Ok(8));
        assert!(encode(KnobKind::Unsigned, 4, -1).unwrap_err().contains("0 … 4294967295"));
        assert!(encode(KnobKind::Signed, 1, 128).unwrap_err().contains("-128 … 127"));
    }

    #[test]
    fn truth_values_are_not_numbers() {
        let number = knob(KnobKind::Unsigned, &[0; 4]);
        assert!(number.encode(KnobValue::Bool(true)).unwrap_err().contains("is a number"));
        let flag = knob(KnobKind::Bool, &[0]);
        assert_eq!(flag.encode(KnobValue::Bool(true)), Ok(vec![1]));
        assert_eq!(flag.encode(KnobValue::Int(0)), Ok(vec![0]));
        assert!(flag.encode(KnobValue::Int(2)).is_err());
    }

    #[test]
    fn defaults_keep_their_sign() {
        let said = |kind, default: &[u8]| knob(kind, default).to_string();
        assert_eq!(said(KnobKind::Signed, &[0xff, 0xff]), "slice_us (T, -1)");
        assert_eq!(said(KnobKind::Unsigned, &[0xff, 0xff]), "slice_us (T, 65535)");
        assert_eq!(said(KnobKind::Bool, &[1]), "slice_us (T, true)");
    }
}
