// SPDX-License-Identifier: GPL-2.0-only
//! Sources, unpacked once: `<home>/kernel-builds/<package>_<version>/{src,obj}`, and the emulator's
//! in `<home>/emulator-builds`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::kernels::{self, Source};
use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::kernels::build::definition::Package;
use crate::kernels::build::{Event, Hear};

/// What a source, its objects and a download need at most.
const SPACE_GIB: f64 = 4.0;

/// A source that is unpacked, and the folder of what is made of it.
pub struct Workshop {
    /// Source, objects and notes.
    pub folder: PathBuf,
    pub source: PathBuf,
    /// What is known of the source, for records.
    pub facts: Facts,
    /// Nobody else builds here as long as it lives.
    _alone: Flock<File>,
}

/// What is known of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
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
    pub fn of_tree(home: &Path, tree: &Path, facts: Facts) -> Result<Workshop> {
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

/// The source that is here, or that of the mirror.
pub fn open(home: &Path, package: &Package, hear: &mut Hear<'_>) -> Result<Workshop> {
    open_in(&builds(home), &package.package, &mut |new| {
        let mut note = |text: &str| hear(Event::Note(text));
        kernels::pull_source(home, &package.package, &package.suite, &new.join("src"), &mut note)
            .with_context(|| format!("getting {} of {}", package.package, package.suite))
    })
}

/// Unpacks a source into a folder.
pub type Get<'a> = dyn FnMut(&Path) -> Result<Source> + 'a;

/// The source that is in a folder of sources, or what `get` unpacks.
pub fn open_in(builds: &Path, package: &str, get: &mut Get<'_>) -> Result<Workshop> {
    fs::create_dir_all(builds).with_context(|| format!("creating {}", builds.display()))?;
    // One download at a time: the second one finds what the first one got.
    let download = alone(&builds.join(format!(".{package}")))?;
    let folder = match here(builds, package) {
        Some(folder) => folder,
        None => unpack(builds, get)?,
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
    let source = get(new.path())?;
    let facts = Facts { source: source.package.clone(), content: source.sha256 };
    fs::write(new.path().join("source.json"), serde_json::to_vec_pretty(&facts)?)?;
    let name = source.package.replace(':', "%3a");
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
