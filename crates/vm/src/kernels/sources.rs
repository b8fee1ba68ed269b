// SPDX-License-Identifier: GPL-2.0-only
//! A kernel's source out of Debian's package of it, with Debian's own changes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::apt::PrivateApt;
use super::subprocess::run;

/// A source as the mirror has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Package and version: `linux-source-6.12_6.12.107-1`.
    pub package: String,
    /// SHA-256 of the archive inside the package, hexadecimal.
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
    let apt = PrivateApt::with_suites(home, &[suite])?;
    on_note("reading the Debian mirror's package lists (kept apart from the system's)");
    apt.update()?;
    on_note(&format!("downloading {package}"));
    let version = apt.unpack(package)?;
    let archive = apt.path("root").join(format!("usr/src/{package}.tar.xz"));
    on_note("unpacking the source");
    fs::create_dir_all(into).with_context(|| format!("creating {}", into.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(&archive).arg("-C").arg(into).arg("--strip-components=1");
    run(&mut tar).with_context(|| format!("unpacking {}", archive.display()))?;
    let bytes = fs::read(&archive).with_context(|| format!("reading {}", archive.display()))?;
    Ok(Source { package: version, sha256: model::trial::sha256_hex(&bytes) })
}
