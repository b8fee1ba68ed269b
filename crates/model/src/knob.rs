// SPDX-License-Identifier: GPL-2.0-only
//! Knobs: what a scheduler's user space can set before it is loaded.
//!
//! A knob is a global variable (`slice_us`), a map's number of entries (`maps.tasks`), whether a
//! map of maps is filled (`inner_maps.queues`), a member of the ops table (`ops.flags`), whether a
//! program is loaded (`programs.on_exec`), the argument of a program that is called at the start
//! (`start.enable_cpu`), or a value of a map that is written then (`value.cpu_contexts`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Words;
use crate::usual::is_default;
use crate::value_type::{ValueKind, ValueType};

/// Values of knobs, by name.
pub type Knobs = BTreeMap<String, KnobValue>;

/// What stands before the names of knobs that are no variables.
pub const MAPS: &str = "maps.";
pub const INNER_MAPS: &str = "inner_maps.";
pub const OPS: &str = "ops.";
pub const PROGRAMS: &str = "programs.";
pub const START: &str = "start.";
pub const VALUE: &str = "value.";

/// The name under which values hold the calls at the start: a list of tables, see [`Start`].
pub const CALLS: &str = "start";
/// The same for the machines that are refused, see [`crate::refusal`].
pub const REFUSE: &str = "refuse";

/// Whether values hold a knob under this name.
pub fn is_knob(name: &str) -> bool {
    ![CALLS, REFUSE].contains(&name)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KnobValue {
    Bool(bool),
    /// For integers of any width and sign.
    Int(i64),
    /// For an array of `char`, a name of an enumeration, or a word: `= capacity`.
    Text(String),
    /// For an array: its first values.
    List(Vec<KnobValue>),
    /// For a structure: some of its members.
    Table(BTreeMap<String, KnobValue>),
}

impl KnobValue {
    /// The word or formula to which the machine, or the call of a program, gives a value.
    pub fn word(&self) -> Option<&str> {
        match self {
            KnobValue::Text(text) => Some(text.strip_prefix('=')?.trim()),
            _ => None,
        }
    }

    /// Whether the machine decides a part of it.
    pub fn has_words(&self) -> bool {
        match self {
            KnobValue::List(values) => values.iter().any(KnobValue::has_words),
            KnobValue::Table(values) => values.values().any(KnobValue::has_words),
            simple => simple.word().is_some(),
        }
    }
}

/// As `--scheduler` takes it.
impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobValue::Bool(value) => value.fmt(f),
            KnobValue::Int(value) => value.fmt(f),
            KnobValue::Text(text) => match self.word() {
                Some(word) => write!(f, "={word}"),
                None => f.write_str(&text.replace(" | ", "|")),
            },
            KnobValue::List(values) => {
                let values: Vec<String> = values.iter().map(KnobValue::to_string).collect();
                write!(f, "[{}]", values.join(","))
            }
            KnobValue::Table(values) => {
                let one = |(name, value): (&String, &KnobValue)| format!("{name}={value}");
                let values: Vec<String> = values.iter().map(one).collect();
                write!(f, "{{{}}}", values.join(","))
            }
        }
    }
}

/// A program of the type `syscall` that user space calls once the scheduler is loaded, before it is
/// enabled, or an array of the type `BPF_MAP_TYPE_ARRAY` or `PERCPU_ARRAY` that it writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The array, without a program.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub map: String,
    /// The index in the array.
    #[serde(default, skip_serializing_if = "is_default")]
    pub key: u32,
    /// The members of the structure that the program takes, or that the array holds.
    #[serde(default)]
    pub args: BTreeMap<String, KnobValue>,
    /// Called once without it.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    #[serde(default)]
    pub when: When,
    /// The CPU that it is called on, or whose value of an array it is; any without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<KnobValue>,
    /// Whether the scheduler goes on if the program fails, because it was written for another
    /// version.
    #[serde(default, skip_serializing_if = "is_default")]
    pub may_fail: bool,
}

/// When user space calls a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Once the scheduler is loaded, before the kernel enables it.
    #[default]
    Loaded,
    /// Once the kernel has enabled it.
    Enabled,
}

/// One call of a program, or one value of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the program, or of the array.
    pub program: String,
    /// The index in the array; `None` for a program.
    pub key: Option<u32>,
    /// The bytes of the structure that it takes, or of the value.
    pub argument: Vec<u8>,
    pub when: When,
    /// The CPU that it is called on, or whose value it is; any, or all, without it.
    pub on: Option<u32>,
    /// Whether the scheduler goes on if it fails.
    pub may_fail: bool,
}

/// For what a program is called again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForEach {
    /// Each CPU, `= cpu`.
    Cpus,
    /// Each ordered pair of CPUs of a core, `= cpu` and `= sibling`.
    Smt,
    /// The same of a last-level cache.
    Llc,
    /// The same of a NUMA node.
    Node,
}

