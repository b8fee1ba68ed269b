// SPDX-License-Identifier: GPL-2.0-only
//! A trial as a value.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::usual::{is_default, is_true, yes};
use crate::{Backend, Clock, Contestant, Machine, SchedulerChoice, Seed, Workload};

/// The version of the trial's and the record's JSON form.
pub const SCHEMA: u32 = 1;

/// Scheduler + workload + machine + seed: everything that determines a record. `fairground plan`
/// prints its JSON form on one line, `fairground trial` and the guest read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// [`SCHEMA`].
    pub schema: u32,
    pub experiment: String,
    pub backend: Backend,
    pub contestant: Contestant,
    /// The workload, with every parameter resolved.
    pub workload: Workload,
    pub machine: Machine,
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
            contestant: Contestant {
                name: "kernel".into(),
                kernel: None,
                scheduler: SchedulerChoice::Kernel,
                stands_for_kernel: false,
            },
            workload: Workload::default(),
            machine: Machine::default(),
            seed: Seed(1),
            block: 0,
            boot: 0,
            position: 0,
            timeout_ms: 60_000,
            probes: true,
            trace: false,
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
            SchedulerChoice::Program { command } => Some(command),
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
