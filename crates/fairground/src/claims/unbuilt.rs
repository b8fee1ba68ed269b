// SPDX-License-Identifier: GPL-2.0-only
//! Kernels that an experiment names and nobody has built here yet. Other kernels are downloaded
//! when they are missing; these take their user an hour.

use std::collections::BTreeSet;

use vm::kernels;

use super::choose::Session;
use crate::execution::locations::data_folder;
use crate::planned_experiment;

/// Whether a kernel has a name of its own: `kernel build` has made it or can make it.
pub fn is_own(kernel: &str) -> bool {
    kernels::is_usable_name(kernel)
}

/// Why the session cannot run, and what to do; `None` if all its kernels are here, and where this
/// cannot be told: what is wrong with the folder of kernels is said when one is to be booted.
pub fn why_not(session: &Session) -> Option<String> {
    if !session.on.boots_kernels() {
        return None;
    }
    let experiment = planned_experiment::experiment_on(&session.experiment, session.on).ok()?;
    let named = experiment.contestants.iter().filter_map(|one| one.kernel.as_deref());
    let own: BTreeSet<&str> = named.filter(|kernel| is_own(kernel)).collect();
    let built = match data_folder() {
        _ if own.is_empty() => return None,
        Ok(home) => kernels::list(&home).ok()?,
        Err(_) => Vec::new(),
    };
    let is_here = |name: &&str| built.iter().any(|kernel| kernel.is_named && kernel.name == *name);
    let missing: Vec<&str> = own.into_iter().filter(|name| !is_here(name)).collect();
    let first = missing.first()?;
    let noun = report::units::plural(missing.len() as u64, "kernel");
    Some(format!("needs {noun} {}: fairground kernel build {first}", missing.join(", ")))
}
