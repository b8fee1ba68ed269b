// SPDX-License-Identifier: GPL-2.0-only
//! The kernels that can be booted: finding, describing and storing them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use model::record::fair_scheduler;
use serde::{Deserialize, Serialize};
use spec::files::{self, FileKind};

use super::build::refused;
use super::image::{
    self, NAME_RULE, folder_name, is_usable_name, resolve, shortest_name, version_key,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The shortest name that [`find`] accepts for it: `6.1`, `6.12`, `7`; the path of a host's
    /// image.
    pub name: String,
    /// The release as `uname -r` prints it.
    pub release: String,
    pub image: PathBuf,
    /// Path of its configuration file. BPF objects with kconfig externs need it in the guest.
    pub config: Option<PathBuf>,
    pub sha256: String,
    /// The built-in fair scheduler: `cfs` before 6.6, `eevdf` since.
    pub fair: String,
    /// Whether its name was given by a person: it is found by that name and by no other.
    pub is_named: bool,
    /// Whether it is an image that a person added without a name.
    pub is_added: bool,
    /// Whether it is configured with `CONFIG_SCHED_CLASS_EXT=y`; `false` without a configuration
    /// file.
    pub sched_ext: bool,
    /// `HZ`, `preempt`, `sched_ext`, `autogroup`, `btf`, `nr_cpus` from the configuration file,
    /// `package` where the image came from one, and what is known of its making.
    pub facts: BTreeMap<String, String>,
}

/// The largest file that is taken for a kernel's image.
pub(super) const IMAGE: FileKind = FileKind { noun: "a kernel", most: 1 << 30 };

/// The largest configuration; a distribution's has 300 KiB.
pub(super) const CONFIG: FileKind = FileKind { noun: "a kernel's configuration", most: 4 << 20 };

/// An image's header and the text of its version are in its first bytes.
pub(super) const HEADER_BYTES: u64 = 128 << 10;

impl Kernel {
    /// Whether it has sched_ext; `None` without the configuration file that tells it. Kernels with
    /// CFS are older than sched_ext.
    pub fn has_sched_ext(&self) -> Option<bool> {
        (self.config.is_some() || self.fair == "cfs").then_some(self.sched_ext)
    }
}

/// How the source of an added image begins.
const ADDED: &str = "file ";

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    release: String,
    sha256: String,
    /// Package and version, or the path that the image was copied from.
    source: String,
    /// The name that a person gave it; such a kernel is found by this name only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What is known of its making.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<String, String>,
}

/// A kernel of the user's own: an image under a name of its own.
#[derive(Clone, Debug)]
pub struct Own<'a> {
    /// Its name, see [`is_usable_name`]. A kernel of that name is replaced.
    pub name: &'a str,
    pub image: &'a Path,
    pub config: Option<&'a Path>,
    /// Where it comes from, for `package` among its facts.
    pub source: &'a str,
    /// What is known of its making.
    pub facts: BTreeMap<String, String>,
}

/// The kernels under `home`, newest first, then the readable images in the host's `/boot`.
///
/// # Errors
/// A kernel's folder cannot be read or its `kernel.json` is damaged.
pub fn list(home: &Path) -> Result<Vec<Kernel>> {
    let mut kernels = stored(home)?;
    kernels.extend(host_images(Path::new("/boot")));
    Ok(kernels)
}

