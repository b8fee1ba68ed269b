// SPDX-License-Identifier: GPL-2.0-only
//! The configuration of a build: `make allnoconfig`, the shared minimal one over it, then a
//! definition's options, then the user's fragment.
//!
//! What a kernel must be configured with. The book quotes [`TABLE`].

use std::collections::BTreeMap;

use anyhow::Result;

use crate::kernels::build::refused;
use crate::kernels::image::{is_option, setting, settings};

/// What every kernel that is built here has.
const MINIMAL: &str = include_str!("../../../../../kernels/minimal.config");

/// What a kernel with control groups has on top of that.
const GROUPS: &str = include_str!("../../../../../kernels/groups.config");

/// The lines that control groups need, if they are wanted.
pub fn of_groups<'a>(groups: bool) -> impl Iterator<Item = &'a str> {
    GROUPS.lines().filter(move |line| groups && is_option(line))
}

/// The text for `KCONFIG_ALLCONFIG`; a later line replaces an earlier one of the same option.
pub fn compose(options: &[String], groups: bool, fragment: Option<&str>) -> String {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let own = options.iter().map(String::as_str).chain(fragment.unwrap_or_default().lines());
    for line in MINIMAL.lines().chain(of_groups(groups)).chain(own) {
        if let Some((name, value)) = setting(line) {
            lines.insert(name, value);
        }
    }
    lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

/// Refuses a fragment with lines that are nothing.
pub fn check_fragment(label: &str, text: &str) -> Result<()> {
    for (number, line) in text.lines().enumerate() {
        let is_comment = line.trim().is_empty() || line.starts_with('#');
        if !is_comment && setting(line).is_none() {
            let number = number + 1;
            return Err(refused(format!(
                "{label}:{number}: '{line}' is no line of a kernel's configuration; write \
                 CONFIG_NAME=y, =n, =NUMBER or =\"text\""
            )));
        }
    }
    Ok(())
}

/// Whether the tree took what a definition or the user demands, and what the guest needs. Returns
/// what is lost otherwise.
pub fn verify(demands: &[String], wanted: &str, config: &str) -> Result<Vec<String>> {
    let settings = settings(config);
    let lost = lost(demands.iter().map(String::as_str), &settings);
    if !lost.is_empty() {
        return Err(refused(format!(
            "the kernel's configuration does not take {}: the source does not know the option, or \
             it depends on another one that is off",
            lost.join(", ")
        )));
    }
    check_ticks(wanted, &settings)?;
    match judge(config) {
        (Some(unusable), _) => Err(refused(unusable)),
        (None, losses) => Ok(losses),
    }
}

/// The lines that the tree did not take. Of the shared ones some sources do not know each.
pub fn lost<'a>(
    lines: impl Iterator<Item = &'a str>,
    settings: &BTreeMap<String, String>,
) -> Vec<&'a str> {
    let is_lost = |line: &&str| {
        let Some((name, value)) = setting(line) else { return false };
        settings.get(&name).map_or("n", String::as_str) != value
    };
    lines.filter(is_lost).collect()
}

/// Refuses a kernel with other ticks than those asked for. A patch may rename the option; then the
/// tree falls back on a default of its own, and schedulers that count in ticks act differently.
fn check_ticks(wanted: &str, settings: &BTreeMap<String, String>) -> Result<()> {
    let asked: Vec<String> = wanted
        .lines()
        .filter_map(setting)
        .filter(|(_, value)| value == "y")
        .filter_map(|(name, _)| Some(name.strip_prefix("CONFIG_HZ_")?.to_owned()))
        .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        .filter_map(|rest| Some(rest.split('_').next()?.to_owned()))
        .collect();
    match settings.get("CONFIG_HZ") {
        Some(ticks) if !asked.is_empty() && !asked.contains(ticks) => Err(refused(format!(
            "the kernel would have {ticks} ticks a second instead of {}: its source has another \
             name for CONFIG_HZ_{}; look into kernel/Kconfig.hz and set that option",
            asked.join(" or "),
            asked.join(" or CONFIG_HZ_")
        ))),
        _ => Ok(()),
    }
}

