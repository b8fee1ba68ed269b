// SPDX-License-Identifier: GPL-2.0-only
//! Sources, unpacked once: `<home>/kernel-builds/<package>_<version>/{src,obj}`, and the emulator's
//! in `<home>/emulator-builds`. A kernel's source comes out of Debian's package of it, with
//! Debian's own changes; any other program's as its authors published it.
//!
//! What a source was when it was unpacked: the SHA-256 of each file. Before each build, what no
//! patch touches is compared with it, so that nothing which one build leaves behind, by whatever
//! way, gets into the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use model::trial::sha256_hex;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::kernels::apt::{PrivateApt, extract};
use crate::kernels::build::definition::Package;
use crate::kernels::build::{BuildEvent, OnBuildEvent, go_on};
use crate::kernels::mirror::Index;

/// What a source, its objects and a download need at most.
const SPACE_GIB: f64 = 4.0;

/// A source that is unpacked, and the folder of what is made of it.
pub struct Workshop {
    /// Source, objects and notes.
    pub folder: PathBuf,
    pub source: PathBuf,
    /// What is known of the source, for records.
    pub facts: SourceFacts,
    /// Nobody else builds here as long as it lives.
    _alone: Flock<File>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceFacts {
    /// Package and version; the folder of a tree.
    pub source: String,
    /// SHA-256 of the archive; the commit of a tree.
    pub content: String,
}

impl Workshop {
    pub fn objects(&self) -> PathBuf {
        self.folder.join("obj")
    }

    /// A folder for builds of the user's own tree.
    pub fn of_tree(home: &Path, tree: &Path, facts: SourceFacts) -> Result<Workshop> {
        let hash = model::trial::sha256_hex(tree.as_os_str().as_encoded_bytes());
        let folder = builds(home).join(format!("tree-{}", &hash[..12]));
        let alone = alone(&folder)?;
        Ok(Workshop { folder, source: tree.to_owned(), facts, _alone: alone })
    }
}

/// `<home>/kernel-builds`.
fn builds(home: &Path) -> PathBuf {
    home.join("kernel-builds")
}

/// A kernel's source that is here, or the newest one that the mirror's suite has.
pub fn open(home: &Path, package: &Package, hear: &mut OnBuildEvent<'_>) -> Result<Workshop> {
    open_in(&builds(home), package, &mut |new| {
        let apt = PrivateApt::new(home, &[&package.suite], Index::Packages)?;
        apt.update(&mut |text| hear(BuildEvent::Note(text)))?;
        hear(BuildEvent::Note(&format!("downloading {}", package.package)));
        let source = apt.unpack(&package.package)?;
        let archive = apt.path("root").join(format!("usr/src/{}.tar.xz", package.package));
        unpacked(source, &archive, new, hear)
    })
}

/// A program's source that is in a folder of sources, or the newest one that the mirror's suite
/// has. `tools` are packages of the same suite with programs for the build, which are not
/// installed: they are in the workshop's folder `tools`.
pub fn open_program(
    home: &Path,
    builds: &Path,
    package: &Package,
    tools: &[String],
    hear: &mut OnBuildEvent<'_>,
) -> Result<Workshop> {
    open_in(builds, package, &mut |new| {
        let apt = PrivateApt::new(home, &[&package.suite], Index::PackagesAndSources)?;
        apt.update(&mut |text| hear(BuildEvent::Note(text)))?;
        for tool in tools {
            apt.unpack(tool)?;
        }
        fs::create_dir_all(apt.path("root"))?;
        let place = new.join("tools");
        fs::rename(apt.path("root"), &place)
            .with_context(|| format!("writing {}", place.display()))?;
        hear(BuildEvent::Note(&format!("downloading the source of {}", package.package)));
        let (source, archive) = apt.source(&package.package)?;
        unpacked(source, &archive, new, hear)
    })
}

/// Unpacks an archive into `new/src`.
fn unpacked(
    source: String,
    archive: &Path,
    new: &Path,
    hear: &mut OnBuildEvent<'_>,
) -> Result<SourceFacts> {
    hear(BuildEvent::Note("unpacking the source"));
    extract(archive, &new.join("src"), &[])?;
    let bytes = fs::read(archive).with_context(|| format!("reading {}", archive.display()))?;
    Ok(SourceFacts { source, content: model::trial::sha256_hex(&bytes) })
}

/// Unpacks a source into a folder.
type Get<'a> = dyn FnMut(&Path) -> Result<SourceFacts> + 'a;

/// The source that is in a folder of sources, or what `get` unpacks.
fn open_in(builds: &Path, package: &Package, get: &mut Get<'_>) -> Result<Workshop> {
    let Package { package, suite } = package;
    fs::create_dir_all(builds).with_context(|| format!("creating {}", builds.display()))?;
    // One download at a time: the second one finds what the first one got.
    let download = alone(&builds.join(format!(".{package}")))?;
    let folder = match here(builds, package) {
        Some(folder) => folder,
        None => {
            let getting = || format!("getting the source of {package} of {suite}");
            unpack(builds, get).with_context(getting)?
        }
    };
    drop(download);
    let text = fs::read_to_string(folder.join("source.json"))?;
    let facts = serde_json::from_str(&text)
        .with_context(|| format!("{} is damaged: remove it and build again", folder.display()))?;
    let alone = alone(&folder)?;
    Ok(Workshop { source: folder.join("src"), folder, facts, _alone: alone })
}

/// A source that was unpacked completely; the newest if there are several.
fn here(builds: &Path, package: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(builds).ok()?.flatten().map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{package}_")) && path.join("source.json").is_file()
    };
    entries.filter(is_it).max_by_key(|path| {
        fs::metadata(path.join("source.json")).and_then(|data| data.modified()).ok()
    })
}

