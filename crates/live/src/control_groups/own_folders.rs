// SPDX-License-Identifier: GPL-2.0-only
//! Fairground's own folders in the hierarchy of cgroup v2: their names, and their removal, also
//! when a trial was killed.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::player::attributes::{Errno, errno};

/// How the names of Fairground's folders begin; the number of their process follows, and then the
/// controllers that its trial has turned on at the root.
const MARK: &str = "fairground-";
/// In the root and in each group: which controllers the groups below it have.
pub const CONTROL: &str = "cgroup.subtree_control";
/// How long a folder may take to become empty, in looks of a millisecond.
const LOOKS: u32 = 2_000;

/// The name of this process's folder below the root.
pub fn own_name(root: &Path, wanted: &str) -> String {
    let there = fs::read_to_string(root.join(CONTROL)).unwrap_or_default();
    let is_new = |name: &&str| !there.split_whitespace().any(|controller| controller == *name);
    let wanted = wanted.split(' ').map(|word| word.trim_start_matches('+'));
    let new: String = wanted.filter(is_new).map(|name| format!("-{name}")).collect();
    format!("{MARK}{}{new}", std::process::id())
}

/// What the name of one of Fairground's folders says: its process, and the controllers that its
/// trial has turned on.
fn told(name: &OsStr) -> Option<(u32, Vec<&str>)> {
    let mut words = name.to_str()?.strip_prefix(MARK)?.split('-');
    Some((words.next()?.parse().ok()?, words.collect()))
}

/// Removes what killed trials have left below the root, and ends the processes in it.
pub fn sweep_below(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        // This process has none yet. One with its number is of another process, which has ended.
        let is_left = |owner| owner == std::process::id() || has_ended(owner);
        if told(&entry.file_name()).is_some_and(|(owner, _)| is_left(owner)) {
            // Kernels before 5.14 do not have this file.
            let _ = fs::write(entry.path().join("cgroup.kill"), "1");
            remove_own(&entry.path());
        }
    }
}

/// Whether a process is not there any more, or only its parent has not asked how it ended. In a
/// container whose first process never asks, that is for ever.
fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // It follows the name in brackets, which may have any letters.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

/// Removes a trial's folder. Before, because only its name tells them, it turns off the controllers
/// that the trial has turned on; where others have come to use one, the kernel keeps it.
pub fn remove_own(folder: &Path) {
    remove_below(folder);
    let controllers = folder.file_name().and_then(told).map(|(_, controllers)| controllers);
    for controller in controllers.into_iter().flatten() {
        for group in folder.ancestors().take(2) {
            let _ = fs::write(group.join(CONTROL), format!("-{controller}"));
        }
    }
    remove(folder);
}

/// Removes a group with all below it, once its tasks have left.
fn remove(folder: &Path) {
    remove_below(folder);
    if let Ok(folder) = CString::new(folder.as_os_str().as_bytes()) {
        let _ = remove_one(&folder);
    }
}

fn remove_below(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let folders = entries.flatten().map(|entry| entry.path());
    let is_folder =
        |path: &PathBuf| path.file_name().and_then(OsStr::to_str).is_some() && path.is_dir();
    folders.filter(is_folder).for_each(|folder| remove(&folder));
}

pub fn remove_one(folder: &CStr) -> Result<(), Errno> {
    for _ in 0..LOOKS {
        // SAFETY: a valid path.
        if unsafe { libc::rmdir(folder.as_ptr()) } == 0 {
            return Ok(());
        }
        match errno() {
            libc::EBUSY => sleep(Duration::from_millis(1)),
            other => return Err(other),
        }
    }
    Err(libc::EBUSY)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_folders_of_processes_that_have_ended_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: String| root.path().join(name);
        let running = folder(format!("{MARK}{}-cpu", parent_id()));
        let own = folder(format!("{MARK}{}", std::process::id()));
        let left = folder(format!("{MARK}{}-cpu", u32::MAX));
        let mut zombie = Command::new("true").spawn().unwrap();
        let unasked = folder(format!("{MARK}{}", zombie.id()));
        let others =
            ["system.slice", "fairground", "fairground-mine"].map(|name| folder(name.into()));
        for folder in [&running, &own.join("a"), &left.join("a/b"), &unasked.join("a")] {
            fs::create_dir_all(folder).unwrap();
        }
        others.iter().for_each(|other| fs::create_dir(other).unwrap());
        while !has_ended(zombie.id()) {
            sleep(Duration::from_millis(1));
        }
        sweep_below(root.path());
        // The files of groups are ordinary ones here, and stay.
        let is_there = Path::new(&format!("/proc/{}", zombie.id())).exists();
        assert!(
            is_there
                && ![own, left.clone(), unasked].iter().any(|folder| folder.join("a").exists())
        );
        assert!(running.exists() && others.iter().all(|other| other.exists()));
        for group in [root.path(), &left] {
            assert_eq!(fs::read_to_string(group.join(CONTROL)).unwrap(), "-cpu");
        }
        zombie.wait().unwrap();
    }

    #[test]
    fn a_folder_names_the_controllers_that_its_trial_turns_on() {
        let root = tempfile::tempdir().unwrap();
        let name = |there: &str| {
            fs::write(root.path().join(CONTROL), there).unwrap();
            own_name(root.path(), "+cpu +cpuset")
        };
        let own = std::process::id();
        assert_eq!(name("memory\n"), format!("{MARK}{own}-cpu-cpuset"));
        assert_eq!(name("cpu memory\n"), format!("{MARK}{own}-cpuset"));
        assert_eq!(name("cpuset cpu\n"), format!("{MARK}{own}"));
        let name = name("");
        assert_eq!(told(name.as_ref()), Some((own, vec!["cpu", "cpuset"])));
    }
}
