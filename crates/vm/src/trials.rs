// SPDX-License-Identifier: GPL-2.0-only
//! Every trial gets exactly one record: from the guest, or, when the guest can give none, from here.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use model::{Clock, Machine, Outcome, Provenance, Record, Trial};

use crate::channel::Kind;
use crate::initramfs::{self, Boot, Contents};
use crate::qemu::{self, Accelerator, Output, Qemu};
use crate::{Kernel, console};

/// One planned boot.
pub struct BootRequest<'a> {
    /// What to boot.
    pub kernel: &'a Kernel,
    /// CPUs, memory, clock.
    pub machine: &'a Machine,
    /// The planned boot's number.
    pub boot: u32,
    /// What to run in it, in this order.
    pub trials: &'a [Trial],
    /// The program that becomes `/init`; its `main` must hand over to [`crate::guest::run`].
    pub executable: &'a Path,
    /// Programs that the workloads name; packed with their shared libraries.
    pub programs: Vec<String>,
    /// Further files: absolute path in the guest, content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Which accelerator to use.
    pub accelerator: Accelerator,
}

/// What [`run_trials`] tells its caller.
#[derive(Clone, Debug)]
pub enum Event {
    /// The guest said its first word.
    Booted {
        /// Wall time since QEMU was started.
        boot_ms: u64,
    },
    /// The trial with this index starts.
    TrialStarted(usize),
    /// The trial with this index has its answer.
    Record(usize, Box<Record>),
    /// Something that the user should know.
    Note(String),
}

/// From the start to the first word, and between two trials: emulated boots take three seconds, and
/// hosts may be loaded.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// A probe of KVM that has not booted by then would be no faster than TCG.
const PROBE_MAX: Duration = Duration::from_secs(20);
/// How often `stop` is looked at.
const STOP_CHECK: Duration = Duration::from_millis(50);
/// A boot that answers nothing is tried again, once.
const FRUITLESS_BOOTS_MAX: u32 = 2;

/// Runs all trials of a boot; after a crash or a hang the rest runs in a fresh boot. Every trial gets
/// exactly one [`Event::Record`], unless `stop` becomes true: then the machine is killed and the call
/// returns early.
///
/// # Errors
/// The lab itself failed: no QEMU, a program that cannot be packed, a guest that does not boot.
pub fn run_trials(
    request: &BootRequest,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(Event),
) -> Result<()> {
    let lab = Lab::new(request, stop, on_event)?;
    let mut answered = 0;
    let mut attempt = 0;
    let mut fruitless = 0;
    let mut note = None;
    while answered < request.trials.len() && !stop.load(Ordering::Relaxed) {
        let mut boot = BootRun::start(&lab, answered, attempt, note.take())?;
        let end = boot.attend(stop, on_event)?;
        fruitless = if boot.next > answered { 0 } else { fruitless + 1 };
        answered = boot.next;
        attempt += 1;
        note = match end {
            End::Finished | End::Stopped => None,
            End::Broken(why) if fruitless < FRUITLESS_BOOTS_MAX => {
                on_event(Event::Note(format!("boot {}: {why}; booting again", request.boot)));
                Some(why)
            }
            End::Broken(why) => bail!("kernel {}: {why}", request.kernel.release),
        };
    }
    Ok(())
}

/// What stays the same over a request's boots.
struct Lab<'a> {
    request: &'a BootRequest<'a>,
    /// Never `Auto`.
    accelerator: Accelerator,
    qemu_version: String,
    /// Longest silence before the first trial and between trials.
    silence_max: Duration,
}

impl<'a> Lab<'a> {
    fn new(
        request: &'a BootRequest<'a>,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Lab<'a>> {
        let qemu_version = qemu::version()?;
        let accelerator = choose(request, &qemu_version, stop, on_event)?;
        Ok(Lab { request, accelerator, qemu_version, silence_max: SILENCE_MAX })
    }
}

