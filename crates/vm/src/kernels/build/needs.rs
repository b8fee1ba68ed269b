// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel must be configured with. The book quotes [`TABLE`].

use crate::kernels::image::settings;

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
