// SPDX-License-Identifier: GPL-2.0-only
//! A workload's control groups as folders of cgroup v2, below one of Fairground's own.
//!
//! Tasks are threads of one process, so the groups are threaded: the process is in Fairground's
//! folder, and its threads are in folders below. The folder's name has the process's number, so
//! that the next trial finds what a killed one has left, and the controllers that it has turned on:
//! `fairground-1234-cpu`.

mod own_folders;

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::play::{Script, Setting};
use model::{ControlGroup, Trial};
use nix::mount::{MsFlags, mount};

use crate::group_settings::settings;
use crate::player::attributes::{Errno, check};
use own_folders::{CONTROL, own_name, remove_one, remove_own, sweep_below};

/// Where a guest has the hierarchy.
const PLACE: &str = "/sys/fs/cgroup";

/// The groups of a trial. Dropping them removes the folders.
pub struct ControlGroups {
    folder: PathBuf,
    /// The group that the process was in before.
    home: PathBuf,
    /// The folders of the groups, by number.
    groups: Vec<PathBuf>,
    /// Whether the kernel has clamps of the utilisation for groups.
    has_clamps: bool,
    /// The numbers of those that steps make, with what is written into each then.
    makings: Vec<(usize, Vec<(&'static str, String)>)>,
}

impl ControlGroups {
    /// Makes the trial's groups and enters Fairground's folder; `None` if the workload has no
    /// groups.
    ///
    /// # Errors
    /// Why this machine cannot have them, and what to do.
    pub fn enter(trial: &Trial, in_guest: bool) -> Result<Option<ControlGroups>, String> {
        if trial.workload.control_groups.is_empty() {
            return Ok(None);
        }
        let script = Script::new(&trial.workload, Setting::for_trial(trial))
            .map_err(|refusal| refusal.to_string())?;
        let root = hierarchy(in_guest)?;
        sweep_below(&root);
        let mut made = ControlGroups {
            folder: PathBuf::new(),
            home: home(&root),
            groups: Vec::new(),
            makings: Vec::new(),
            has_clamps: false,
        };
        made.make(&root, &script).map_err(|(path, error)| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => "; use sudo, or --on vm",
                _ => "",
            };
            format!("control groups: {}: {error}{hint}", path.display())
        })?;
        Ok(Some(made))
    }

    fn make(&mut self, root: &Path, script: &Script) -> Result<(), (PathBuf, io::Error)> {
        let tree = &script.control_groups;
        let changes = script.group_changes.iter().map(|(_, change)| change);
        let mut settings_of_all = tree.iter().map(|node| &node.settings).chain(changes);
        let with_cpus = settings_of_all.any(|settings| !settings.cpus.is_empty());
        let controllers = if with_cpus { "+cpu +cpuset" } else { "+cpu" };
        let enable = |folder: &Path| put(&folder.join(CONTROL), controllers);
        self.folder = root.join(own_name(root, controllers));
        // First, because its name tells what to turn off if this process is killed.
        make_folder(&self.folder)?;
        enable(root)?;
        enable(&self.folder)?;
        self.has_clamps = self.folder.join("cpu.uclamp.min").exists();
        for (number, node) in tree.iter().enumerate() {
            let parent = node.parent.map_or(&self.folder, |parent| &self.groups[parent]);
            let folder = parent.join(node.own_name());
            self.groups.push(folder.clone());
            let mut writes = vec![("cgroup.type", "threaded".to_owned())];
            if tree.iter().any(|other| other.parent == Some(number)) {
                writes.push((CONTROL, controllers.into()));
            }
            writes.extend(settings(&node.settings, self.has_clamps));
            if node.settings.absent {
                self.makings.push((number, writes));
                continue;
            }
            make_folder(&folder)?;
            for (file, value) in writes {
                put(&folder.join(file), &value)?;
            }
        }
        put(&self.folder.join("cgroup.procs"), &std::process::id().to_string())
    }

    /// The files that tasks write to.
    pub fn files(&self, script: &Script) -> io::Result<GroupFiles> {
        let file = |group: usize, name: &str| {
            let path = self.groups[group].join(name);
            match script.control_groups[group].settings.absent {
                true => Ok(GroupFile::Named(CString::new(path.as_os_str().as_bytes())?)),
                false => GroupFile::open(&path),
            }
        };
        let change = |(group, change): &(usize, ControlGroup)| {
            let writes = settings(change, self.has_clamps).into_iter();
            writes.map(|(name, value)| Ok((file(*group, name)?, value))).collect()
        };
        let making = |(group, writes): &(usize, Vec<(&str, String)>)| {
            let path = CString::new(self.groups[*group].as_os_str().as_bytes())?;
            let writes =
                writes.iter().map(|(name, value)| Ok((file(*group, name)?, value.clone())));
            Ok((*group, path, writes.collect::<io::Result<_>>()?))
        };
        Ok(GroupFiles {
            own: Some(GroupFile::open(&self.folder.join("cgroup.threads"))?),
            groups: (0..self.groups.len())
                .map(|group| file(group, "cgroup.threads"))
                .collect::<io::Result<_>>()?,
            changes: script.group_changes.iter().map(change).collect::<io::Result<_>>()?,
            makings: self.makings.iter().map(making).collect::<io::Result<_>>()?,
        })
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        // What cannot be removed here is removed before the next trial.
        let _ = fs::write(self.home.join("cgroup.procs"), std::process::id().to_string());
        remove_own(&self.folder);
    }
}

