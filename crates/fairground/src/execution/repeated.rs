// SPDX-License-Identifier: GPL-2.0-only
//! Boots that an earlier session of the campaign began.
//!
//! Under the virtual clock a trial's numbers depend on what ran before it in its boot. So a boot
//! that was interrupted is repeated from its first trial: the trials that have a record run again,
//! their numbers are compared with that record, and only the missing records are kept. A campaign
//! that was interrupted has the bytes of one that was not, at the cost of one boot.
//!
//! Under the real clock nothing is promised to the byte, and the missing trials get a fresh boot.

use std::collections::{BTreeMap, BTreeSet};

use model::{Clock, Outcome, Provenance, Record, Trial, tape_text};
use vm::Resume;

/// The fact that names the guest's image in a record.
const IMAGE: &str = "guest_image";

/// The facts that name what counted a guest's instructions: the emulator, else the installed QEMU.
const COUNTED_BY: [&str; 2] = ["emulator", "qemu"];

/// What the campaign has measured before, for the boots that are left.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    records: Vec<Record>,
}

impl Earlier {
    /// Of a campaign's records, those that virtual machines with a virtual clock made.
    pub fn new(records: Vec<Record>) -> Earlier {
        let is_ours = |record: &Record| {
            let trial = &record.trial;
            let has_run = !matches!(record.outcome, Outcome::Unsupported { .. });
            trial.backend.boots_kernels() && trial.machine.clock == Clock::Virtual && has_run
        };
        Earlier { records: records.into_iter().filter(is_ours).collect() }
    }

    /// The same, with the tapes of a plan: records name them only, and their trials may run again.
    pub fn with_tapes_of(mut self, plan: &[Trial]) -> Earlier {
        let lack = self.records.iter_mut().map(|record| &mut *record.trial.workload);
        tape_text::lend(plan.iter().map(|trial| &*trial.workload), lack);
        self
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The image of the guests in which such a boot has run.
    pub fn image(&self, boot: &PlannedBoot) -> Option<&str> {
        let first = &boot.trials[0];
        let wanted = carried(boot.trials.iter());
        let is_alike = |record: &&Record| {
            let trial = &record.trial;
            trial.machine.name == first.machine.name
                && trial.contestant.kernel == first.contestant.kernel
                && (trial.boot == first.boot || self.carried_in(trial.boot) == wanted)
        };
        self.records.iter().filter(is_alike).find_map(|record| image(&record.provenance))
    }

    /// What has counted the instructions of such guests.
    pub fn counted_by(&self, boot: &PlannedBoot) -> Option<&str> {
        let machine = &boot.trials[0].machine.name;
        let alike = self.records.iter().filter(|record| record.trial.machine.name == *machine);
        alike.into_iter().find_map(|record| counted_by(&record.provenance))
    }

    fn carried_in(&self, boot: u32) -> BTreeSet<(&[String], &str)> {
        let own = self.records.iter().map(|record| &record.trial);
        carried(own.filter(|trial| trial.boot == boot))
    }

    pub fn boot(&self, left: Vec<Trial>) -> PlannedBoot {
        let number = left[0].boot;
        let own = self.records.iter().filter(|record| record.trial.boot == number);
        let own: Vec<&Record> = own.collect();
        let mut trials = left;
        trials.extend(own.iter().map(|record| record.trial.clone()));
        trials.sort_by_key(|trial| trial.position);
        let indices: BTreeMap<String, usize> =
            trials.iter().enumerate().map(|(index, trial)| (trial.id(), index)).collect();
        let known: BTreeMap<usize, Record> = own
            .into_iter()
            .filter_map(|record| Some((*indices.get(&record.trial.id())?, record.clone())))
            .collect();
        let resume = resume(&known);
        PlannedBoot { trials, known, resume }
    }
}

/// What the guests of these trials carry besides this program and the schedulers: commands, and the
/// SHA-256 of tapes.
fn carried<'a>(trials: impl Iterator<Item = &'a Trial>) -> BTreeSet<(&'a [String], &'a str)> {
    let of_trial = |trial: &'a Trial| {
        let program = trial.workload.program.as_ref();
        let command = program.map_or(&[][..], |program| program.command.as_slice());
        let recorded = trial.workload.recording.as_ref();
        (command, recorded.map_or("", |recorded| recorded.sha256.as_str()))
    };
    trials
        .map(of_trial)
        .filter(|(command, tapes)| !(command.is_empty() && tapes.is_empty()))
        .collect()
}

