// SPDX-License-Identifier: GPL-2.0-only
//! Facts about the machine and the kernel that a record keeps: what the caller of a trial knows,
//! and what can be read from the running system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::record::fair_scheduler;
use model::{ActiveScheduler, CpuFacts, Provenance};

use crate::player::call_costs::CallCosts;
use crate::player::threads::TIMER_SLACK_NS;

/// What the caller of a trial knows about the machine and the boot that it runs in. Nothing of it
/// can be read from the running system.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// How the CPU is virtualised: `kvm`, `tcg`, or `none`.
    pub accelerator: String,
    /// SHA-256 of the kernel image, hexadecimal; empty where unknown.
    pub kernel_sha256: String,
    /// Identifies the boot: trials of one boot share it.
    pub boot_id: String,
    /// Number of trials that ran in this boot before.
    pub boot_position: u32,
    /// Whether this is a virtual machine that Fairground started.
    pub in_guest: bool,
    /// Whether one instruction takes one nanosecond of the clock (QEMU's `-icount shift=0`).
    pub virtual_clock: bool,
    /// Rounds of the busy loop in one millisecond, if they were measured on this machine before,
    /// see [`crate::player::busy::calibrate`].
    pub calibration_rounds_per_ms: Option<u64>,
    /// What the player's calls cost, if they were measured for a recording that it plays.
    pub calls: CallCosts,
    pub fairground: String,
    /// Folder of the source trees that `scripts/sources.sh` prepared; `None`: there are none.
    pub sources: Option<PathBuf>,
    /// Working folder of the trial's program, see [`crate::trial::preparation`]; `None`: the
    /// current folder.
    pub folder: Option<PathBuf>,
}

/// The provenance of a record, without what is only known after the trial.
pub fn provenance(context: &Context) -> Provenance {
    Provenance {
        fairground: context.fairground.clone(),
        kernel_release: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        kernel_version: line("/proc/sys/kernel/version").unwrap_or_default(),
        kernel_sha256: context.kernel_sha256.clone(),
        kernel_facts: kernel_facts().into(),
        accelerator: context.accelerator.clone(),
        cpu_model: cpu_model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        cpus: cpus_online().len() as u32,
        boot_id: context.boot_id.clone(),
        boot_position: context.boot_position,
        ..Provenance::default()
    }
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

pub fn highest_cpu() -> u32 {
    cpus_online().last().copied().unwrap_or(0)
}

/// The CPUs that are online, ascending; never empty.
pub fn cpus_online() -> Vec<u32> {
    let list = line("/sys/devices/system/cpu/online").and_then(|list| cpu_list(&list));
    list.unwrap_or_else(|| {
        // SAFETY: no pointers.
        let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        (0..count.max(1) as u32).collect()
    })
}

/// Settings of the kernel that influence measurements, by name. Facts that cannot be read are
/// missing.
fn kernel_facts() -> BTreeMap<String, String> {
    const FILES: [(&str, &str); 12] = [
        ("autogroup", "/proc/sys/kernel/sched_autogroup_enabled"),
        ("rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"),
        ("rt_period_us", "/proc/sys/kernel/sched_rt_period_us"),
        ("rr_timeslice_ms", "/proc/sys/kernel/sched_rr_timeslice_ms"),
        ("base_slice_ns", "/sys/kernel/debug/sched/base_slice_ns"),
        ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("smt", "/sys/devices/system/cpu/smt/active"),
        ("core_of_cpu0", "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"),
        ("cache_of_cpu0", "/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list"),
        ("nodes", "/sys/devices/system/node/online"),
        ("command_line", "/proc/cmdline"),
    ];
    let read = |(name, path): (&str, &str)| Some((name.to_owned(), line(path)?));
    let mut facts: BTreeMap<String, String> = FILES.into_iter().filter_map(read).collect();
    let config = config().unwrap_or_default();
    facts.extend(option(&config, "CONFIG_HZ").map(|hz| ("HZ".to_owned(), hz)));
    let version = line("/proc/sys/kernel/version").unwrap_or_default();
    let chosen = line("/sys/kernel/debug/sched/preempt");
    facts.insert("preempt".into(), preempt(&version, &config, chosen.as_deref()));
    let sched_ext = fs::exists("/sys/kernel/sched_ext").unwrap_or(false);
    facts.insert("sched_ext".into(), if sched_ext { "yes" } else { "no" }.into());
    facts.insert("timer_slack_ns".into(), TIMER_SLACK_NS.to_string());
    facts
}

/// The first line of a file, trimmed; `None` when there is no such file or nothing in it.
fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let first = text.lines().next()?.trim();
    (!first.is_empty()).then(|| first.to_owned())
}

