// SPDX-License-Identifier: GPL-2.0-only
//! `fairground kernel pull|build|examples|use|boots|emulator`: the kernels that virtual machines
//! boot.

pub mod build;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde::Serialize;
use vm::emulator::{self, Emulator};
use vm::kernels::build::steps::Site;
use vm::kernels::{self, Kernel, Own};
use vm::saved_boots;

use crate::execution::interrupt;
use crate::execution::locations::data_folder;
use crate::exit::bad_input;
use crate::measure::at_least_one;
use crate::{build_progress, output};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: KernelAction,
}

#[derive(Subcommand)]
enum KernelAction {
    /// Download kernels from the Debian mirror that apt uses
    Pull {
        /// Names as in `list kernels`; all known ones when none is given
        names: Vec<String>,
    },
    /// Build an original scheduler's kernel, its unpatched base, or a kernel of your own
    Build(build::Args),
    /// Download the kernel's own example schedulers, and print their folder
    Examples,
    /// Add a kernel image of your own
    Use {
        /// A bootable image, e.g. arch/x86/boot/bzImage
        #[arg(required_unless_present = "running")]
        file: Option<PathBuf>,
        /// The kernel that runs, with its configuration
        #[arg(long, conflicts_with = "file")]
        running: bool,
        /// Its configuration file, which sched_ext schedulers need; without it, the one beside the
        /// image or in it
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// A name of its own; without it, the kernel is found by its release
        #[arg(long)]
        name: Option<String>,
    },
    /// Say how much space the saved boots take, or remove them
    Boots {
        /// Remove them; the next boots make them again
        #[arg(long)]
        remove: bool,
    },
    /// Build the emulator for virtual time, which several CPUs need
    Emulator {
        #[command(subcommand)]
        action: EmulatorAction,
    },
}