fn image(provenance: &Provenance) -> Option<&str> {
    provenance.kernel_facts.get(IMAGE).map(String::as_str)
}

fn counted_by(provenance: &Provenance) -> Option<&str> {
    COUNTED_BY.iter().find_map(|name| provenance.kernel_facts.get(*name)).map(String::as_str)
}

/// A boot with all trials that shared it.
#[derive(Clone, Debug)]
pub struct PlannedBoot {
    /// All trials, in the order of running.
    pub trials: Vec<Trial>,
    /// The records that are there, by the index of their trial.
    known: BTreeMap<usize, Record>,
    pub resume: Resume,
}

impl PlannedBoot {
    pub fn is_known(&self, index: usize) -> bool {
        self.known.contains_key(&index)
    }

    /// Whether a trial that ran again gave the numbers of its record.
    pub fn confirms(&self, index: usize, again: &Record) -> bool {
        self.known.get(&index).is_some_and(|known| {
            known.measured.hash() == again.measured.hash()
                && known.outcome.word() == again.outcome.word()
        })
    }
}

/// The guest of the last record before the first gap goes on if that trial has not ended it.
fn resume(known: &BTreeMap<usize, Record>) -> Resume {
    let answered = (0..).take_while(|index| known.contains_key(index)).count();
    let Some(last) = answered.checked_sub(1).map(|index| &known[&index]) else {
        return Resume::default();
    };
    let attempt = attempt(&last.provenance.boot_id);
    if matches!(last.outcome, Outcome::Crashed { .. } | Outcome::Hung { .. }) {
        let note = Some(format!("trial {} {}", last.trial.id(), last.outcome.word()));
        return Resume { first: answered, answered, attempt: attempt + 1, note };
    }
    let first = (answered - 1).saturating_sub(last.provenance.boot_position as usize);
    let note = known[&first].provenance.notes.iter().find_map(|note| fresh_boot(note));
    Resume { first, answered, attempt, note }
}

/// Why the guest before ended, from the note that the first record after it has.
fn fresh_boot(note: &str) -> Option<String> {
    note.strip_prefix(vm::FRESH_BOOT).map(str::to_owned)
}

