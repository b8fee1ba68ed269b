// SPDX-License-Identifier: GPL-2.0-only
//! Runs the trials of a boot. Every trial gets exactly one record: from the guest, or, if the guest
//! cannot give one, from here.

use std::cell::Cell;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use model::{Clock, Machine};

use crate::Kernel;
use crate::boot::{BootRun, End};
use crate::emulator::{self, Emulator};
use crate::qemu::{self, Accelerator};
use crate::request::{BootRequest, Event, Resume, Setup};

/// Longest silence between the start and the first frame, and between two trials. An emulated boot
/// takes three seconds on an idle host, and more on a loaded one.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// Longest silence of a probe of KVM. A slower KVM would be no faster than TCG.
const PROBE_MAX: Duration = Duration::from_secs(20);
/// Boots in a row that may end without a single record.
const FRUITLESS_BOOTS_MAX: u32 = 2;
/// Boots in a row that may end because of QEMU's own fault, see
/// [`crate::qemu::is_stale_code`].
const EMULATOR_FAULTS_MAX: u32 = 5;

/// Runs all trials of a boot. After a crash or a hang, the remaining trials run in a fresh boot.
/// Every trial without a record gets exactly one [`Event::Record`], unless `stop` becomes true:
/// then the machine is killed and the call returns early.
///
/// # Errors
/// QEMU is not installed, a program cannot be packed, or the guest does not boot.
pub fn run_trials(
    request: &BootRequest,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(Event),
) -> Result<()> {
    let setup = Setup::new(request, stop, on_event)?;
    let mut resume = request.resume.clone();
    let mut tries = Tries::default();
    while resume.answered < request.trials.len() && !stop.load(Ordering::Relaxed) {
        let answered = resume.answered;
        let mut boot = BootRun::start(&setup, &resume, stop)?;
        let mut end = boot.attend(stop, on_event)?;
        if let End::Stuck(why) = &end {
            let why = why.lines().last().unwrap_or_default();
            on_event(Event::Note(format!("boot {}: {why}; booting afresh", request.boot)));
            continue;
        }
        tries.count(matches!(end, End::Emulator(_)), boot.next > answered);
        if tries.faults > EMULATOR_FAULTS_MAX {
            let before = boot.next;
            end = boot.give_up(on_event);
            tries.count(false, boot.next > before);
        }
        let next = boot.next.max(answered);
        let note = match end {
            End::Finished | End::Stopped | End::Stuck(_) => None,
            End::Broken(why) | End::Emulator(why) if !tries.are_used_up() => {
                let first = why.lines().next().unwrap_or_default();
                on_event(Event::Note(format!("boot {}: {first}; booting again", request.boot)));
                Some(why)
            }
            End::Broken(why) | End::Emulator(why) => {
                bail!("kernel {}: {why}", request.kernel.release)
            }
        };
        resume = Resume { first: next, answered: next, attempt: resume.attempt + 1, note };
    }
    Ok(())
}

/// Counts the boots without a record since the last record.
#[derive(Default)]
struct Tries {
    /// Boots that ended because of a trial or the guest.
    fruitless: u32,
    /// Boots that ended because of QEMU's own fault.
    faults: u32,
}

impl Tries {
    fn count(&mut self, is_fault: bool, has_answered: bool) {
        if has_answered {
            *self = Tries::default();
        }
        self.faults += u32::from(is_fault);
        self.fruitless += u32::from(!is_fault && !has_answered);
    }

    fn are_used_up(&self) -> bool {
        self.fruitless >= FRUITLESS_BOOTS_MAX || self.faults > EMULATOR_FAULTS_MAX
    }
}

impl<'a> Setup<'a> {
    fn new(
        request: &'a BootRequest<'a>,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Setup<'a>> {
        let mut qemu_version = qemu::version()?;
        let accelerator = choose(request, stop, on_event);
        let firmware = qemu::firmware();
        let emulator = emulator(request)?;
        if let Some(emulator) = emulator {
            qemu_version.clone_from(&emulator.facts.version);
        }
        Ok(Setup {
            request,
            accelerator,
            emulator,
            qemu_version,
            firmware,
            silence_max: SILENCE_MAX,
            pauses: Cell::new(can_pause(request.machine)),
        })
    }

    /// From now on, boots of this process are as they are on a QEMU that cannot save them.
    pub fn stop_pausing(&self) {
        self.pauses.set(false);
        CANNOT_PAUSE.store(true, Ordering::Relaxed);
    }
}

/// Whether guests of this process could not be saved.
static CANNOT_PAUSE: AtomicBool = AtomicBool::new(false);

