// SPDX-License-Identifier: GPL-2.0-only
//! A trial as a value.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::usual::{is_default, is_true, yes};
use crate::{Backend, Clock, Contestant, Machine, SchedulerChoice, Seed, Shared, Workload};

/// The version of the trial's and the record's JSON form.
pub const SCHEMA: u32 = 1;

/// Scheduler + workload + machine + seed: everything that determines a record. `fairground plan`
/// prints its JSON form on one line, `fairground trial` and the guest read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    pub schema: u32,
    pub experiment: String,
    pub backend: Backend,
    pub contestant: Shared<Contestant>,
    /// The workload, with every parameter resolved.
    pub workload: Shared<Workload>,
    pub machine: Shared<Machine>,
    /// The seed of this trial's chance (start phases). Trials of one block and one cell share it,
    /// so that contestants meet the same arrivals.
    pub seed: Seed,
    /// The block: one pass over all contestants and cells, in random order.
    pub block: u32,
    /// The planned boot (`vm`) or session (`live`) that the trial belongs to: a level of
    /// replication.
    pub boot: u32,
    /// The position in the plan, from 0: the order of execution.
    pub position: u32,
    /// Time after which the supervisor ends the workload, on the clock of the machine that plays
    /// it. Preparing and loading together have the same limit.
    pub timeout_ms: u64,
    /// Whether the probes are attached; off only to find out what they cost.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub probes: bool,
    /// Whether to keep an event trace.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trace: bool,
    /// Whether callbacks of several CPUs interleave, in the simulator.
    #[serde(default, skip_serializing_if = "is_default")]
    pub races: bool,
    /// Not part of the trial: see [`KnownAs`].
    #[serde(skip)]
    pub known_as: KnownAs,
}

/// The identity of the trial in its store, where private words were removed from it. Commands find
/// it there by this identity.
#[derive(Clone, Debug, Default)]
pub struct KnownAs(pub Option<String>);

/// It says nothing about the trial's content.
impl PartialEq for KnownAs {
    fn eq(&self, _: &KnownAs) -> bool {
        true
    }
}

/// For tests: the kernel's own scheduler with an empty workload on the default machine, simulated.
impl Default for Trial {
    fn default() -> Trial {
        Trial {
            schema: SCHEMA,
            experiment: "test".into(),
            backend: Backend::default(),
            contestant: Contestant::new("kernel", SchedulerChoice::Kernel).into(),
            workload: Shared::default(),
            machine: Shared::default(),
            seed: Seed(1),
            block: 0,
            boot: 0,
            position: 0,
            timeout_ms: 60_000,
            probes: true,
            trace: false,
            races: false,
            known_as: KnownAs::default(),
        }
    }
}

impl Trial {
    /// The trial's identity: the first 16 hexadecimal digits of the SHA-256 of its JSON form. The
    /// same trial has the same identity on every host, which is what `--resume` relies on.
    pub fn id(&self) -> String {
        self.known_as.0.clone().unwrap_or_else(|| hex16(self))
    }

    /// Trials with the same key faced the same arrivals in the same block. `None` for imported
    /// results, which have no planned blocks.
    pub fn pairing_key(&self) -> Option<(u32, Seed)> {
        self.backend.can_execute().then_some((self.block, self.seed))
    }

    /// The program that it starts, on the machine or in a guest, with its arguments.
    pub fn program(&self) -> Option<&[String]> {
        let scheduler = match &self.contestant.scheduler {
            SchedulerChoice::Program { command, .. } => Some(command),
            _ => None,
        };
        let workload = self.workload.program.as_ref().map(|program| &program.command);
        workload.or(scheduler).map(Vec::as_slice)
    }

    /// What whoever runs the trial trusts it with, as a verb and its object; `None`: it runs in the
    /// sandbox, or as BPF in a guest. A program runs with the user's rights; what it needs in a
    /// guest is read with them.
    pub fn trusted_to(&self) -> Option<String> {
        match self.program() {
            Some(command) => Some(format!("run the program `{}`", command.join(" "))),
            None => {
                let live = self.backend.uses_running_kernel();
                live.then(|| "load its scheduler into this machine's kernel".into())
            }
        }
    }

    /// The clock that counts: a virtual one exists only in the VM and the simulator.
    pub fn clock(&self) -> Clock {
        self.backend.clock(&self.machine)
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of a value's JSON form.
pub fn hex16<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_vec(value).expect("plain data always has a JSON form");
    hex(&Sha256::digest(json))[..16].to_owned()
}

/// Lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The identity of texts with their names, hexadecimal: other texts, names, cuts or another order
/// have another one. Names and texts stand behind their lengths, so that no line can move from one
/// text to the next. The first byte is part of no text, so the SHA-256 of a text is no identity.
pub fn identity<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash = Sha256::new();
    hash.update([0xff]);
    for part in files.into_iter().flat_map(|(name, text)| [name, text]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Files = Vec<(String, String)>;

    fn of(files: &Files) -> String {
        identity(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))
    }

    /// Files that are easily confused: short texts of few letters.
    fn files() -> impl Strategy<Value = Files> {
        prop::collection::vec(("[ab]{0,2}", "[ab\n]{0,3}"), 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn other_files_have_another_identity((one, other) in (files(), files())) {
            prop_assert_eq!(of(&one) == of(&other), one == other);
        }

        /// All ways to cut one row of letters into names and texts.
        #[test]
        fn a_text_that_is_cut_anew_is_another(
            letters in "[ab]{8}", cuts in prop::collection::btree_set(0_usize..8, 3),
            others in prop::collection::btree_set(0_usize..8, 3),
        ) {
            let cut = |at: &std::collections::BTreeSet<usize>| -> Files {
                let at: Vec<usize> = at.iter().copied().collect();
                let parts = [(0, at[0]), (at[0], at[1]), (at[1], at[2]), (at[2], 8)];
                let [a, b, c, d] = parts.map(|(from, to)| letters[from..to].to_owned());
                vec![(a, b), (c, d)]
            };
            prop_assert_eq!(of(&cut(&cuts)) == of(&cut(&others)), cuts == others);
        }

        #[test]
        fn no_text_has_the_hash_of_an_identity((files, text) in (files(), "[ab\n]{0,9}")) {
            prop_assert_ne!(of(&files), sha256_hex(text.as_bytes()));
        }
    }
}
