// SPDX-License-Identifier: GPL-2.0-only
//! How to switch to a scheduler, and back: lines for a user. Commands are indented.

use model::{Policy, PolicyClass};

/// What a user must change before this kernel can load a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The running kernel, of this release, was built without sched_ext.
    NoSchedExt(String),
    /// Another sched_ext scheduler, of this name, is loaded.
    Loaded(String),
}

impl Obstacle {
    /// The lines to print: what stands in the way, and how to remove it.
    fn lines(&self) -> Vec<String> {
        match self {
            Obstacle::NoSchedExt(release) => vec![
                format!("Linux {release} here cannot load it: it was built without sched_ext."),
                "Boot Linux 6.12 or later built with CONFIG_SCHED_CLASS_EXT=y; this shows which \
                 kernels are:"
                    .into(),
                "  grep SCHED_CLASS_EXT /boot/config-*".into(),
                "There:".into(),
            ],
            Obstacle::Loaded(name) => vec![format!(
                "Stop `{name}` first: a kernel has one sched_ext scheduler at a time."
            )],
        }
    }
}

/// The kernel's own scheduler needs no switch.
pub fn to_the_kernels_own() -> Vec<String> {
    vec!["It is the kernel's own: there is nothing to do.".into()]
}

/// A name from imported records does not name a scheduler.
pub fn to_a_claimed_name(name: &str) -> Vec<String> {
    vec![format!("{name} is a name; nothing can run it.")]
}

/// With a command that loads a scheduler: in the foreground, and as a service with further options
/// of `systemd-run`.
pub fn by_command(
    command: &str,
    service_options: &str,
    obstacle: Option<&Obstacle>,
) -> Vec<String> {
    let loading = [
        format!("  sudo {command}"),
        "It schedules until Ctrl-C, or until the kernel ejects it; then the kernel's own is back."
            .into(),
        "Which one schedules now:".into(),
        "  cat /sys/kernel/sched_ext/root/ops".into(),
        "Until the next boot, without a terminal; and back:".into(),
        format!("  sudo systemd-run --unit=scheduler{service_options} {command}"),
        "  sudo systemctl stop scheduler".into(),
    ];
    obstacle.map(Obstacle::lines).unwrap_or_default().into_iter().chain(loading).collect()
}

/// How to give a policy to a program: a policy belongs to tasks, not to the machine.
pub fn to_policy(policy: &Policy) -> Vec<String> {
    let (class, priority) = match policy.class {
        PolicyClass::Other => ("--other", 0),
        PolicyClass::Batch => ("--batch", 0),
        PolicyClass::Idle => ("--idle", 0),
        PolicyClass::Fifo => ("--fifo", policy.priority),
        PolicyClass::Rr => ("--rr", policy.priority),
        PolicyClass::Deadline => ("--deadline", 0),
    };
    let times = match policy.class {
        PolicyClass::Deadline => format!(
            " --sched-runtime {} --sched-deadline {} --sched-period {}",
            policy.runtime_us * 1000,
            policy.deadline_us * 1000,
            policy.period_us * 1000
        ),
        _ => String::new(),
    };
    let with = |options: &str| format!("  sudo chrt {class}{times} {options}");
    let nice = |command: &str| format!("  sudo {command} -n {}", policy.nice);
    let (start, change) = match policy.nice {
        0 => (
            with(&format!("{priority} PROGRAM")),
            with(&format!("--all-tasks --pid {priority} PID")),
        ),
        _ => (nice("nice") + " PROGRAM", nice("renice") + " -p PID"),
    };
    let back = match policy.nice {
        0 => "  sudo chrt --other --all-tasks --pid 0 PID",
        _ => "  sudo renice -n 0 -p PID",
    };
    vec![
        "It is a policy for the program that matters, not for all programs. \
         To start one, or to change one:"
            .into(),
        start,
        change,
        "And back:".into(),
        back.into(),
    ]
}
