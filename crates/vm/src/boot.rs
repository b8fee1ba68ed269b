// SPDX-License-Identifier: GPL-2.0-only
//! One boot: what is heard from the guest, and the records that the guest could not give.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use model::{Clock, Outcome, Provenance, Record, Trial};

use crate::channel::Kind;
use crate::console;
use crate::initramfs::{self, Boot, Contents};
use crate::qemu::{self, Accelerator, Output, Qemu};
use crate::trials::{Event, Lab};

/// See [`console::is_stale_code`].
const STALE_CODE: &str = "QEMU ran code that the guest's kernel had already replaced, on several \
                          emulated CPUs; newer versions of QEMU, or KVM, do not";

/// How often `stop` is looked at.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// One run of QEMU.
pub(crate) struct BootRun<'a> {
    lab: &'a Lab<'a>,
    qemu: Qemu,
    /// Index of the first trial of this boot.
    first: usize,
    /// Index of the first trial without an answer.
    pub next: usize,
    /// Start of the trial in flight.
    started: Option<(Instant, SystemTime)>,
    boot_id: String,
    /// Why this is not the planned boot's first.
    note: Option<String>,
    /// The console's last lines, when the guest hung.
    console_tail: String,
}

/// How a boot ended.
pub(crate) enum End {
    Finished,
    Stopped,
    /// Too early, and why.
    Broken(String),
    /// The emulator's own fault, which deserves another boot; what it was.
    Emulator(String),
}

