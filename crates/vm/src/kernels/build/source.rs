// SPDX-License-Identifier: GPL-2.0-only
//! Sources, unpacked once: `<home>/kernel-builds/<package>_<version>/{src,obj}`, and the emulator's
//! in `<home>/emulator-builds`. A kernel's source comes out of Debian's package of it, with
//! Debian's own changes; any other program's as its authors published it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::kernels::apt::{PrivateApt, extract};
use crate::kernels::build::definition::Package;
use crate::kernels::build::{BuildEvent, OnBuildEvent};
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
}
