// SPDX-License-Identifier: GPL-2.0-only
//! The emulator of virtual time: a QEMU with our patches, kept by content in
//! `<home>/emulators/<content>/{qemu-system-x86_64,emulator.json}`. Several CPUs need it; one CPU
//! runs on the installed QEMU where it is missing.
//!
//! What is not here: what a build of a kernel and of the emulator share (`kernels::build`).

pub mod qemu_build;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;
use serde::{Deserialize, Serialize};

use crate::qemu::PROGRAM;

/// What it is built of and how; [`qemu_build`] reads it.
pub const DEFINITION: &str = include_str!("../../../../emulator/qemu.toml");

/// The patches in their order, each with its file name.
pub const SERIES: [(&str, &str); 9] = [
    ("0001-icount-halted.patch", include_str!("../../../../emulator/0001-icount-halted.patch")),
    ("0002-icount-quantum.patch", include_str!("../../../../emulator/0002-icount-quantum.patch")),
    ("0003-i386-rdtsc.patch", include_str!("../../../../emulator/0003-i386-rdtsc.patch")),
    ("0004-i386-pause.patch", include_str!("../../../../emulator/0004-i386-pause.patch")),
    (
        "0005-icount-migration.patch",
        include_str!("../../../../emulator/0005-icount-migration.patch"),
    ),
    ("0006-i386-strings.patch", include_str!("../../../../emulator/0006-i386-strings.patch")),
    ("0007-icount-tlb.patch", include_str!("../../../../emulator/0007-icount-tlb.patch")),
    ("0008-tests.patch", include_str!("../../../../emulator/0008-tests.patch")),
    ("0009-configs.patch", include_str!("../../../../emulator/0009-configs.patch")),
];

pub const COMMAND: &str = "fairground kernel emulator build";

/// The emulator of this program's patches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    pub program: PathBuf,
    pub facts: Facts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its own words: the first line of `--version`.
    pub version: String,
    /// The source package and its version.
    pub source: String,
    /// SHA-256 of the source's archive.
    pub source_sha256: String,
    /// SHA-256 of definition and patches.
    pub content_sha256: String,
    /// The first line of `gcc --version`.
    pub compiler: String,
    /// SHA-256 of the executable.
    pub sha256: String,
}

impl Emulator {
    /// What records say about it: source, definition and patches.
    pub fn identity(&self) -> String {
        let content = self.facts.content_sha256.get(..16).unwrap_or_default();
        format!("{} with patches {content}", self.facts.source)
    }
}

/// SHA-256 of the definition and of the patches in their order.
pub fn content() -> String {
    sha256_hex((DEFINITION.to_owned() + &SERIES.map(|(_, text)| text).concat()).as_bytes())
}

/// What is said of a machine without it.
pub fn needed_by(machine: &str) -> String {
    format!("{machine} needs the emulator for several CPUs in virtual time: {COMMAND}")
}

fn folder(home: &Path) -> PathBuf {
    home.join("emulators").join(&content()[..16])
}

/// The emulator that was built of this program's patches; `None` if none was.
pub fn find(home: &Path) -> Result<Option<Emulator>> {
    let folder = folder(home);
    let Ok(text) = fs::read_to_string(folder.join("emulator.json")) else { return Ok(None) };
    let again = || format!("{}: remove this folder and run `{COMMAND}` again", folder.display());
    let facts: Facts = serde_json::from_str(&text).with_context(again)?;
    let program = folder.join(PROGRAM);
    let bytes = fs::read(&program).with_context(again)?;
    if sha256_hex(&bytes) != facts.sha256 {
        bail!("{} is not the emulator that was kept; {}", program.display(), again());
    }
    Ok(Some(Emulator { program, facts }))
}

pub fn keep(home: &Path, program: &Path, facts: Facts) -> Result<Emulator> {
    let folder = folder(home);
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    // A running machine may use the old file.
    let (kept, new) = (folder.join(PROGRAM), folder.join("new"));
    fs::copy(program, &new).with_context(|| format!("writing {}", new.display()))?;
    let facts = Facts { sha256: sha256_hex(&fs::read(&new)?), ..facts };
    fs::rename(&new, &kept).with_context(|| format!("writing {}", kept.display()))?;
    let file = folder.join("emulator.json");
    fs::write(&file, serde_json::to_vec_pretty(&facts)?)
        .with_context(|| format!("writing {}", file.display()))?;
    Ok(Emulator { program: kept, facts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_and_what_was_changed_is_refused() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(find(home.path()).unwrap(), None);
        let built = home.path().join("built");
        fs::write(&built, "an executable").unwrap();
        let facts = Facts {
            version: "QEMU emulator version 10.0.13".into(),
            source: "qemu_10.0.13".into(),
            source_sha256: String::new(),
            content_sha256: content(),
            compiler: "gcc".into(),
            sha256: String::new(),
        };
        let kept = keep(home.path(), &built, facts).unwrap();
        assert_eq!(find(home.path()).unwrap().as_ref(), Some(&kept));
        assert_eq!(kept.identity(), format!("qemu_10.0.13 with patches {}", &content()[..16]));
        fs::write(&kept.program, "another one").unwrap();
        let why = find(home.path()).unwrap_err().to_string();
        assert!(why.contains("is not the emulator that was kept"), "{why}");
    }
}
