// SPDX-License-Identifier: GPL-2.0-only
//! What trials need in their guest in addition to schedulers: programs, a compiler's parts, files.
//!
//! [`source_tree`] reads what the build of a tree needs.

pub mod source_tree;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use model::{Program, Trial};

use crate::initramfs;
use crate::installed;
use source_tree::Tree;

/// What goes into a guest; nothing for trials that need no real program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Programs, by the paths where they are found.
    pub programs: Vec<String>,
    /// Programs that others start by their path.
    pub parts: Vec<String>,
    files: Vec<(String, PathBuf)>,
}

impl Packed {
    /// What these trials need together, each thing once.
    pub fn for_trials(trials: &[Trial], sources: &Path) -> Result<Packed> {
        let found = trials.iter().flat_map(installed::programs_of).filter_map(installed::find);
        let mut packed = Packed {
            programs: found.map(|path| path.display().to_string()).collect(),
            ..Packed::default()
        };
        for program in trials.iter().filter_map(|trial| trial.workload.program.as_ref()) {
            packed.add(program, sources)?;
        }
        for list in [&mut packed.programs, &mut packed.parts] {
            list.sort();
            list.dedup();
        }
        packed.files.sort();
        packed.files.dedup();
        Ok(packed)
    }

    fn add(&mut self, program: &Program, sources: &Path) -> Result<()> {
        let files = program.files.iter().flat_map(|file| inside(file));
        self.files.extend(files.map(|file| (file.display().to_string(), file)));
        if !program.sources.is_empty() {
            let tree = Tree::read(&program.sources, sources).map_err(|why| anyhow!(why))?;
            self.parts.extend(tree.parts);
            self.files.extend(tree.files);
        }
        Ok(())
    }

    /// The files by their places in the guest.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let read = |(place, file): &(String, PathBuf)| Ok((place.clone(), read(file)?));
        self.files.iter().map(read).collect()
    }

    /// Why a guest with so much memory cannot unpack all this with `executable` as its first
    /// program; `None` if it can.
    pub fn too_large(&self, executable: &Path, memory_mib: u32) -> Result<Option<String>> {
        let programs: Vec<String> = self.programs.iter().chain(&self.parts).cloned().collect();
        let mut bytes = initramfs::size(executable, &programs)?;
        for (_, file) in &self.files {
            bytes += fs::metadata(file).with_context(|| unreadable(file))?.len();
        }
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let room = initramfs::room(memory_mib);
        Ok((bytes > room).then(|| {
            format!(
                "the programs with their libraries take {} MiB, and a guest with {memory_mib} MiB \
                 of memory has room for {}; take a machine with memory_mib = {} or more",
                mib(bytes),
                room >> 20,
                initramfs::memory_mib(bytes),
            )
        }))
    }
}

/// The files that a path stands for. A pattern stands for its last match in order of names, and a
/// folder for all files in it.
fn inside(path: &str) -> Vec<PathBuf> {
    let found = if path.contains('*') { installed::matches(path).pop() } else { None };
    let found = found.unwrap_or_else(|| path.into());
    if !found.is_dir() {
        return vec![found];
    }
    let all = installed::matches(&format!("{}/**/*", found.display()));
    all.into_iter().filter(|path| path.is_file()).collect()
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| unreadable(file))
}

fn unreadable(file: &Path) -> String {
    format!("{}: a workload needs it and it cannot be read", file.display())
}

#[cfg(test)]
mod tests {
    use model::{Backend, Workload};

    use super::*;

    fn trial(program: Program) -> Trial {
        Trial {
            backend: Backend::Vm,
            workload: Workload { program: Some(program), ..Workload::default() },
            ..Trial::default()
        }
    }

    fn cat(file: &str, needs: &[&str]) -> Program {
        let needs = needs.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let command = vec!["cat".into(), file.into()];
        Program { command, needs, files: vec![file.into()], ..Program::default() }
    }

    #[test]
    fn two_trials_need_everything_once() {
        let trials = [cat("/etc/passwd", &["sh"]), cat("/etc/passwd", &["ls"])].map(trial);
        let packed = Packed::for_trials(&trials, Path::new("/nowhere")).unwrap();
        let names: Vec<&str> =
            packed.programs.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["cat", "ls", "sh"]);
        let files = packed.files().unwrap();
        assert_eq!(files, [("/etc/passwd".into(), fs::read("/etc/passwd").unwrap())]);
    }

    #[test]
    fn a_folder_is_all_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("9/share/sets")).unwrap();
        for file in ["9/share/a.conf", "9/share/sets/b"] {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let place = |file: &str| folder.path().join(file).display().to_string();
        let packed =
            Packed::for_trials(&[trial(cat(&place("*/share"), &[]))], Path::new("/")).unwrap();
        let files = ["9/share/a.conf", "9/share/sets/b"].map(|file| (place(file), file.into()));
        assert_eq!(packed.files().unwrap(), files);
    }

    #[test]
    fn what_cannot_be_packed_is_named() {
        let tree = Program { sources: "absent".into(), ..cat("/etc/passwd", &[]) };
        let why =
            Packed::for_trials(&[trial(tree)], Path::new("/nowhere")).unwrap_err().to_string();
        assert!(why.contains("scripts/sources.sh absent"), "{why}");
        let packed =
            Packed::for_trials(&[trial(cat("/no/such", &[]))], Path::new("/nowhere")).unwrap();
        let own = std::env::current_exe().unwrap();
        let why = packed.too_large(&own, 512).unwrap_err().to_string();
        assert!(why.contains("/no/such: a workload needs it"), "{why}");
    }

    #[test]
    fn a_guest_without_room_says_how_much_it_takes() {
        let packed =
            Packed::for_trials(&[trial(cat("/etc/passwd", &[]))], Path::new("/nowhere")).unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(packed.too_large(&own, 4096).unwrap(), None);
        let why = packed.too_large(&own, 64).unwrap().unwrap();
        assert!(why.contains("a guest with 64 MiB of memory has room for 1;"), "{why}");
        let enough: u32 = why.split(['=', ' ']).rev().nth(2).unwrap().parse().unwrap();
        assert_eq!(packed.too_large(&own, enough).unwrap(), None, "{why}");
    }
}