/// Looks a kernel up: `7` means the newest 7.x, `6.12` the newest 6.12.x, a full release that
/// release, and a name with a `/` is the path of an image. A kernel that a person named is found by
/// that name only, and an image that was added without a name stands in for a series only while no
/// kernel of the mirror is there.
///
/// # Errors
/// There is no such kernel (the message says how to get one), or its image has changed since it was
/// stored.
pub fn find(home: &Path, name_or_path: &str) -> Result<Kernel> {
    if name_or_path.contains('/') {
        let path = Path::new(name_or_path);
        return from_image(path, None, name_or_path);
    }
    let kernels = stored(home)?;
    let Some(kernel) = resolve(&kernels, name_or_path) else {
        bail!(
            "no kernel `{name_or_path}` in {}: run `fairground kernel pull`, or give one of your \
             own with `fairground kernel use FILE`, or the one that runs with --running",
            folder(home).display()
        );
    };
    let sha256 = model::trial::sha256_hex(&files::read(&kernel.image, IMAGE)?);
    if sha256 != kernel.sha256 {
        bail!(
            "{} is not the image that was stored (SHA-256 {sha256} instead of {}): remove its \
             folder and run `fairground kernel pull` again",
            kernel.image.display(),
            kernel.sha256
        );
    }
    Ok(kernel.clone())
}

/// Whether a kernel of this name is stored; its image may have changed since.
pub fn is_here(home: &Path, name: &str) -> bool {
    stored(home).is_ok_and(|kernels| resolve(&kernels, name).is_some())
}

/// Copies an image and its configuration into `home`. Without `config`, the configuration is
/// `config-<release>` in the image's folder, if it exists.
///
/// # Errors
/// The image is not an x86 bzImage, or a file cannot be read or written.
pub fn add_file(home: &Path, image: &Path, config: Option<&Path>) -> Result<Kernel> {
    let given = from_image(image, config, "given")?;
    let source = format!("{ADDED}{}", image.display());
    let release = store(home, &given, &source)?;
    find_release(home, &release)
}

/// Copies an image under a name of its own into `home`.
///
/// # Errors
/// The name cannot be used or is that of a kernel of the mirror, the image is not an x86 bzImage,
/// or a file cannot be read or written.
pub fn add_own(home: &Path, own: &Own) -> Result<Kernel> {
    if !is_usable_name(own.name) {
        bail!("`{}` cannot be a kernel's name: {NAME_RULE}", own.name);
    }
    let there = stored(home)?.into_iter().find(|kernel| folder_name(kernel) == own.name);
    if there.is_some_and(|kernel| !kernel.is_named) {
        bail!("`{}` is the name of a kernel that no name was given to: take another one", own.name);
    }
    let given = from_image(own.image, own.config, own.name)?;
    let name = Some(own.name.to_owned());
    let manifest = Manifest { name, facts: own.facts.clone(), ..manifest(&given, own.source) };
    place(home, own.name, &given, &manifest)?;
    find_release(home, own.name)
}

/// `<home>/kernels`.
fn folder(home: &Path) -> PathBuf {
    home.join("kernels")
}

pub(super) fn find_release(home: &Path, folder_name: &str) -> Result<Kernel> {
    let image = folder(home).join(folder_name).join("vmlinuz");
    let kernel = stored(home)?.into_iter().find(|kernel| kernel.image == image);
    kernel.with_context(|| format!("{} vanished while it was stored", image.display()))
}

/// All kernels under `home`, newest first, each with the shortest name that finds it.
pub(super) fn stored(home: &Path) -> Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    let Ok(entries) = fs::read_dir(folder(home)) else { return Ok(kernels) };
    for entry in entries {
        let entry = entry?;
        let folder = entry.path();
        // A name with a leading dot is a folder that was not completed.
        let is_finished = !entry.file_name().to_string_lossy().starts_with('.');
        if is_finished && folder.join("kernel.json").is_file() {
            kernels.push(load(&folder)?);
        }
    }
    kernels.sort_by_cached_key(|kernel| std::cmp::Reverse(version_key(&kernel.release)));
    let names: Vec<String> = kernels.iter().map(|kernel| shortest_name(&kernels, kernel)).collect();
    for (kernel, name) in kernels.iter_mut().zip(names) {
        kernel.name = name;
    }
    Ok(kernels)
}

