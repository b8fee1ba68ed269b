// SPDX-License-Identifier: GPL-2.0-only
//! Kernels, and the kernel's own example schedulers, from the Debian mirror in the machine's own
//! apt sources. apt runs with a state in a private folder and does not change the system, so it
//! does not need root.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::build::refused;
use super::collection::{Kernel, find_release, from_image, store, stored};
use super::image::{self, has_version_prefix, version_key};
use super::mirror::{Index, Mirror, SUITES, run};

/// Advice for users whose apt cannot get a kernel.
const INSTEAD: &str = "give a kernel image of your own instead: `fairground kernel use FILE`, or \
                       the one that runs: --running";

/// The names of the packages of one kernel series.
struct Series {
    name: String,
    /// The image's package: prefix and suffix around the release.
    image: (String, &'static str),
    /// The package that brings the configuration file, where it is not the image's own.
    config: Option<(String, &'static str)>,
}

impl Series {
    /// `None` for a name without such packages in Debian.
    fn from_name(name: &str) -> Option<Series> {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_split = name == "7" || name.strip_prefix("7.").is_some_and(number);
        let (image, config) = if NAMES.contains(&name) && !is_split {
            ((format!("linux-image-{name}."), "-cloud-amd64-unsigned"), None)
        } else if is_split {
            // Since 7.1 Debian splits the image (`linux-binary`) from the rest (`linux-base`).
            let image = (format!("linux-binary-unsigned-{name}."), "-cloud-amd64");
            (image, Some((format!("linux-base-{name}."), "-cloud-amd64")))
        } else {
            return None;
        };
        Some(Series { name: name.to_owned(), image, config })
    }
}

/// The series that are pulled by default: CFS, EEVDF, and EEVDF with sched_ext. [`pull`] also
/// accepts `7.2` and the like.
pub const NAMES: &[&str] = &["6.1", "6.12", "7"];

/// Downloads the kernels of these names ([`NAMES`], or one series of 7) that are not yet under
/// `home`, and returns all of them. `on_note` gets one line before each slow step.
///
/// # Errors
/// apt or dpkg-deb is missing, its sources name no Debian archive, or the mirror does not answer;
/// the message says what to do instead.
pub fn pull(home: &Path, names: &[&str], on_note: &mut dyn FnMut(&str)) -> Result<Vec<Kernel>> {
    let wanted: Vec<Series> = names.iter().map(|name| series(name)).collect::<Result<_>>()?;
    let have = stored(home)?;
    let is_missing = |series: &&Series| !have.iter().any(|kernel| is_of(series, &kernel.release));
    let missing: Vec<&Series> = wanted.iter().filter(is_missing).collect();
    if !missing.is_empty() {
        fetch(home, &missing, on_note).context(INSTEAD)?;
    }
    let all = stored(home)?;
    let newest =
        |series: &Series| all.iter().find(|kernel| is_of(series, &kernel.release)).cloned();
    Ok(wanted.iter().filter_map(newest).collect())
}

fn series(name: &str) -> Result<Series> {
    Series::from_name(name).ok_or_else(|| {
        refused(format!(
            "cannot pull a kernel `{name}`: known are {}, and 7.2 and the like; otherwise \
             {INSTEAD}",
            NAMES.join(", ")
        ))
    })
}

fn is_of(series: &Series, release: &str) -> bool {
    has_version_prefix(release, &series.name)
}

fn fetch(home: &Path, missing: &[&Series], on_note: &mut dyn FnMut(&str)) -> Result<()> {
    let apt = PrivateApt::new(home, SUITES, Index::Packages)?;
    apt.update(on_note)?;
    let packages = apt.package_names()?;
    for series in missing {
        let (image, config) = newest(series, &packages).with_context(|| {
            format!("the mirror has no package {}*{}", series.image.0, series.image.1)
        })?;
        on_note(&format!("downloading {image}"));
        let kernel = apt.kernel(&image, config.as_deref())?;
        let folder = store(home, &kernel.0, &kernel.1)?;
        let kernel = find_release(home, &folder)?;
        on_note(&format!("kernel {} is {}", kernel.name, kernel.release));
    }
    Ok(())
}

/// The newest image package of a series, with the package of its configuration; an image whose
/// configuration package is gone (mirrors keep old binaries longer) does not count.
fn newest(series: &Series, packages: &BTreeSet<String>) -> Option<(String, Option<String>)> {
    let middle = |package: &String| {
        let rest = package.strip_prefix(&series.image.0)?.strip_suffix(series.image.1)?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then(|| rest.to_owned())
    };
    let config_of =
        |rest: &str| series.config.as_ref().map(|(before, after)| format!("{before}{rest}{after}"));
    let complete = |rest: &String| config_of(rest).is_none_or(|name| packages.contains(&name));
    let rest =
        packages.iter().filter_map(middle).filter(complete).max_by_key(|r| version_key(r))?;
    let config = config_of(&rest);
    Some((format!("{}{rest}{}", series.image.0, series.image.1), config))
}

/// The sources of kernels from 7.1 on, whose sched_ext is the one that the simulator models.
const EXAMPLE_PREFIX: &str = "linux-source-7.";

/// The parts of the sources that are kept: examples and self-tests of sched_ext.
const EXAMPLE_FOLDERS: [&str; 2] = ["tools/sched_ext", "tools/testing/selftests/sched_ext"];

/// Gets the newest examples that the mirror has unless there are some under `home`, and returns
/// their folder, `<home>/examples/<package>`. They are not part of the project. `on_note` gets one
/// line before each slow step.
///
/// # Errors
/// apt, dpkg-deb, tar or xz is missing, or the mirror does not answer or has no such package.
pub fn pull_examples(home: &Path, on_note: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    let folder = home.join("examples");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let here = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if let Some(found) = newest_source(&here) {
        return Ok(folder.join(found));
    }
    let apt = PrivateApt::new(home, SUITES, Index::Packages)?;
    apt.update(on_note)?;
    let packages = apt.package_names()?;
    let package =
        newest_source(&packages).context("the mirror has no package of a 7.x kernel's source")?;
    on_note(&format!("downloading {package} for its example schedulers"));
    apt.unpack(package)?;
    let archive = apt.path("root").join(format!("usr/src/{package}.tar.xz"));
    on_note("unpacking them");
    let unpacked = tempfile::tempdir_in(apt.path("cache"))?;
    let parts = EXAMPLE_FOLDERS.map(|folder| format!("{package}/{folder}"));
    extract(&archive, unpacked.path(), &parts)?;
    fs::create_dir_all(&folder)?;
    let target = folder.join(package);
    fs::rename(unpacked.keep(), &target)
        .with_context(|| format!("keeping the examples in {}", target.display()))?;
    Ok(target)
}

fn newest_source(names: &BTreeSet<String>) -> Option<&str> {
    let is_version = |name: &&str| {
        let rest = name.strip_prefix(EXAMPLE_PREFIX);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    names.iter().map(String::as_str).filter(is_version).max_by_key(|name| version_key(name))
}

/// Unpacks these parts of an archive, or all of it, without the folder that everything in it is in.
pub(super) fn extract(archive: &Path, into: &Path, parts: &[String]) -> Result<()> {
    fs::create_dir_all(into).with_context(|| format!("creating {}", into.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(archive).arg("-C").arg(into).arg("--strip-components=1").args(parts);
    run(&mut tar).with_context(|| format!("unpacking {}", archive.display()))?;
    Ok(())
}

/// An apt state in a temporary folder, which is deleted on drop.
pub(super) struct PrivateApt {
    folder: tempfile::TempDir,
}

impl PrivateApt {
    /// Knows these suites of the mirror only.
    pub(super) fn new(home: &Path, suites: &[&str], index: Index) -> Result<PrivateApt> {
        let mirror = Mirror::of_this_machine()?;
        let parent = home.join("apt");
        fs::create_dir_all(&parent).with_context(|| format!("creating {}", parent.display()))?;
        let folder = tempfile::tempdir_in(&parent)?;
        for sub in ["lists/partial", "cache/archives/partial", "packages"] {
            fs::create_dir_all(folder.path().join(sub))?;
        }
        fs::write(
            folder.path().join("sources.list"),
            mirror.sources(folder.path(), suites, index)?,
        )?;
        Ok(PrivateApt { folder })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A call of apt that reads and writes only the private folder. Root's apt would hand downloads
    /// to a user that may not enter it, hence the sandbox option.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").current_dir(self.path("packages"));
        let options = [
            ("Dir::Etc::sourcelist", self.path("sources.list")),
            ("Dir::Etc::sourceparts", PathBuf::from("/dev/null")),
            ("Dir::State::lists", self.path("lists")),
            ("Dir::Cache", self.path("cache")),
            ("APT::Sandbox::User", PathBuf::from("root")),
            ("Acquire::Retries", PathBuf::from("3")),
        ];
        for (name, value) in options {
            command.arg("-o").arg(format!("{name}={}", value.display()));
        }
        command
    }

    pub(super) fn update(&self, on_note: &mut dyn FnMut(&str)) -> Result<()> {
        on_note("reading the Debian mirror's package lists (kept apart from the system's)");
        run(self.command("apt-get").args(["-q", "update", "--error-on=any"]))
            .context("the mirror of the machine's apt sources does not answer as expected")?;
        Ok(())
    }

    pub(super) fn package_names(&self) -> Result<BTreeSet<String>> {
        let names = run(self.command("apt-cache").args(["pkgnames", "linux-"]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Downloads and unpacks; returns the kernel as it lies in our folder, and the image's package.
    fn kernel(&self, image: &str, config: Option<&str>) -> Result<(Kernel, String)> {
        let package = self.unpack(image)?;
        if let Some(config) = config {
            self.unpack(config)?;
        }
        let root = self.path("root");
        let release = image_release(&root)?;
        let configs =
            files_named(&root, &|name| name == "config" || name == format!("config-{release}"));
        let images = files_named(&root, &|name| name.starts_with("vmlinuz"));
        let found = images.first().context("the package holds no vmlinuz")?;
        let config = configs.iter().find(|path| is_kernel_config(path));
        let kernel = from_image(found, config.map(PathBuf::as_path), image)?;
        if kernel.config.is_none() {
            bail!("{package} brings no configuration file");
        }
        // Files are moved out only by `store`'s copying, so the next kernel needs an empty root.
        let kept = self.path(&format!("kept-{release}"));
        fs::rename(&root, &kept)?;
        let moved = |path: &Path| path.strip_prefix(&root).map(|rest| kept.join(rest));
        let config = kernel.config.as_deref().map(moved).transpose()?;
        let image = moved(&kernel.image)?;
        Ok((Kernel { image, config, ..kernel }, package))
    }

    /// `apt-get source --download-only`; returns package and version, and the archive as its
    /// authors published it.
    pub(super) fn source(&self, package: &str) -> Result<(String, PathBuf)> {
        run(self.command("apt-get").args(["-q", "source", "--download-only", package]))
            .with_context(|| format!("downloading the source of {package}"))?;
        let files = files_named(&self.path("packages"), &|name| name.starts_with(package));
        let named = |word: &str| {
            files.iter().find(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().contains(word))
            })
        };
        let (Some(description), Some(archive)) = (named(".dsc"), named(".orig.tar")) else {
            bail!("the source of {package} has no description or no archive");
        };
        let name = description.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, archive.clone()))
    }

    /// `apt-get download` and `dpkg-deb -x` into `root`; returns package and version.
    pub(super) fn unpack(&self, package: &str) -> Result<String> {
        run(self.command("apt-get").args(["-q", "download", package]))
            .with_context(|| format!("downloading {package}"))?;
        let folder = self.path("packages");
        let archive = fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).next();
        let archive =
            archive.with_context(|| format!("apt-get downloaded no file for {package}"))?;
        run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(self.path("root")))
            .with_context(|| format!("unpacking {package}"))?;
        fs::remove_file(&archive)?;
        let stem = archive.file_stem().unwrap_or_default().to_string_lossy();
        let name = stem.strip_suffix("_amd64").or_else(|| stem.strip_suffix("_all"));
        Ok(name.unwrap_or(&stem).replace("%3a", ":"))
    }
}

fn image_release(root: &Path) -> Result<String> {
    let images = files_named(root, &|name| name.starts_with("vmlinuz"));
    let path = images.first().context("the package holds no vmlinuz")?;
    image::release(&fs::read(path)?).with_context(|| format!("{} is no bzImage", path.display()))
}

/// Modules' folders also hold files called `config`.
fn is_kernel_config(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.contains("CONFIG_HZ="))
}

fn files_named(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && is_wanted(&entry.file_name().to_string_lossy()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_wins_if_its_configuration_exists() {
        let names = [
            "linux-image-6.1.0-9-cloud-amd64-unsigned",
            "linux-image-6.1.0-50-cloud-amd64-unsigned",
            "linux-image-6.1.0-50-cloud-amd64-dbg",
            "linux-image-6.12.94+deb13-cloud-amd64-unsigned",
            "linux-binary-unsigned-7.3.4+deb13-cloud-amd64",
            "linux-binary-unsigned-7.2.12+deb13-cloud-amd64",
            "linux-base-7.2.12+deb13-cloud-amd64",
        ];
        let packages: BTreeSet<String> = names.iter().map(|name| name.to_string()).collect();
        let image = |name: &str| newest(&series(name).unwrap(), &packages).unwrap().0;
        assert_eq!(image("6.1"), "linux-image-6.1.0-50-cloud-amd64-unsigned");
        assert_eq!(image("6.12"), "linux-image-6.12.94+deb13-cloud-amd64-unsigned");
        assert_eq!(image("7"), "linux-binary-unsigned-7.2.12+deb13-cloud-amd64");
        assert_eq!(image("7.2"), "linux-binary-unsigned-7.2.12+deb13-cloud-amd64");
        assert!(["5", "7.x", "7.", "6.12.94"].iter().all(|name| series(name).is_err()));
    }

    #[test]
    fn the_newest_sources_are_taken_and_nothing_that_only_looks_alike() {
        let names =
            ["linux-source-7.2", "linux-source-7.10", "linux-source-7.9-rt", "linux-source"];
        assert_eq!(newest_source(&names.map(String::from).into()), Some("linux-source-7.10"));
        assert_eq!(newest_source(&BTreeSet::from([names[2].into(), names[3].into()])), None);
    }
}
