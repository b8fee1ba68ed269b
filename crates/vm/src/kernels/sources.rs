// SPDX-License-Identifier: GPL-2.0-only
//! Sources from Debian: a kernel's out of the package of it, with Debian's own changes; any other
//! program's as its authors published it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::apt::PrivateApt;
use super::mirror::Index;
use super::subprocess::run;

const READING: &str = "reading the Debian mirror's package lists (kept apart from the system's)";

/// A source as the mirror has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Package and version: `linux-source-6.12_6.12.107-1`.
    pub package: String,
    /// SHA-256 of its archive, hexadecimal.
    pub sha256: String,
}

/// Downloads the newest version of a package of sources that a suite has, and unpacks it into
/// `into`. `home` is where the download is kept until then. `on_note` gets one line before each
/// slow step.
///
/// # Errors
/// apt, dpkg-deb, tar or xz is missing, the mirror does not answer or has no such package, or the
/// disk is full.
pub fn pull_source(
    home: &Path,
    package: &str,
    suite: &str,
    into: &Path,
    on_note: &mut dyn FnMut(&str),
) -> Result<Source> {
    let apt = PrivateApt::with_suites(home, &[suite], Index::Packages)?;
    on_note(READING);
    apt.update()?;
    on_note(&format!("downloading {package}"));
    let version = apt.unpack(package)?;
    let archive = apt.path("root").join(format!("usr/src/{package}.tar.xz"));
    on_note("unpacking the source");
    extract(&archive, into)?;
    Ok(Source { package: version, sha256: sha256(&archive)? })
}

/// What a program is built from.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The source package.
    pub package: &'a str,
    pub suite: &'a str,
    /// Packages of the same suite with programs for the build, which are not installed.
    pub tools: &'a [String],
}

/// Downloads the newest version of a program's source that a suite has, and unpacks it into
/// `into/src`, and its tools into `into/tools`; the rest as [`pull_source`].
///
/// # Errors
/// As [`pull_source`].
pub fn pull_program(
    home: &Path,
    program: Program<'_>,
    into: &Path,
    on_note: &mut dyn FnMut(&str),
) -> Result<Source> {
    let apt = PrivateApt::with_suites(home, &[program.suite], Index::PackagesAndSources)?;
    on_note(READING);
    apt.update()?;
    for tool in program.tools {
        apt.unpack(tool)?;
    }
    let tools = into.join("tools");
    fs::create_dir_all(apt.path("root"))?;
    fs::rename(apt.path("root"), &tools).with_context(|| format!("writing {}", tools.display()))?;
    on_note(&format!("downloading the source of {}", program.package));
    let (package, archive) = apt.source(program.package)?;
    on_note("unpacking the source");
    extract(&archive, &into.join("src"))?;
    Ok(Source { package, sha256: sha256(&archive)? })
}

/// Without the folder that everything in the archive is in.
fn extract(archive: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into).with_context(|| format!("creating {}", into.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(into).arg("--strip-components=1");
    run(&mut tar).with_context(|| format!("unpacking {}", archive.display()))?;
    Ok(())
}

fn sha256(archive: &Path) -> Result<String> {
    let bytes = fs::read(archive).with_context(|| format!("reading {}", archive.display()))?;
    Ok(model::trial::sha256_hex(&bytes))
}
