// SPDX-License-Identifier: GPL-2.0-only
//! How to switch to a scheduler, and back, on this machine.

use std::path::Path;

use model::{Contestant, KnobValue, Policy, PolicyClass, SchedulerChoice};

use super::host::{Host, SchedExt};
use crate::command_line::quoted;
use crate::run::programs;

/// Lines for a user who wants to switch; commands are indented.
pub fn lines(contestant: &Contestant, host: &Host) -> Vec<String> {
    match &contestant.scheduler {
        SchedulerChoice::Kernel => vec!["It is the kernel's own: there is nothing to do.".into()],
        SchedulerChoice::Policy { policy } => of_policy(policy),
        SchedulerChoice::Claimed { name } => vec![format!("{name} is a name; nothing can run it.")],
        SchedulerChoice::Program { command } => {
            let (first, rest) = command.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
            let found = programs::find(first).and_then(|path| callable(&path));
            let words = std::iter::once(found.unwrap_or_else(|| first.into()));
            let words = words.chain(rest.iter().cloned()).map(|word| quoted(&word));
            let load = words.collect::<Vec<_>>().join(" ");
            needs(host).into_iter().chain(loading(&load, "")).collect()
        }
        SchedulerChoice::File { file, knobs, .. } => {
            let knob = |(name, value): (&String, &KnobValue)| format!(" {name}={}", text(*value));
            let option = knobs.iter().map(knob).fold(file.clone(), |text, knob| text + &knob);
            let own = std::env::current_exe().ok().and_then(|path| callable(&path));
            let program = quoted(&own.unwrap_or_else(|| "fairground".into()));
            let load = format!("{program} load {}", quoted(&option));
            // A service starts in `/`.
            let here = file.contains('/') && !file.starts_with('/');
            let options = if here { " --same-dir" } else { "" };
            needs(host).into_iter().chain(loading(&load, options)).collect()
        }
    }
}

/// Where `sudo` and services look for programs.
const FOLDERS: [&str; 4] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];

/// How `sudo` and a service call the program: its path, unless they find its name.
fn callable(path: &Path) -> Option<String> {
    let folder = path.parent()?.to_str()?;
    let called = if FOLDERS.contains(&folder) { Path::new(path.file_name()?) } else { path };
    Some(called.to_str()?.to_owned())
}

/// What must be done first on this kernel.
fn needs(host: &Host) -> Vec<String> {
    match &host.sched_ext {
        SchedExt::Absent => vec![
            format!("Linux {} here cannot load it: it was built without sched_ext.", host.release),
            "Boot Linux 6.12 or later built with CONFIG_SCHED_CLASS_EXT=y; this shows which is:"
                .into(),
            "  grep SCHED_CLASS_EXT /boot/config-*".into(),
            "There:".into(),
        ],
        SchedExt::Taken(name) => {
            vec![format!("Stop `{name}` first: a kernel has one sched_ext scheduler at a time.")]
        }
        SchedExt::Free => Vec::new(),
    }
}

/// In the foreground, and as a service with further options.
fn loading(command: &str, options: &str) -> Vec<String> {
    vec![
        format!("  sudo {command}"),
        "It schedules until Ctrl-C, or until the kernel ejects it; then the kernel's own is back."
            .into(),
        "Which one schedules now:".into(),
        "  cat /sys/kernel/sched_ext/root/ops".into(),
        "Until the next boot, without a terminal; and back:".into(),
        format!("  sudo systemd-run --unit=scheduler{options} {command}"),
        "  sudo systemctl stop scheduler".into(),
    ]
}

/// How to give a policy to a program: a policy belongs to tasks, not to the machine.
fn of_policy(policy: &Policy) -> Vec<String> {
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

fn text(value: KnobValue) -> String {
    match value {
        KnobValue::Bool(value) => value.to_string(),
        KnobValue::Int(value) => value.to_string(),
    }
}
