// SPDX-License-Identifier: GPL-2.0-only
//! Words and formulas that a value can have in place of numbers, and what they are on a machine.

use crate::expression::{Kind, Mistake, Names, evaluate};
use crate::{CpuFacts, KnobValue, ValueKind, ValueType};

/// What the words and formulas of a value stand for: `= capacity`, `= cpus / 2`.
#[derive(Clone, Debug, Default)]
pub struct Words<'a> {
    pub cpus: CpuFacts,
    /// Further words, for the calls of a program: `cpu`, `sibling`.
    pub numbers: &'a [(&'a str, u32)],
    /// Whether the CPUs are an example, on which a formula need not have a fitting value.
    pub is_example: bool,
}

/// Whether a word begins with `not`, and the word.
fn negated(word: &str) -> (bool, &str) {
    word.strip_prefix("not ").map_or((false, word), |word| (true, word.trim()))
}

impl Words<'_> {
    /// For checks before the machine is known.
    pub fn of_any_machine() -> Words<'static> {
        Words { is_example: true, ..Words::default() }
    }

    /// Whether the CPUs differ in a condition's word; true without a condition.
    pub(crate) fn hold(&self, condition: &str) -> Result<bool, String> {
        if condition.is_empty() {
            return Ok(true);
        }
        let (is_not, word) = negated(condition);
        match self.cpus.list(word) {
            Some(_) => Ok(self.cpus.differ(word) != is_not),
            None => Err(self.unknown(word)),
        }
    }

    fn unknown(&self, word: &str) -> String {
        let own = self.numbers.iter().map(|(name, _)| *name);
        let known: Vec<&str> = own.chain(CpuFacts::WORDS.iter().copied()).collect();
        format!("the machine has no '{word}'; there are {}", known.join(", "))
    }

    /// A list by CPU for an array; a number for a number; for a Boolean, whether CPUs differ, or
    /// with `not` whether they do not.
    pub(crate) fn value(&self, word: &str, ty: &ValueType) -> Result<KnobValue, String> {
        if let Some((_, number)) = self.numbers.iter().find(|(name, _)| *name == word) {
            return Ok(KnobValue::Int(i64::from(*number)));
        }
        if word.contains(['+', '-', '*', '/', '%', '(']) {
            return self.formula(word, &ty.kind);
        }
        let number = |n: &u32| KnobValue::Int(i64::from(*n));
        let (is_not, word) = negated(word);
        if is_not && ty.kind != ValueKind::Bool {
            return Err("only a Boolean can be what the machine is not".into());
        }
        let list = self.cpus.list(word).ok_or_else(|| self.unknown(word))?;
        match &ty.kind {
            ValueKind::List { of, .. } if word == "mask" => Ok(self.mask_in_parts(of)),
            ValueKind::List { length, .. } if list.len() > *length => {
                Err(format!("the machine has {} CPUs, and there is room for {length}", list.len()))
            }
            ValueKind::List { .. } if word == "sibling" => {
                let other = |cpu: &Option<u32>| KnobValue::Int(cpu.map_or(-1, i64::from));
                Ok(KnobValue::List(self.cpus.siblings().iter().map(other).collect()))
            }
            ValueKind::List { .. } => Ok(KnobValue::List(list.iter().map(number).collect())),
            ValueKind::Unsigned if word == "mask" => {
                Ok(KnobValue::Text(format!("{:#x}", self.cpus.mask())))
            }
            ValueKind::Bool => Ok(KnobValue::Bool(self.cpus.differ(word) != is_not)),
            _ => Ok(KnobValue::Int(i64::from(self.cpus.count(word)))),
        }
    }

    /// What a formula gives: in an array a number for each CPU, `cpu`; for a Boolean whether it is
    /// not 0.
    fn formula(&self, text: &str, kind: &ValueKind) -> Result<KnobValue, String> {
        let number = |cpu: &[(&str, u32)]| {
            let known = [&[("cpus", self.cpus.cpus())], self.numbers, cpu].concat();
            let known = known.iter().map(|(name, number)| ((*name).into(), i64::from(*number)));
            self.number(text, &known.collect())
        };
        Ok(match kind {
            ValueKind::List { .. } => {
                let each = (0..self.cpus.cpus()).map(|cpu| number(&[("cpu", cpu)]));
                KnobValue::List(each.map(|n| n.map(KnobValue::Int)).collect::<Result<_, _>>()?)
            }
            ValueKind::Bool => KnobValue::Bool(number(&[])? != 0),
            _ => KnobValue::Int(number(&[])?),
        })
    }

    fn number(&self, text: &str, names: &Names) -> Result<i64, String> {
        match evaluate(text, names) {
            Ok(_) | Err(Mistake { kind: Kind::Values, .. }) if self.is_example => Ok(0),
            Ok(number) => Ok(number),
            Err(Mistake { message, kind: Kind::Text, .. }) => Err(message),
            Err(Mistake { message, kind: Kind::Name(_), .. }) => {
                let known: Vec<&str> = names.keys().map(String::as_str).collect();
                Err(format!("{message}; a formula knows {}", known.join(", ")))
            }
            Err(Mistake { message, .. }) => {
                let known = names.iter().map(|(name, value)| format!("{name} = {value}"));
                let known: Vec<String> = known.collect();
                Err(format!("{message}, with {}", known.join(", ")))
            }
        }
    }

    /// A bit for each CPU, in numbers of this type.
    fn mask_in_parts(&self, of: &ValueType) -> KnobValue {
        let (cpus, width) = (self.cpus.cpus(), 8 * of.size.clamp(1, 8) as u32);
        let part = |number: u32| {
            let first = number * width;
            let own = first..(first + width).min(cpus);
            let bits = own.fold(0u64, |bits, cpu| bits | 1 << (cpu - first));
            KnobValue::Text(format!("{bits:#x}"))
        };
        KnobValue::List((0..cpus.div_ceil(width)).map(part).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn filled(word: &str, ty: &ValueType, words: &Words<'_>) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0xee; ty.size];
        ty.write("x", &KnobValue::Text(format!("= {word}")), words, &mut bytes)?;
        Ok(bytes)
    }

    fn of(cpus: u32) -> Words<'static> {
        let cpus = CpuFacts::of(&Machine { cpus, ..Machine::default() });
        Words { cpus, numbers: &[("sibling", 5)], ..Words::default() }
    }

    fn byte() -> ValueType {
        ValueType { name: "u8".into(), size: 1, kind: ValueKind::Unsigned }
    }

    fn list(length: usize) -> ValueType {
        let kind = ValueKind::List { of: byte().into(), length };
        ValueType { name: format!("u8[{length}]"), size: length, kind }
    }

    #[test]
    fn a_formula_gives_a_number_or_one_for_each_cpu() {
        assert_eq!(filled("cpus / 2 + sibling", &byte(), &of(4)), Ok(vec![7]));
        assert_eq!(filled("(cpu + cpus / 2) % cpus", &list(4), &of(4)), Ok(vec![2, 3, 0, 1]));
        assert_eq!(filled("cpu / (cpus / 2)", &list(5), &of(4)), Ok(vec![0, 0, 1, 1, 0xee]));
        let truth = ValueType { name: "bool".into(), size: 1, kind: ValueKind::Bool };
        assert_eq!(filled("cpus % 3", &truth, &of(8)), Ok(vec![1]));
        assert_eq!(filled("cpus % 4", &truth, &of(8)), Ok(vec![0]));
    }

    #[test]
    fn a_formula_that_cannot_be_met_is_told_with_its_numbers() {
        let told = |word, ty: &ValueType| filled(word, ty, &of(2)).unwrap_err();
        assert_eq!(
            told("8 / (cpus - 2)", &byte()),
            "x = =8 / (cpus - 2): division by zero, with cpus = 2, sibling = 5"
        );
        assert_eq!(
            told("cpu + 1", &byte()),
            "x = =cpu + 1: unknown parameter 'cpu'; a formula knows cpus, sibling"
        );
        assert_eq!(told("cpus * 200", &byte()), "x = 400 is out of range: u8 holds 0 … 255");
        assert_eq!(told("cpu + 1", &list(1)), "x has room for 1 values (u8[1]), and these are 2");
    }

    #[test]
    fn before_the_machine_is_known_only_the_text_is_checked() {
        let any = Words::of_any_machine();
        assert_eq!(filled("8 / (cpus - 1)", &byte(), &any), Ok(vec![0]));
        assert_eq!(filled("0 - cpus", &byte(), &any), Ok(vec![0]));
        assert!(filled("8 / (cores - 1)", &byte(), &any).unwrap_err().contains("'cores'"));
        assert!(filled("8 / (cpus", &byte(), &any).unwrap_err().contains("never closed"));
    }
}
