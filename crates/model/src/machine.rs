// SPDX-License-Identifier: GPL-2.0-only
//! The machine of a trial.

use serde::{Deserialize, Serialize};

use crate::usual::{is_default, is_usual, usual};

/// The machine that `live` trials have: the one that they run on.
pub const HERE: &str = "here";

const MEMORY_MIB: u32 = 1024;
const HZ: u32 = 250;
const QUANTUM_NS: u32 = 1_000;
const PAUSE_NS: u32 = 40;

/// A machine as its TOML file describes it. `live` uses the host and records its properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The file's stem, unique.
    pub name: String,
    /// One sentence for `fairground list machines`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Logical CPUs, at least 1; the machine `here` has as many as the host.
    pub cpus: u32,
    /// Memory in MiB; the VM's `-m`.
    #[serde(default = "usual::<MEMORY_MIB>")]
    pub memory_mib: u32,
    /// Which clock the VM counts with.
    #[serde(default)]
    pub clock: Clock,
    /// Hardware threads per core; siblings have neighbouring numbers.
    #[serde(default = "usual::<1>", skip_serializing_if = "is_usual::<1>")]
    pub smt: u32,
    /// Speed of each thread of a core while more than one is busy, percent of a thread alone; only
    /// the simulator uses it. The default of a file with `smt = 2` is 60.
    #[serde(default = "usual::<100>", skip_serializing_if = "is_usual::<100>")]
    pub smt_percent: u32,
    /// Speed of all cores while 1, 2, … of them are busy, percent; the last value holds for more;
    /// empty: 100. Only the simulator uses it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boost_percent: Vec<u32>,
    /// Last-level caches; each serves an equal, contiguous range of CPUs.
    #[serde(default = "usual::<1>", skip_serializing_if = "is_usual::<1>")]
    pub llcs: u32,
    /// NUMA nodes; each has an equal, contiguous range of CPUs.
    #[serde(default = "usual::<1>", skip_serializing_if = "is_usual::<1>")]
    pub nodes: u32,
    /// Speed of each CPU, 1024 is full speed; empty: all full. Deadline tasks use their budgets up
    /// more slowly on a slow CPU, wake on one that is fast enough, and can reserve 95 % of the sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity: Vec<u32>,
    /// Ticks per second (`CONFIG_HZ`).
    #[serde(default = "usual::<HZ>", skip_serializing_if = "is_usual::<HZ>")]
    pub hz: u32,
    /// CPU time of each second that real-time and deadline tasks may use, µs
    /// (`sched_rt_runtime_us`). Deadline tasks can reserve this much of each CPU; kernels before
    /// 6.12 throttle real-time tasks beyond it. −1: no limit. Kernels from 6.12 on always keep 50
    /// ms of each second for other tasks (the fair server of each CPU).
    #[serde(default = "default_rt_runtime_us", skip_serializing_if = "is_default_rt_runtime_us")]
    pub rt_runtime_us: i64,
    /// Whether each session of tasks is a group of its own (`CONFIG_SCHED_AUTOGROUP` and
    /// `kernel.sched_autogroup_enabled`), as on Debian.
    #[serde(default, skip_serializing_if = "is_default")]
    pub autogroup: bool,
    /// The length of a round of several CPUs under the virtual clock of the VM, ns. They see each
    /// other's memory up to this much early or late.
    #[serde(default = "usual::<QUANTUM_NS>", skip_serializing_if = "is_usual::<QUANTUM_NS>")]
    pub quantum_ns: u32,
    /// The duration of a `PAUSE` instruction, with which a CPU spins, under the same clock, ns.
    #[serde(default = "usual::<PAUSE_NS>", skip_serializing_if = "is_usual::<PAUSE_NS>")]
    pub pause_ns: u32,
    /// What the kernel's work costs in the simulator.
    #[serde(default, skip_serializing_if = "Costs::is_default")]
    pub costs: Costs,
}

impl Machine {
    /// Whether several CPUs are counted, for which a VM needs the emulator of its own.
    pub fn counts_several_cpus(&self) -> bool {
        self.clock == Clock::Virtual && self.cpus > 1
    }
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            name: String::new(),
            about: String::new(),
            cpus: 1,
            memory_mib: MEMORY_MIB,
            clock: Clock::Real,
            smt: 1,
            smt_percent: 100,
            boost_percent: Vec::new(),
            llcs: 1,
            nodes: 1,
            capacity: Vec::new(),
            hz: HZ,
            rt_runtime_us: default_rt_runtime_us(),
            autogroup: false,
            quantum_ns: QUANTUM_NS,
            pause_ns: PAUSE_NS,
            costs: Costs::default(),
        }
    }
}

