// SPDX-License-Identifier: GPL-2.0-only
//! One boot: the frames that the guest sends, and the records of trials that it could not finish.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use model::{Clock, Outcome, Provenance, Record, Trial};
use process::silence::Silence;

use crate::arguments;
use crate::channel::FrameKind;
use crate::qemu::{self, Accelerator, Output, Qemu};
use crate::request::{Event, Resume, Setup};
use crate::start::{self, BootMethod, Parts};

/// See [`qemu::is_stale_code`].
const STALE_CODE: &str = "QEMU ran code that the guest's kernel had already replaced, on several \
                          emulated CPUs; newer versions of QEMU, or KVM, do not";

/// The start of the note of a record whose boot continues another one; the reason follows.
pub const FRESH_BOOT: &str = "in a fresh boot, because the one before ended: ";

/// The note of a record whose boot went on from a state that was kept.
pub const SAVED_BOOT: &str = "its boot went on from a saved one";

/// The interval at which `stop` is checked.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// One start of QEMU and its trials.
pub(crate) struct BootRun<'a> {
    setup: &'a Setup<'a>,
    parts: Parts<'a>,
    way: BootMethod,
    qemu: Qemu,
    begun: Instant,
    /// Index of the first trial of this boot.
    first: usize,
    /// Index of the first trial without an answer in this boot.
    pub next: usize,
    /// Number of trials that had a record before.
    answered: usize,
    /// Start of the trial in flight.
    started: Option<(Instant, SystemTime)>,
    boot_id: String,
    /// Why the attempt before this one ended; `None` for the first attempt.
    note: Option<String>,
    /// The console's last lines, when the guest hung.
    console_tail: String,
}

pub(crate) enum End {
    Finished,
    Stopped,
    /// It ended too early; the text says why.
    Broken(String),
    /// QEMU's own fault ended it, so another boot is worthwhile; the text names the fault.
    Emulator(String),
    /// It did not go on from its state, so another boot is worthwhile; the text says why.
    Stuck(String),
}

