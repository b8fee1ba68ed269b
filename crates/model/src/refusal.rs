// SPDX-License-Identifier: GPL-2.0-only
//! Machines that a scheduler's user space refuses before it loads the scheduler.

use serde::Deserialize;

use crate::knob::REFUSE;
use crate::{KnobValue, Knobs, ValueKind, ValueType, Words};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    /// A Boolean: whether the machine is refused.
    #[serde(rename = "if")]
    condition: KnobValue,
    why: String,
}

/// Asks whether values let a scheduler run on a machine.
///
/// # Errors
/// They refuse the machine, or are no refusals.
pub fn check(values: &Knobs, words: &Words<'_>) -> Result<(), String> {
    let Some(refusals) = values.get(REFUSE) else { return Ok(()) };
    let refusals = serde_json::to_value(refusals).and_then(serde_json::from_value);
    let refusals: Vec<Refusal> = refusals.map_err(|error| format!("{REFUSE}: {error}"))?;
    let ty = ValueType { name: "bool".into(), size: 1, kind: ValueKind::Bool };
    for Refusal { condition, why } in refusals {
        let mut is_refused = [0];
        ty.write("if", &condition, words, &mut is_refused)
            .map_err(|fault| format!("{REFUSE}: {fault}"))?;
        if is_refused == [1] {
            return Err(format!("{why} (CPUs: {})", words.cpus.cpus()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuFacts, Machine};

    fn checked(refusals: &str, cpus: u32) -> Result<(), String> {
        let values = serde_json::from_str(&format!(r#"{{"refuse": {refusals}}}"#)).expect("values");
        let cpus = CpuFacts::of(&Machine { cpus, ..Machine::default() });
        check(&values, &Words { cpus, ..Words::default() })
    }

    #[test]
    fn a_machine_is_refused_if_the_condition_holds() {
        let odd = r#"[{"if": "= node", "why": "no"}, {"if": "= cpus % 2", "why": "even only"}]"#;
        assert_eq!(checked(odd, 4), Ok(()));
        assert_eq!(checked(odd, 3).unwrap_err(), "even only (CPUs: 3)");
        assert_eq!(check(&Knobs::new(), &Words::default()), Ok(()));
        let values = serde_json::from_str(&format!(r#"{{"refuse": {odd}}}"#)).expect("values");
        assert_eq!(check(&values, &Words::of_any_machine()), Ok(()));
    }

    #[test]
    fn what_is_no_condition_is_told() {
        let told = |refusals| checked(refusals, 2).unwrap_err();
        assert!(told(r#"[{"if": true}]"#).contains("missing field `why`"));
        assert!(told(r#"[{"if": "= cpus %", "why": ""}]"#).contains("ends too early"));
        assert!(told(r#"[{"if": "odd", "why": ""}]"#).contains("true or false"));
    }
}