const FILL_KIB_NS: u64 = 35;
const SOCKET_WRITE_NS: u64 = 600;
const SOCKET_READ_NS: u64 = 500;
const BUFFER_FREE_NS: u64 = 100;
const THREAD_NS: u64 = 15_000;
const THREAD_START_NS: u64 = 10_000;
const TOUCH_NS: u64 = 500;
const SCAN_NS: u64 = 40;

/// Trials from before there was this cost keep their identity.
fn is_cost<const USUAL: u64>(ns: &u64) -> bool {
    *ns == USUAL
}

/// What work costs in the simulator, in nanoseconds of CPU time unless noted. A measured
/// table comes from the VM; the defaults are a usual server core's order of magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Choosing the next task, up to the moment that counts as the switch.
    pub schedule_ns: u64,
    /// The switch from one task (or the idle task) to another, from that moment to the next task's
    /// own code.
    pub context_switch_ns: u64,
    /// A wake-up, on the CPU of the waking task.
    pub wakeup_ns: u64,
    /// From the sending of an inter-processor interrupt to its handling: a delay, not CPU time.
    pub ipi_ns: u64,
    /// Leaving the idle state.
    pub idle_exit_ns: u64,
    /// A timer's interrupt.
    pub timer_ns: u64,
    /// Setting a timer, and sleeping for it.
    pub timer_set_ns: u64,
    /// The interrupt in which a CPU carries out its kicks.
    pub kick_ns: u64,
    /// A scheduler tick.
    pub tick_ns: u64,
    /// Each call of one of the scheduler's callbacks.
    pub callback_ns: u64,
    /// Entering and leaving a system call.
    pub syscall_ns: u64,
    /// Each call of a kernel function by a callback.
    pub look_ns: u64,
    /// Each look at a task while a callback goes through a queue, with what it reads of the task:
    /// what makes long scans expensive.
    #[serde(skip_serializing_if = "is_cost::<SCAN_NS>")]
    pub scan_ns: u64,
    /// Holding the lock of a shared dispatch queue once; others wait that long.
    pub queue_lock_ns: u64,
    /// Fetching a lock (or a queue's first line) that another last-level cache held last.
    pub queue_remote_ns: u64,
    /// Refilling the cache after moving to a sibling thread.
    pub refill_smt_ns: u64,
    /// Refilling it after moving to another core of the same last-level cache.
    pub refill_llc_ns: u64,
    /// Refilling it after moving to another last-level cache of the same node.
    pub refill_node_ns: u64,
    /// Refilling it after moving to another node.
    pub refill_remote_ns: u64,
    /// `fork`, on the parent's CPU.
    pub fork_ns: u64,
    /// `execve`.
    pub exec_ns: u64,
    /// The end of a thread.
    pub exit_ns: u64,
    /// Creating a thread, on its creator's CPU. Tasks are created before the common start.
    #[serde(skip_serializing_if = "is_cost::<THREAD_NS>")]
    pub thread_ns: u64,
    /// A new thread's work before the common start: it touches its stack and names itself.
    #[serde(skip_serializing_if = "is_cost::<THREAD_START_NS>")]
    pub thread_start_ns: u64,
    /// A forked process's first steps: it copies the pages that it touches.
    pub process_start_ns: u64,
    /// The end of a forked process: its memory is freed.
    pub process_end_ns: u64,
    /// A task's own overhead for a `run` step, besides the work.
    pub step_ns: u64,
    /// Its overhead for a job of a timer: two clock reads and the counting.
    pub job_ns: u64,
    /// A write to a pipe or to `/dev/null`, besides the system call and the copying.
    pub write_ns: u64,
    /// A read from a pipe, besides these.
    pub read_ns: u64,
    /// A write to a socket of the Unix domain, besides these.
    #[serde(skip_serializing_if = "is_cost::<SOCKET_WRITE_NS>")]
    pub socket_write_ns: u64,
    /// A read from such a socket, besides these.
    #[serde(skip_serializing_if = "is_cost::<SOCKET_READ_NS>")]
    pub socket_read_ns: u64,
    /// Freeing a socket's buffer when the kernel's allocator has enough of them at hand: what it
    /// takes more.
    #[serde(skip_serializing_if = "is_cost::<BUFFER_FREE_NS>")]
    pub buffer_free_ns: u64,
    /// A read from a file or a write to it, besides these.
    pub file_ns: u64,
    /// Allocating and freeing a page for a pipe.
    pub page_ns: u64,
    /// Copying one KiB to or from a pipe.
    pub copy_kib_ns: u64,
    /// Copying one KiB to or from a file in memory, page lookup included.
    pub file_kib_ns: u64,
    /// The first touch of a page of a task's file, or of the buffer that it reads a file into: the
    /// kernel allocates the page and clears it.
    #[serde(skip_serializing_if = "is_cost::<TOUCH_NS>")]
    pub touch_ns: u64,
    /// Writing one KiB to memory, to a buffer that fits into the last-level cache.
    #[serde(skip_serializing_if = "is_cost::<FILL_KIB_NS>")]
    pub fill_kib_ns: u64,
    /// The disk's time for each request: a delay, not CPU time.
    pub disk_access_ns: u64,
    /// The disk's time for each KiB.
    pub disk_kib_ns: u64,
}