impl ForEach {
    fn word(self) -> &'static str {
        match self {
            ForEach::Cpus => "cpus",
            ForEach::Smt => "smt",
            ForEach::Llc => "llc",
            ForEach::Node => "node",
        }
    }
}

impl Start {
    /// The calls that values hold.
    ///
    /// # Errors
    /// They are no calls.
    pub fn of(values: &Knobs) -> Result<Vec<Start>, String> {
        let Some(calls) = values.get(CALLS) else { return Ok(Vec::new()) };
        let calls = serde_json::to_value(calls).and_then(serde_json::from_value);
        let calls: Vec<Start> = calls.map_err(|error| format!("{CALLS}: {error}"))?;
        match calls.iter().find_map(Start::fault) {
            Some(fault) => Err(format!("{CALLS}: {fault}")),
            None => Ok(calls),
        }
    }

    /// Lets the programs fail that values call; returns whether there are any.
    pub fn let_fail(values: &mut Knobs) -> bool {
        let Some(KnobValue::List(calls)) = values.get_mut(CALLS) else { return false };
        let mut has_programs = false;
        for call in calls {
            if let KnobValue::Table(call) = call
                && call.contains_key("program")
            {
                call.insert("may_fail".to_owned(), KnobValue::Bool(true));
                has_programs = true;
            }
        }
        has_programs
    }

    fn fault(&self) -> Option<&'static str> {
        match (self.program.is_empty(), self.map.is_empty()) {
            (true, true) => Some("neither a program nor a map"),
            (false, false) => Some("a program and a map"),
            (false, true) if self.key != 0 => Some("only a map has a key"),
            (true, false) if self.when == When::Enabled => {
                Some("a map is written before the kernel enables the scheduler")
            }
            _ => None,
        }
    }

    pub fn knob(&self) -> String {
        if self.is_value() {
            format!("{VALUE}{}", self.map)
        } else {
            format!("{START}{}", self.program)
        }
    }

    /// Whether it writes a map.
    pub fn is_value(&self) -> bool {
        !self.map.is_empty()
    }

    /// Its calls; `knob` is its own, see [`Start::knob`].
    ///
    /// # Errors
    /// As [`Knob::encode`].
    pub fn calls(&self, knob: &Knob, words: &Words<'_>) -> Result<Vec<Call>, String> {
        let call = |numbers: &[(&str, u32)]| {
            let words = Words { numbers, ..words.clone() };
            let argument = knob.encode(&KnobValue::Table(self.args.clone()), &words)?;
            let on = self.on.as_ref().map(|on| cpu(on, &words)).transpose()?;
            let key = self.is_value().then_some(self.key);
            let program = if self.is_value() { self.map.clone() } else { self.program.clone() };
            let may_fail = self.may_fail;
            Ok(Call { program, key, argument, when: self.when, on, may_fail })
        };
        match self.for_each {
            None => Ok(vec![call(&[])?]),
            Some(ForEach::Cpus) => {
                (0..words.cpus.cpus()).map(|cpu| call(&[("cpu", cpu)])).collect()
            }
            Some(of) => {
                let pairs = words.cpus.pairs(of.word()).into_iter();
                pairs.map(|(cpu, sibling)| call(&[("cpu", cpu), ("sibling", sibling)])).collect()
            }
        }
    }
}

