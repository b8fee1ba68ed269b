// SPDX-License-Identifier: GPL-2.0-only
//! Trials in virtual machines, grouped by boot. Boots run in parallel where they do not disturb
//! each other.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow};
use model::{Clock, Progress, Trial};
use vm::emulator::Emulator;
use vm::kernels::{self, Kernel};
use vm::packing::Packed;
use vm::{BootRequest, Event, installed};

use super::objects::{self, Objects};
use super::repeated::{Earlier, PlannedBoot};
use super::sink::Sink;
use super::{Settings, emulators, locations, tapes, unsupported};
use crate::exit::bad_input;
use spec::plan;

/// The kernel for contestants that name none: the newest one, which has sched_ext.
const DEFAULT_KERNEL: &str = "7";

struct BootRunner<'a, 'sink> {
    kernels: BTreeMap<String, Kernel>,
    objects: &'a Objects,
    executable: PathBuf,
    sources: PathBuf,
    saved: PathBuf,
    earlier: &'a Earlier,
    emulator: Option<Emulator>,
    sink: &'a Sink<'sink>,
}

/// Runs the trials. Those that cannot run get their record at once, without booting for them.
pub fn run(
    trials: &[Trial],
    objects: &Objects,
    settings: &Settings,
    sink: &Sink<'_>,
) -> Result<()> {
    if trials.is_empty() {
        return Ok(());
    }
    let kernels = kernels(trials, settings, sink)?;
    let executable = match &settings.executable {
        Some(executable) => executable.clone(),
        None => std::env::current_exe().context("cannot find this program's own file")?,
    };
    let home = settings.home()?;
    let (sources, earlier) = (locations::source_trees_in(&home), &settings.earlier);
    let emulator = emulators::of(trials, &home)?;
    let saved = vm::saved_boots::folder(&home);
    let runner =
        BootRunner { kernels, objects, executable, sources, saved, earlier, emulator, sink };
    let mut boots = VecDeque::new();
    for boot in plan::by_boot(trials) {
        boots.extend(runner.sort_out(boot.trials).map(|left| settings.earlier.boot(left)));
    }
    let jobs = settings.jobs.unwrap_or_else(|| default_jobs(trials)).clamp(1, boots.len().max(1));
    runner.run_all(boots, jobs);
    Ok(())
}

pub fn download_kernels(trials: &[Trial], settings: &Settings, sink: &Sink<'_>) -> Result<()> {
    let is_booted = |trial: &&Trial| trial.backend.boots_kernels();
    let booted: Vec<Trial> = trials.iter().filter(is_booted).cloned().collect();
    kernels(&booted, settings, sink).map(drop)
}

/// How many boots of these trials run at a time if there are enough of them; 1 without boots.
pub fn at_once(trials: &[Trial], jobs: Option<usize>) -> usize {
    if trials.iter().all(|trial| trial.backend.boots_kernels()) {
        jobs.unwrap_or_else(|| default_jobs(trials)).max(1)
    } else {
        1
    }
}

/// One boot at a time under the real clock, because two disturb each other; as many as there are
/// CPUs where instructions are counted.
fn default_jobs(trials: &[Trial]) -> usize {
    let is_virtual = |trial: &Trial| trial.machine.clock == Clock::Virtual;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if trials.iter().all(is_virtual) { cpus } else { 1 }
}

fn kernel_name(trial: &Trial) -> &str {
    trial.contestant.kernel.as_deref().unwrap_or(DEFAULT_KERNEL)
}

fn kernels(
    trials: &[Trial],
    settings: &Settings,
    sink: &Sink<'_>,
) -> Result<BTreeMap<String, Kernel>> {
    let mut found = BTreeMap::new();
    for name in trials.iter().map(kernel_name) {
        if !found.contains_key(name) {
            found.insert(name.to_owned(), kernel(name, settings, sink)?);
        }
    }
    Ok(found)
}

fn kernel(name: &str, settings: &Settings, sink: &Sink<'_>) -> Result<Kernel> {
    let known = kernels::NAMES.contains(&name);
    let home = settings.home()?;
    match kernels::find(&home, name) {
        Err(_) if known && !settings.offline => {
            sink.progress(&Progress::Note(&format!(
                "kernel {name} is not here yet; downloading it"
            )));
            let mut note = |text: &str| sink.progress(&Progress::Note(text));
            kernels::pull(&home, &[name], &mut note)?;
            kernels::find(&home, name)
        }
        Err(error) if !known && !kernels::is_here(&home, name) => {
            Err(bad_input(format!("{error:#}")))
        }
        other => other,
    }
}

impl BootRunner<'_, '_> {
    fn kernel(&self, trial: &Trial) -> &Kernel {
        &self.kernels[kernel_name(trial)]
    }

    /// The trials of a boot that can run; the others get their record now.
    fn sort_out(&self, trials: &[Trial]) -> Option<Vec<Trial>> {
        let mut can = Vec::new();
        for trial in trials {
            match self.why_not(trial) {
                Some(reason) => self.sink.record(unsupported(trial.clone(), &reason)),
                None => can.push(trial.clone()),
            }
        }
        (!can.is_empty()).then_some(can)
    }

