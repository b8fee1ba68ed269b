// SPDX-License-Identifier: GPL-2.0-only
//! The project's files: by a path, or by a name. A name means the built-in file. A file in a folder
//! of the project's kind below the current folder (`./workloads/mine.toml`) has a name too, unless
//! a built-in one has the same: whoever runs something in a stranger's folder runs what the name
//! says everywhere. [`on_note`] hears which file was taken where that could surprise.
//!
//! Adding a file to `workloads/`, `machines/`, `experiments/`, `claims/`, `cares/` or `kernels/` is
//! all that it takes: names are found in the folders, there is no register.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{fs, io};

use toml::de::DeTable;

use crate::SpecError;
use crate::source::{near, quoted, walk_table};

/// Every embedded file: `folder/file` and its text.
pub(crate) const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What a file describes; each kind has its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Workload,
    Machine,
    Experiment,
    Claim,
    Care,
    Kernel,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Workload, Kind::Machine, Kind::Experiment, Kind::Claim, Kind::Care, Kind::Kernel];

    pub fn folder(self) -> &'static str {
        match self {
            Kind::Workload => "workloads",
            Kind::Machine => "machines",
            Kind::Experiment => "experiments",
            Kind::Claim => "claims",
            Kind::Care => "cares",
            Kind::Kernel => "kernels",
        }
    }

    /// The kind's name in messages: its folder is named after several.
    pub fn noun(self) -> &'static str {
        self.folder().trim_end_matches('s')
    }

    /// The option that takes a path of this kind; empty where a verb takes it.
    fn option(self) -> &'static str {
        match self {
            Kind::Workload => "--workload",
            Kind::Machine => "--machine",
            Kind::Care => "--care",
            Kind::Experiment | Kind::Claim | Kind::Kernel => "",
        }
    }
}

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The file for messages: its path, or `<built-in>/workloads/x.toml`.
    pub label: String,
    /// Its name without folder and ending.
    pub stem: String,
    /// The folder that paths inside the file are relative to.
    pub base: PathBuf,
    pub text: String,
}

impl Asset {
    /// Whether it is an rt-app file.
    pub fn is_json(&self) -> bool {
        self.label.to_ascii_lowercase().ends_with(".json")
    }
}

/// Who hears a note.
static HEARS: OnceLock<fn(&str)> = OnceLock::new();

/// Has notes about the files that were taken go to `hears`, which may get one several times.
pub fn on_note(hears: fn(&str)) {
    let _ = HEARS.set(hears);
}

pub(crate) fn note(text: &str) {
    if let Some(hears) = HEARS.get() {
        hears(text);
    }
}

/// Finds a file. `name` is a path (it holds a `/` or ends in `.toml` or `.json`), relative to
/// `base` or to the current directory, or the stem of a file in the kind's folder.
pub fn find(kind: Kind, name: &str, base: &Path) -> Result<Asset, SpecError> {
    if is_path(name) {
        return at_path(kind, name, base);
    }
    if let Some(asset) = builtin(kind, name) {
        note_shadowed_by_file(kind, name, &asset.text);
        return Ok(asset);
    }
    let own = own_files(kind, name);
    let Some(path) = own.iter().find(|path| path.is_file()) else {
        return Err(unknown(kind, name));
    };
    note(&format!("note: {} {name} is {}, a file of this folder", kind.noun(), path.display()));
    read(path)
}

/// How the names of definitions end.
const ENDINGS: [&str; 2] = ["toml", "json"];

pub fn builtin(kind: Kind, name: &str) -> Option<Asset> {
    ENDINGS.iter().find_map(|ending| embedded(&format!("{}/{name}.{ending}", kind.folder())))
}

/// The files of the current folder that would have a name.
fn own_files(kind: Kind, name: &str) -> [PathBuf; 2] {
    ENDINGS.map(|ending| Path::new(".").join(kind.folder()).join(format!("{name}.{ending}")))
}

/// As [`note_shadowed`], for a definition.
pub fn note_shadowed_by_file(kind: Kind, name: &str, text: &str) {
    note_shadowed(kind.noun(), name, kind.option(), text, &own_files(kind, name));
}

/// Notes which files outside its folder a scheduler is made of, too.
pub fn note_outside(scheduler: &str, names: &[&str]) {
    const MOST: usize = 3;
    if !names.is_empty() {
        let first = names[..names.len().min(MOST)].join(", ");
        let more = names.len().saturating_sub(MOST);
        let them = if more == 0 { first } else { format!("{first} and {more} more") };
        note(&format!("note: scheduler {scheduler} includes files outside its folder: {them}"));
    }
}