fn load(folder: &Path) -> Result<Kernel> {
    let path = folder.join("kernel.json");
    let text =
        files::text(&path, files::LIST).with_context(|| format!("reading {}", path.display()))?;
    let manifest: Manifest = serde_json::from_str(&text).with_context(|| {
        format!("{} is damaged: remove its folder and pull again", path.display())
    })?;
    let config = Some(folder.join("config")).filter(|config| config.is_file());
    let mut kernel = describe(&manifest.release, folder.join("vmlinuz"), config, manifest.sha256)?;
    kernel.is_named = manifest.name.is_some();
    kernel.is_added = manifest.source.starts_with(ADDED);
    kernel.facts.insert("package".into(), manifest.source);
    kernel.facts.extend(manifest.facts);
    Ok(kernel)
}

pub(super) fn describe(
    release: &str,
    image: PathBuf,
    config: Option<PathBuf>,
    sha256: String,
) -> Result<Kernel> {
    let facts = match &config {
        Some(path) => image::facts(&configuration(path)?),
        None => BTreeMap::from([("sched_ext".into(), "unknown: no config file".into())]),
    };
    Ok(Kernel {
        name: release.to_owned(),
        release: release.to_owned(),
        image,
        config,
        sha256,
        fair: fair_scheduler(release).to_owned(),
        is_named: false,
        is_added: false,
        sched_ext: facts.get("sched_ext").is_some_and(|value| value == "yes"),
        facts,
    })
}

/// The text of a configuration, which a person may have named; an error if it is none.
pub fn configuration(path: &Path) -> Result<String> {
    let wrong = |why: &dyn Display| refused(format!("{}: {why}", path.display()));
    let text = files::text(path, CONFIG).map_err(|fault| wrong(&fault))?;
    if image::settings(&text).is_empty() {
        return Err(wrong(&"is no kernel's configuration: there is no line CONFIG_NAME=value"));
    }
    Ok(text)
}

/// An image that is not kept: a path's.
pub fn from_image(image: &Path, config: Option<&Path>, name: &str) -> Result<Kernel> {
    let wrong = |fault: files::Fault| refused(format!("{}: {fault}", image.display()));
    let start = files::beginning(image, HEADER_BYTES).map_err(wrong)?;
    let release = image::release(&start).ok_or_else(|| {
        refused(format!(
            "{} is not an x86 bzImage (the file that distributions call vmlinuz)",
            image.display()
        ))
    })?;
    let beside = image.with_file_name(format!("config-{release}"));
    let config = config.map(Path::to_owned).or_else(|| beside.is_file().then_some(beside));
    let bytes = files::read(image, IMAGE).map_err(wrong)?;
    let sha256 = model::trial::sha256_hex(&bytes);
    let mut kernel = describe(&release, image.to_owned(), config, sha256)?;
    kernel.name = name.to_owned();
    Ok(kernel)
}

/// The readable images: some distributions allow only root to read those in `/boot`.
fn host_images(boot: &Path) -> Vec<Kernel> {
    let Ok(entries) = fs::read_dir(boot) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("vmlinuz-"))
    });
    paths.sort();
    paths.iter().filter_map(|path| from_image(path, None, &path.to_string_lossy()).ok()).collect()
}

/// Copies image and configuration into `home` and returns the name of their folder. A second image
/// of the same release (a patched kernel) gets another folder. The folder is renamed into place, so
/// that it is complete or absent.
pub(super) fn store(home: &Path, kernel: &Kernel, source: &str) -> Result<String> {
    let name = free_folder_name(home, kernel)?;
    place(home, &name, kernel, &manifest(kernel, source))?;
    Ok(name)
}

/// What is kept about a kernel without a name.
fn manifest(kernel: &Kernel, source: &str) -> Manifest {
    Manifest {
        release: kernel.release.clone(),
        sha256: kernel.sha256.clone(),
        source: source.to_owned(),
        name: None,
        facts: BTreeMap::new(),
    }
}