/// The kernel's build configuration, from `/boot` or `/proc/config.gz`.
fn config() -> Option<String> {
    let release = line("/proc/sys/kernel/osrelease")?;
    fs::read_to_string(format!("/boot/config-{release}")).ok().or_else(|| {
        fs::exists("/proc/config.gz").ok().filter(|&there| there)?;
        // The gzip program is on every system, so no library is needed for it.
        let mut gzip = Command::new("gzip");
        let output = process::stop::output(gzip.args(["-dc", "/proc/config.gz"])).ok()?;
        String::from_utf8(output.stdout).ok()
    })
}

fn option(config: &str, name: &str) -> Option<String> {
    config.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

/// The preemption model: the one chosen in debugfs, else the one in the build configuration.
fn preempt(version: &str, config: &str, chosen: Option<&str>) -> String {
    let parenthesised = |text: &str| {
        let (_, rest) = text.split_once('(')?;
        Some(rest.split_once(')')?.0.to_owned())
    };
    let word = |start| version.split_whitespace().find(|word: &&str| word.starts_with(start));
    let built = ["RT", "NONE", "VOLUNTARY", "LAZY", ""].iter().find_map(|model| {
        let name =
            if model.is_empty() { "CONFIG_PREEMPT" } else { &format!("CONFIG_PREEMPT_{model}") };
        option(config, name)?;
        Some(if model.is_empty() { "full".into() } else { model.to_lowercase() })
    });
    let dynamic = word("PREEMPT").unwrap_or("no PREEMPT in the version").to_owned();
    match chosen.and_then(parenthesised).or(built) {
        Some(model) => format!("{model} ({dynamic})"),
        None => dynamic,
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let models = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut named = models.filter(|(key, _)| matches!(key.trim(), "model name" | "Model"));
    named.next().map(|(_, model)| model.trim().to_owned()).unwrap_or_default()
}

/// Parses a list of CPUs such as `0-2,5`; `None` for anything else.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// Reads which scheduler is active. A missing file leaves its field empty; a kernel without
/// sched_ext has the state `absent`.
pub fn active() -> ActiveScheduler {
    ActiveScheduler {
        sched_ext_state: sched_ext("state").unwrap_or_else(|| "absent".into()),
        sched_ext_ops: sched_ext("root/ops").unwrap_or_default(),
        sched_ext_enable_seq: sched_ext("enable_seq").and_then(|n| n.parse().ok()).unwrap_or(0),
        fair: fair(Path::new("/")),
    }
}

/// The trimmed contents of a file below `/sys/kernel/sched_ext`; `None` if there is no such file.
pub(crate) fn sched_ext(file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/kernel/sched_ext/{file}")).ok()?;
    Some(text.trim().to_owned())
}

/// `cfs` or `eevdf`: from the scheduler's debug features where they can be read (which recognises a
/// back-port), otherwise from the release. `bore_cfs` or `bore` where the patch is in and switched
/// on, as in kernels of CachyOS (`sched_bore` in BORE's `kernel/sched/bore.c`).
fn fair(root: &Path) -> String {
    let text = |path: &str| fs::read_to_string(root.join(path));
    let fair = match text("sys/kernel/debug/sched/features") {
        Ok(features) => fair_of_features(&features),
        Err(_) => fair_scheduler(text("proc/sys/kernel/osrelease").unwrap_or_default().trim()),
    };
    let has_bore = text("proc/sys/kernel/sched_bore").is_ok_and(|value| value.trim() == "1");
    match fair {
        "eevdf" if has_bore => "bore",
        "cfs" if has_bore => "bore_cfs",
        fair => fair,
    }
    .into()
}

/// Only EEVDF has the feature `PLACE_LAG`, enabled or disabled (`NO_PLACE_LAG`).
fn fair_of_features(features: &str) -> &'static str {
    if features.contains("PLACE_LAG") { "eevdf" } else { "cfs" }
}

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

pub fn topology() -> Topology {
    read(Path::new("/sys/devices/system"), &cpus_online())
}

/// What this machine's CPUs are and share, by CPU; one that is offline stands alone.
pub fn cpu_facts() -> CpuFacts {
    let root = Path::new("/sys/devices/system");
    let all = 0..=highest_cpu();
    let place = |cpu: u32, file: &str| root.join(format!("cpu/cpu{cpu}/{file}"));
    let number = |path: &Path| line(path.to_str()?)?.parse().ok();
    let core = |cpu: u32| {
        let list = list(&place(cpu, "topology/thread_siblings_list"));
        list.and_then(|list| list.first().copied()).unwrap_or(cpu)
    };
    let caches: Vec<Option<Vec<u32>>> =
        all.clone().map(|cpu| last_cache(&place(cpu, "cache"))).collect();
    let mut kinds = caches.clone();
    kinds.sort();
    kinds.dedup();
    let node = |cpu: u32| {
        let nodes = list(&root.join("node/online")).unwrap_or_default();
        let has = |node: &u32| {
            let cpus = list(&root.join(format!("node/node{node}/cpulist")));
            cpus.is_some_and(|cpus| cpus.contains(&cpu))
        };
        nodes.into_iter().find(has).unwrap_or(0)
    };
    CpuFacts {
        capacity: all
            .clone()
            .map(|cpu| number(&place(cpu, "cpu_capacity")).unwrap_or(1024))
            .collect(),
        llc: caches.iter().map(|cache| kinds.binary_search(cache).unwrap_or(0) as u32).collect(),
        node: all.clone().map(node).collect(),
        core: all.map(core).collect(),
    }
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

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpu_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list("0"), Some(vec![0]));
        assert_eq!(cpu_list(""), None);
        assert!(cpus_online().contains(&0) || !cpus_online().is_empty());
    }

    #[test]
    fn the_preemption_model_is_the_chosen_one() {
        let version = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.107-1";
        let config = "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_HZ=250\n";
        assert_eq!(preempt(version, config, None), "voluntary (PREEMPT_DYNAMIC)");
        let chosen = Some("none voluntary (full) lazy");
        assert_eq!(preempt(version, config, chosen), "full (PREEMPT_DYNAMIC)");
        assert_eq!(preempt("#1 SMP", "", None), "no PREEMPT in the version");
        assert_eq!(option(config, "CONFIG_HZ").as_deref(), Some("250"));
    }

    #[test]
    fn this_machine_has_facts() {
        let provenance = provenance(&Context::default());
        assert!(!provenance.kernel_release.is_empty() && provenance.cpus > 0);
        for fact in ["preempt", "sched_ext", "timer_slack_ns"] {
            assert!(provenance.kernel_facts.contains_key(fact), "{fact}");
        }
    }

    #[test]
    fn bore_is_named_where_it_is_switched_on() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let kernel = root.path().join("proc/sys/kernel");
        fs::create_dir_all(&kernel).expect("folders");
        let write = |file: &str, text: &str| fs::write(kernel.join(file), text).expect("a file");
        write("osrelease", "6.18.4-2-cachyos\n");
        assert_eq!(fair(root.path()), "eevdf");
        write("sched_bore", "1\n");
        assert_eq!(fair(root.path()), "bore");
        write("osrelease", "6.1.9-bore\n");
        assert_eq!(fair(root.path()), "bore_cfs");
        write("sched_bore", "0\n");
        assert_eq!(fair(root.path()), "cfs");
    }

    #[test]
    fn a_disabled_feature_still_names_its_scheduler() {
        assert_eq!(fair_of_features("NO_PLACE_LAG RUN_TO_PARITY"), "eevdf");
        assert_eq!(fair_of_features("GENTLE_FAIR_SLEEPERS START_DEBIT"), "cfs");
    }

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
        let cpus = cpu_facts();
        assert_eq!(cpus.llc.iter().max().map(|last| last + 1), Some(topology().llcs));
        assert_eq!(cpus.core[0], 0);
    }
}