/// How much is lost without an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The guest does not come up, or a trial cannot run.
    Needed,
    /// Only one CPU is started, whatever the machine has.
    Cpus,
    /// Figures of the probes are missing.
    Probes,
}

/// An option that Fairground uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// `CONFIG_…`, which must be `y`.
    pub option: &'static str,
    pub weight: Weight,
    pub reason: &'static str,
}

const fn needed(option: &'static str, reason: &'static str) -> Need {
    Need { option, weight: Weight::Needed, reason }
}

const fn cpus(option: &'static str, reason: &'static str) -> Need {
    Need { option, weight: Weight::Cpus, reason }
}

const fn probes(option: &'static str, reason: &'static str) -> Need {
    Need { option, weight: Weight::Probes, reason }
}

/// Every option, the needed ones first.
pub const TABLE: &[Need] = &[
    needed("CONFIG_64BIT", "the guest's programs are those of the host"),
    needed("CONFIG_BLK_DEV_INITRD", "the guest's files are an archive in memory"),
    needed("CONFIG_BINFMT_ELF", "programs"),
    needed("CONFIG_MULTIUSER", "rights of the programs in the guest"),
    needed("CONFIG_PRINTK", "the console, from which the host learns of a panic"),
    needed("CONFIG_SERIAL_8250_CONSOLE", "the console, from which the host learns of a panic"),
    needed("CONFIG_X86_IOPL_IOPERM", "records leave the guest through an I/O port"),
    needed("CONFIG_PROC_FS", "facts about tasks and the kernel"),
    needed("CONFIG_SYSFS", "facts about CPUs"),
    needed("CONFIG_DEVTMPFS", "the guest's devices"),
    needed("CONFIG_TMPFS", "folders for programs"),
    needed("CONFIG_FUTEX", "the player's threads wait for each other"),
    needed("CONFIG_EPOLL", "the player, and most programs"),
    needed("CONFIG_SIGNALFD", "the guest's supervisor"),
    needed("CONFIG_TIMERFD", "timers of the player"),
    needed("CONFIG_EVENTFD", "wake-ups between tasks"),
    needed("CONFIG_SHMEM", "memory that the player shares with the supervisor"),
    needed("CONFIG_POSIX_TIMERS", "timers of the player"),
    needed("CONFIG_HIGH_RES_TIMERS", "a timer must not wait for the next tick"),
    cpus("CONFIG_SMP", "more than one CPU"),
    cpus("CONFIG_ACPI", "the firmware's table that names all CPUs"),
    probes("CONFIG_BPF_SYSCALL", "the probes are BPF programs"),
    probes("CONFIG_BPF_JIT", "programs at the scheduler's tracepoints need the JIT"),
    probes("CONFIG_DEBUG_INFO_BTF", "the probes find the kernel's structures by BTF"),
    probes("CONFIG_BPF_EVENTS", "BPF programs at tracepoints"),
    probes("CONFIG_PERF_EVENTS", "BPF_EVENTS needs it"),
    probes("CONFIG_NET", "libbpf tests what the kernel can do with programs for sockets"),
    probes(
        "CONFIG_DEBUG_FS",
        "BPF_EVENTS needs tracepoints, and the preemption model is read there",
    ),
];

/// The options of the table that a configuration lacks.
pub fn missing(config: &str) -> Vec<Need> {
    let settings = settings(config);
    let is_on = |need: &&Need| settings.get(need.option).is_some_and(|value| value == "y");
    TABLE.iter().filter(|need| !is_on(need)).copied().collect()
}

