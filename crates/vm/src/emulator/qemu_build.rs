// SPDX-License-Identifier: GPL-2.0-only
//! The emulator for virtual time: QEMU's source package with our patches.
//!
//! ```text
//! emulator/qemu.toml ─► source (the mirror's package) ─► tree (patches applied) ─► configure
//!                    ─► ninja ─► kept by content (`crate::emulator`)
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use serde::Deserialize;
use spec::SpecError;
use spec::source::Document;

use crate::emulator::{self, Emulator, Facts};
use crate::kernels::build::definition::Package;
use crate::kernels::build::source::{self, Workshop};
use crate::kernels::build::steps::Site;
use crate::kernels::build::tools::{self, Job, Needs};
use crate::kernels::build::tree::{self, Change};
use crate::kernels::build::{BuildEvent, OnBuildEvent};
use crate::{installed, qemu};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QemuDefinition {
    #[allow(dead_code)]
    about: String,
    source: Package,
    tools: Vec<String>,
    configure: Vec<String>,
}

fn definition() -> Result<QemuDefinition, SpecError> {
    Document::parse("emulator/qemu.toml", emulator::DEFINITION)?.read()
}

const NEEDS: Needs = Needs {
    what: "the emulator",
    programs: &[
        ("gcc", "gcc"),
        ("ld", "binutils"),
        ("ninja", "ninja-build"),
        ("pkg-config", "pkg-config"),
        ("python3", "python3-venv"),
        ("strip", "binutils"),
        ("patch", "patch"),
        ("tar", "tar"),
        ("xz", "xz-utils"),
    ],
    headers: &[],
    libraries: &[("glib-2.0", "libglib2.0-dev"), ("zlib", "zlib1g-dev")],
};

/// The programs and libraries that building it needs and that are missing, each with the Debian
/// package that has it.
pub fn missing_tools() -> Vec<(&'static str, &'static str)> {
    tools::missing(&NEEDS)
}

/// Builds the emulator and keeps it, unless it is here already.
///
/// # Errors
/// [`Refused`](crate::kernels::build::Refused) if a patch does not apply or the source does not
/// compile; [`Interrupted`](crate::kernels::build::Interrupted); anything else is the machine's
/// fault: missing programs, a full disk, no mirror.
pub fn build(site: &Site<'_>, hear: &mut OnBuildEvent<'_>) -> Result<Emulator> {
    if let Some(emulator) = emulator::find(site.home)? {
        hear(BuildEvent::Note("the emulator is built already, from the same"));
        return Ok(emulator);
    }
    tools::check(&NEEDS)?;
    let definition = definition()?;
    let builds = site.home.join("emulator-builds");
    let workshop =
        source::open_program(site.home, &builds, &definition.source, &definition.tools, hear)?;
    for guessed in tree::prepare(&workshop.folder, &changes(), None)? {
        hear(BuildEvent::Note(&format!("the lines around a change differ: {guessed}")));
    }
    let ninja = Ninja { workshop: &workshop, stop: site.stop, jobs: site.jobs };
    hear(BuildEvent::Note("configuring"));
    ninja.configure(&definition.configure)?;
    hear(BuildEvent::Note("compiling the emulator"));
    let program = ninja.program(hear)?;
    let facts = Facts {
        version: installed::version(&program)
            .with_context(|| format!("{} cannot be run", program.display()))?,
        source: workshop.facts.source.clone(),
        source_sha256: workshop.facts.content.clone(),
        content_sha256: emulator::content(),
        compiler: tools::compiler()?,
        sha256: String::new(),
    };
    emulator::keep(site.home, &program, facts)
}

fn changes() -> Vec<Change> {
    let change =
        |(label, text): (&str, &str)| Change { label: label.into(), text: text.into(), fuzz: 2 };
    emulator::SERIES.into_iter().map(change).collect()
}

/// QEMU's `configure` and `ninja`.
struct Ninja<'a> {
    workshop: &'a Workshop,
    stop: &'a AtomicBool,
    jobs: usize,
}

impl Ninja<'_> {
    /// Makes the folder of objects for these options, anew if they have changed.
    fn configure(&self, options: &[String]) -> Result<()> {
        let objects = self.workshop.objects();
        let (note, wanted) = (objects.join("configured"), options.join("\n"));
        if fs::read_to_string(&note).is_ok_and(|there| there == wanted) {
            return Ok(());
        }
        if objects.exists() {
            fs::remove_dir_all(&objects)
                .with_context(|| format!("removing {}", objects.display()))?;
        }
        fs::create_dir_all(&objects).with_context(|| format!("creating {}", objects.display()))?;
        let mut configure = self.command(&self.workshop.source.join("configure"));
        configure.arg(format!("--python={}", python().display())).args(options);
        self.job("configure.log", configure, &mut |_| ())?;
        fs::write(&note, wanted).with_context(|| format!("writing {}", note.display()))
    }

    fn program(&self, hear: &mut OnBuildEvent<'_>) -> Result<PathBuf> {
        let mut ninja = self.command(Path::new("ninja"));
        ninja.arg(format!("-j{}", self.jobs)).arg(qemu::PROGRAM);
        self.job("build.log", ninja, &mut |line| {
            if let Some((done, about)) = files_made(line) {
                hear(BuildEvent::Compiled { done, about });
            }
        })?;
        let program = self.workshop.folder.join("stripped");
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&program).arg(self.workshop.objects().join(qemu::PROGRAM));
        self.job("strip.log", strip, &mut |_| ())?;
        Ok(program)
    }

    /// In the folder of objects, with nothing of the user's environment that changes a build.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in ["CC", "CXX", "CFLAGS", "CPPFLAGS", "LDFLAGS", "PYTHONHOME", "DESTDIR"] {
            command.env_remove(name);
        }
        let tools = self.workshop.folder.join("tools");
        command.env("LC_ALL", "C").env("PYTHONPATH", tools.join("usr/lib/python3/dist-packages"));
        command.current_dir(self.workshop.objects());
        command
    }

    fn job(&self, log: &str, command: Command, on_line: &mut dyn FnMut(&str)) -> Result<()> {
        let log = self.workshop.folder.join(log);
        Job { what: "the emulator", log: &log, stop: self.stop }.run(command, on_line)
    }
}

/// The system's, because a user's own may lack what the packages of the tools rely on.
fn python() -> PathBuf {
    let system = PathBuf::from("/usr/bin/python3");
    if system.is_file() { system } else { installed::find("python3").unwrap_or(system) }
}

/// `[12/1299] Compiling …`: how many files there are of how many.
fn files_made(line: &str) -> Option<(u64, u64)> {
    let (numbers, _) = line.strip_prefix('[')?.split_once(']')?;
    let (done, all) = numbers.split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_names_a_source_its_tools_and_options() {
        let definition = definition().unwrap();
        assert_eq!(definition.source.package, "qemu");
        assert!(definition.tools.contains(&"meson".to_owned()));
        assert!(definition.configure.iter().all(|option| option.starts_with("--")));
    }

    #[test]
    fn every_patch_of_the_folder_is_applied_in_its_order() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../emulator"));
        let names = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            names.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.ends_with(".patch"));
        names.sort();
        assert_eq!(names, emulator::SERIES.map(|(name, _)| name));
    }

    #[test]
    fn ninja_says_how_far_it_is() {
        assert_eq!(files_made("[12/1299] Compiling C object x.o"), Some((12, 1299)));
        assert_eq!(files_made("ninja: no work to do."), None);
    }
}