fn place(home: &Path, name: &str, kernel: &Kernel, manifest: &Manifest) -> Result<()> {
    let parent = folder(home);
    fs::create_dir_all(&parent).with_context(|| format!("creating {}", parent.display()))?;
    let new = tempfile::Builder::new().prefix(".new-").tempdir_in(&parent)?;
    copy(&kernel.image, &new.path().join("vmlinuz"))?;
    if let Some(config) = &kernel.config {
        copy(config, &new.path().join("config"))?;
    }
    fs::write(new.path().join("kernel.json"), serde_json::to_vec_pretty(manifest)?)?;
    make_readable(new.path())?;
    let target = parent.join(name);
    if target.exists() {
        fs::remove_dir_all(&target).with_context(|| format!("replacing {}", target.display()))?;
    }
    let new = new.keep();
    fs::rename(&new, &target).with_context(|| format!("writing {}", target.display()))
}

/// Makes the folder readable for all users: `tempdir_in` makes it for its owner only.
fn make_readable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn free_folder_name(home: &Path, kernel: &Kernel) -> Result<String> {
    let manifest = folder(home).join(&kernel.release).join("kernel.json");
    if !manifest.is_file() || load(&folder(home).join(&kernel.release))?.sha256 == kernel.sha256 {
        return Ok(kernel.release.clone());
    }
    Ok(format!("{}~{}", kernel.release, &kernel.sha256[..8]))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stored_found_and_its_change_noticed() {
        let home = tempfile::tempdir().unwrap();
        let image = home.path().join("image");
        fs::write(&image, image::fake("9.8.7-mine")).unwrap();
        fs::write(home.path().join("config-9.8.7-mine"), "CONFIG_SCHED_CLASS_EXT=y\n").unwrap();
        let added = add_file(home.path(), &image, None).unwrap();
        assert_eq!((added.name.as_str(), added.has_sched_ext()), ("9", Some(true)));
        assert_eq!(find(home.path(), "9.8").unwrap(), added);
        fs::write(&added.image, image::fake("9.8.7-mine!")).unwrap();
        assert!(find(home.path(), "9").unwrap_err().to_string().contains("not the image"));
        fs::write(&image, image::fake("8.8.7-mine")).unwrap();
        assert_eq!(add_file(home.path(), &image, None).unwrap().has_sched_ext(), None);
        let missing = find(home.path(), "4").unwrap_err().to_string();
        assert!(missing.contains("fairground kernel use FILE"), "{missing}");
    }

    #[test]
    fn what_is_no_image_and_no_configuration_is_refused_by_name() {
        let home = tempfile::tempdir().unwrap();
        let image = home.path().join("image");
        fs::write(&image, image::fake("9.8.7")).unwrap();
        fs::write(home.path().join("rubbish"), "rubbish\n").unwrap();
        let pipe = home.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let rubbish = home.path().join("rubbish");
        let said = |image: &Path, config: &Path| {
            let error = add_file(home.path(), image, Some(config)).unwrap_err();
            assert!(error.is::<super::super::build::Refused>(), "{error:#}");
            format!("{error:#}")
        };
        for (path, why) in [
            (Path::new("/dev/zero"), "is a device"),
            (&pipe, "pipe: is a pipe"),
            (home.path(), "is a folder"),
        ] {
            assert!(said(path, &rubbish).contains(why) && said(&image, path).contains(why));
        }
        assert!(said(&rubbish, &rubbish).contains("is not an x86 bzImage"));
        assert!(said(&image, &rubbish).contains("rubbish: is no kernel's configuration"));
    }

    #[test]
    fn a_patched_kernel_of_the_same_release_is_kept_apart() {
        let home = tempfile::tempdir().unwrap();
        let image = home.path().join("image");
        fs::write(&image, image::fake("9.8.7")).unwrap();
        let first = add_file(home.path(), &image, None).unwrap();
        fs::write(&image, [image::fake("9.8.7"), vec![1]].concat()).unwrap();
        let second = add_file(home.path(), &image, None).unwrap();
        assert_ne!(first.sha256, second.sha256);
        assert_eq!(stored(home.path()).unwrap().len(), 2);
        assert_eq!(find(home.path(), &second.name).unwrap().sha256, second.sha256);
    }
}
