// SPDX-License-Identifier: GPL-2.0-only
//! The control groups of this machine that have weights and quotas: the folders of the hierarchy
//! with the controller `cpu`, of cgroup v2 or v1.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use model::{ControlGroup, UtilClamp};

/// Folders that are read at most, and how deep.
const FOLDERS_MOST: usize = 20_000;
const DEPTH_MOST: usize = 32;
/// `cpu.weight` and `cpu.shares` of a group for which nobody has chosen one.
const WEIGHT: u64 = 100;
const SHARES: u64 = 1_024;

/// The groups by the numbers of their folders, with their paths as names.
pub fn all() -> BTreeMap<u64, ControlGroup> {
    let mut found = BTreeMap::new();
    if let Some(root) = hierarchy() {
        look(&root, "", DEPTH_MOST, &mut found);
    }
    found
}

/// Where the hierarchy is mounted that the controller belongs to.
fn hierarchy() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, place, kind, options, ..] = words[..] else { return None };
        let place = PathBuf::from(place);
        let controllers = fs::read_to_string(place.join("cgroup.controllers")).unwrap_or_default();
        let has_it = match kind {
            "cgroup2" => controllers.split_whitespace().any(|controller| controller == "cpu"),
            "cgroup" => options.split(',').any(|option| option == "cpu"),
            _ => false,
        };
        has_it.then_some(place)
    })
}

fn look(folder: &Path, path: &str, depth: usize, found: &mut BTreeMap<u64, ControlGroup>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|_| depth > 0) {
        let (Ok(kind), Ok(facts)) = (entry.file_type(), entry.metadata()) else { continue };
        if !kind.is_dir() || found.len() >= FOLDERS_MOST {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        found.insert(facts.ino(), settings(&entry.path(), &path));
        look(&entry.path(), &path, depth - 1, found);
    }
}

fn settings(folder: &Path, path: &str) -> ControlGroup {
    let words = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    fn number<T: FromStr>(words: &[String], place: usize) -> Option<T> {
        words.get(place)?.parse().ok()
    }
    let of_shares = |shares: u64| (shares * WEIGHT / SHARES).clamp(1, 10_000);
    let shares = || number(&words("cpu.shares"), 0).map(of_shares);
    let weight: u64 = number(&words("cpu.weight"), 0).or_else(shares).unwrap_or(WEIGHT);
    let idle = number(&words("cpu.idle"), 0) == Some(1);
    let max = words("cpu.max");
    let quota_us = number(&max, 0).or_else(|| number(&words("cpu.cfs_quota_us"), 0));
    let period_us = number(&max, 1).or_else(|| number(&words("cpu.cfs_period_us"), 0));
    let burst = words("cpu.max.burst");
    let burst_us = number(&burst, 0).or_else(|| number(&words("cpu.cfs_burst_us"), 0));
    let clamp = |file: &str, none: u32| {
        let percent: Option<f64> = number(&words(file), 0);
        let clamp = percent.map(|percent| (percent * 1024.0 / 100.0).round() as u32);
        clamp.filter(|clamp| *clamp <= 1024 && *clamp != none)
    };
    let uclamp = UtilClamp { min: clamp("cpu.uclamp.min", 0), max: clamp("cpu.uclamp.max", 1024) };
    ControlGroup {
        name: path.to_owned(),
        weight: (weight != WEIGHT && !idle).then_some(weight as u32),
        idle,
        uclamp,
        quota_us,
        period_us: period_us.filter(|_| quota_us.is_some()),
        burst_us: burst_us.filter(|_| quota_us.is_some()).unwrap_or(0),
        ..ControlGroup::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_have_the_same_settings() {
        let root = tempfile::tempdir().expect("a folder");
        let files = [
            ("new", "cpu.weight", "50\n"),
            ("new", "cpu.max", "20000 50000\n"),
            ("new", "cpu.max.burst", "5000\n"),
            ("old", "cpu.shares", "512\n"),
            ("old", "cpu.cfs_quota_us", "20000\n"),
            ("old", "cpu.cfs_period_us", "50000\n"),
            ("old", "cpu.cfs_burst_us", "5000\n"),
            ("new/free", "cpu.max", "max 100000\n"),
            ("old/free", "cpu.cfs_quota_us", "-1\n"),
            ("old/free", "cpu.idle", "1\n"),
            ("new", "cpu.uclamp.min", "0.00\n"),
            ("new", "cpu.uclamp.max", "max\n"),
            ("new/free", "cpu.uclamp.max", "33.30\n"),
        ];
        for (folder, file, text) in files {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(file), text).expect("a file");
        }
        let mut found = BTreeMap::new();
        look(root.path(), "", DEPTH_MOST, &mut found);
        let mut groups: Vec<ControlGroup> = found.into_values().collect();
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        let limited = |name: &str| ControlGroup {
            name: name.into(),
            weight: Some(50),
            quota_us: Some(20_000),
            period_us: Some(50_000),
            burst_us: 5_000,
            ..ControlGroup::default()
        };
        let free =
            |name: &str, idle| ControlGroup { name: name.into(), idle, ..ControlGroup::default() };
        let uclamp = UtilClamp { min: None, max: Some(341) };
        let clamped = ControlGroup { uclamp, ..free("new/free", false) };
        let expected = [limited("new"), clamped, limited("old"), free("old/free", true)];
        assert_eq!(groups, expected);
    }
}
