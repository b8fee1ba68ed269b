// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's switch for autogroup. A guest has it as the trial's machine says, a host as it is.

use std::fs;

use model::{Provenance, Trial};

const SWITCH: &str = "/proc/sys/kernel/sched_autogroup_enabled";
/// What the record calls it.
const FACT: &str = "autogroup";

/// Whether sessions are groups here.
pub fn is_on() -> bool {
    fs::read_to_string(SWITCH).is_ok_and(|value| value.trim() == "1")
}

/// The switch, which is put back when this is dropped.
pub struct Autogroup {
    before: String,
}

impl Autogroup {
    /// Sets the switch, if this is a guest. A trial without sessions on a machine without autogroup
    /// leaves it alone.
    pub fn set(trial: &Trial, provenance: &mut Provenance, in_guest: bool) -> Option<Autogroup> {
        let (wanted, has_sessions) = (trial.machine.autogroup, !trial.workload.sessions.is_empty());
        if !wanted && !has_sessions {
            return None;
        }
        if !in_guest {
            if has_sessions && !is_on() {
                provenance.notes.push("autogroup is off here: sessions have no effect".into());
            }
            return None;
        }
        let before = fs::read_to_string(SWITCH).ok();
        let value = if wanted { "1" } else { "0" };
        match before.filter(|_| fs::write(SWITCH, value).is_ok()) {
            Some(before) => {
                provenance.kernel_facts.insert(FACT.into(), value.into());
                Some(Autogroup { before })
            }
            None => {
                let note = "this kernel has no autogroup (CONFIG_SCHED_AUTOGROUP): sessions have \
                            no effect";
                provenance.notes.extend(wanted.then(|| note.into()));
                None
            }
        }
    }
}

impl Drop for Autogroup {
    fn drop(&mut self) {
        // What cannot be put back counts in this guest's later trials, whose records say so.
        let _ = fs::write(SWITCH, self.before.trim());
    }
}
