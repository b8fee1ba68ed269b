// SPDX-License-Identifier: GPL-2.0-only
//! `make` of a kernel, with what makes two builds alike, and its progress.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};

use crate::installed;
use crate::kernels::build::source::Workshop;
use crate::kernels::build::tools::Job;
use crate::kernels::build::{BuildEvent, OnBuildEvent};

/// Lines of a first build with the minimal configuration.
const ESTIMATE: u64 = 1100;

/// A build's own `make`.
pub struct Make<'a> {
    workshop: &'a Workshop,
    name: &'a str,
    jobs: usize,
    stop: &'a AtomicBool,
}

impl<'a> Make<'a> {
    /// Prepares the folder of objects. `name` becomes part of the release.
    pub fn new(
        workshop: &'a Workshop,
        name: &'a str,
        jobs: usize,
        stop: &'a AtomicBool,
    ) -> Result<Make<'a>> {
        let objects = workshop.objects();
        fs::create_dir_all(&objects).with_context(|| format!("creating {}", objects.display()))?;
        let make = Make { workshop, name, jobs, stop };
        write_pahole(&make.pahole())?;
        Ok(make)
    }

    /// The configuration that the tree makes of the text.
    pub fn configure(&self, text: &str) -> Result<String> {
        let wanted = self.workshop.folder.join("wanted.config");
        fs::write(&wanted, text).with_context(|| format!("writing {}", wanted.display()))?;
        let mut make = self.command();
        make.env("KCONFIG_ALLCONFIG", &wanted).arg("allnoconfig");
        self.run(make, &mut |_| ())?;
        let path = self.workshop.objects().join(".config");
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }

    pub fn image(&self, hear: &mut OnBuildEvent<'_>) -> Result<PathBuf> {
        let image = self.workshop.objects().join("arch/x86/boot/bzImage");
        // The first build of a source makes all files, a variant some.
        let kind = if image.is_file() { "files-of-a-variant" } else { "files-of-the-first" };
        let counted = self.workshop.folder.join(kind);
        let last = fs::read_to_string(&counted).ok().and_then(|text| text.trim().parse().ok());
        let about = last.unwrap_or(ESTIMATE);
        let mut make = self.command();
        make.arg(format!("-j{}", self.jobs)).arg("bzImage");
        let done = self.run(make, &mut |done| {
            hear(BuildEvent::Compiled { done, about: about.max(done) });
        })?;
        // A build that was ended and goes on would make the estimate too small.
        if done * 2 > about || last.is_none() {
            fs::write(&counted, done.to_string())?;
        }
        Ok(image)
    }

    /// Nothing of the user's environment, of the time or of the folders is in the image.
    fn command(&self) -> Command {
        let (source, objects) = (self.workshop.source.display(), self.workshop.objects());
        let objects = objects.display();
        let map = format!("-ffile-prefix-map={objects}=. -ffile-prefix-map={source}=.");
        let mut make = Command::new("make");
        for name in ["MAKEFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "CC", "LOCALVERSION"] {
            make.env_remove(name);
        }
        make.env("LC_ALL", "C")
            // Programs of the source leave nothing in it.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026")
            .env("KBUILD_BUILD_USER", "fairground")
            .env("KBUILD_BUILD_HOST", "fairground")
            .env("KBUILD_BUILD_VERSION", "1")
            .arg("-C")
            .arg(&self.workshop.source)
            .arg(format!("O={objects}"))
            .args(["ARCH=x86_64", "CC=gcc", "HOSTCC=gcc"])
            .arg(format!("LOCALVERSION=-{}", self.name))
            .arg(format!("KCPPFLAGS={map}"))
            // A debugger would want to know where variables are at each instruction; BTF does not
            // say it. A sixth of the time, and the same code.
            .arg("KCFLAGS=-fno-var-tracking")
            .arg(format!("PAHOLE={}", self.pahole().display()));
        make
    }

    fn pahole(&self) -> PathBuf {
        self.workshop.folder.join("pahole")
    }

    /// Runs it, counts the lines that name a made file, and returns their number.
    fn run(&self, make: Command, on_file: &mut dyn FnMut(u64)) -> Result<u64> {
        let log = self.workshop.folder.join("build.log");
        let job = Job { what: "the kernel", log: &log, stop: self.stop };
        let mut done = 0;
        job.run(make, &mut |line| {
            if is_made(line) {
                done += 1;
                on_file(done);
            }
        })?;
        Ok(done)
    }
}

/// `  CC      kernel/sched/core.o`.
fn is_made(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// pahole with several threads numbers types by chance, so the trees' `-j` is left out.
fn write_pahole(path: &Path) -> Result<()> {
    let Some(real) = installed::find("pahole") else { bail!("pahole is gone") };
    let text = format!(
        "#!/bin/sh\nfor word; do shift; case $word in -j*) ;; *) set -- \"$@\" \"$word\";; esac\n\
         done\nexec {} \"$@\"\n",
        real.display()
    );
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let mut file = File::create(path).with_context(|| format!("writing {}", path.display()))?;
    file.write_all(text.as_bytes())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_and_other_words_are_not() {
        assert!(is_made("  CC      kernel/sched/core.o") && is_made("  LD      vmlinux"));
        assert!(!is_made("make[1]: Entering directory") && !is_made("  warning"));
    }
}