    fn why_not(&self, trial: &Trial) -> Option<String> {
        let kernel = self.kernel(trial);
        if trial.contestant.scheduler.is_sched_ext() && !kernel.sched_ext {
            let release = &kernel.release;
            return Some(match kernel.has_sched_ext() {
                Some(_) => format!(
                    "kernel {release} has no sched_ext; `kernel = \"{DEFAULT_KERNEL}\"` has"
                ),
                None => format!(
                    "kernel {release} is here without its configuration, which tells whether it \
                     has sched_ext; add it again by `fairground kernel use` with --config"
                ),
            });
        }
        if self.emulator.is_none()
            && let Some(reason) = emulators::why_not(trial)
        {
            return Some(reason);
        }
        let alone = std::slice::from_ref(trial);
        let tapes = || tapes::too_large(alone, trial.machine.memory_mib);
        installed::missing(trial).or_else(tapes).or_else(|| self.packed(alone).err())
    }

    /// What these trials' programs need in their guest, or why it cannot be packed or unpacked.
    fn packed(&self, trials: &[Trial]) -> Result<Packed, String> {
        let why = |error: anyhow::Error| format!("{error:#}");
        let packed = Packed::for_trials(trials, &self.sources).map_err(why)?;
        if packed == Packed::default() {
            return Ok(packed);
        }
        let memory_mib = trials[0].machine.memory_mib;
        match packed.too_large(&self.executable, memory_mib).map_err(why)? {
            Some(too_large) => Err(too_large),
            None => Ok(packed),
        }
    }

    /// Runs all boots with `jobs` threads. The first error of the lab ends all of them.
    fn run_all(&self, boots: VecDeque<PlannedBoot>, jobs: usize) {
        let queue = Mutex::new(boots);
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let work = || {
            while let Some(boot) = next()
                && !self.sink.is_stopped()
            {
                if let Err(error) = self.run_one(&boot) {
                    self.sink.fail(error);
                }
            }
        };
        thread::scope(|scope| {
            // Where no further thread can be started, this one does all.
            for _ in 1..jobs {
                if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });
    }

    fn run_one(&self, planned: &PlannedBoot) -> Result<()> {
        let trials = &planned.trials;
        let first = &trials[0];
        self.refuse_other_emulator(planned)?;
        let together = |why| anyhow!("the workloads of one boot together: {why}");
        let packed = self.packed(trials).map_err(together)?;
        let mut files = objects::guest_files(self.objects)?;
        files.extend(packed.files()?);
        files.extend(tapes::guest_files(trials));
        let request = BootRequest {
            programs: packed.programs,
            parts: packed.parts,
            files,
            emulator: self.emulator.as_ref(),
            saved: Some(self.saved.clone()),
            resume: planned.resume.clone(),
            ..BootRequest::new(self.kernel(first), &first.machine, trials, &self.executable)
        };
        let kernel = &request.kernel.release;
        self.sink.progress(&Progress::BootStarted { boot: first.boot, kernel });
        let mut is_confirmed = true;
        vm::run_trials(&request, self.sink.stop(), &mut |event| {
            self.hear(planned, event, &mut is_confirmed);
        })
    }

    /// Handles an event of a boot. `is_confirmed` becomes false when a trial that ran again gave
    /// other numbers than its record has.
    fn hear(&self, planned: &PlannedBoot, event: Event, is_confirmed: &mut bool) {
        let first = &planned.trials[0];
        match event {
            Event::Booted { boot_ms, image_sha256 } => {
                self.sink.progress(&Progress::Booted { boot: first.boot, boot_ms });
                self.refuse_other_image(planned, &image_sha256);
            }
            Event::TrialStarted(index) => {
                self.sink.progress(&Progress::TrialStarted(&planned.trials[index]));
            }
            Event::Repeated(index, record) => *is_confirmed &= planned.confirms(index, &record),
            Event::Record(index, record) if planned.is_known(index) => {
                *is_confirmed &= planned.confirms(index, &record);
            }
            Event::Record(_, mut record) => {
                if !*is_confirmed {
                    record.provenance.notes.push(UNCONFIRMED.into());
                    self.sink.progress(&Progress::Note(UNCONFIRMED));
                }
                self.sink.record(*record);
            }
            Event::Note(note) => self.sink.progress(&Progress::Note(&note)),
        }
    }

    /// Two emulators do not count alike, so their records are never in one campaign.
    fn refuse_other_emulator(&self, boot: &PlannedBoot) -> Result<()> {
        let Some(known) = self.earlier.counted_by(boot) else { return Ok(()) };
        let now = match &self.emulator {
            Some(emulator) => emulator.identity(),
            None => vm::qemu::version()?,
        };
        if known == now {
            return Ok(());
        }
        Err(bad_input(format!(
            "this campaign's instructions were counted by {known}, and {now} would count the \
             rest: numbers of two emulators are not pooled; run without --resume to begin a new \
             campaign"
        )))
    }

    /// Records of two guests' images are never in one campaign.
    fn refuse_other_image(&self, boot: &PlannedBoot, image_sha256: &str) {
        if let Some(known) = self.earlier.image(boot).filter(|known| *known != image_sha256) {
            let [known, image] = [known, image_sha256].map(|sha| sha.get(..12).unwrap_or(sha));
            self.sink.fail(bad_input(format!(
                "the guest has changed since this campaign began (its image was {known}, now it \
                 is {image}): Fairground, a program of a workload or one of their libraries is \
                 another one now, and numbers of two guests are not pooled; run without --resume \
                 to begin a new campaign"
            )));
        }
    }
}

/// What is said of the records of a boot that was repeated and did not repeat its numbers.
const UNCONFIRMED: &str = "the boot was interrupted and repeated, and trials that ran again gave \
                           other numbers; the numbers of this record may differ from those of an \
                           uninterrupted boot";