fn unpack(builds: &Path, get: &mut Get<'_>) -> Result<PathBuf> {
    check_space(builds)?;
    let new = tempfile::Builder::new().prefix(".new-").tempdir_in(builds)?;
    let facts = get(new.path())?;
    fs::write(new.path().join("source.json"), serde_json::to_vec_pretty(&facts)?)?;
    let name = facts.source.replace(':', "%3a");
    let target = builds.join(name);
    let new = new.keep();
    fs::rename(&new, &target).with_context(|| format!("writing {}", target.display()))?;
    Ok(target)
}

fn alone(folder: &Path) -> Result<Flock<File>> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let file = File::create(folder.join("lock"))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, _)| {
        anyhow::anyhow!("another build uses {}: wait until it is done", folder.display())
    })
}

/// Fails before a download that cannot end well.
fn check_space(folder: &Path) -> Result<()> {
    let data = nix::sys::statvfs::statvfs(folder)?;
    let free = data.blocks_available() as f64 * data.fragment_size() as f64 / f64::from(1 << 30);
    if free < SPACE_GIB {
        let folder = folder.display();
        bail!("{folder} has {free:.1} GiB free; a source with its objects needs {SPACE_GIB} GiB");
    }
    Ok(())
}

/// The file beside the source.
const FILE: &str = "pristine.txt";

/// How many differences are named.
const NAMED: usize = 5;

pub struct Pristine {
    /// What each path has, by its path below the source.
    files: BTreeMap<String, String>,
    /// The SHA-256 of all paths with what they have.
    pub sha256: String,
}