/// A counted clock goes on where it stopped; a real one does not.
fn can_pause(machine: &Machine) -> bool {
    machine.clock == Clock::Virtual && !CANNOT_PAUSE.load(Ordering::Relaxed)
}

/// The emulator, for a machine that counts. With one CPU the installed QEMU does, too.
fn emulator<'a>(request: &BootRequest<'a>) -> Result<Option<&'a Emulator>> {
    let machine = request.machine;
    match request.emulator {
        _ if machine.clock == Clock::Real => Ok(None),
        None if machine.counts_several_cpus() => bail!("{}", emulator::needed_by(&machine.name)),
        emulator => Ok(emulator),
    }
}

/// KVM cannot count instructions, so only a machine with a real clock may have it.
fn choose(
    request: &BootRequest,
    stop: &AtomicBool,
    on_event: &mut dyn FnMut(Event),
) -> Accelerator {
    if request.machine.clock == Clock::Virtual {
        return Accelerator::Tcg;
    }
    match probe_kvm(request, stop) {
        Ok(()) => Accelerator::Kvm,
        Err(why) => {
            let short = why.short();
            on_event(Event::Note(format!("KVM does not work ({short}); emulating with TCG")));
            Accelerator::Tcg
        }
    }
}

/// Why KVM does not boot a kernel here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKvm {
    /// This process may not use the device.
    #[error("/dev/kvm: {0}")]
    Denied(String),
    /// The device is not there, or does not open for another reason.
    #[error("/dev/kvm: {0}")]
    Absent(String),
    /// QEMU does not start.
    #[error("{0}")]
    NoQemu(String),
    /// A kernel does not boot, although the device is there.
    #[error("a probe boot failed: {0}")]
    NoBoot(String),
}

impl NoKvm {
    /// The reason with QEMU's own message, which is the second line.
    pub fn short(&self) -> String {
        self.to_string().lines().take(2).collect::<Vec<_>>().join(": ")
    }
}

impl From<std::io::Error> for NoKvm {
    fn from(error: std::io::Error) -> NoKvm {
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => NoKvm::Denied(error.to_string()),
            _ => NoKvm::Absent(error.to_string()),
        }
    }
}

/// Checks once per process that KVM boots a kernel here. Callers use it to choose a machine:
/// without KVM, a machine with a real clock runs at the emulator's speed.
pub fn kvm(kernel: &Kernel, executable: &Path) -> std::result::Result<(), NoKvm> {
    let machine = Machine { clock: Clock::Real, ..Machine::default() };
    let request = BootRequest::new(kernel, &machine, &[], executable);
    probe_kvm(&request, &AtomicBool::new(false))
}

/// Boots a kernel without trials, because `/dev/kvm` may exist and still not run a stock kernel.
fn probe_kvm(request: &BootRequest, stop: &AtomicBool) -> std::result::Result<(), NoKvm> {
    static ANSWER: OnceLock<std::result::Result<(), NoKvm>> = OnceLock::new();
    let probe = || {
        let version = qemu::version().map_err(|error| NoKvm::NoQemu(format!("{error:#}")))?;
        std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm")?;
        let BootRequest { kernel, machine, executable, .. } = *request;
        let setup = Setup {
            request: &BootRequest::new(kernel, machine, &[], executable),
            accelerator: Accelerator::Kvm,
            emulator: None,
            qemu_version: version,
            firmware: String::new(),
            silence_max: PROBE_MAX,
            pauses: Cell::new(false),
        };
        let boot = BootRun::start(&setup, &Resume::default(), stop);
        match boot.and_then(|mut boot| boot.attend(stop, &mut |_| {})) {
            Ok(End::Finished | End::Stopped) => Ok(()),
            Ok(End::Broken(why) | End::Emulator(why) | End::Stuck(why)) => Err(NoKvm::NoBoot(why)),
            Err(error) => Err(NoKvm::NoBoot(format!("{error:#}"))),
        }
    };
    ANSWER.get_or_init(probe).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_renews_all_tries() {
        let mut tries = Tries::default();
        tries.count(false, false);
        tries.count(false, true);
        tries.count(false, false);
        assert!(!tries.are_used_up());
        tries.count(false, false);
        assert!(tries.are_used_up());
    }

    #[test]
    fn the_emulators_faults_have_tries_of_their_own() {
        let mut tries = Tries::default();
        for _ in 0..EMULATOR_FAULTS_MAX {
            tries.count(true, false);
        }
        assert!(!tries.are_used_up());
        tries.count(true, true);
        assert_eq!((tries.faults, tries.fruitless), (1, 0));
    }
}