/// One line that names the missing options with their reasons.
pub fn words(missing: &[Need]) -> String {
    let line = |need: &Need| format!("{}=y ({})", need.option, need.reason);
    missing.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// The missing options of a configuration: a sentence on what makes it unusable, and sentences on
/// what is lost otherwise.
pub fn judge(config: &str) -> (Option<String>, Vec<String>) {
    let missing = missing(config);
    let sentence = |weight: Weight, words_before: &str| {
        let those: Vec<Need> =
            missing.iter().filter(|need| need.weight == weight).copied().collect();
        (!those.is_empty()).then(|| format!("{words_before} {}", words(&those)))
    };
    let losses = [
        (Weight::Cpus, "trials on several CPUs will be unsupported, because the kernel lacks"),
        (Weight::Probes, "figures of the probes will be missing, because the kernel lacks"),
    ];
    let losses = losses.into_iter().filter_map(|(weight, before)| sentence(weight, before));
    (sentence(Weight::Needed, "the kernel cannot run trials without"), losses.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_win_and_the_shared_ones_stay() {
        let options = ["CONFIG_HZ_250=n".to_owned(), "CONFIG_HZ_1000=y".to_owned()];
        let text = compose(&options, true, Some("# CONFIG_HZ_1000 is not set\nCONFIG_HZ_300=y\n"));
        let has = |line: &str| text.lines().any(|has| has == line);
        assert!(has("CONFIG_HZ_250=n") && has("CONFIG_HZ_1000=n") && has("CONFIG_HZ_300=y"));
        assert!(
            has("CONFIG_PID_NS=y") && has("CONFIG_CGROUPS=y") && has("CONFIG_UCLAMP_TASK_GROUP=y")
        );
        assert!(compose(&options, false, None).contains("CONFIG_CGROUPS=n\n"));
    }

    #[test]
    fn the_shared_configuration_names_all_that_is_needed() {
        assert_eq!(missing(&compose(&[], false, None)), []);
    }

    #[test]
    fn options_that_the_source_does_not_take_are_named() {
        let config = compose(&[], false, None) + "# CONFIG_SCHED_BORE is not set\n";
        let demand = ["CONFIG_SCHED_BORE=y".to_owned(), "CONFIG_NUMA=n".to_owned()];
        let error = verify(&demand, "", &config).unwrap_err().to_string();
        assert!(error.contains("does not take CONFIG_SCHED_BORE=y: "), "{error}");
        assert_eq!(verify(&demand[1..], "", &config).unwrap(), [""; 0]);
        let error = check_fragment("my.config", "CONFIG_A=y\nB=y\n").unwrap_err().to_string();
        assert!(error.starts_with("my.config:2: 'B=y' is no line"), "{error}");
    }
    #[test]
    fn a_renamed_option_for_the_ticks_is_found_out() {
        let wanted = compose(&[], false, None);
        let config = wanted.replace("CONFIG_HZ_250=y", "CONFIG_HZ_100=y\nCONFIG_HZ=100");
        let error = verify(&[], &wanted, &config).unwrap_err().to_string();
        assert!(error.starts_with("the kernel would have 100 ticks a second instead of 250: "));
        assert_eq!(lost(wanted.lines(), &settings(&config)), ["CONFIG_HZ_250=y"]);
        let renamed = compose(&["CONFIG_HZ_250_NODEF=y".to_owned()], false, None);
        let config = renamed.replace("CONFIG_HZ_250=y", "CONFIG_HZ=250");
        assert_eq!(verify(&[], &renamed, &config).unwrap(), [""; 0]);
    }

    #[test]
    fn a_missing_option_is_named_with_its_reason() {
        let all: String = TABLE.iter().map(|need| format!("{}=y\n", need.option)).collect();
        assert_eq!(judge(&all), (None, Vec::new()));
        let lacking = all.replace("CONFIG_EPOLL=y\n", "# CONFIG_EPOLL is not set\n");
        let lacking = lacking.replace("CONFIG_NET=y\n", "").replace("CONFIG_ACPI=y\n", "");
        let (unusable, losses) = judge(&lacking);
        let expected = "the kernel cannot run trials without CONFIG_EPOLL=y (the player, and most \
                        programs)";
        assert_eq!(unusable.as_deref(), Some(expected));
        let [cpus, blind] = &losses[..] else { panic!("{losses:?}") };
        assert!(cpus.ends_with("lacks CONFIG_ACPI=y (the firmware's table that names all CPUs)"));
        assert!(blind.contains("lacks CONFIG_NET=y (libbpf"), "{blind}");
    }

    #[test]
    fn no_option_is_listed_twice() {
        let mut names: Vec<&str> = TABLE.iter().map(|need| need.option).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }
}