impl<'a> BootRun<'a> {
    /// Packs the trials from `first` on and starts the machine.
    pub fn start(
        lab: &'a Lab<'a>,
        first: usize,
        attempt: u32,
        note: Option<String>,
    ) -> Result<BootRun<'a>> {
        let request = lab.request;
        let boot_id = match attempt {
            0 => format!("virtual-{}", request.boot),
            again => format!("virtual-{}.{again}", request.boot),
        };
        let initramfs = initramfs(lab, first, &boot_id)?;
        let arguments = qemu::arguments(&request.kernel.image, request.machine, lab.accelerator);
        let qemu = Qemu::start(&arguments, &initramfs)?;
        Ok(BootRun {
            lab,
            qemu,
            first,
            next: first,
            started: None,
            boot_id,
            note,
            console_tail: String::new(),
        })
    }

    /// Listens until the boot's end. Lab failures that a second boot cannot heal are errors.
    pub fn attend(&mut self, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<End> {
        loop {
            let deadline = Instant::now() + self.patience();
            match self.wait(deadline, stop) {
                Heard::Frame(Kind::Finished, ..) => return Ok(self.finished()),
                Heard::Frame(Kind::Failed, payload, _) => {
                    bail!("the guest failed: {}", String::from_utf8_lossy(&payload))
                }
                Heard::Frame(kind, payload, at) => self.frame(kind, &payload, at, on_event)?,
                Heard::Stop => return Ok(End::Stopped),
                Heard::Silence => return Ok(self.hung(on_event)),
                Heard::End(damage) => return self.died(damage, on_event),
            }
        }
    }

    fn finished(&self) -> End {
        if self.next == self.lab.request.trials.len() {
            return End::Finished;
        }
        End::Broken("the guest says that it has finished, but has not".into())
    }

    /// How long the guest may be silent now, in wall time: under instruction counting a trial's own
    /// time limit (the guest's affair) may take several times as long here.
    fn patience(&self) -> Duration {
        match self.started {
            Some(_) => {
                let timeout_ms = self.lab.request.trials[self.next].timeout_ms;
                Duration::from_millis(timeout_ms.saturating_mul(3)) + Duration::from_secs(20)
            }
            None => self.lab.silence_max,
        }
    }

    fn wait(&self, deadline: Instant, stop: &AtomicBool) -> Heard {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Heard::Stop;
            }
            match self.qemu.output.recv_timeout(STOP_CHECK) {
                Ok(Output::Frame(kind, payload, at)) => return Heard::Frame(kind, payload, at),
                Ok(Output::End(damage)) => return Heard::End(damage),
                Err(RecvTimeoutError::Disconnected) => return Heard::End(None),
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                    return Heard::Silence;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn frame(
        &mut self,
        kind: Kind,
        payload: &[u8],
        at: Instant,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<()> {
        match kind {
            Kind::Hello => {
                self.boot_id = String::from_utf8_lossy(payload).into_owned();
                let boot_ms = at.duration_since(self.qemu.started).as_millis() as u64;
                on_event(Event::Booted { boot_ms });
            }
            Kind::Started => {
                if self.next >= self.lab.request.trials.len() {
                    bail!("the guest starts a trial that it was not given");
                }
                self.started = Some((at, SystemTime::now()));
                on_event(Event::TrialStarted(self.next));
            }
            Kind::Record => {
                let record = self.read_record(payload)?;
                self.answer(record, on_event);
            }
            Kind::Finished | Kind::Failed => {}
        }
        Ok(())
    }

    fn read_record(&self, payload: &[u8]) -> Result<Record> {
        let record: Record =
            serde_json::from_slice(payload).context("the guest's record is not understood")?;
        let asked = self.lab.request.trials.get(self.next).map(Trial::id);
        if self.started.is_none() || asked != Some(record.trial.id()) {
            bail!("the guest answered another trial than it was asked");
        }
        Ok(record)
    }

    /// Completes a record with what only the host knows, and hands it on.
    fn answer(&mut self, mut record: Record, on_event: &mut dyn FnMut(Event)) {
        let request = self.lab.request;
        let provenance = &mut record.provenance;
        provenance.kernel_sha256.clone_from(&request.kernel.sha256);
        provenance.accelerator = self.lab.accelerator.word().to_owned();
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
        facts.insert("command_line".into(), qemu::command_line(request.machine));
        facts.insert("qemu".into(), self.lab.qemu_version.clone());
        if let Some(why) = self.note.as_deref().and_then(|note| note.lines().next()) {
            provenance.notes.push(format!("in a fresh boot, because the one before ended: {why}"));
        }
        on_event(Event::Record(self.next, Box::new(record)));
        self.next += 1;
    }

    /// The record of a trial that the guest could not answer.
    fn answer_for_the_guest(&mut self, outcome: Outcome, on_event: &mut dyn FnMut(Event)) -> End {
        let request = self.lab.request;
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

    fn hung(&mut self, on_event: &mut dyn FnMut(Event)) -> End {
        let silence_s = self.patience().as_secs();
        self.qemu.kill();
        let console = console::tail(&self.qemu.console());
        if self.started.is_none() {
            return End::Broken(format!("the guest was silent for {silence_s} s\n{console}"));
        }
        let reason = format!(
            "no answer for {silence_s} s of wall time; the virtual machine was killed from outside"
        );
        self.console_tail = console;
        self.answer_for_the_guest(Outcome::Hung { reason }, on_event)
    }

    /// Whether several threads of the host translate the guest's code at the same time.
    fn is_emulated_in_parallel(&self) -> bool {
        let machine = self.lab.request.machine;
        let is_real = machine.clock == Clock::Real;
        self.lab.accelerator == Accelerator::Tcg && is_real && machine.cpus > 1
    }

    /// The end of a boot that has met the emulator's fault too often: the record of the trial that
    /// ran, or no machine to run any in.
    pub fn give_up(&mut self, on_event: &mut dyn FnMut(Event)) -> End {
        if self.started.is_none() {
            return End::Broken(STALE_CODE.into());
        }
        self.answer_for_the_guest(Outcome::Failed { reason: STALE_CODE.into() }, on_event)
    }

    fn died(&mut self, damage: Option<String>, on_event: &mut dyn FnMut(Event)) -> Result<End> {
        let status = self.qemu.wait();
        let lines = self.qemu.console();
        if status.is_none_or(|status| !status.success()) {
            let status = status.map_or("an unknown status".into(), |status| status.to_string());
            bail!("QEMU itself ended with {status}\n{}", console::tail(&lines));
        }
        if self.is_emulated_in_parallel() && console::is_stale_code(&lines) {
            return Ok(End::Emulator(STALE_CODE.into()));
        }
        let mut text = console::crash(&lines);
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

/// What [`BootRun::wait`] came back with.
enum Heard {
    Frame(Kind, Vec<u8>, Instant),
    /// The machine is gone; a frame may be damaged.
    End(Option<String>),
    Silence,
    Stop,
}

fn initramfs(lab: &Lab, first: usize, boot_id: &str) -> Result<Vec<u8>> {
    let request = lab.request;
    let mut trials = String::new();
    for trial in &request.trials[first..] {
        trials.push_str(&serde_json::to_string(trial)?);
        trials.push('\n');
    }
    let is_virtual = request.machine.clock == Clock::Virtual;
    let boot = Boot {
        boot_id: is_virtual.then(|| boot_id.to_owned()),
        accelerator: lab.accelerator.word().to_owned(),
        kernel_sha256: request.kernel.sha256.clone(),
        path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
    };
    let config = request.kernel.config.as_deref();
    initramfs::build(&Contents {
        executable: request.executable,
        programs: &request.programs,
        parts: &request.parts,
        files: &request.files,
        config: config.map(|config| (request.kernel.release.as_str(), config)),
        boot: &boot,
        trials: &trials,
    })
}
