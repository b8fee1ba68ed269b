// SPDX-License-Identifier: GPL-2.0-only
//! Which contestants of an experiment belong together: files and their originals, schedulers and
//! what they change.

use std::collections::BTreeMap;

use model::Contestant;

use crate::SpecError;
use crate::source::{Places, unknown_name};

/// Which contestants belong together, by their names. `fidelity --counterparts` compares them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// For each contestant that is a file written after a kernel's own scheduler: the contestant
    /// that is this scheduler.
    pub counterparts: BTreeMap<String, String>,
    /// For each contestant that changes another: that other one.
    pub bases: BTreeMap<String, String>,
}

impl Relations {
    /// Both of a pair must be contestants.
    pub(crate) fn check(
        &self,
        contestants: &[Contestant],
        places: &Places,
    ) -> Result<(), SpecError> {
        let names: Vec<&str> =
            contestants.iter().map(|contestant| contestant.name.as_str()).collect();
        for (table, pairs) in [("pairs", &self.counterparts), ("bases", &self.bases)] {
            for (changed, base) in pairs {
                let unknown =
                    [changed, base].into_iter().find(|name| !names.contains(&name.as_str()));
                if let Some(name) = unknown {
                    let path = format!("{table}.{changed}");
                    return Err(unknown_name(places, &path, "scheduler", name, &names));
                }
            }
        }
        Ok(())
    }
}
