// SPDX-License-Identifier: GPL-2.0-only
//! Whether a guest has the CPUs of its machine.

use model::{Outcome, Record};

/// A kernel that started fewer CPUs than its machine has ran another trial than the one asked for.
pub fn lacking(record: &Record) -> Option<Outcome> {
    let (started, asked) = (record.provenance.cpus, record.trial.machine.cpus);
    let reason = || {
        format!(
            "the kernel started {started} of the machine's {asked} CPUs: it needs CONFIG_SMP=y, \
             CONFIG_ACPI=y and CONFIG_NR_CPUS={asked} or more"
        )
    };
    let lacks = record.outcome.is_ok() && (1..asked).contains(&started);
    lacks.then(|| Outcome::Unsupported { reason: reason() })
}

#[cfg(test)]
mod tests {
    use model::{Machine, Provenance, Trial};

    use super::*;

    fn record(asked: u32, started: u32, outcome: Outcome) -> Record {
        let trial =
            Trial { machine: Machine { cpus: asked, ..Machine::default() }, ..Trial::default() };
        let provenance = Provenance { cpus: started, ..Provenance::default() };
        Record::without_measurement(trial, outcome, provenance)
    }

    #[test]
    fn a_machine_whose_cpus_did_not_all_start_is_unsupported() {
        let outcome = lacking(&record(4, 1, Outcome::Ok)).expect("three are missing");
        assert_eq!(outcome.word(), "unsupported");
        assert!(outcome.reason().starts_with("the kernel started 1 of the machine's 4 CPUs"));
        assert!(outcome.reason().contains("CONFIG_ACPI=y and CONFIG_NR_CPUS=4"), "{outcome:?}");
        assert_eq!(lacking(&record(4, 4, Outcome::Ok)), None);
        // Not known, and known for another reason.
        assert_eq!(lacking(&record(4, 0, Outcome::Ok)), None);
        let failed = Outcome::Failed { reason: "it has ended".into() };
        assert_eq!(lacking(&record(4, 1, failed)), None);
    }
}
