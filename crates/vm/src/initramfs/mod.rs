// SPDX-License-Identifier: GPL-2.0-only
//! The guest's whole file system, made in memory: this program as `/init`, the programs that the
//! workload names, their libraries, and the kernel's configuration. Trials and schedulers come
//! later ([`crate::channel`]).

mod cpio;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use spec::files;

use cpio::Archive;

/// The path of the host's message to the guest.
pub const BOOT_FILE: &str = "/boot.json";
/// The folder for compiled schedulers in the guest; the program in the guest points the compiler's
/// lookup to it.
pub const OBJECTS_FOLDER: &str = "/objects";

/// Servers refuse to be root.
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n";

const MIB: u64 = 1 << 20;
/// The most memory that the kernel itself uses before it unpacks the file system, without its page
/// structures (64 bytes for each page of 4,096).
const KERNEL_MIB: u64 = 60;
const PAGES_PER_NOTES: u64 = 64;
/// While the kernel unpacks, the archive is in memory too; a `tmpfs` may use half of the rest.
const SHARES: u64 = 3;

/// The host's message to the guest about its machine. It is the same in every boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// Whether the guest stops the machine when it is ready, so that it can be saved.
    pub pauses: bool,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// SHA-256 of the kernel image.
    pub kernel_sha256: String,
    /// `PATH` in the guest; [`build`] puts the packed programs' folders in front.
    pub path: String,
}

pub struct Contents<'a> {
    /// Becomes `/init`.
    pub executable: &'a Path,
    /// Names or paths of programs; each is packed at its own path.
    pub programs: &'a [String],
    /// Paths of programs that other programs start, such as a compiler's parts: packed in the same
    /// way, but not in `PATH`.
    pub parts: &'a [String],
    /// Further files: absolute path in the guest, content.
    pub files: &'a [(String, Vec<u8>)],
    /// The kernel's `uname -r` and configuration file: libbpf looks for `/boot/config-<release>`.
    pub config: Option<(&'a str, &'a Path)>,
    pub boot: &'a Boot,
}

/// A guest's file system.
#[derive(Debug)]
pub struct Image {
    pub bytes: Vec<u8>,
    /// SHA-256 of what the trials meet in it: everything but [`message`](Self::message), whose
    /// facts the records have elsewhere.
    pub sha256: String,
    /// The content of [`BOOT_FILE`].
    pub message: String,
}

/// Packs everything. Equal contents give equal bytes, and nothing else of the host goes in.
///
/// # Errors
/// A program is missing or is a script, a library is missing, or a file cannot be read.
pub fn build(contents: &Contents) -> Result<Image> {
    let mut boot = contents.boot.clone();
    let mut archive = common(contents, &mut boot)?;
    let sha256 = archive.sha256();
    let message = serde_json::to_string(&boot)?;
    archive.file(BOOT_FILE, 0o644, message.as_bytes());
    Ok(Image { bytes: archive.finish(), sha256, message })
}