fn choose(
    request: &BootRequest,
    qemu_version: &str,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(Event),
) -> Result<Accelerator> {
    match (request.machine.clock, request.accelerator) {
        (Clock::Virtual, Accelerator::Kvm) => {
            bail!("KVM cannot count instructions: a machine with clock = \"virtual\" needs TCG")
        }
        (Clock::Virtual, _) => Ok(Accelerator::Tcg),
        (Clock::Real, Accelerator::Auto) => match probe_kvm(request, qemu_version, stop) {
            Ok(()) => Ok(Accelerator::Kvm),
            Err(why) => {
                on_event(Event::Note(format!("KVM does not work ({why}); emulating with TCG")));
                Ok(Accelerator::Tcg)
            }
        },
        (Clock::Real, given) => Ok(given),
    }
}

/// `/dev/kvm` may exist and still not run a stock kernel, so one is booted. Asked once per process.
fn probe_kvm(
    request: &BootRequest,
    qemu_version: &str,
    stop: &AtomicBool,
) -> std::result::Result<(), String> {
    static ANSWER: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    let probe = || {
        if let Err(error) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm") {
            return Err(format!("/dev/kvm: {error}"));
        }
        let empty = BootRequest {
            trials: &[],
            programs: Vec::new(),
            files: Vec::new(),
            accelerator: Accelerator::Kvm,
            ..*request
        };
        let lab = Lab {
            request: &empty,
            accelerator: Accelerator::Kvm,
            qemu_version: qemu_version.to_owned(),
            silence_max: PROBE_MAX,
        };
        let boot = BootRun::start(&lab, 0, 0, None);
        match boot.and_then(|mut boot| boot.attend(stop, &mut |_| {})) {
            Ok(End::Finished | End::Stopped) => Ok(()),
            Ok(End::Broken(why)) => Err(format!("a probe boot failed: {why}")),
            Err(error) => Err(format!("a probe boot failed: {error:#}")),
        }
    };
    ANSWER.get_or_init(probe).clone()
}

/// One run of QEMU.
struct BootRun<'a> {
    lab: &'a Lab<'a>,
    qemu: Qemu,
    /// Index of the first trial of this boot.
    first: usize,
    /// Index of the first trial without an answer.
    next: usize,
    /// Start of the trial in flight.
    started: Option<(Instant, SystemTime)>,
    boot_id: String,
    /// Why this is not the planned boot's first.
    note: Option<String>,
}

/// How a boot ended.
enum End {
    Finished,
    Stopped,
    /// Too early, and why.
    Broken(String),
}

impl<'a> BootRun<'a> {
    fn start(
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
        Ok(BootRun { lab, qemu, first, next: first, started: None, boot_id, note })
    }

    /// Listens until the boot's end. Lab failures that a second boot cannot heal are errors.
    fn attend(&mut self, stop: &AtomicBool, on_event: &mut dyn FnMut(Event)) -> Result<End> {
        loop {
            let deadline = Instant::now() + self.patience();
            match self.wait(deadline, stop) {
                Heard::Frame(Kind::Finished, ..) => return Ok(End::Finished),
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

    /// How long the guest may be silent now, in wall time: under instruction counting a trial's own time
    /// limit (the guest's affair) may take several times as long here.
    fn patience(&self) -> Duration {
        match self.started {
            Some(_) => {
                let timeout_ms = self.lab.request.trials[self.next].timeout_ms;
                Duration::from_millis(timeout_ms.saturating_mul(2)) + Duration::from_secs(20)
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
        facts.insert("command_line".into(), qemu::command_line(request.machine.clock));
        facts.insert("qemu".into(), self.lab.qemu_version.clone());
        if let Some(note) = &self.note {
            provenance.notes.push(format!("in a fresh boot, because the one before ended: {note}"));
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
        let reason = [reason, console].join("\n").trim_end().to_owned();
        self.answer_for_the_guest(Outcome::Hung { reason }, on_event)
    }

    fn died(&mut self, damage: Option<String>, on_event: &mut dyn FnMut(Event)) -> Result<End> {
        let status = self.qemu.wait();
        let lines = self.qemu.console();
        if status.is_none_or(|status| !status.success()) {
            let status = status.map_or("an unknown status".into(), |status| status.to_string());
            bail!("QEMU itself ended with {status}\n{}", console::tail(&lines));
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
        files: &request.files,
        config: config.map(|config| (request.kernel.release.as_str(), config)),
        boot: &boot,
        trials: &trials,
    })
}
