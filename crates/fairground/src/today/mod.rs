// SPDX-License-Identifier: GPL-2.0-only
//! The schedulers of today that were built here (`spec::today`): where they are kept, and
//! `cargo_install`, which makes them.
//!
//! ```text
//! DATA/programs/bin/scx_lavd@1.1.4      the program, found like an installed one
//! DATA/programs/scx_lavd@1.1.4/         the crate's sources, for the simulator
//! DATA/programs/scx_lavd@1.1.4/facts.json
//! DATA/programs/target/                 what cargo has compiled, for the next one
//! ```

mod cargo_failure;
pub mod cargo_install;

use std::fs;
use std::path::{Path, PathBuf};

use model::Backend;
use serde::{Deserialize, Serialize};
use spec::files;
use spec::today::Kept;
use vm::installed;

use crate::execution::locations::data_folder;

/// What is known of a program that was built here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub name: String,
    pub version: String,
    /// SHA-256 of the program.
    pub sha256: String,
    /// What compiled it.
    pub compiler: String,
    /// Crates that were compiled for it.
    pub crates: u64,
}

/// The version that Fairground knows of a scheduler: that of its side file.
pub fn known_version(name: &str) -> Option<String> {
    Some(spec::settings::of_today(name).ok()??.version)
}

/// A kept program. Without a version, the one that Fairground knows, else the newest.
pub fn kept(name: &str, version: Option<&str>) -> Option<Kept> {
    let home = data_folder().ok()?;
    let versions = || all(&home).into_iter().filter(|facts| facts.name == name);
    let facts = match version {
        Some(version) => versions().find(|facts| facts.version == version),
        None => {
            let known = known_version(name);
            let is_known = |facts: &Facts| Some(&facts.version) == known.as_ref();
            versions()
                .find(is_known)
                .or_else(|| versions().max_by_key(|facts| numbers(&facts.version)))
        }
    }?;
    let program = format!("{name}@{}", facts.version);
    let source = source(&folder(&home).join(&program));
    Some(Kept { program, version: facts.version, source })
}

/// Whether a backend can run a scheduler of today: in the simulator one whose file was built here
/// and compiles, elsewhere an installed program, too.
pub fn runs(name: &str, backend: Backend) -> bool {
    match kept(name, None) {
        Some(kept) => !backend.is_model() || kept.source.is_some_and(|file| is_modelled(&file)),
        None => !backend.is_model() && installed::find(name).is_some(),
    }
}

fn is_modelled(source: &str) -> bool {
    let source = compile::resolve(source, Path::new("."));
    source.is_ok_and(|source| compile::native::native(&source).is_ok())
}

/// All kept programs that are there, sorted by name.
pub fn all(home: &Path) -> Vec<Facts> {
    let folders = fs::read_dir(folder(home)).into_iter().flatten().flatten();
    let read = |path: PathBuf| -> Option<Facts> {
        let facts = files::read(&path.join("facts.json"), files::DEFINITION).ok()?;
        serde_json::from_slice(&facts).ok()
    };
    let is_there = |facts: &Facts| program_file(home, &facts.name, &facts.version).is_file();
    let read = folders.filter_map(|entry| read(entry.path())).filter(is_there);
    let mut all: Vec<Facts> = read.collect();
    all.sort_by_key(|facts| (facts.name.clone(), numbers(&facts.version)));
    all
}

/// Where a program is kept.
fn program_file(home: &Path, name: &str, version: &str) -> PathBuf {
    folder(home).join("bin").join(format!("{name}@{version}"))
}

fn folder(home: &Path) -> PathBuf {
    home.join("programs")
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

/// What the simulator compiles: the crate's folder if several sources are linked, else the one.
fn source(folder: &Path) -> Option<String> {
    let text = files::text(&folder.join("build.rs"), files::DEFINITION).unwrap_or_default();
    if text.contains("add_source") {
        return Some(folder.display().to_string());
    }
    let of_skeleton = text.split("enable_skel(\"").nth(1)?.split('"').next()?;
    let main = folder.join(of_skeleton);
    main.is_file().then(|| main.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_of_one_source_is_a_file_and_one_of_several_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(source(folder.path()), None);
        write("main.bpf.c", "");
        write("build.rs", ".enable_skel(\"main.bpf.c\", \"bpf\")");
        assert!(source(folder.path()).unwrap().ends_with("/main.bpf.c"));
        write("build.rs", ".enable_skel(\"main.bpf.c\", \"bpf\").add_source(\"lib.bpf.c\")");
        assert_eq!(source(folder.path()).unwrap(), folder.path().display().to_string());
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(numbers("1.1.10") > numbers("1.1.9"));
    }
}
