// SPDX-License-Identifier: GPL-2.0-only
//! Which tasks are recorded, where not all are.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};

use super::object::only;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskFilter {
    /// Tasks of a name, the threads of processes of that name, and what they fork.
    Name(String),
    Process(u32),
    /// What this process starts, and what that forks.
    Command,
    /// The tasks of a control group and of those below it: a folder of the cgroup2 file system.
    Cgroup(PathBuf),
}

/// The kernel's names have 15 bytes.
const NAME_MAX: usize = 15;

impl fmt::Display for TaskFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskFilter::Name(name) => write!(f, "{name}"),
            TaskFilter::Command => write!(f, "the command"),
            TaskFilter::Process(process) => write!(f, "process {process}"),
            TaskFilter::Cgroup(folder) => write!(f, "control group {}", folder.display()),
        }
    }
}

impl TaskFilter {
    /// Reads a process's number, a control group's path, or a name.
    ///
    /// # Errors
    /// There is no such process or control group, or no task can have that name.
    pub fn parse(text: &str) -> Result<TaskFilter, String> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            return process_number(text).map(TaskFilter::Process);
        }
        if text.contains('/') {
            return group(text).map(TaskFilter::Cgroup);
        }
        match text.len() {
            0 => Err("write a task's name, a process's number, or a control group's path".into()),
            1..=NAME_MAX => Ok(TaskFilter::Name(text.into())),
            _ => Err(format!(
                "a task's name has {NAME_MAX} bytes at most: write {}",
                text.chars().take(NAME_MAX).collect::<String>()
            )),
        }
    }

    /// `enum record_only`.
    pub(super) fn number(&self) -> u32 {
        match self {
            TaskFilter::Name(_) => only::COMM,
            TaskFilter::Command => only::COMMAND,
            TaskFilter::Process(_) => only::MARKED,
            TaskFilter::Cgroup(_) => only::CGROUP,
        }
    }

    /// The name as the kernel has it.
    pub(super) fn comm(&self) -> [u8; 16] {
        let mut comm = [0; 16];
        if let TaskFilter::Name(name) = self {
            comm[..name.len()].copy_from_slice(name.as_bytes());
        }
        comm
    }

    /// The map that says who belongs to it.
    pub(super) fn map(&self) -> &'static str {
        if matches!(self, TaskFilter::Cgroup(_)) { "cgroups" } else { "marked" }
    }

    /// The keys of that map, as far as there is something now.
    pub(super) fn keys(&self) -> Result<Vec<Vec<u8>>, String> {
        let threads = |chosen: &dyn Fn(u32, &Process) -> bool| {
            let processes = family(&processes(), chosen);
            let threads = processes.into_iter().flat_map(threads);
            threads.map(|tid| tid.to_le_bytes().to_vec()).collect()
        };
        Ok(match self {
            TaskFilter::Command => Vec::new(),
            TaskFilter::Process(number) => threads(&|process, _| process == *number),
            TaskFilter::Name(name) => threads(&|_, process| process.name == *name),
            TaskFilter::Cgroup(folder) => {
                let mut numbers = Vec::new();
                numbers_below(folder, &mut numbers).map_err(|error| {
                    format!("the control group {} has gone: {error}", folder.display())
                })?;
                numbers.into_iter().map(|number| number.to_le_bytes().to_vec()).collect()
            }
        })
    }
}

/// The number of a process; a thread's is another one, but for the first.
fn process_number(text: &str) -> Result<u32, String> {
    let none = || format!("there is no process {text}");
    let number: u32 = text.parse().map_err(|_| none())?;
    let status = fs::read_to_string(format!("/proc/{number}/status")).map_err(|_| none())?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:")).map(str::trim);
    match process.and_then(|process| process.parse::<u32>().ok()) {
        Some(process) if process == number => Ok(number),
        Some(process) => Err(format!("{number} is a thread of process {process}; write {process}")),
        None => Err(none()),
    }
}