/// Notes that a name means what is built in, if one of the files has the same name and another
/// text. `option` is what a path of that file is written behind.
pub fn note_shadowed(noun: &str, name: &str, option: &str, text: &str, files: &[PathBuf]) {
    if let Some(path) = files.iter().find(|path| is_another(path, text)) {
        let path = path.display();
        let how = match option {
            "" => "if it is named by this path".into(),
            option => format!("with {option} {path}"),
        };
        note(&format!("note: {noun} {name} is the built-in one; {path} is used {how}"));
    }
}

/// Whether there is a file, and with another text.
fn is_another(path: &Path, text: &str) -> bool {
    path.is_file()
        && crate::files::text(path, crate::files::DEFINITION).ok().as_deref() != Some(text)
}

/// The files of the current folder whose names mean others, which are built in.
pub fn shadowed(kind: Kind) -> Vec<PathBuf> {
    let names = names(kind).into_iter().filter_map(|name| Some((builtin(kind, &name)?, name)));
    let own = names.flat_map(|(asset, name)| {
        let paths = own_files(kind, &name).into_iter();
        paths.filter(move |path| is_another(path, &asset.text))
    });
    own.collect()
}

/// The names of the built-in files, sorted.
pub fn builtin_names(kind: Kind) -> BTreeSet<String> {
    let paths = EMBEDDED.iter().map(|(path, _)| Path::new(path));
    paths.filter(|path| path.starts_with(kind.folder())).filter_map(stem).collect()
}

/// The names that [`find`] knows without a path, sorted.
pub fn names(kind: Kind) -> Vec<String> {
    let mut names = builtin_names(kind);
    let here = fs::read_dir(kind.folder()).into_iter().flatten().flatten().map(|file| file.path());
    names.extend(here.filter(|path| has_ending(path)).filter_map(|path| stem(&path)));
    names.into_iter().collect()
}

/// What [`find`] says of a name, with the name: `unknown machine 'x'`, `x: is a folder, …`.
pub fn naming(message: &str, name: &str) -> String {
    if message.starts_with("is ") || message.starts_with("cannot ") {
        format!("{name}: {message}")
    } else {
        format!("{message} '{name}'")
    }
}

/// Top-level keys that only one kind of file has. The first kind with a key in the file counts.
const KEYS: [(Kind, &[&str]); 6] = [
    (Kind::Workload, &["task", "program", "recording", "template"]),
    (Kind::Claim, &["citation", "published", "test"]),
    (Kind::Care, &["decides", "keeps"]),
    (Kind::Experiment, &["question", "scheduler", "workload"]),
    (Kind::Machine, &["cpus", "costs"]),
    (Kind::Kernel, &["base", "source"]),
];

/// What a file defines. One that has no key of a kind is read as a workload.
///
/// # Errors
/// The file cannot be read. What is wrong in it is told when it is read as what it defines.
pub fn kind_of(file: &str) -> Result<Kind, SpecError> {
    let asset = at_path(Kind::Workload, file, Path::new(""))?;
    let table: toml::Table = toml::from_str(&asset.text).unwrap_or_default();
    let has = |keys: &&[&str]| keys.iter().any(|key| table.contains_key(*key));
    let known = KEYS.iter().find(|(_, keys)| has(keys));
    Ok(known.map_or(Kind::Workload, |(kind, _)| *kind))
}

/// Whether [`find`] treats it as a path.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || has_ending(Path::new(name))
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("toml") || ending.eq_ignore_ascii_case("json")
    })
}

fn stem(path: impl AsRef<Path>) -> Option<String> {
    Some(path.as_ref().file_stem()?.to_string_lossy().into_owned())
}

fn at_path(kind: Kind, name: &str, base: &Path) -> Result<Asset, SpecError> {
    // A file means its own neighbours before those of the folder that it is used in.
    let candidates = [base.join(name), PathBuf::from(name)];
    match candidates.iter().find(|path| path.exists()) {
        Some(path) => read(path),
        None => embedded(name).ok_or_else(|| {
            let places = known_places(kind);
            SpecError::new(name, format!("no such {} file", kind.noun())).hint(places)
        }),
    }
}