/// The number of a CPU.
fn cpu(value: &KnobValue, words: &Words<'_>) -> Result<u32, String> {
    let ty = ValueType { name: "a CPU".into(), size: 4, kind: ValueKind::Unsigned };
    let mut bytes = [0; 4];
    ty.write("on", value, words, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// A knob as a compiled scheduler has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    pub name: String,
    pub ty: ValueType,
    /// The initial value as it is in memory, little-endian; as long as the type.
    pub default: Vec<u8>,
    /// Whether it is a `const volatile` variable, which is there to be set.
    pub is_constant: bool,
}

impl Knob {
    /// The bytes of a value.
    ///
    /// # Errors
    /// The value does not fit; the message says which do.
    pub fn encode(&self, value: &KnobValue, words: &Words<'_>) -> Result<Vec<u8>, String> {
        let mut bytes = self.default.clone();
        self.ty.write(&self.name, value, words, &mut bytes)?;
        Ok(bytes)
    }

    /// The default as a person writes it.
    pub fn default_words(&self) -> String {
        self.ty.words(&self.default)
    }
}

/// As messages list it: `slice_us (u64, 20000)`.
impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.ty.name, self.default_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(kind: ValueKind, default: &[u8]) -> Knob {
        let ty = ValueType { name: "T".into(), size: default.len(), kind };
        Knob { name: "slice_us".into(), ty, default: default.to_vec(), is_constant: true }
    }

    fn encode(knob: &Knob, value: KnobValue) -> Result<Vec<u8>, String> {
        knob.encode(&value, &Words::default())
    }

    #[test]
    fn every_width_and_sign_is_encoded() {
        let encode = |kind, size, value| encode(&knob(kind, &vec![0; size]), KnobValue::Int(value));
        assert_eq!(encode(ValueKind::Unsigned, 1, 255), Ok(vec![255]));
        assert_eq!(encode(ValueKind::Signed, 2, -2), Ok(vec![0xfe, 0xff]));
        assert_eq!(encode(ValueKind::Unsigned, 8, i64::MAX).map(|bytes| bytes.len()), Ok(8));
        assert!(encode(ValueKind::Unsigned, 4, -1).unwrap_err().contains("0 … 4294967295"));
        assert!(encode(ValueKind::Signed, 1, 128).unwrap_err().contains("-128 … 127"));
    }

    #[test]
    fn truth_values_are_not_numbers() {
        let number = knob(ValueKind::Unsigned, &[0; 4]);
        assert!(encode(&number, KnobValue::Bool(true)).unwrap_err().contains("is a number"));
        let flag = knob(ValueKind::Bool, &[0]);
        assert_eq!(encode(&flag, KnobValue::Bool(true)), Ok(vec![1]));
        assert_eq!(encode(&flag, KnobValue::Int(0)), Ok(vec![0]));
        assert!(encode(&flag, KnobValue::Int(2)).is_err());
    }

    #[test]
    fn defaults_keep_their_sign() {
        let said = |kind, default: &[u8]| knob(kind, default).to_string();
        assert_eq!(said(ValueKind::Signed, &[0xff, 0xff]), "slice_us (T, -1)");
        assert_eq!(said(ValueKind::Unsigned, &[0xff, 0xff]), "slice_us (T, 65535)");
        assert_eq!(said(ValueKind::Bool, &[1]), "slice_us (T, true)");
    }

    #[test]
    fn a_start_is_called_for_each_cpu_or_pair() {
        let member = |name: &str, offset| crate::value_type::Member {
            name: name.into(),
            offset,
            ty: ValueType { name: "u8".into(), size: 1, kind: ValueKind::Unsigned },
        };
        let members = ValueKind::Members(vec![member("cpu", 0), member("with", 1)]);
        let knob = knob(members, &[0, 0]);
        let machine = crate::Machine { cpus: 2, smt: 2, ..Default::default() };
        let words = Words { cpus: crate::CpuFacts::of(&machine), ..Words::default() };
        let calls = |args: &str| -> Result<Vec<Vec<u8>>, String> {
            let values = format!(r#"{{"start": [{{"program": "p", "args": {args}}}]}}"#);
            let values: Knobs = serde_json::from_str(&values).expect("values");
            let calls = Start::of(&values).expect("calls")[0].calls(&knob, &words);
            calls.map(|calls| calls.into_iter().map(|call| call.argument).collect::<Vec<_>>())
        };
        assert_eq!(calls(r#"{"cpu": 1}"#), Ok(vec![vec![1, 0]]));
        assert_eq!(calls(r#"{"cpu": 1}, "for": "cpus""#), Ok(vec![vec![1, 0]; 2]));
        let pairs = calls(r#"{"cpu": "= cpu", "with": "= sibling"}, "for": "smt""#);
        assert_eq!(pairs, Ok(vec![vec![0, 1], vec![1, 0]]));
        assert!(calls(r#"{"cpu": "= cpu"}"#).unwrap_err().contains("no 'cpu'"));
        assert!(Start::of(&[(CALLS.to_owned(), KnobValue::Int(1))].into()).is_err());
        let refused = |start: &str| {
            let values: Knobs =
                serde_json::from_str(&format!(r#"{{"start": [{start}]}}"#)).expect("values");
            Start::of(&values).unwrap_err()
        };
        assert_eq!(refused("{}"), "start: neither a program nor a map");
        assert_eq!(refused(r#"{"program": "p", "map": "m"}"#), "start: a program and a map");
        assert_eq!(refused(r#"{"program": "p", "key": 1}"#), "start: only a map has a key");
        assert!(refused(r#"{"map": "m", "when": "enabled"}"#).contains("before the kernel"));
    }

    #[test]
    fn programs_of_another_version_may_fail() {
        let values = r#"{"start": [{"program": "p"}, {"map": "m", "args": {"a": 1}}]}"#;
        let mut values: Knobs = serde_json::from_str(values).expect("values");
        assert!(Start::let_fail(&mut values));
        let calls = Start::of(&values).expect("calls");
        assert_eq!(calls.iter().map(|call| call.may_fail).collect::<Vec<_>>(), [true, false]);
        assert!(!Start::let_fail(&mut Knobs::new()));
    }
}