/// A file of a group: opened before the trial begins, so that a task only writes, or known by its
/// path until a step makes the group.
enum GroupFile {
    Opened(OwnedFd),
    Named(CString),
}

impl GroupFile {
    fn open(path: &Path) -> io::Result<GroupFile> {
        Ok(GroupFile::Opened(File::options().write(true).open(path)?.into()))
    }

    fn write(&self, text: &str) -> Result<(), Errno> {
        // SAFETY: a valid path or descriptor, and the text's bytes; what is opened is closed.
        unsafe {
            let write = |fd| check(libc::write(fd, text.as_ptr().cast(), text.len()) as i64);
            match self {
                GroupFile::Opened(file) => write(file.as_raw_fd()),
                GroupFile::Named(path) => {
                    let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                    check(fd.into())?;
                    let written = write(fd);
                    libc::close(fd);
                    written
                }
            }
        }
    }
}

type Writes = Vec<(GroupFile, String)>;

fn write_all(writes: &Writes) -> Result<(), Errno> {
    writes.iter().try_for_each(|(file, value)| file.write(value))
}

/// The files of the groups. What their methods do is async-signal-safe.
#[derive(Default)]
pub struct GroupFiles {
    /// `cgroup.threads` of Fairground's folder.
    own: Option<GroupFile>,
    /// `cgroup.threads` of the groups, by number.
    groups: Vec<GroupFile>,
    /// The writes of each change, by number.
    changes: Vec<Writes>,
    /// The groups that steps make: number, folder, and what is written into it.
    makings: Vec<(usize, CString, Writes)>,
}

impl GroupFiles {
    /// Moves the calling thread to a group; none: to Fairground's folder.
    pub fn join(&self, group: Option<usize>) -> Result<(), Errno> {
        let file = group.map_or(self.own.as_ref(), |group| self.groups.get(group));
        file.map_or(Ok(()), |file| file.write("0"))
    }

    /// Moves another process's only thread to a group.
    pub fn place(&self, group: usize, thread: u32) -> Result<(), Errno> {
        // No allocation: the caller may be a process that was forked from several threads.
        let mut digits = [0; 10];
        let mut rest = &mut digits[..];
        let _ = write!(rest, "{thread}");
        let unused = rest.len();
        let text = std::str::from_utf8(&digits[..digits.len() - unused]).unwrap_or_default();
        self.groups[group].write(text)
    }

    pub fn change(&self, number: usize) -> Result<(), Errno> {
        write_all(&self.changes[number])
    }

    pub fn make(&self, group: usize) -> Result<(), Errno> {
        let (folder, writes) = self.making(group)?;
        // SAFETY: a valid path.
        check(unsafe { libc::mkdir(folder.as_ptr(), 0o755) }.into())?;
        write_all(writes)
    }

    /// Removes a group. Tasks that have just ended are in it for a moment.
    pub fn unmake(&self, group: usize) -> Result<(), Errno> {
        remove_one(self.making(group)?.0)
    }

    fn making(&self, group: usize) -> Result<(&CString, &Writes), Errno> {
        let found = self.makings.iter().find(|(number, ..)| *number == group);
        found.map(|(_, folder, writes)| (folder, writes)).ok_or(libc::ENOENT)
    }
}

fn hierarchy(in_guest: bool) -> Result<PathBuf, String> {
    if in_guest && !Path::new(PLACE).join("cgroup.controllers").exists() {
        let none = None::<&str>;
        mount(Some("cgroup2"), PLACE, Some("cgroup2"), MsFlags::empty(), none)
            .map_err(|error| format!("this kernel has no cgroup v2: {error}"))?;
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let found = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, place, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    });
    let root = found.ok_or("control groups: no cgroup2 file system is mounted; use --on vm")?;
    let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
    if controllers.split_whitespace().any(|controller| controller == "cpu") {
        return Ok(root);
    }
    Err(format!(
        "control groups: {} has no controller `cpu`: this kernel has none, or cgroup v1 has it; \
         use --on vm, or boot with systemd.unified_cgroup_hierarchy=1",
        root.display()
    ))
}

/// The folder of this process's group.
fn home(root: &Path) -> PathBuf {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    root.join(own)
}

fn put(file: &Path, text: &str) -> Result<(), (PathBuf, io::Error)> {
    fs::write(file, text).map_err(|error| (file.to_owned(), error))
}

fn make_folder(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    fs::create_dir(folder).map_err(|error| (folder.to_owned(), error))
}

/// Removes what killed trials have left, and ends the processes in it.
pub fn sweep() {
    if let Ok(root) = hierarchy(false) {
        sweep_below(&root);
    }
}
