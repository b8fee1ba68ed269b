// SPDX-License-Identifier: GPL-2.0-only
//! The facts about this machine that decide what it can do. Each comes from the probe that the
//! measuring verbs use too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use compile::NoCompiler;
use live::facts::{self, Context};
use live::loader::{Obstacle, obstacles};
use model::{Backend, Outcome, Program, Seed};
use spec::assets::{self, Kind};
use spec::plan;
use vm::kernels::{self as images, Kernel, Mirror};
use vm::{NoKvm, emulator, installed, qemu};

use crate::execution::locations::data_folder;
use crate::execution::{self, Settings};
use crate::planned_experiment::{self, host_cpus};

/// What was seen of a machine. An `Err` is what the probe said.
#[derive(Clone, Debug)]
pub struct MachineFacts {
    pub release: String,
    pub simulator: Result<(), String>,
    pub compiler: Result<String, NoCompiler>,
    pub qemu: Result<String, String>,
    pub kernels: Result<Vec<Image>, String>,
    /// Whether QEMU runs a kernel with KVM; what is lacking for the probe is not repeated here.
    pub kvm: Result<(), NoKvm>,
    /// The emulator, if it was built.
    pub emulator: Result<Option<String>, String>,
    /// What building it lacks, each with its package.
    pub emulator_tools: Vec<(&'static str, &'static str)>,
    /// The mirror that kernels and the emulator's source come from; `None`: it was not asked.
    pub mirror: Option<Result<(), String>>,
    /// What keeps schedulers from being loaded into the kernel that runs.
    pub obstacles: Vec<Obstacle>,
    pub programs: Programs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub release: String,
    pub sched_ext: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    pub workloads: usize,
    pub complete: usize,
    /// The packages that bring the others.
    pub packages: BTreeSet<String>,
}

impl MachineFacts {
    /// Looks at this machine. `offline`: the mirror is not asked.
    pub fn of_this_machine(offline: bool) -> MachineFacts {
        let home = data_folder().map_err(words);
        let found = home.clone().and_then(|home| kernels(&home).map_err(words));
        let qemu = qemu::version().map_err(words);
        MachineFacts {
            release: facts::provenance(&Context::default()).kernel_release,
            simulator: simulator(),
            compiler: compile::compiler(),
            kvm: kvm(&qemu, found.as_deref().unwrap_or_default()),
            qemu,
            kernels: found.map(|kernels| kernels.iter().map(Image::of).collect()),
            emulator: home.and_then(|home| emulator(&home).map_err(words)),
            emulator_tools: vm::emulator::qemu_build::missing_tools(),
            mirror: (!offline).then(|| mirror().map_err(words)),
            obstacles: obstacles(),
            programs: programs(),
        }
    }
}

impl Image {
    fn of(kernel: &Kernel) -> Image {
        Image { release: kernel.release.clone(), sched_ext: kernel.sched_ext }
    }
}

fn words(error: anyhow::Error) -> String {
    format!("{error:#}").lines().collect::<Vec<_>>().join("; ")
}

/// Kernels that `--on vm` boots by name: not those of `/boot`, which need their path.
fn kernels(home: &Path) -> Result<Vec<Kernel>> {
    let mut kernels = images::list(home)?;
    kernels.retain(|kernel| !kernel.name.contains('/'));
    Ok(kernels)
}

fn emulator(home: &Path) -> Result<Option<String>> {
    Ok(emulator::find(home)?.map(|emulator| emulator.facts.version))
}

fn mirror() -> Result<()> {
    Mirror::of_this_machine()?.answers()
}

/// Boots a kernel with KVM, if there are QEMU and a kernel.
fn kvm(qemu: &Result<String, String>, kernels: &[Kernel]) -> Result<(), NoKvm> {
    let (Ok(_), Some(kernel)) = (qemu, kernels.first()) else { return Ok(()) };
    let executable = std::env::current_exe().map_err(|error| NoKvm::NoBoot(error.to_string()))?;
    vm::kvm(kernel, &executable)
}

fn simulator() -> Result<(), String> {
    let sources = compile::builtin();
    let source = sources.first().ok_or("no scheduler is built in")?;
    let experiment =
        planned_experiment::smallest_experiment(std::slice::from_ref(source), Backend::MODEL, None);
    let trial = plan::plan(&experiment.map_err(words)?, Seed(1)).swap_remove(0);
    let sources = [(source.sha256.clone(), source.clone())].into();
    let settings = Settings { sources, ..Settings::default() };
    let record = execution::record_of(trial, &settings, &mut |_| {}).map_err(words)?;
    match record.map(|record| record.outcome) {
        Some(Outcome::Ok) => Ok(()),
        Some(other) => Err(format!("{}: {}", other.word(), other.reason())),
        None => Err("it was interrupted".into()),
    }
}

fn programs() -> Programs {
    let mut programs = Programs::default();
    for name in assets::builtin_names(Kind::Workload) {
        let Some(program) = program_of(&name) else { continue };
        let absent = program.needed().filter(|(program, _)| installed::find(program).is_none());
        let packages: Vec<&str> = absent.map(|(_, package)| package).collect();
        programs.workloads += 1;
        programs.complete += usize::from(packages.is_empty());
        let named = packages.into_iter().filter(|package| !package.is_empty());
        programs.packages.extend(named.map(str::to_owned));
    }
    programs
}

fn program_of(workload: &str) -> Option<Program> {
    let asset = assets::find(Kind::Workload, workload, Path::new("")).ok()?;
    spec::workload::resolve(&asset, &BTreeMap::new(), host_cpus()).ok()?.workload.program
}
