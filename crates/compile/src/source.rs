// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers as text: the built-in ones and other files.

use std::path::{Component, Path, PathBuf};

use crate::identity::{folder_of, follow, identity, included};
use crate::own_files::{self, OwnFiles, may_be_included, read_text};
use crate::{CompileError, Header, embedded, layout, texts};

const ENDING: &str = ".bpf.c";

/// The most bytes of a scheduler; the largest of the project has 60,000.
const LONGEST: u64 = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's stem, `vtime`, or its folder's name.
    pub name: String,
    /// The name of its first file, without a folder: what compiled objects call it.
    pub file: String,
    /// Its place for messages.
    pub path: String,
    pub text: String,
    /// Names and texts of what it includes, and of its other sources with what they include, in the
    /// order of inclusion. What is compiled are these texts, whatever happens to the files.
    pub included: Vec<(String, String)>,
    /// Those of `included` that are sources of their own, which are linked with the first.
    pub others: Vec<String>,
    /// Its own folders of headers, relative to its folder.
    pub folders: Vec<String>,
    /// The identity of all its texts, see [`model::trial::identity`].
    pub sha256: String,
    /// The answers of its top comment.
    pub header: Header,
}

impl Source {
    /// The names of files that lie outside the scheduler's folder, and are part of it.
    pub fn outside(&self) -> Vec<&str> {
        own_files::outside(&folder(self), &self.included)
    }

    /// Every text, the scheduler's first.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let included = self.included.iter().map(|(_, text)| text.as_str());
        std::iter::once(self.text.as_str()).chain(included)
    }
}

/// The built-in schedulers, sorted by name.
pub fn builtin() -> Vec<Source> {
    embedded::BUILTINS.iter().map(source_of).collect()
}

fn source_of(entry: &embedded::Builtin) -> Source {
    Source {
        name: entry.name.into(),
        file: format!("{}{ENDING}", entry.name),
        path: entry.path.into(),
        text: entry.text.into(),
        included: included(entry.text, &brought),
        others: Vec::new(),
        folders: Vec::new(),
        sha256: entry.sha256.into(),
        header: Header::parse(entry.name, entry.text),
    }
}

/// Whether a scheduler of this identity is built in.
pub fn is_builtin(sha256: &str) -> bool {
    embedded::BUILTINS.iter().any(|entry| entry.sha256 == sha256)
}

/// Whether [`resolve`] takes it for a path of files or of a folder.
pub fn is_path(file: &str) -> bool {
    file.contains('/') || file.ends_with(ENDING)
}

/// Finds a scheduler: a name without `/` and `.bpf.c` is a built-in one. Everything else is a file,
/// several with `+` between them, or a folder, relative to `base`. A file of a crate of scx brings
/// the others with which the crate links it.
///
/// # Errors
/// When there is no such scheduler or file; the message says which names there are.
pub fn resolve(file: &str, base: &Path) -> Result<Source, CompileError> {
    if !is_path(file) {
        let entry = embedded::BUILTINS.iter().find(|entry| entry.name == file);
        return entry.map(source_of).ok_or_else(|| unknown(file));
    }
    let place = |file: &str| if base == Path::new(".") { file.into() } else { base.join(file) };
    let parts: Vec<&str> = file.split('+').map(str::trim).collect();
    if parts.len() > 1 && parts.iter().all(|part| part.ends_with(ENDING)) {
        let (main, others) = (place(parts[0]), parts[1..].iter().map(|part| place(part)));
        return gather(None, main, others.collect());
    }
    let path = place(file);
    if !path.is_dir() {
        let whole = layout::of_main(&path).map(|layout| (Some(layout.name), layout.others));
        let (name, others) = whole.unwrap_or_default();
        return gather(name, path, others);
    }
    let layout = layout::of_folder(&path).map_err(|why| {
        CompileError::new(path.display(), format!("no scheduler's folder: {why}"))
    })?;
    gather(Some(layout.name), layout.main, layout.others)
}