impl Costs {
    /// A machine on which only the tasks' own work costs time: for tests and for questions of pure
    /// policy.
    pub const FREE: Costs = Costs {
        schedule_ns: 0,
        context_switch_ns: 0,
        wakeup_ns: 0,
        ipi_ns: 0,
        idle_exit_ns: 0,
        timer_ns: 0,
        timer_set_ns: 0,
        kick_ns: 0,
        tick_ns: 0,
        callback_ns: 0,
        look_ns: 0,
        scan_ns: 0,
        syscall_ns: 0,
        queue_lock_ns: 0,
        queue_remote_ns: 0,
        refill_smt_ns: 0,
        refill_llc_ns: 0,
        refill_node_ns: 0,
        refill_remote_ns: 0,
        fork_ns: 0,
        exec_ns: 0,
        exit_ns: 0,
        thread_ns: 0,
        thread_start_ns: 0,
        process_start_ns: 0,
        process_end_ns: 0,
        step_ns: 0,
        job_ns: 0,
        write_ns: 0,
        read_ns: 0,
        socket_write_ns: 0,
        socket_read_ns: 0,
        buffer_free_ns: 0,
        file_ns: 0,
        page_ns: 0,
        copy_kib_ns: 0,
        file_kib_ns: 0,
        touch_ns: 0,
        fill_kib_ns: 0,
        disk_access_ns: 0,
        disk_kib_ns: 0,
    };

    fn is_default(&self) -> bool {
        *self == Costs::default()
    }
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            schedule_ns: 300,
            context_switch_ns: 600,
            wakeup_ns: 500,
            ipi_ns: 800,
            idle_exit_ns: 500,
            timer_ns: 700,
            timer_set_ns: 300,
            kick_ns: 500,
            tick_ns: 1_000,
            callback_ns: 60,
            look_ns: 10,
            scan_ns: SCAN_NS,
            syscall_ns: 200,
            queue_lock_ns: 50,
            queue_remote_ns: 60,
            refill_smt_ns: 0,
            refill_llc_ns: 1_000,
            refill_node_ns: 3_000,
            refill_remote_ns: 6_000,
            fork_ns: 40_000,
            exec_ns: 300_000,
            exit_ns: 20_000,
            thread_ns: THREAD_NS,
            thread_start_ns: THREAD_START_NS,
            process_start_ns: 30_000,
            process_end_ns: 30_000,
            step_ns: 20,
            job_ns: 100,
            write_ns: 250,
            read_ns: 200,
            socket_write_ns: SOCKET_WRITE_NS,
            socket_read_ns: SOCKET_READ_NS,
            buffer_free_ns: BUFFER_FREE_NS,
            file_ns: 400,
            page_ns: 300,
            copy_kib_ns: 100,
            file_kib_ns: 150,
            touch_ns: TOUCH_NS,
            fill_kib_ns: FILL_KIB_NS,
            disk_access_ns: 80_000,
            disk_kib_ns: 500,
        }
    }
}

/// The VM's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Instruction counting: one instruction is one nanosecond, bit-identical on every host.
    Virtual,
    /// The host's clock.
    #[default]
    Real,
}

fn default_rt_runtime_us() -> i64 {
    950_000
}

fn is_default_rt_runtime_us(value: &i64) -> bool {
    *value == default_rt_runtime_us()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_not_written() {
        let machine = Machine { name: "m".into(), ..Machine::default() };
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(json, r#"{"name":"m","cpus":1,"memory_mib":1024,"clock":"real"}"#);
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
        let costs: Costs = serde_json::from_str(r#"{"tick_ns": 5}"#).unwrap();
        assert_eq!(costs, Costs { tick_ns: 5, ..Costs::default() });
    }
}
