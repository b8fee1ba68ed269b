// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own example schedulers and self-tests of sched_ext, out of Debian's package of its
//! sources: `<home>/examples/<package>/tools/…`. They are not part of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::apt::PrivateApt;
use super::naming::version_key;
use super::subprocess::run;

/// Kernels from 7.1 on, whose sched_ext is the one that the simulator models.
const PREFIX: &str = "linux-source-7.";

/// The parts of the sources that are kept.
const FOLDERS: [&str; 2] = ["tools/sched_ext", "tools/testing/selftests/sched_ext"];

/// Gets the newest ones that the mirror has unless there are some under `home`, and returns their
/// folder. `on_note` gets one line before each slow step.
///
/// # Errors
/// apt, dpkg-deb, tar or xz is missing, or the mirror does not answer or has no such package.
pub fn pull_examples(home: &Path, on_note: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    let folder = home.join("examples");
    if let Some(found) = newest(&names_in(&folder)) {
        return Ok(folder.join(found));
    }
    let apt = PrivateApt::new(home)?;
    on_note("reading the Debian mirror's package lists (kept apart from the system's)");
    apt.update()?;
    let packages: Vec<String> = apt.package_names()?.into_iter().collect();
    let package =
        newest(&packages).context("the mirror has no package of a 7.x kernel's source")?;
    on_note(&format!("downloading {package} for its example schedulers"));
    apt.unpack(package)?;
    let archive = apt.path("root").join(format!("usr/src/{package}.tar.xz"));
    on_note("unpacking them");
    let unpacked = tempfile::tempdir_in(apt.path("cache"))?;
    extract(&archive, package, unpacked.path())?;
    fs::create_dir_all(&folder)?;
    let target = folder.join(package);
    fs::rename(unpacked.keep(), &target)
        .with_context(|| format!("keeping the examples in {}", target.display()))?;
    Ok(target)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn newest(names: &[String]) -> Option<&str> {
    let is_version = |name: &&str| {
        let rest = name.strip_prefix(PREFIX);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    names.iter().map(String::as_str).filter(is_version).max_by_key(|name| version_key(name))
}

fn extract(archive: &Path, top: &str, into: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(archive).arg("-C").arg(into).arg("--strip-components=1");
    run(tar.args(FOLDERS.map(|folder| format!("{top}/{folder}"))))
        .with_context(|| format!("unpacking {}", archive.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_sources_are_taken_and_nothing_that_only_looks_alike() {
        let names =
            ["linux-source-7.2", "linux-source-7.10", "linux-source-7.9-rt", "linux-source"];
        let names = names.map(String::from);
        assert_eq!(newest(&names), Some("linux-source-7.10"));
        assert_eq!(newest(&names[2..]), None);
    }
}