/// A scheduler of these sources, with all that they include.
fn gather(
    name: Option<String>,
    path: PathBuf,
    others: Vec<PathBuf>,
) -> Result<Source, CompileError> {
    let wrong = |path: &Path, why: String| {
        CompileError::new(path.display(), format!("cannot be read as a scheduler: {why}"))
    };
    let read = |path: &Path| read_text(path, LONGEST).map_err(|why| wrong(path, why));
    let text = read(&path)?;
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = file.strip_suffix(ENDING).ok_or_else(|| {
        CompileError::new(path.display(), format!("a scheduler's file name ends in {ENDING}"))
    })?;
    // A link, or a folder's `build.rs`, may lead to any file of the machine.
    if let Some(path) = std::iter::once(&path).chain(&others).find(|path| !may_be_included(path)) {
        let real = path.canonicalize().unwrap_or_default();
        return Err(wrong(path, format!("{} has no name of a C file", real.display())));
    }
    let name = name.unwrap_or_else(|| stem.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let own = OwnFiles::new(folder);
    let find = |beside: &str, include: &_| own.find(beside, include);
    let (mut included, mut units) = (Vec::new(), Vec::new());
    follow(&text, "", &find, &mut included);
    for other in others {
        let name = layout::relative(folder, &other);
        let name = name.ok_or_else(|| wrong(&other, "its path is no text".into()))?;
        if included.iter().any(|(seen, _)| *seen == name) {
            continue;
        }
        let text = read(&other)?;
        if !own.has_room_for(&text) {
            break;
        }
        units.push(name.clone());
        included.push((name.clone(), text.clone()));
        follow(&text, folder_of(&name), &find, &mut included);
    }
    if own.is_too_much() {
        let message = format!("its other files have more than {} MiB", own_files::MOST >> 20);
        return Err(CompileError::new(path.display(), message));
    }
    let mut source = Source {
        path: path.display().to_string(),
        sha256: String::new(),
        header: Header::parse(&name, &text),
        others: units,
        folders: own.used_folders(),
        included,
        name,
        file,
        text,
    };
    texts::leave_out_types(&mut source);
    if own.has_conditions() {
        texts::leave_out_unread(&mut source);
    }
    source.sha256 = identity(&source.file, &source.text, &source.included);
    Ok(source)
}

/// A scheduler's text, and those of what it includes and of its other sources, in the order of
/// inclusion, with their names. Their identity is the source's.
pub fn files(source: &Source) -> Vec<(String, String)> {
    let own = (source.file.clone(), source.text.clone());
    std::iter::once(own).chain(source.included.iter().cloned()).collect()
}

/// A scheduler from its texts, as [`files`] gives them: they are written into an empty folder,
/// where the compiler will find them.
///
/// # Errors
/// When a name leaves the folder, or the folder cannot be written.
pub fn unpack(files: &[(String, String)], folder: &Path) -> Result<Source, CompileError> {
    let folder = write_texts(files, folder)?;
    let mut files = files.iter().map(|(name, _)| name);
    let own = files.next().map_or("", |name| name);
    // Those that are included by others are none of their own.
    let others = files.filter(|name| name.ends_with(ENDING)).map(|name| folder.join(name));
    gather(None, folder.join(own), others.collect())
}

/// Writes texts below an empty folder. The result is the scheduler's folder in it: names of files
/// outside that one begin with `../`.
pub(crate) fn write_texts(
    files: &[(String, String)],
    root: &Path,
) -> Result<PathBuf, CompileError> {
    let levels = files.iter().map(|(name, _)| own_files::levels_above(name)).max().unwrap_or(0);
    if levels > MOST_LEVELS {
        return Err(CompileError::new(&files[0].0, "leaves its folder".into()));
    }
    let inner: PathBuf = std::iter::repeat_n("below", levels).collect();
    for (name, text) in files {
        let place = flat(&inner.join(name)).filter(|place| !place.as_os_str().is_empty());
        let place = place.ok_or_else(|| CompileError::new(name, "leaves its folder".into()))?;
        let path = root.join(place);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        written
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| CompileError::new(path.display(), format!("not written: {error}")))?;
    }
    let folder = root.join(inner);
    std::fs::create_dir_all(&folder)
        .map_err(|error| CompileError::new(folder.display(), format!("not made: {error}")))?;
    Ok(folder)
}

/// How many folders above a scheduler's own its files may lie.
const MOST_LEVELS: usize = 16;

fn unknown(name: &str) -> CompileError {
    let known: Vec<&str> = embedded::BUILTINS.iter().map(|entry| entry.name).collect();
    let known = known.join(", ");
    // As the kernel's examples and the programs of today are called.
    let other = if name.starts_with("scx_") {
        "; `fairground kernel examples` brings the kernel's own, `fairground get` lists programs"
    } else {
        ""
    };
    let message = format!(
        "no built-in scheduler has this name; there are {known}; a file needs its {ENDING}{other}"
    );
    CompileError::new(name, message)
}

/// Where a scheduler's own files are.
pub(crate) fn folder(source: &Source) -> PathBuf {
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    if folder.as_os_str().is_empty() { ".".into() } else { folder.to_owned() }
}

/// A path that does not leave where it begins, without its detours.
pub(crate) fn flat(path: &Path) -> Option<PathBuf> {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => flat.push(part),
            Component::CurDir => {}
            Component::ParentDir => flat.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(flat)
}

/// The headers and schedulers that we bring.
pub(crate) fn brought(name: &str) -> Option<String> {
    let header = || embedded::INCLUDES.iter().find(|(known, _)| *known == name);
    let scheduler = || {
        let name = name.strip_suffix(ENDING)?;
        embedded::BUILTINS.iter().find(|entry| entry.name == name)
    };
    header().map(|(_, text)| *text).or_else(|| Some(scheduler()?.text)).map(str::to_owned)
}