impl Pristine {
    /// Reads what was noted of `folder/src`, or notes it.
    pub fn open(folder: &Path) -> Result<Pristine> {
        let file = folder.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(_) => {
                let lines = files(&folder.join("src"))?;
                let lines = lines.iter().map(|(path, content)| format!("{content} {path}\n"));
                let text: String = lines.collect();
                fs::write(&file, &text).with_context(|| format!("writing {}", file.display()))?;
                text
            }
        };
        let line = |line: &str| {
            let (content, path) = line.split_once(' ')?;
            Some((path.to_owned(), content.to_owned()))
        };
        let files = text.lines().filter_map(line).collect();
        Ok(Pristine { files, sha256: sha256_hex(text.as_bytes()) })
    }

    /// Whether it was noted when `folder/src` was unpacked.
    pub fn is_noted(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Compares the source with what was unpacked, without the paths that patches touch.
    ///
    /// # Errors
    /// Something else differs.
    pub fn check(&self, source: &Path, touched: &BTreeMap<String, bool>) -> Result<()> {
        let now = files(source)?;
        let all: BTreeSet<&String> = self.files.keys().chain(now.keys()).collect();
        let differs = |path: &&String| {
            !touched.contains_key(*path) && self.files.get(*path) != now.get(*path)
        };
        let different: Vec<&str> =
            all.into_iter().filter(differs).map(String::as_str).take(NAMED).collect();
        if different.is_empty() {
            return Ok(());
        }
        let folder = source.parent().unwrap_or(source).display();
        bail!(
            "{}: not as it was unpacked: {}; remove {folder} and build again",
            source.display(),
            different.join(", ")
        );
    }
}

/// All files and links below a folder: the path, and kind, rights and content.
fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        go_on()?;
        let reading = || format!("reading {}", next.display());
        for entry in fs::read_dir(&next).with_context(reading)? {
            let path = entry.with_context(reading)?.path();
            let data = path.symlink_metadata().with_context(reading)?;
            let content = if data.is_dir() {
                folders.push(path);
                continue;
            } else if data.is_symlink() {
                let to = fs::read_link(&path).with_context(reading)?;
                format!("link-{}", sha256_hex(to.as_os_str().as_encoded_bytes()))
            } else if data.is_file() {
                let runs = if data.permissions().mode() & 0o111 == 0 { "file" } else { "program" };
                let bytes =
                    fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                format!("{runs}-{}", sha256_hex(&bytes))
            } else {
                "other".to_owned()
            };
            let name = path.strip_prefix(folder).unwrap_or(&path).as_os_str();
            found.insert(name.as_encoded_bytes().escape_ascii().to_string(), content);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_source_counts_and_one_build_uses_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("linux-source-6.1_6.1.9-1");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(here(home.path(), "linux-source-6.1"), None);
        fs::write(folder.join("source.json"), "{}").unwrap();
        assert_eq!(here(home.path(), "linux-source-6.1"), Some(folder.clone()));
        assert_eq!(here(home.path(), "linux-source-6"), None);
        let held = alone(&folder).unwrap();
        assert!(alone(&folder).unwrap_err().to_string().starts_with("another build uses"));
        drop(held);
        alone(&folder).unwrap();
    }

    #[test]
    fn what_differs_is_named_and_what_is_touched_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(source.join("d")).unwrap();
        fs::write(source.join("d/a.c"), "one").unwrap();
        assert!(!Pristine::is_noted(folder.path()));
        let first = Pristine::open(folder.path()).unwrap();
        assert!(Pristine::is_noted(folder.path()));
        let touched =
            |paths: &[&str]| paths.iter().map(|path| ((*path).to_owned(), true)).collect();
        first.check(&source, &touched(&[])).unwrap();
        fs::write(source.join("d/a.c"), "two").unwrap();
        std::os::unix::fs::symlink("a.c", source.join("d/l")).unwrap();
        let again = Pristine::open(folder.path()).unwrap();
        assert_eq!(again.sha256, first.sha256);
        let error = again.check(&source, &touched(&[])).unwrap_err().to_string();
        assert!(error.contains("not as it was unpacked: d/a.c, d/l; remove "), "{error}");
        again.check(&source, &touched(&["d/a.c", "d/l"])).unwrap();
    }
}
