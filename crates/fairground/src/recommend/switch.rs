// SPDX-License-Identifier: GPL-2.0-only
//! How to switch to a scheduler, and back, on this machine.

use model::{Contestant, KnobValue, Policy, PolicyClass, SchedulerChoice};

use super::host::{Host, SchedExt};
use crate::words::quoted;

/// Lines for somebody who wants to use it; commands are indented.
pub fn lines(contestant: &Contestant, host: &Host) -> Vec<String> {
    match &contestant.scheduler {
        SchedulerChoice::Kernel => vec!["It is the kernel's own: nothing is to be done.".into()],
        SchedulerChoice::Policy { policy } => of_policy(policy),
        SchedulerChoice::Claimed { name } => vec![format!("{name} is a name; nothing can run it.")],
        SchedulerChoice::Program { command } => {
            let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
            let load = command.join(" ");
            needs(host).into_iter().chain(loading(&load, &load)).collect()
        }
        SchedulerChoice::File { file, knobs, .. } => {
            let knob = |(name, value): (&String, &KnobValue)| format!(" {name}={}", text(*value));
            let option = knobs.iter().map(knob).fold(file.clone(), |text, knob| text + &knob);
            let load = |program: &str| format!("{program} load {}", quoted(&option));
            let unit = load("\"$(command -v fairground)\"");
            needs(host).into_iter().chain(loading(&load("fairground"), &unit)).collect()
        }
    }
}

/// What this kernel lacks, if it does.
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

/// In the foreground, and as a service.
fn loading(command: &str, unit: &str) -> Vec<String> {
    vec![
        format!("  sudo {command}"),
        "It schedules until Ctrl-C; then the kernel's own is back, as it is if the kernel throws"
            .into(),
        "it out. Which one schedules now:".into(),
        "  cat /sys/kernel/sched_ext/root/ops".into(),
        "Until the next boot, without a terminal; and back:".into(),
        format!("  sudo systemd-run --unit=scheduler {unit}"),
        "  sudo systemctl stop scheduler".into(),
    ]
}

/// A policy is a program's, not the machine's.
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
        "It is a policy for the program that matters, not for all. A new one, or one that runs:"
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