/// The definitions outside the program that were read, ever.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The files of experiments, workloads, machines … that this process has read, whether the command
/// or another file named them.
pub fn files_read() -> BTreeSet<PathBuf> {
    READ.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn read(path: &Path) -> Result<Asset, SpecError> {
    READ.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    let label = path.display().to_string();
    let text = crate::files::text(path, crate::files::DEFINITION)
        .map_err(|fault| unreadable(&label, &fault))?;
    // Editors on Windows begin a file with this mark.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    let stem = stem(path).unwrap_or_default();
    let base = path.parent().unwrap_or(Path::new("")).to_owned();
    Ok(Asset { label, stem, base, text })
}

fn unreadable(label: &str, fault: &crate::files::Fault) -> SpecError {
    let hint = match fault {
        crate::files::Fault::NotText(_) => "the file must be UTF-8 text",
        crate::files::Fault::System(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "make the file readable"
        }
        crate::files::Fault::TooLarge(_) => "name the file that defines it",
        _ => "check that it is a readable file",
    };
    SpecError::new(label, fault.to_string()).hint(hint)
}

pub(crate) fn embedded(path: &str) -> Option<Asset> {
    let (_, text) = EMBEDDED.iter().find(|(name, _)| *name == path)?;
    Some(Asset {
        label: format!("<built-in>/{path}"),
        stem: stem(path)?,
        base: PathBuf::new(),
        text: (*text).to_owned(),
    })
}

fn unknown(kind: Kind, name: &str) -> SpecError {
    let known = names(kind);
    let close = near(name, known.iter().map(String::as_str));
    let meant = if close.is_empty() {
        known_places(kind)
    } else {
        format!("did you mean {}? {}", quoted(&close, " or "), known_places(kind))
    };
    SpecError::new(name, format!("unknown {}", kind.noun())).hint(meant)
}

fn known_places(kind: Kind) -> String {
    let folder = kind.folder();
    // `list kernels` shows those that can be booted.
    let verb = if kind == Kind::Kernel { "kernel build" } else { &format!("list {folder}") };
    format!(
        "looked in ./{folder}/ and among the built-in ones (`fairground {verb}`); a path works too"
    )
}

/// Whether a built-in file has this text as a key or a value: a description, a script, a path.
pub fn is_builtin_text(text: &str) -> bool {
    static TEXTS: OnceLock<BTreeSet<String>> = OnceLock::new();
    let all = || {
        let mut texts = BTreeSet::new();
        for mut table in EMBEDDED.iter().filter_map(|(_, text)| DeTable::parse(text).ok()) {
            walk_table("", table.get_mut(), &mut |_, key, _, value| {
                texts.extend(key.map(str::to_owned));
                texts.extend(value.get_ref().as_str().map(str::to_owned));
            });
        }
        texts
    };
    TEXTS.get_or_init(all).contains(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_paths_of_workloads_are_published() {
        assert!(is_builtin_text("/usr/share/dbench/client.txt") && is_builtin_text("/bin/sh"));
        assert!(!is_builtin_text("/home/ada/client.txt"));
    }

    #[test]
    fn endings_may_be_capitals_and_texts_begin_with_a_mark() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("T.JSON");
        fs::write(&path, "\u{feff}{}").unwrap();
        let asset = find(Kind::Workload, &path.display().to_string(), Path::new("")).unwrap();
        assert!(asset.is_json() && asset.text == "{}", "{asset:?}");
        assert!(is_path("T.TOML") && !is_path("T.c"));
    }

    #[test]
    fn every_embedded_file_is_found_by_its_name() {
        assert!(!EMBEDDED.is_empty());
        for kind in Kind::ALL {
            for name in names(kind) {
                assert_eq!(find(kind, &name, Path::new("")).unwrap().stem, name);
            }
        }
    }

    #[test]
    fn a_mistyped_name_gets_the_near_ones_and_the_places() {
        let error = find(Kind::Workload, "hackbensh", Path::new("")).unwrap_err().to_string();
        assert!(
            error.starts_with("hackbensh: unknown workload; did you mean 'hackbench'?"),
            "{error}"
        );
        assert!(error.ends_with("(`fairground list workloads`); a path works too"), "{error}");
    }

    #[test]
    fn paths_are_relative_to_here_and_to_the_file_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        fs::write(&file, "about = 'x'").unwrap();
        let absolute = find(Kind::Workload, &file.display().to_string(), Path::new("")).unwrap();
        let relative = find(Kind::Workload, "mine.toml", folder.path()).unwrap();
        assert_eq!(absolute, relative);
        assert_eq!((absolute.stem.as_str(), absolute.base.as_path()), ("mine", folder.path()));
        let error = find(Kind::Workload, "yours.toml", folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("yours.toml: no such workload file; looked in"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_text_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bytes.toml");
        fs::write(&file, [0xff, 0xfe]).unwrap();
        let error = find(Kind::Machine, &file.display().to_string(), Path::new("")).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("the file must be UTF-8 text"));
    }
}