/// Whether a file is a compiled scheduler, which is not in the file system from the start.
pub fn is_object(path: &str) -> bool {
    path.strip_prefix(OBJECTS_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

/// Everything but the message to the guest, whose `PATH` follows from it.
fn common(contents: &Contents, boot: &mut Boot) -> Result<Archive> {
    let mut archive = Archive::default();
    // The kernel opens /dev/console for init before init can mount anything.
    archive.device("/dev/console", 5, 1);
    archive.device("/dev/null", 1, 3);
    for folder in ["/proc", "/sys", "/tmp", "/run", "/root", OBJECTS_FOLDER] {
        archive.folder(folder);
    }
    archive.file("/etc/passwd", 0o644, USERS.as_bytes());
    archive.file("/etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
    add_program(&mut archive, contents.executable, "/init")?;
    for name in contents.programs {
        let path = cpio::find(name)?;
        let place = path.to_string_lossy().into_owned();
        add_program(&mut archive, &path, &place)?;
        prepend_folder(&mut boot.path, &place);
    }
    for part in contents.parts {
        add_program(&mut archive, Path::new(part), part)?;
    }
    if let Some((release, config)) = contents.config {
        add_file(&mut archive, config, &format!("/boot/config-{release}"))?;
    }
    for (path, content) in contents.files.iter().filter(|(path, _)| !is_object(path)) {
        archive.file(path, 0o755, content);
    }
    Ok(archive)
}

fn prepend_folder(path: &mut String, program: &str) {
    let folder = program.rsplit_once('/').map_or("", |(folder, _)| folder);
    if !folder.is_empty() && !path.split(':').any(|known| known == folder) {
        *path = format!("{folder}:{path}");
    }
}

fn add_program(archive: &mut Archive, program: &Path, place: &str) -> Result<()> {
    let libraries = cpio::libraries(program)?;
    add_file(archive, program, place)?;
    let system =
        libraries.iter().find(|path| path.ends_with(C_LIBRARY)).and_then(|path| path.parent());
    for library in &libraries {
        add_file(archive, library, &library.to_string_lossy())?;
        if let (Some(folder), Some(name)) = (system, library.file_name()) {
            archive.link(&folder.join(name).to_string_lossy(), &library.to_string_lossy());
        }
    }
    Ok(())
}

/// The folder of this library is one that the loader searches without its cache. The guest has no
/// cache: the host's lists all libraries of the host, and would change with each of them. So this
/// folder has a link to every library that is elsewhere.
const C_LIBRARY: &str = "libc.so.6";

/// The size in bytes of a guest's file system with these programs, their libraries and `executable`
/// as `/init`, each file counted once.
pub fn size(executable: &Path, programs: &[String]) -> Result<u64> {
    let mut files = BTreeSet::from([executable.to_owned()]);
    files.extend(cpio::libraries(executable)?);
    for name in programs {
        let path = cpio::find(name)?;
        files.extend(cpio::libraries(&path)?);
        files.insert(path);
    }
    let bytes = |file: &PathBuf| {
        let known = fs::metadata(file).with_context(|| format!("reading {}", file.display()));
        known.map(|known| known.len())
    };
    files.iter().map(bytes).sum()
}

/// The largest file system, in bytes, of a guest with this much memory.
pub fn room(memory_mib: u32) -> u64 {
    let notes_mib = u64::from(memory_mib).div_ceil(PAGES_PER_NOTES);
    u64::from(memory_mib).saturating_sub(KERNEL_MIB + notes_mib) * MIB / SHARES
}

/// The least memory, MiB, of a guest with a file system of this size.
pub fn memory_mib(bytes: u64) -> u64 {
    let without_notes = (bytes * SHARES).div_ceil(MIB) + KERNEL_MIB;
    (without_notes * PAGES_PER_NOTES).div_ceil(PAGES_PER_NOTES - 1)
}

/// Links are followed: the guest gets the content under the requested name.
fn add_file(archive: &mut Archive, from: &Path, place: &str) -> Result<()> {
    if !archive.has(place) {
        let content = files::read(from, files::PACKED)
            .with_context(|| format!("reading {}", from.display()))?;
        archive.file(place, 0o755, &content);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot() -> Boot {
        Boot {
            pauses: false,
            accelerator: "tcg".into(),
            kernel_sha256: "00".into(),
            path: "/bin".into(),
        }
    }

    fn packed(
        programs: &[String],
        parts: &[String],
        files: &[(String, Vec<u8>)],
        boot: &Boot,
    ) -> Image {
        let executable = &std::env::current_exe().unwrap();
        build(&Contents { executable, programs, parts, files, config: None, boot }).unwrap()
    }

    #[test]
    fn everything_is_in_it_and_twice_the_same() {
        let ls = "ls".to_owned();
        let files = [("/opt/a.json".into(), b"{}".to_vec())];
        let [archive, again] =
            [(); 2].map(|()| packed(std::slice::from_ref(&ls), &[], &files, &boot()).bytes);
        assert!(archive == again);
        let paths: Vec<String> = cpio::read(&archive).into_iter().map(|entry| entry.0).collect();
        for path in ["dev/console", "init", "objects", "opt/a.json", "boot.json"] {
            assert!(paths.iter().any(|p| p == path), "{path} is missing from {paths:?}");
        }
        assert!(paths.iter().any(|path| path.ends_with("bin/ls")));
        assert!(paths.iter().any(|path| path.contains("ld-linux-x86-64")));
        // It would list the libraries of the host.
        assert!(!paths.iter().any(|path| path == "etc/ld.so.cache"));
    }

    #[test]
    fn schedulers_are_no_part_of_it() {
        let boot = Boot { pauses: true, ..boot() };
        let sha256 =
            |files: &[(String, Vec<u8>)], boot: &Boot| packed(&[], &[], files, boot).sha256;
        let object = [("/objects/a.json".into(), b"{}".to_vec())];
        let tree = [("/objectsource/a.c".into(), b"{}".to_vec())];
        let other = Boot { kernel_sha256: "01".into(), ..boot.clone() };
        let first = sha256(&[], &boot);
        assert_eq!(sha256(&object, &boot), first);
        assert_eq!(sha256(&[], &other), first);
        assert_ne!(sha256(&tree, &boot), first);
    }

    #[test]
    fn a_library_in_a_folder_of_its_own_is_found_without_a_cache() {
        let mut archive = Archive::default();
        add_program(&mut archive, &std::env::current_exe().unwrap(), "/init").unwrap();
        let entries = cpio::read(&archive.finish());
        let system = entries.iter().find_map(|entry| entry.0.strip_suffix(C_LIBRARY));
        let system = system.expect("the C library is packed");
        for entry in entries.iter().filter(|entry| entry.0.contains(".so")) {
            let name = entry.0.rsplit('/').next().unwrap_or_default();
            let reached = format!("{system}{name}");
            assert!(entries.iter().any(|entry| entry.0 == reached), "{reached}");
        }
    }

    #[test]
    fn a_part_has_its_libraries_and_is_not_searched_for() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("cc1").to_string_lossy().into_owned();
        fs::copy(cpio::find("ls").unwrap(), &part).unwrap();
        let archive = cpio::read(&packed(&[], std::slice::from_ref(&part), &[], &boot()).bytes);
        let content = |path: &str| archive.iter().find(|entry| entry.0 == path).map(|e| &e.2[..]);
        assert_eq!(content(part.trim_start_matches('/')), Some(&fs::read(&part).unwrap()[..]));
        let boot: Boot = serde_json::from_slice(content("boot.json").unwrap()).unwrap();
        assert_eq!(boot.path, "/bin");
        for library in cpio::libraries(Path::new(&part)).unwrap() {
            let path = library.to_string_lossy();
            assert!(content(path.trim_start_matches('/')).is_some(), "{path}");
        }
    }

    #[test]
    fn every_file_is_weighed_once() {
        let own = std::env::current_exe().unwrap();
        let alone = size(&own, &[]).unwrap();
        let ls = size(&own, &["ls".into()]).unwrap();
        assert!(alone > fs::metadata(&own).unwrap().len() && ls > alone);
        assert_eq!(size(&own, &["ls".into(), "ls".into()]).unwrap(), ls);
        assert!(size(&own, &["no-such-program-here".into()]).is_err());
    }

    #[test]
    fn room_grows_with_memory() {
        assert_eq!((room(512) / MIB, room(32)), (148, 0));
        for mib in [10, 148, 149, 267, 1000, 4000] {
            let enough = memory_mib(mib * MIB) as u32;
            assert!(room(enough) >= mib * MIB && room(enough - 2) < mib * MIB, "{mib}: {enough}");
        }
    }

    #[test]
    fn the_guest_searches_where_programs_lie() {
        let mut path = "/usr/bin:/bin".to_owned();
        prepend_folder(&mut path, "/opt/bin/scx_bpfland");
        prepend_folder(&mut path, "/usr/bin/perf");
        assert_eq!(path, "/opt/bin:/usr/bin:/bin");
    }
}
