// SPDX-License-Identifier: GPL-2.0-only
//! Every trial gets exactly one record: from the guest, or, when the guest can give none, from
//! here.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use model::{Clock, Machine, Record, Trial};

use crate::Kernel;
use crate::boot::{BootRun, End};
use crate::qemu::{self, Accelerator};

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
    /// Paths of programs that others start by themselves, packed in the same way.
    pub parts: Vec<String>,
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
/// A boot that answers nothing is tried again, once.
const FRUITLESS_BOOTS_MAX: u32 = 2;
/// How often in a row a trial, or the boot before it, may meet the emulator's own fault, see
/// [`crate::console::is_stale_code`].
const EMULATORS_FAULTS_MAX: u32 = 5;

/// Runs all trials of a boot; after a crash or a hang the rest runs in a fresh boot. Every trial
/// gets exactly one [`Event::Record`], unless `stop` becomes true: then the machine is killed and
/// the call returns early.
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
    let mut tries = Tries::default();
    let mut note = None;
    while answered < request.trials.len() && !stop.load(Ordering::Relaxed) {
        let mut boot = BootRun::start(&lab, answered, attempt, note.take())?;
        let mut end = boot.attend(stop, on_event)?;
        tries.count(matches!(end, End::Emulator(_)), boot.next > answered);
        if tries.faults > EMULATORS_FAULTS_MAX {
            let before = boot.next;
            end = boot.give_up(on_event);
            tries.count(false, boot.next > before);
        }
        answered = boot.next;
        attempt += 1;
        note = match end {
            End::Finished | End::Stopped => None,
            End::Broken(why) | End::Emulator(why) if !tries.are_used_up() => {
                let first = why.lines().next().unwrap_or_default();
                on_event(Event::Note(format!("boot {}: {first}; booting again", request.boot)));
                Some(why)
            }
            End::Broken(why) | End::Emulator(why) => {
                bail!("kernel {}: {why}", request.kernel.release)
            }
        };
    }
    Ok(())
}

/// The boots that answered nothing since the last answer.
#[derive(Default)]
struct Tries {
    /// For a reason of their own.
    fruitless: u32,
    /// For the emulator's own fault.
    faults: u32,
}

impl Tries {
    fn count(&mut self, is_fault: bool, has_answered: bool) {
        if has_answered {
            *self = Tries::default();
        }
        match (is_fault, has_answered) {
            (true, _) => self.faults += 1,
            (false, true) => {}
            (false, false) => self.fruitless += 1,
        }
    }

    fn are_used_up(&self) -> bool {
        self.fruitless >= FRUITLESS_BOOTS_MAX || self.faults > EMULATORS_FAULTS_MAX
    }
}

/// What stays the same over a request's boots.
pub(crate) struct Lab<'a> {
    pub request: &'a BootRequest<'a>,
    /// Never `Auto`.
    pub accelerator: Accelerator,
    /// As QEMU says it.
    pub qemu_version: String,
    /// Longest silence before the first trial and between trials.
    pub silence_max: Duration,
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
                // QEMU's own complaint stands in the line after the probe's result.
                let short = why.lines().take(2).collect::<Vec<_>>().join(": ");
                on_event(Event::Note(format!("KVM does not work ({short}); emulating with TCG")));
                Ok(Accelerator::Tcg)
            }
        },
        (Clock::Real, given) => Ok(given),
    }
}

/// Whether KVM runs a kernel here; the error says why not. Asked once per process, and of use
/// before a machine is chosen: where it does not, real time is the emulator's.
///
/// # Errors
/// Why not.
pub fn kvm(kernel: &Kernel, executable: &Path) -> std::result::Result<(), String> {
    let version = qemu::version().map_err(|error| format!("{error:#}"))?;
    let machine = Machine { clock: Clock::Real, ..Machine::default() };
    let request = BootRequest {
        kernel,
        machine: &machine,
        boot: 0,
        trials: &[],
        executable,
        programs: Vec::new(),
        parts: Vec::new(),
        files: Vec::new(),
        accelerator: Accelerator::Kvm,
    };
    probe_kvm(&request, &version, &AtomicBool::new(false))
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
            parts: Vec::new(),
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
            Ok(End::Broken(why) | End::Emulator(why)) => Err(format!("a probe boot failed: {why}")),
            Err(error) => Err(format!("a probe boot failed: {error:#}")),
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
        for _ in 0..EMULATORS_FAULTS_MAX {
            tries.count(true, false);
        }
        assert!(!tries.are_used_up());
        tries.count(true, true);
        assert_eq!((tries.faults, tries.fruitless), (1, 0));
    }
}
