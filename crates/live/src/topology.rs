// SPDX-License-Identifier: GPL-2.0-only
//! The topology of this machine's CPUs, as the kernel shows it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::facts::{cpu_list, cpus_online};

/// Counts of CPUs, threads, caches and nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    pub cpus: u32,
    /// Threads of a core; 1 where cores differ.
    pub smt: u32,
    /// Last-level caches.
    pub llcs: u32,
    pub nodes: u32,
}

/// This machine's.
pub fn topology() -> Topology {
    read(Path::new("/sys/devices/system"), &cpus_online())
}

/// The topology of these CPUs from `root`, a folder like `/sys/devices/system`. A missing count is
/// one.
fn read(root: &Path, cpus: &[u32]) -> Topology {
    let cpu = |cpu: &u32| root.join(format!("cpu/cpu{cpu}"));
    let siblings =
        cpus.iter().map(|number| list(&cpu(number).join("topology/thread_siblings_list")));
    let sizes: BTreeSet<usize> =
        siblings.map(|siblings| siblings.map_or(1, |list| within(&list, cpus))).collect();
    let caches: BTreeSet<Option<Vec<u32>>> =
        cpus.iter().map(|number| last_cache(&cpu(number).join("cache"))).collect();
    let nodes = list(&root.join("node/online")).map_or(1, |nodes| nodes.len());
    Topology {
        cpus: cpus.len() as u32,
        smt: if sizes.len() == 1 { sizes.first().map_or(1, |&size| size as u32) } else { 1 },
        llcs: caches.len() as u32,
        nodes: nodes as u32,
    }
}

fn within(list: &[u32], cpus: &[u32]) -> usize {
    list.iter().filter(|cpu| cpus.contains(cpu)).count().max(1)
}

/// The CPUs that share the cache of the highest level with a CPU.
fn last_cache(folder: &Path) -> Option<Vec<u32>> {
    let caches = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let level = |cache: &Path| -> Option<u32> {
        fs::read_to_string(cache.join("level")).ok()?.trim().parse().ok()
    };
    let last = caches.filter_map(|cache| Some((level(&cache)?, cache))).max()?;
    list(&last.1.join("shared_cpu_list"))
}

fn list(file: &Path) -> Option<Vec<u32>> {
    cpu_list(fs::read_to_string(file).ok()?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        root
    }

    #[test]
    fn siblings_caches_and_nodes_are_counted() {
        let mut files = vec![("node/online".to_owned(), "0-1\n".to_owned())];
        for cpu in 0..4 {
            let (half, place) = (cpu / 2 * 2, format!("cpu/cpu{cpu}"));
            files.push((
                format!("{place}/topology/thread_siblings_list"),
                format!("{half}-{}\n", half + 1),
            ));
            for (index, level) in [(0, 1), (3, 3)] {
                let cache = format!("{place}/cache/index{index}");
                files.push((format!("{cache}/level"), format!("{level}\n")));
                files.push((format!("{cache}/shared_cpu_list"), format!("{half}-{}\n", half + 1)));
            }
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let root = machine(&files);
        let found = read(root.path(), &[0, 1, 2, 3]);
        assert_eq!(found, Topology { cpus: 4, smt: 2, llcs: 2, nodes: 2 });
        // Siblings that are offline do not count.
        assert_eq!(read(root.path(), &[0, 2]).smt, 1);
    }

    #[test]
    fn what_is_not_said_counts_as_one() {
        let root = machine(&[]);
        let found = read(root.path(), &[0, 1]);
        assert_eq!(found, Topology { cpus: 2, smt: 1, llcs: 1, nodes: 1 });
        assert!(topology().cpus > 0);
    }
}