#[derive(Subcommand)]
enum EmulatorAction {
    /// Build it from Debian's source of QEMU with the patches of `emulator/`
    Build {
        /// Compilers at a time; all CPUs without it
        #[arg(long, value_name = "N", value_parser = at_least_one())]
        jobs: Option<usize>,
    },
    /// Say whether and where it is installed, and what it was built from
    Show,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let home = data_folder()?;
    match args.action {
        KernelAction::Pull { names } => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let names = if names.is_empty() { kernels::NAMES } else { &names };
            let pulled = kernels::pull(&home, names, &mut |note| output::tell(note))?;
            print(&pulled)?;
        }
        KernelAction::Examples => {
            let folder = kernels::pull_examples(&home, &mut |note| output::tell(note))?;
            output::print_exact(&format!("{}\n", folder.display()))?;
        }
        KernelAction::Boots { remove } => output::print(&boots(&home, remove)?)?,
        KernelAction::Emulator { action } => output::print(&emulator(&home, action)?)?,
        KernelAction::Build(args) => return build::run(args),
        KernelAction::Use { file, config, name, .. } => {
            let (file, text) = match file {
                Some(file) => (file, None),
                None => kernels::running()?,
            };
            print(&[add(&home, &file, config, text, name.as_deref())?])?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn boots(home: &Path, remove: bool) -> Result<String> {
    let folder = saved_boots::folder(home);
    let (count, bytes) = saved_boots::space(&folder);
    if remove {
        saved_boots::clear(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let states = if count == 1 { "saved boot" } else { "saved boots" };
    let removed = if remove { "removed: " } else { "" };
    let mib = bytes.div_ceil(1 << 20);
    Ok(format!("{removed}{count} {states}, {mib} MiB, in {}\n", folder.display()))
}

/// The emulator as a table, once it is built if that is asked for.
fn emulator(home: &Path, action: EmulatorAction) -> Result<String> {
    let emulator = match action {
        EmulatorAction::Build { jobs } => {
            let (jobs, stop) = (build_progress::jobs(jobs), interrupt::flag()?);
            let site = Site { home, downloads: None, jobs, stop: &stop };
            Some(build_progress::watch(|hear| emulator::qemu_build::build(&site, hear))?)
        }
        EmulatorAction::Show => emulator::find(home)?,
    };
    let Some(Emulator { program, facts }) = emulator else {
        return Ok(format!("no emulator yet; `{}` makes it\n", emulator::COMMAND));
    };
    let rows = [
        ("program", program.display().to_string()),
        ("version", facts.version),
        ("source", format!("{}, SHA-256 {}", facts.source, facts.source_sha256)),
        ("patches", format!("SHA-256 {}", facts.content_sha256)),
        ("compiler", facts.compiler),
        ("sha256", facts.sha256),
    ];
    Ok(output::table(&rows.map(|(name, text)| vec![name.to_owned(), text])))
}

/// Adds an image after a look at its configuration: a file, or a text that was found elsewhere.
fn add(
    home: &Path,
    file: &Path,
    config: Option<PathBuf>,
    text: Option<String>,
    name: Option<&str>,
) -> Result<Kernel> {
    if let Some(config) = &config {
        kernels::configuration(config)?;
    }
    let scratch = tempfile::tempdir()?;
    let unpacked = scratch.path().join("config");
    let keep = |text: String| fs::write(&unpacked, text).map(|()| unpacked.clone());
    let config = match (config, text) {
        (None, Some(text)) => Some(keep(text)?),
        (config, _) => config,
    };
    let mut given = kernels::from_image(file, config.as_deref(), "given")?;
    if given.config.is_none() {
        given.config = kernels::embedded(file).map(keep).transpose()?;
    }
    check_configuration(&given)?;
    let config = given.config.as_deref();
    let Some(name) = name else { return kernels::add_file(home, file, config) };
    let source = format!("file {}", file.display());
    let facts = BTreeMap::from([("built_as".to_owned(), name.to_owned())]);
    kernels::add_own(
        home,
        &Own { name: &build::checked(name)?, image: file, config, source: &source, facts },
    )
}

/// Refuses a kernel that cannot run trials, and says which figures another one will lack.
fn check_configuration(kernel: &Kernel) -> Result<()> {
    let Some(path) = &kernel.config else {
        output::tell(
            "its configuration is not known, so nothing was checked: give it with --config",
        );
        return Ok(());
    };
    let text = kernels::configuration(path)?;
    let (unusable, losses) = vm::kernels::build::build_config::judge(&text);
    if let Some(unusable) = unusable {
        return Err(bad_input(format!("{}: {unusable}", kernel.image.display())));
    }
    losses.into_iter().for_each(output::tell);
    Ok(())
}

/// A kernel as `list kernels` shows it.
#[derive(Serialize)]
pub struct ShownKernel {
    /// What an experiment's `kernel = …` says.
    pub name: String,
    pub release: String,
    pub fair: String,
    /// `None`: unknown, because its configuration is not here.
    pub sched_ext: Option<bool>,
    pub sha256: String,
    pub image: PathBuf,
    pub backends: Vec<&'static str>,
}

impl ShownKernel {
    pub fn new(kernel: &Kernel) -> ShownKernel {
        ShownKernel {
            name: kernel.name.clone(),
            release: kernel.release.clone(),
            fair: kernel.fair.clone(),
            sched_ext: kernel.has_sched_ext(),
            sha256: kernel.sha256.clone(),
            image: kernel.image.clone(),
            backends: vec!["vm"],
        }
    }

    fn row(&self) -> Vec<String> {
        let sched_ext = match self.sched_ext {
            Some(true) => "sched_ext",
            Some(false) => "no sched_ext",
            None => "sched_ext: unknown, give --config",
        };
        let hash = self.sha256.get(..12).unwrap_or_default().to_owned();
        let backends = self.backends.join(", ");
        vec![
            self.name.clone(),
            backends,
            self.release.clone(),
            self.fair.clone(),
            sched_ext.into(),
            hash,
        ]
    }
}

const HEADINGS: [&str; 6] = ["kernel", "runs on", "release", "fair class", "", "sha256"];

/// Kernels as a table, or how to get some.
pub fn table(kernels: &[ShownKernel]) -> String {
    if kernels.is_empty() {
        return "no kernels yet; `fairground kernel pull` gets them\n".into();
    }
    let headings = HEADINGS.map(String::from).to_vec();
    let rows = std::iter::once(headings).chain(kernels.iter().map(ShownKernel::row));
    output::table(&rows.collect::<Vec<_>>())
}

fn print(kernels: &[Kernel]) -> Result<()> {
    output::print(&table(&kernels.iter().map(ShownKernel::new).collect::<Vec<_>>()))
}