impl<'a> BootRun<'a> {
    /// Packs the trials from the first on and starts the machine.
    pub fn start(setup: &'a Setup<'a>, resume: &Resume, stop: &AtomicBool) -> Result<BootRun<'a>> {
        let request = setup.request;
        let first = resume.first;
        let boot_id = match resume.attempt {
            0 => format!("virtual-{}", request.boot),
            again => format!("virtual-{}.{again}", request.boot),
        };
        let begun = Instant::now();
        let mut parts = Parts::pack(setup, first, &boot_id)?;
        let (qemu, way) = match start::start(&mut parts, stop) {
            Err(_) if setup.pauses.get() => {
                setup.stop_pausing();
                return BootRun::start(setup, resume, stop);
            }
            started => started?,
        };
        Ok(BootRun {
            setup,
            parts,
            way,
            qemu,
            begun,
            first,
            next: first,
            answered: resume.answered,
            started: None,
            boot_id,
            note: resume.note.clone(),
            console_tail: String::new(),
        })
    }

    /// Handles frames until the boot ends. Failures that a second boot cannot fix are errors.
    pub fn attend(&mut self, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<End> {
        loop {
            match self.wait(self.patience(), stop) {
                GuestSignal::Frame(FrameKind::Finished, ..) => return Ok(self.finished()),
                GuestSignal::Frame(FrameKind::Failed, payload, _) => {
                    bail!("the guest failed: {}", String::from_utf8_lossy(&payload))
                }
                GuestSignal::Frame(FrameKind::Ready, ..) => {
                    if let Err(why) = self.way.go_on(&self.parts, &mut self.qemu) {
                        return Ok(self.stuck(&format!("{why:#}")));
                    }
                }
                GuestSignal::Frame(kind, payload, at) => {
                    self.frame(kind, &payload, at, on_event)?
                }
                GuestSignal::Stop => return Ok(End::Stopped),
                GuestSignal::Silence => return Ok(self.hung(on_event)),
                GuestSignal::End(damage) => return self.died(damage, on_event),
            }
        }
    }

    fn finished(&self) -> End {
        if self.next == self.setup.request.trials.len() {
            return End::Finished;
        }
        End::Broken("the guest says that it has finished, but has not".into())
    }

    /// How long the guest may be silent now, see [`Silence`]. The guest enforces a trial's time
    /// limit by its own clock; with instruction counting that may take several times as long in
    /// wall time, and several CPUs that are counted take turns on one of the host's.
    fn patience(&self) -> Duration {
        let machine = self.setup.request.machine;
        let turns = if machine.counts_several_cpus() { machine.cpus } else { 1 };
        match self.started {
            Some(_) => {
                let timeout_ms = self.setup.request.trials[self.next].timeout_ms;
                let usual = Duration::from_millis(timeout_ms.saturating_mul(3));
                usual.saturating_mul(turns) + Duration::from_secs(20)
            }
            None => self.setup.silence_max.saturating_mul(turns),
        }
    }

    fn wait(&self, patience: Duration, stop: &AtomicBool) -> GuestSignal {
        let mut silence = Silence::begin(patience, Some(self.qemu.pid()));
        loop {
            if stop.load(Ordering::Relaxed) {
                return GuestSignal::Stop;
            }
            match self.qemu.output.recv_timeout(STOP_CHECK) {
                Ok(Output::Frame(kind, payload, at)) => {
                    return GuestSignal::Frame(kind, payload, at);
                }
                Ok(Output::End(damage)) => return GuestSignal::End(damage),
                Err(RecvTimeoutError::Disconnected) => return GuestSignal::End(None),
                Err(RecvTimeoutError::Timeout) => {
                    if silence.is_over() {
                        return GuestSignal::Silence;
                    }
                }
            }
        }
    }

    fn frame(
        &mut self,
        kind: FrameKind,
        payload: &[u8],
        at: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<()> {
        match kind {
            FrameKind::Hello => {
                self.boot_id = String::from_utf8_lossy(payload).into_owned();
                let boot_ms = at.duration_since(self.begun).as_millis() as u64;
                let image_sha256 = self.parts.image_sha256().to_owned();
                on_event(Event::Booted { boot_ms, image_sha256 });
                if let Err(why) = self.way.end() {
                    note_once(&format!("boots are not kept: {why:#}"), on_event);
                }
            }
            FrameKind::Started => {
                if self.next >= self.setup.request.trials.len() {
                    bail!("the guest starts a trial that it was not given");
                }
                self.started = Some((at, SystemTime::now()));
                if self.next >= self.answered {
                    on_event(Event::TrialStarted(self.next));
                }
            }
            FrameKind::Record => {
                let record = self.read_record(payload)?;
                self.answer(record, on_event);
            }
            // `attend` handles the others.
            _ => {}
        }
        Ok(())
    }

    fn read_record(&self, payload: &[u8]) -> Result<Record> {
        let record: Record =
            serde_json::from_slice(payload).context("the guest's record is not understood")?;
        let asked = self.setup.request.trials.get(self.next).map(Trial::id);
        if self.started.is_none() || asked != Some(record.trial.id()) {
            bail!("the guest answered another trial than it was asked");
        }
        Ok(record)
    }

    /// Adds the facts that only the host knows to a record, and passes it to the caller.
    fn answer(&mut self, mut record: Record, on_event: &mut dyn FnMut(Event)) {
        if let Some(outcome) = lacking_cpus(&record) {
            record = Record::without_measurement(record.trial, outcome, record.provenance);
        }
        let request = self.setup.request;
        let provenance = &mut record.provenance;
        provenance.kernel_sha256.clone_from(&request.kernel.sha256);
        provenance.accelerator = self.setup.accelerator.word().to_owned();
        provenance.boot_id.clone_from(&self.boot_id);
        provenance.boot_position = (self.next - self.first) as u32;
        if let Some((wall, date)) = self.started.take() {
            provenance.wall_ms = wall.elapsed().as_millis() as u64;
            provenance.started_unix_s = date.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        }
        let facts = &mut provenance.kernel_facts;
        for (name, value) in &request.kernel.facts {
            facts.entry(name.clone()).or_insert_with(|| value.clone());
        }
        facts.insert("command_line".into(), arguments::command_line(request.machine));
        if let Some(emulator) = self.setup.emulator {
            facts.insert("emulator".into(), emulator.identity());
            facts.insert("icount".into(), arguments::counting(request.machine, true));
        }
        facts.insert("qemu".into(), self.setup.qemu_version.clone());
        facts.insert("firmware".into(), self.setup.firmware.clone());
        facts.insert("guest_image".into(), self.parts.image_sha256().to_owned());
        if self.way.is_saved {
            provenance.notes.push(SAVED_BOOT.into());
        }
        if let Some(why) = self.note.as_deref().and_then(|note| note.lines().next()) {
            provenance.notes.push(format!("{FRESH_BOOT}{why}"));
        }
        let record = Box::new(record);
        on_event(if self.next < self.answered {
            Event::Repeated(self.next, record)
        } else {
            Event::Record(self.next, record)
        });
        self.next += 1;
    }

    /// Makes the record of a trial that the guest could not finish.
    fn answer_for_the_guest(&mut self, outcome: Outcome, on_event: &mut dyn FnMut(Event)) -> End {
        let request = self.setup.request;
        let trial = request.trials[self.next].clone();
        let why = format!("trial {} {}", trial.id(), outcome.word());
        let provenance = Provenance {
            kernel_release: request.kernel.release.clone(),
            cpus: request.machine.cpus,
            probes: "unknown: the guest did not answer".into(),
            notes: console_note(&self.console_tail),
            ..Provenance::default()
        };
        self.answer(Record::without_measurement(trial, outcome, provenance), on_event);
        End::Broken(why)
    }

    /// The guest does not go on from its state. A state that was kept is removed; with one that was
    /// just made, this QEMU cannot do it.
    fn stuck(&mut self, why: &str) -> End {
        self.qemu.kill();
        if self.way.is_saved {
            self.way.fail();
        } else {
            self.setup.stop_pausing();
        }
        End::Stuck(why.to_owned())
    }

    fn hung(&mut self, on_event: &mut dyn FnMut(Event)) -> End {
        let silence_s = self.patience().as_secs();
        self.qemu.kill();
        let console = qemu::tail(&self.qemu.console());
        if self.way.is_open() {
            return self.stuck("the guest said nothing");
        }
        if self.started.is_none() {
            return End::Broken(format!("the guest was silent for {silence_s} s\n{console}"));
        }
        let reason = format!(
            "no answer for {silence_s} s of wall time; the virtual machine was killed from outside"
        );
        self.console_tail = console;
        self.answer_for_the_guest(Outcome::Hung { reason }, on_event)
    }

    /// Whether QEMU translates the guest's code in several threads at the same time.
    fn is_emulated_in_parallel(&self) -> bool {
        let machine = self.setup.request.machine;
        let is_real = machine.clock == Clock::Real;
        self.setup.accelerator == Accelerator::Tcg && is_real && machine.cpus > 1
    }

    /// Ends a boot after too many faults of QEMU: the trial in flight gets its record; without one,
    /// the boot counts as broken.
    pub fn give_up(&mut self, on_event: &mut dyn FnMut(Event)) -> End {
        if self.started.is_none() {
            return End::Broken(STALE_CODE.into());
        }
        self.answer_for_the_guest(Outcome::Failed { reason: STALE_CODE.into() }, on_event)
    }

    fn died(&mut self, damage: Option<String>, on_event: &mut dyn FnMut(Event)) -> Result<End> {
        let status = self.qemu.wait();
        let lines = self.qemu.console();
        if self.way.is_open() {
            return Ok(self.stuck(&qemu::tail(&lines)));
        }
        if status.is_none_or(|status| !status.success()) {
            let status = status.map_or("an unknown status".into(), |status| status.to_string());
            bail!("QEMU itself ended with {status}\n{}", qemu::tail(&lines));
        }
        if self.is_emulated_in_parallel() && qemu::is_stale_code(&lines) {
            return Ok(End::Emulator(STALE_CODE.into()));
        }
        let mut text = qemu::crash(&lines);
        if let Some(damage) = damage {
            text = format!("{text}\n{damage}");
        }
        if self.started.is_none() {
            return Ok(End::Broken(format!("the guest ended between trials\n{text}")));
        }
        Ok(self.answer_for_the_guest(Outcome::Crashed { text }, on_event))
    }
}

fn console_note(console: &str) -> Vec<String> {
    if console.is_empty() { Vec::new() } else { vec![format!("console: {console}")] }
}

/// A kernel that started fewer CPUs than its machine has ran another trial than the one asked for.
fn lacking_cpus(record: &Record) -> Option<Outcome> {
    let (started, asked) = (record.provenance.cpus, record.trial.machine.cpus);
    // 0: not known.
    let lacks = record.outcome.is_ok() && (1..asked).contains(&started);
    lacks.then(|| Outcome::Unsupported {
        reason: format!(
            "the kernel started {started} of the machine's {asked} CPUs: it needs CONFIG_SMP=y, \
             CONFIG_ACPI=y and CONFIG_NR_CPUS={asked} or more"
        ),
    })
}

enum GuestSignal {
    Frame(FrameKind, Vec<u8>, Instant),
    /// The output of the machine ended; the text describes a damaged last frame.
    End(Option<String>),
    Silence,
    Stop,
}

/// Tells the user the first of these notes of the process.
fn note_once(note: &str, on_event: &mut dyn FnMut(Event)) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) {
        on_event(Event::Note(note.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use model::Machine;

    use super::*;

    #[test]
    fn a_machine_whose_cpus_did_not_all_start_is_unsupported() {
        let lacking = |started: u32, outcome: Outcome| {
            let machine = Machine { cpus: 4, ..Machine::default() };
            let provenance = Provenance { cpus: started, ..Provenance::default() };
            let trial = Trial { machine: machine.into(), ..Trial::default() };
            lacking_cpus(&Record::without_measurement(trial, outcome, provenance))
        };
        let outcome = lacking(1, Outcome::Ok).expect("three are missing");
        assert!(outcome.reason().starts_with("the kernel started 1 of the machine's 4 CPUs"));
        assert_eq!((lacking(4, Outcome::Ok), lacking(0, Outcome::Ok)), (None, None));
        assert_eq!(lacking(1, Outcome::Failed { reason: "it has ended".into() }), None);
    }
}
