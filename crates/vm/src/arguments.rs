// SPDX-License-Identifier: GPL-2.0-only
//! QEMU's arguments and the kernel's command line, which follow from the machine.

use std::path::Path;

use model::{Clock, Machine};

use crate::channel::PORT;
use crate::qemu::Accelerator;

/// The kernel's command line, which every record contains.
///
/// Mitigations of processor faults stay at the kernel's defaults: they are part of the cost of a
/// context switch.
pub fn command_line(machine: &Machine) -> String {
    let common = [
        // A panic's text goes to the serial port.
        "console=ttyS0",
        // The kernel prints only panics: printing would take time from the workload.
        "loglevel=1",
        // A panic or an oops ends the boot at once, so the host notices it.
        "panic=-1",
        "oops=panic",
        // The self-tests of the kernel's cryptography would run during the first trials.
        "cryptomgr.notests",
        // Under emulation the clock watchdog would replace a good clock by a slow one.
        "tsc=reliable",
        // Checks and probes of absent hardware would delay the boot.
        "no_timer_check",
        "i8042.noaux",
        "i8042.nokbd",
        // A thread of newer kernels that looks at memory every 5 ms, beside the workload.
        "damon_stat.enabled=0",
    ];
    let mut line = common.join(" ");
    if machine.clock == Clock::Virtual {
        // The same addresses in every boot.
        line += " nokaslr";
    }
    if machine.rt_runtime_us != Machine::default().rt_runtime_us {
        line += &format!(" sysctl.kernel.sched_rt_runtime_us={}", machine.rt_runtime_us);
    }
    line
}

/// All arguments except the files that the guest gets; `has_rounds`: see [`counting`].
pub fn arguments(
    image: &Path,
    machine: &Machine,
    accelerator: Accelerator,
    has_rounds: bool,
) -> Vec<String> {
    let mut arguments: Vec<String> = time_arguments(machine, accelerator, has_rounds);
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    add("-smp", processors(machine));
    add("-m", format!("{}M", machine.memory_mib));
    for (name, value) in nodes(machine) {
        add(name, value);
    }
    add("-kernel", image.to_string_lossy().into_owned());
    add("-append", command_line(machine));
    add("-chardev", "file,id=console,path=/proc/self/fd/2".into());
    add("-serial", "chardev:console".into());
    add("-chardev", "file,id=records,path=/proc/self/fd/1".into());
    add("-device", format!("isa-debugcon,iobase={PORT:#x},chardev=records"));
    add("-display", "none".into());
    let switches = ["-nodefaults", "-no-user-config", "-no-reboot"];
    arguments.extend(switches.map(str::to_owned));
    arguments
}

/// Sockets, cores and threads. A socket of QEMU has one last-level cache, so there is one socket
/// per cache. The machine's numbers divide each other.
fn processors(machine: &Machine) -> String {
    let (cpus, sockets, threads) = (machine.cpus.max(1), machine.llcs.max(1), machine.smt.max(1));
    let cores = (cpus / sockets / threads).max(1);
    format!("cpus={cpus},sockets={sockets},cores={cores},threads={threads}")
}

/// Memory and CPUs of each NUMA node; empty for a single node.
fn nodes(machine: &Machine) -> Vec<(&'static str, String)> {
    let count = machine.nodes.max(1);
    if count == 1 {
        return Vec::new();
    }
    let (cpus, share) = (machine.cpus / count, machine.memory_mib / count);
    let node = |node: u32| {
        let first = if node == 0 { machine.memory_mib % count } else { 0 };
        let (from, to) = (node * cpus, (node + 1) * cpus - 1);
        [
            ("-object", format!("memory-backend-ram,id=node{node},size={}M", share + first)),
            ("-numa", format!("node,nodeid={node},memdev=node{node},cpus={from}-{to}")),
        ]
    };
    (0..count).flat_map(node).collect()
}

/// The length of a round of one CPU, ns: so long that rounds cost nothing.
const ALONE_NS: u32 = 1_000_000;

/// How instructions are counted. Several CPUs take turns within rounds, which only the emulator
/// has (`has_rounds`). One CPU has them there, too: then the CPU's thread does all that time does,
/// where the installed QEMU's main loop does a part of it, and races with the CPU.
pub fn counting(machine: &Machine, has_rounds: bool) -> String {
    let Machine { quantum_ns, pause_ns, .. } = machine;
    let turns = if machine.counts_several_cpus() {
        format!(",quantum={quantum_ns},pause={pause_ns}")
    } else if has_rounds {
        format!(",quantum={ALONE_NS}")
    } else {
        String::new()
    };
    format!("shift=0,sleep=off{turns}")
}

/// The processor whose instructions are counted. Where FSRM is there, Linux copies byte by byte,
/// and each byte counts as an instruction. One CPU does without it, as on QEMU 7.2, with which the
/// costs of `uniprocessor` were measured; those of several CPUs were measured with it.
fn processor(machine: &Machine) -> &'static str {
    if machine.counts_several_cpus() { "max,-rdrand,-rdseed" } else { "max,-rdrand,-rdseed,-fsrm" }
}

/// The accelerator of a virtual clock. Its buffer for translated code, MiB, would otherwise depend
/// on the host's memory. When it is full, all code is translated again, and what is read for that
/// can be seen in the guest's page tables.
const COUNTING: &str = "tcg,tb-size=256";

/// With a virtual clock, one instruction takes one nanosecond, the clock of an idle machine jumps
/// to its next timer, and everything that differs between hosts (date, random instructions) is
/// fixed.
fn time_arguments(machine: &Machine, accelerator: Accelerator, has_rounds: bool) -> Vec<String> {
    let (counting, processor) = (counting(machine, has_rounds), processor(machine));
    let arguments: &[&str] = match (machine.clock, accelerator) {
        (Clock::Virtual, _) => &[
            "-accel",
            COUNTING,
            "-icount",
            &counting,
            "-rtc",
            "base=2026-01-01,clock=vm",
            "-cpu",
            processor,
        ],
        (Clock::Real, Accelerator::Kvm) => &["-accel", "kvm", "-cpu", "host"],
        (Clock::Real, _) => &["-accel", "tcg,thread=multi", "-cpu", "max"],
    };
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_real_time_tasks_is_the_machines() {
        let unlimited = Machine { rt_runtime_us: -1, ..Machine::default() };
        assert!(!command_line(&Machine::default()).contains("sysctl"));
        assert!(command_line(&unlimited).ends_with(" sysctl.kernel.sched_rt_runtime_us=-1"));
    }
}