/// Finds a control group: by its whole path, or below where the file system is mounted.
fn group(text: &str) -> Result<PathBuf, String> {
    let below = text.trim_start_matches('/');
    let candidates = [
        PathBuf::from(text),
        Path::new("/sys/fs/cgroup").join(below),
        Path::new("/sys/fs/cgroup/unified").join(below),
    ];
    let is_group = |path: &&PathBuf| {
        statfs(path.as_path()).is_ok_and(|found| found.filesystem_type() == CGROUP2_SUPER_MAGIC)
    };
    candidates.iter().find(is_group).cloned().ok_or(format!(
        "there is no control group {text} of version 2; `systemd-cgls` shows them, and \
         /proc/PID/cgroup has the one of a process"
    ))
}

/// The number that the kernel gives a control group is its folder's.
fn numbers_below(folder: &Path, numbers: &mut Vec<u64>) -> std::io::Result<()> {
    numbers.push(fs::metadata(folder)?.ino());
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // One below may go at any time.
            let _ = numbers_below(&entry.path(), numbers);
        }
    }
    Ok(())
}

struct Process {
    parent: u32,
    name: String,
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number| Some((number, process(number)?))).collect()
}

fn process(number: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name is in parentheses and may itself contain parentheses.
    let (before, after) = stat.rsplit_once(") ")?;
    let name = before.split_once('(')?.1.to_owned();
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process { parent, name })
}

/// The chosen processes and all that descend from them.
fn family(all: &BTreeMap<u32, Process>, chosen: &dyn Fn(u32, &Process) -> bool) -> Vec<u32> {
    let belongs = |mut number: u32| {
        // A chain cannot be longer than there are processes, whatever has changed meanwhile.
        for _ in 0..=all.len() {
            let Some(process) = all.get(&number) else { return false };
            if chosen(number, process) {
                return true;
            }
            number = process.parent;
        }
        false
    };
    all.keys().copied().filter(|number| belongs(*number)).collect()
}

fn threads(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_processes_slashes_are_groups_and_the_rest_are_names() {
        let own = std::process::id();
        assert_eq!(TaskFilter::parse(&own.to_string()), Ok(TaskFilter::Process(own)));
        assert_eq!(TaskFilter::parse("make"), Ok(TaskFilter::Name("make".into())));
        assert_eq!(TaskFilter::parse("kworker:0"), Ok(TaskFilter::Name("kworker:0".into())));
        for (text, words) in [
            ("0", "no process 0"),
            ("4294967295", "no process"),
            ("99999999999", "no process"),
            ("", "write a task's name"),
            ("/no/such/group", "no control group /no/such/group of version 2"),
            ("a name that is too long", "write a name that is "),
        ] {
            let refused = TaskFilter::parse(text).expect_err(text);
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }

    #[test]
    fn a_thread_is_no_process() {
        let own = std::process::id();
        let parse = || TaskFilter::parse(&nix::unistd::gettid().to_string());
        let refused = std::thread::spawn(parse).join().expect("an answer").expect_err("a thread");
        assert!(refused.ends_with(&format!("is a thread of process {own}; write {own}")));
    }

    #[test]
    fn a_family_is_all_that_descends() {
        let process = |parent, name: &str| Process { parent, name: name.into() };
        let all = BTreeMap::from([
            (1, process(0, "init")),
            (10, process(1, "make")),
            (11, process(10, "cc1")),
            (12, process(11, "as")),
            (20, process(1, "sh")),
        ]);
        assert_eq!(family(&all, &|_, process| process.name == "make"), [10, 11, 12]);
        assert_eq!(family(&all, &|number, _| number == 12), [12]);
        assert_eq!(family(&all, &|_, _| false), [0; 0]);
    }

    #[test]
    fn a_process_has_its_threads() {
        let own = std::process::id();
        let keys = TaskFilter::Process(own).keys().expect("there is /proc");
        assert!(keys.contains(&own.to_le_bytes().to_vec()), "{keys:?}");
        assert!(process(own).is_some_and(|process| process.parent > 0));
    }
}