/// The number of a guest in its boot, from `virtual-BOOT.ATTEMPT`.
fn attempt(boot_id: &str) -> u32 {
    let attempt = boot_id.rsplit_once('.').and_then(|(_, attempt)| attempt.parse().ok());
    attempt.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use model::{Backend, Machine, Workload};

    use super::*;

    fn trial(position: u32) -> Trial {
        let machine = Machine { clock: Clock::Virtual, ..Machine::default() };
        Trial {
            backend: Backend::Vm,
            machine: machine.into(),
            boot: 3,
            position,
            ..Trial::default()
        }
    }

    fn record(position: u32, outcome: Outcome, boot_id: &str, boot_position: u32) -> Record {
        let provenance =
            Provenance { boot_id: boot_id.into(), boot_position, ..Provenance::default() };
        Record::without_measurement(trial(position), outcome, provenance)
    }

    fn resumed(records: Vec<Record>, left: &[u32]) -> (usize, usize, u32) {
        let left = left.iter().copied().map(trial).collect();
        let resume = Earlier::new(records).boot(left).resume;
        (resume.first, resume.answered, resume.attempt)
    }

    #[test]
    fn a_boot_that_has_not_begun_begins() {
        assert_eq!(resumed(Vec::new(), &[5, 6]), (0, 0, 0));
    }

    #[test]
    fn an_interrupted_boot_is_repeated_from_its_first_trial() {
        let records = (0..2).map(|at| record(5 + at, Outcome::Ok, "virtual-3", at)).collect();
        assert_eq!(resumed(records, &[7, 8]), (0, 2, 0));
    }

    #[test]
    fn after_a_crash_the_next_guest_begins_or_is_repeated() {
        let crash = Outcome::Crashed { text: "panic".into() };
        let crashed =
            vec![record(5, Outcome::Ok, "virtual-3", 0), record(6, crash, "virtual-3", 1)];
        assert_eq!(resumed(crashed.clone(), &[7, 8]), (2, 2, 1));
        let later = [crashed, vec![record(7, Outcome::Ok, "virtual-3.1", 0)]].concat();
        assert_eq!(resumed(later, &[8]), (2, 3, 1));
    }

    #[test]
    fn trials_after_a_missing_record_run_again() {
        let records = [5, 7].map(|at| record(at, Outcome::Ok, "virtual-3", at - 5));
        let boot = Earlier::new(records.to_vec()).boot(vec![trial(6)]);
        assert_eq!((boot.resume.first, boot.resume.answered), (0, 1));
        assert!(boot.is_known(2) && !boot.is_known(1));
    }

    #[test]
    fn the_image_is_that_of_boots_with_the_same_programs() {
        let mut made = record(5, Outcome::Ok, "virtual-3", 0);
        made.provenance.kernel_facts.insert(IMAGE.into(), "abc".into());
        let earlier = Earlier::new(vec![made]);
        let mut later = trial(9);
        later.boot = 4;
        assert_eq!(earlier.image(&earlier.boot(vec![later.clone()])), Some("abc"));
        let command = vec!["hackbench".into()];
        later.workload.program = Some(model::Program { command, ..model::Program::default() });
        assert_eq!(earlier.image(&earlier.boot(vec![later])), None);
    }

    #[test]
    fn the_emulator_counts_if_it_is_named() {
        let mut made = record(5, Outcome::Ok, "virtual-3", 0);
        let counted_by = |made: &Record| {
            let earlier = Earlier::new(vec![made.clone()]);
            earlier.counted_by(&earlier.boot(vec![trial(6)])).map(str::to_owned)
        };
        assert_eq!(counted_by(&made), None);
        made.provenance.kernel_facts.insert("qemu".into(), "QEMU 10".into());
        assert_eq!(counted_by(&made).as_deref(), Some("QEMU 10"));
        made.provenance.kernel_facts.insert("emulator".into(), "with patches".into());
        assert_eq!(counted_by(&made).as_deref(), Some("with patches"));
    }

    #[test]
    fn tapes_make_another_image() {
        let mut made = record(5, Outcome::Ok, "virtual-3", 0);
        made.provenance.kernel_facts.insert(IMAGE.into(), "abc".into());
        made.trial.workload = recorded("task 1 a\nr5\n").into();
        let earlier = Earlier::new(vec![made]);
        let image = |text| {
            let later = Trial { boot: 4, workload: recorded(text).into(), ..trial(9) };
            earlier.image(&earlier.boot(vec![later])).map(str::to_owned)
        };
        assert_eq!(image("task 1 a\nr5\n"), Some("abc".into()));
        assert_eq!(image("task 1 a\nr6\n"), None);
    }

    #[test]
    fn trials_that_run_again_have_their_tapes() {
        let plan = Trial { workload: recorded("task 1 a\nr5\n").into(), ..trial(5) };
        let mut known = record(5, Outcome::Ok, "virtual-3", 0);
        known.trial = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
        let boot = Earlier::new(vec![known]).with_tapes_of(&[plan]).boot(vec![trial(6)]);
        let tapes = boot.trials[0].workload.recording.clone().unwrap_or_default().text;
        assert_eq!(tapes.0.as_deref(), Some("task 1 a\nr5\n"));
    }

    fn recorded(text: &str) -> Workload {
        let sha256 = model::trial::sha256_hex(text.as_bytes());
        let text = model::tape::TapesText(Some(text.into()));
        let recording = model::Recorded { sha256, text, ..model::Recorded::default() };
        Workload { recording: Some(recording), ..Workload::default() }
    }

    #[test]
    fn what_never_ran_is_no_part_of_a_boot() {
        let unsupported = Outcome::Unsupported { reason: "no program".into() };
        assert_eq!(resumed(vec![record(5, unsupported, "", 0)], &[6]), (0, 0, 0));
    }
}
