// SPDX-License-Identifier: GPL-2.0-only
//! The emulator of virtual time: which trials run on it, which need it, and whether it is here.

use std::path::Path;

use anyhow::Result;
use model::{Clock, Trial};
use vm::emulator::{self, Emulator};

use crate::exit::bad_input;

/// The emulator, if one of the trials uses it and it was built.
pub(crate) fn of(trials: &[Trial], home: &Path) -> Result<Option<Emulator>> {
    let uses_it =
        |trial: &Trial| trial.backend.boots_kernels() && trial.machine.clock == Clock::Virtual;
    if trials.iter().any(uses_it) { emulator::find(home) } else { Ok(None) }
}

/// Why this trial cannot run without it, if it cannot.
pub(crate) fn why_not(trial: &Trial) -> Option<String> {
    let needs_it = trial.backend.boots_kernels() && trial.machine.counts_several_cpus();
    needs_it.then(|| emulator::needed_by(&trial.machine.name))
}

/// Refuses trials of which none can run here. If some can, the others get a record that says why
/// they could not.
///
/// # Errors
/// All need the emulator, which is missing or damaged.
pub fn check(trials: &[Trial], home: Option<&Path>) -> Result<()> {
    if let Some(home) = home
        && of(trials, home)?.is_some()
    {
        return Ok(());
    }
    let reasons: Option<Vec<String>> = trials.iter().map(why_not).collect();
    match reasons.unwrap_or_default().first() {
        Some(reason) => Err(bad_input(reason.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use model::{Backend, Machine};

    use super::*;

    fn trial(backend: Backend, cpus: u32) -> Trial {
        let machine =
            Machine { name: "m".into(), cpus, clock: Clock::Virtual, ..Machine::default() };
        Trial { backend, machine: machine.into(), ..Trial::default() }
    }

    #[test]
    fn only_a_plan_that_needs_it_for_everything_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let check =
            |trials: &[Trial]| check(trials, Some(home.path())).map_err(|error| error.to_string());
        let (four, one) = (trial(Backend::Vm, 4), trial(Backend::Vm, 1));
        let said = "m needs the emulator for several CPUs in virtual time: fairground kernel \
                    emulator build";
        assert_eq!(check(&[four.clone(), four.clone()]), Err(said.into()));
        assert_eq!(check(&[four, one.clone()]), Ok(()));
        assert_eq!(check(&[one, trial(Backend::Sim, 4)]), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }
}
