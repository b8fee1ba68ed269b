// SPDX-License-Identifier: GPL-2.0-only
//! What trials need in their guest in addition to schedulers: programs, a compiler's parts, files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use model::tables::{VERSION_FILE, tree_is_absent};
use model::{Program, Trial};
use spec::files;

use crate::{initramfs, installed};

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
        for (_, file) in &packed.files {
            files::refuse_special(file).with_context(|| unreadable(file))?;
        }
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
    files::read(file, files::PACKED).with_context(|| unreadable(file))
}

fn unreadable(file: &Path) -> String {
    format!("{}: a workload needs it and it cannot be read", file.display())
}

/// Where a guest has them, whatever the host's user calls his home: the length of a path costs
/// instructions.
pub const GUEST_FOLDER: &str = "/sources";

/// In a tree, the list of what its build reads: its own files as `./FILE`, others with their whole
/// path.
const LIST: &str = ".fairground-files";

/// What a guest needs to build a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Programs that the compiler starts by itself.
    pub parts: Vec<String>,
    /// Places in the guest, and the files here.
    pub files: Vec<(String, PathBuf)>,
}

impl Tree {
    /// The tree of this name among `sources`.
    ///
    /// # Errors
    /// Why a guest cannot build it, with what would help.
    pub fn read(name: &str, sources: &Path) -> Result<Tree, String> {
        let folder = sources.join(name);
        if !folder.join(VERSION_FILE).is_file() {
            return Err(tree_is_absent(name));
        }
        let list = files::text(&folder.join(LIST), files::LIST).map_err(|_| {
            format!("the source tree `{name}` is not listed for the VM; use --on live")
        })?;
        let mut tree = Tree::default();
        for line in list.lines() {
            tree.add(line, name, &folder).map_err(|gone| {
                format!(
                    "building the source tree `{name}` reads {gone}, which is not here any more; \
                     `scripts/sources.sh {name}` lists anew what it reads"
                )
            })?;
        }
        Ok(tree)
    }

    fn add(&mut self, line: &str, name: &str, folder: &Path) -> Result<(), String> {
        let inside = line.strip_prefix("./");
        let file = inside.map_or_else(|| PathBuf::from(line), |file| folder.join(file));
        let gone = |_| file.display().to_string();
        let mode = fs::metadata(&file).map_err(gone)?.permissions().mode();
        match inside {
            Some(inside) => self.files.push((format!("{GUEST_FOLDER}/{name}/{inside}"), file)),
            None if mode & 0o111 != 0 => self.parts.push(line.to_owned()),
            None => self.files.push((line.to_owned(), file)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Backend, Workload};

    fn trial(program: Program) -> Trial {
        Trial {
            backend: Backend::Vm,
            workload: Workload { program: Some(program), ..Workload::default() }.into(),
            ..Trial::default()
        }
    }

    fn packed(program: Program) -> Result<Packed> {
        Packed::for_trials(&[trial(program)], Path::new("/nowhere"))
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
    fn a_file_without_an_end_is_refused_before_it_is_read() {
        let program = Program { files: vec!["/dev/zero".into()], ..Program::default() };
        let why = packed(program).unwrap_err();
        assert!(format!("{why:#}").contains("is a device, and not a regular file"), "{why:#}");
    }

    #[test]
    fn a_folder_is_all_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("9/share/sets")).unwrap();
        for file in ["9/share/a.conf", "9/share/sets/b"] {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let place = |file: &str| folder.path().join(file).display().to_string();
        let packed = packed(cat(&place("*/share"), &[])).unwrap();
        let files = ["9/share/a.conf", "9/share/sets/b"].map(|file| (place(file), file.into()));
        assert_eq!(packed.files().unwrap(), files);
    }

    #[test]
    fn what_cannot_be_packed_is_named() {
        let tree = Program { sources: "absent".into(), ..cat("/etc/passwd", &[]) };
        let why = packed(tree).unwrap_err().to_string();
        assert!(why.contains("scripts/sources.sh absent"), "{why}");
        let packed = packed(cat("/no/such", &[])).unwrap();
        let own = std::env::current_exe().unwrap();
        let why = packed.too_large(&own, 512).unwrap_err().to_string();
        assert!(why.contains("/no/such: a workload needs it"), "{why}");
    }

    #[test]
    fn a_guest_without_room_says_how_much_it_takes() {
        let packed = packed(cat("/etc/passwd", &[])).unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(packed.too_large(&own, 4096).unwrap(), None);
        let why = packed.too_large(&own, 64).unwrap().unwrap();
        assert!(why.contains("a guest with 64 MiB of memory has room for 1;"), "{why}");
        let enough: u32 = why.split(['=', ' ']).rev().nth(2).unwrap().parse().unwrap();
        assert_eq!(packed.too_large(&own, enough).unwrap(), None, "{why}");
    }

    fn sources(list: Option<&str>) -> tempfile::TempDir {
        let sources = tempfile::tempdir().unwrap();
        let tree = sources.path().join("hello");
        fs::create_dir(&tree).unwrap();
        for file in [".fairground-version", "hello.c", "configure"] {
            fs::write(tree.join(file), "x").unwrap();
        }
        fs::set_permissions(tree.join("configure"), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(list) = list {
            fs::write(tree.join(LIST), list).unwrap();
        }
        sources
    }

    #[test]
    fn a_tree_keeps_its_files_and_the_compiler_its_places() {
        let sources = sources(Some("./configure\n./hello.c\n/bin/sh\n/etc/passwd\n"));
        let tree = Tree::read("hello", sources.path()).unwrap();
        assert_eq!(tree.parts, ["/bin/sh"]);
        let here = sources.path().join("hello");
        let expected = [
            ("/sources/hello/configure".to_owned(), here.join("configure")),
            ("/sources/hello/hello.c".to_owned(), here.join("hello.c")),
            ("/etc/passwd".to_owned(), "/etc/passwd".into()),
        ];
        assert_eq!(tree.files, expected);
    }

    #[test]
    fn what_is_not_here_says_what_brings_it() {
        let why = |name: &str, list| Tree::read(name, sources(list).path()).unwrap_err();
        let unknown = why("bzip3", None);
        assert!(unknown.contains("`scripts/sources.sh bzip3` gets"), "{unknown}");
        let live_only = why("hello", None);
        assert!(live_only.contains("--on live"), "{live_only}");
        let stale = why("hello", Some("./hello.c\n/usr/lib/gcc/of-the-past/cc1\n"));
        assert!(stale.contains("reads /usr/lib/gcc/of-the-past/cc1, which is not here"), "{stale}");
        assert!(stale.contains("`scripts/sources.sh hello` lists anew"), "{stale}");
    }
}
