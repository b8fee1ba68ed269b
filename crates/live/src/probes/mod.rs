// SPDX-License-Identifier: GPL-2.0-only
//! Counts scheduling events of the workload's tasks inside the kernel.
//!
//! `probes.bpf.c` counts. This side assigns threads to groups, starts and ends the counting, and
//! adds up. Nothing is transferred while the probes count, so that they disturb as little as
//! possible.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

use libbpf_rs::{Link, Object};
use model::record::ProbeCost;
use model::{Histogram, Trace, series};

pub(crate) mod maps;
mod reading;
mod trace;

use crate::facts::is_root;
use crate::loader::built_in::BuiltIn;
use crate::recorder::{self, reason};
use maps::{
    BUCKETS, MAX_GROUPS, MEASURES, OTHER_WAITS, ProbeSeries, ProbeTally, ProbeTask, ProbeTotals,
    SharedMap, Use, WAKEUPS, activity, add_totals, find_map, is_older, map_memory, size, slots,
};
pub use reading::{GroupReadings, Window};

/// Attached probes. Dropping them detaches them.
pub struct Probes {
    // Fields are dropped in order: the links first.
    links: Vec<Link>,
    object: Object,
    groups: Vec<String>,
    tasks: SharedMap<ProbeTask>,
    histograms: SharedMap<u64>,
    series: SharedMap<ProbeSeries>,
    /// By CPU and group, on kernels that `probes_older.h` is for.
    retired_older: Option<SharedMap<ProbeTotals>>,
    /// Copies of the tasks and of all groups' retired ones, from the end of the counting.
    stopped: SharedMap<ProbeTask>,
    stopped_retired: SharedMap<ProbeTotals>,
    globals: SharedMap<u8>,
    built_in: BuiltIn,
    trace: bool,
}

fn load(probes: &BuiltIn, needed: Use) -> Result<Object, String> {
    let constants: [(&str, &[u8]); 2] = [
        ("slot_mask", &(needed.slots as u32 - 1).to_le_bytes()),
        ("takes_file", &reason::takes_file()),
    ];
    probes.load(&constants, |open| size(open, needed))
}

/// Lets tasks announce the group of their next child, see [`Probes::announcer`]. Its method is
/// async-signal-safe.
#[derive(Clone, Copy)]
pub struct Announcer {
    first: *mut ProbeTask,
    mask: usize,
}

// SAFETY: it points into memory shared with the kernel; each task writes only its own slot.
unsafe impl Send for Announcer {}
// SAFETY: as above.
unsafe impl Sync for Announcer {}

impl Announcer {
    /// The calling task's next child belongs to this group.
    pub fn next_child(&self, group: usize) {
        // SAFETY: gettid has no arguments; the slot is inside the mapping, as numbers are masked.
        unsafe {
            let slot = self.first.add(libc::gettid() as usize & self.mask);
            (&raw mut (*slot).next_child).write_volatile(group as u64 + 1);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// Counts of each group, in the order given to [`Probes::attach`].
    pub groups: Vec<GroupReadings>,
    /// Counts of all groups together over time.
    pub series: series::Counts,
    pub counted_ns: u64,
    /// The events, if a trace was demanded.
    pub trace: Option<Trace>,
    /// Cost of each probe by its name, where the kernel counts it (`kernel.bpf_stats_enabled`).
    pub cost: BTreeMap<String, ProbeCost>,
    /// Forked tasks that could not be counted, because a living task has their slot. It can only
    /// differ from 0 when task numbers exceed [`maps::SLOTS_MOST`] and wrap round; then the counts
    /// are too small.
    pub untracked: u64,
}

impl Probes {
    /// Loads and attaches the probes for these groups of tasks. With `trace`, they also keep every
    /// switch, wake-up, fork and exit of every task.
    ///
    /// # Errors
    /// The reason in one sentence: no BTF, no privilege, too many groups. The trial can go on
    /// without probes.
    pub fn attach(groups: &[String], trace: bool) -> Result<Probes, String> {
        check_host(groups)?;
        let because = |error: libbpf_rs::Error| format!("the probes cannot be attached: {error}");
        let no_memory = |error| format!("the probes' counts cannot be kept: {error}");
        let built_in = BuiltIn::new("the probes", compile::probes_object())?;
        let (slots, cpus) = (slots(), libbpf_rs::num_possible_cpus().map_err(because)?);
        let older = is_older();
        let needed = Use { slots, cpus, groups: groups.len(), trace, older, messages: trace };
        let object = load(&built_in, needed).or_else(|why| {
            if trace { load(&built_in, needed.without_messages()) } else { Err(why) }
        })?;
        let mut probes = Probes {
            links: Vec::new(),
            tasks: map_memory(&object, "tasks", slots)?,
            histograms: map_memory(&object, "histograms", groups.len() * MEASURES * BUCKETS)?,
            series: map_memory(&object, "series", cpus)?,
            retired_older: older
                .then(|| map_memory(&object, "retired_older", cpus * MAX_GROUPS))
                .transpose()?,
            stopped: SharedMap::own(slots).map_err(no_memory)?,
            stopped_retired: SharedMap::own(groups.len()).map_err(no_memory)?,
            globals: map_memory(&object, ".bss", built_in.bss_bytes())?,
            groups: groups.to_vec(),
            object,
            built_in,
            trace,
        };
        // Number 0 is every CPU's idle task, which must not match an empty slot.
        probes.tasks.set(0, ProbeTask { pid: u32::MAX, ..ProbeTask::default() });
        (0..groups.len()).try_for_each(|group| probes.set_fork_group(group, group))?;
        for program in probes.object.progs_mut().filter(|program| program.autoload()) {
            probes.links.extend(maps::attach(&program).map_err(because)?);
        }
        Ok(probes)
    }

    /// Assigns a thread to a group, before the common start. Threads and processes that it makes
    /// later belong to the same group, or to the group set by [`Probes::set_fork_group`].
    ///
    /// # Errors
    /// When there is no such thread or group, or when its slot is taken.
    pub fn track(&self, tid: u32, group: usize) -> Result<(), String> {
        if group >= self.groups.len() {
            return Err(format!("there is no group {group}"));
        }
        let index = tid as usize & (self.tasks.len() - 1);
        let before = self.tasks.get(index);
        let taken =
            !matches!(before.activity, activity::FREE | activity::DEAD) && before.pid != tid;
        if taken {
            return Err(format!("the probes have one slot for tasks {tid} and {}", before.pid));
        }
        let task = ProbeTask {
            group: group as u32,
            activity: present_activity(tid)?,
            cpu: -1,
            since_ns: monotonic_ns(),
            ..ProbeTask::default()
        };
        self.tasks.set(index, task);
        // The task number is written last: from then on the kernel writes to the slot.
        fence(Ordering::SeqCst);
        self.tasks.set(index, ProbeTask { pid: tid, ..task });
        Ok(())
    }

    /// Sets the group of the children of a group's tasks. The default is the parents' group.
    pub fn set_fork_group(&self, parent: usize, child: usize) -> Result<(), String> {
        if parent >= self.groups.len() || child >= self.groups.len() {
            return Err(format!("there is no group {}", parent.max(child)));
        }
        self.globals.write(self.built_in.offset("fork_group") + 4 * parent, child as u32);
        Ok(())
    }

    /// Returns what tasks use to announce, before they fork, the group of the child. It must not be
    /// used after the probes were dropped.
    pub fn announcer(&self) -> Announcer {
        Announcer { first: self.tasks.place(0), mask: self.tasks.len() - 1 }
    }

    /// The common start: counts from now on. What began before is counted from now.
    pub fn start(&self) {
        if self.trace {
            // A kernel that refuses it has lost the map, and with it each wake-up's cause.
            let _ = maps::forget_interrupts(&self.object);
        }
        self.globals.write(self.built_in.offset("start_ns"), monotonic_ns());
        fence(Ordering::SeqCst);
        self.globals.write(self.built_in.offset("counting"), 1_u32);
    }

    /// The CPU time that a thread has used since the common start. `None` when a later process has
    /// its slot.
    pub fn cpu_time_ns(&self, tid: u32) -> Option<u64> {
        let task = self.tasks.get(tid as usize & (self.tasks.len() - 1));
        let window = Window { start_ns: task.since_ns, finish_ns: monotonic_ns() };
        (task.pid == tid).then(|| reading::cpu_time_ns(&task, window))
    }

    /// Stops counting: what tasks do afterwards is not in the [`readings`](Self::readings).
    ///
    /// The workload still plays here, and a task of it that is preempted in a page fault, and
    /// starves, may hold the lock of this process's mappings for ever. So nothing is allocated.
    ///
    /// The probes stay attached: the kernel detaches those of a trace when each of its tasks has
    /// run (`synchronize_rcu_tasks`), and under a scheduler that lets tasks starve that may never
    /// be so while the workload goes on. Dropping detaches them.
    pub fn stop(&self) -> Window {
        let started = self.globals.read::<u32>(self.built_in.offset("counting")) != 0;
        self.globals.write(self.built_in.offset("counting"), 0_u32);
        // After the last interval that counts, or shares could be above all CPUs.
        let finish_ns = monotonic_ns();
        self.tasks.iter().enumerate().for_each(|(index, task)| self.stopped.set(index, task));
        (0..self.groups.len())
            .for_each(|group| self.stopped_retired.set(group, self.retired(group)));
        let start_ns =
            if started { self.globals.read(self.built_in.offset("start_ns")) } else { finish_ns };
        Window { start_ns, finish_ns }
    }

    /// What was counted until [`stop`](Self::stop), which has answered with this window. Intervals
    /// that went on at its end are closed.
    pub fn readings(&self, window: Window) -> Readings {
        let tasks: Vec<ProbeTask> = self.stopped.iter().collect();
        Readings {
            groups: (0..self.groups.len()).map(|group| self.group(&tasks, group, window)).collect(),
            series: reading::over_time(self.series.iter(), tasks.iter(), window),
            counted_ns: window.finish_ns - window.start_ns,
            trace: self.trace.then(|| self.events(&tasks, window.start_ns)),
            cost: self.cost(),
            untracked: self.globals.read(self.built_in.offset("untracked")),
        }
    }

    fn group(&self, tasks: &[ProbeTask], group: usize, window: Window) -> GroupReadings {
        let is_member =
            |task: &&ProbeTask| task.activity != activity::FREE && task.group as usize == group;
        let members = tasks.iter().filter(is_member);
        let retired = self.stopped_retired.get(group);
        let (mut sum, wakeups, other_waits) = reading::group(members, &retired, window);
        let read = |measure, tally: &ProbeTally| Histogram {
            group: self.groups[group].as_str().into(),
            ..reading::histogram(&self.histograms, group, measure, tally)
        };
        sum.wakeup_latency =
            Histogram { name: "wakeup_latency_ns".into(), ..read(WAKEUPS, &wakeups) };
        sum.run_delay =
            Histogram { name: "run_delay_ns".into(), ..read(OTHER_WAITS, &other_waits) };
        sum.run_delay.merge(&sum.wakeup_latency);
        sum
    }

    /// What tasks of a group had counted whose slots are in use again.
    fn retired(&self, group: usize) -> ProbeTotals {
        let of_all = self.built_in.offset("retired") + group * size_of::<ProbeTotals>();
        let mut sum: ProbeTotals = self.globals.read(of_all);
        if let Some(by_cpu) = &self.retired_older {
            let of_group = (group..by_cpu.len()).step_by(MAX_GROUPS);
            of_group.for_each(|at| add_totals(&mut sum, &by_cpu.get(at)));
        }
        sum
    }

    fn events(&self, tasks: &[ProbeTask], start_ns: u64) -> Trace {
        let lost: u64 = self.globals.read(self.built_in.offset("lost_events"));
        let events = find_map(&self.object, "events").and_then(|ring| trace::drain(&ring));
        let group = |pid: u32| {
            let task = tasks[pid as usize & (tasks.len() - 1)];
            let known = task.pid == pid && task.activity != activity::FREE;
            if known { self.groups[task.group as usize].clone() } else { String::new() }
        };
        match events {
            Ok(events) => trace::trace(events, start_ns, lost, group),
            // A ring that cannot be read has lost at least something, and the report must say so.
            Err(_) => Trace { lost: lost.max(1), ..Trace::default() },
        }
    }

    /// The number of calls and the mean time of each probe, where the kernel counts them.
    fn cost(&self) -> BTreeMap<String, ProbeCost> {
        let loaded = self.object.progs().filter(|program| program.autoload());
        let cost = loaded.filter_map(|program| {
            let (runs, time_ns) = run_statistics(program.as_fd().as_raw_fd())?;
            let mean_ns = time_ns as f64 / runs as f64;
            let name = program.name().to_string_lossy().into_owned();
            (runs > 0).then_some((name, ProbeCost { runs, mean_ns }))
        });
        cost.collect()
    }
}

fn check_host(groups: &[String]) -> Result<(), String> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF), which the probes need".into());
    }
    if !is_root() {
        return Err("the probes need root".into());
    }
    if let Some(why) = recorder::space() {
        return Err(why);
    }
    match groups.len() {
        0 => Err("there are no task groups".into()),
        1..=MAX_GROUPS => Ok(()),
        many => {
            Err(format!("{many} task groups are too many for the probes, which take {MAX_GROUPS}"))
        }
    }
}

/// The current activity of a thread, by the letter in its `stat` file.
fn present_activity(tid: u32) -> Result<u32, String> {
    let stat = std::fs::read_to_string(format!("/proc/{tid}/stat"))
        .map_err(|error| format!("there is no thread {tid}: {error}"))?;
    // The name is in parentheses and may itself contain parentheses.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    Ok(match state {
        Some('R') if tid == nix::unistd::gettid().as_raw() as u32 => activity::RUNNING,
        Some('R') => activity::WAITING,
        _ => activity::ASLEEP,
    })
}

/// `CLOCK_MONOTONIC`, which is what `bpf_ktime_get_ns` reads.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Makes the kernel count the runs of all BPF programs and their time, as long as this is open;
/// `None`: it does not for this user.
pub(crate) fn count_runs() -> Option<OwnedFd> {
    // SAFETY: no pointers; the descriptor is new and ours.
    unsafe {
        let fd = libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// How often a program ran and for how long, as far as the kernel counts that.
pub(crate) fn run_statistics(program: i32) -> Option<(u64, u64)> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the kernel fills at most `length` bytes of the structure.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program, &mut info, &mut length) };
    (failed == 0).then_some((info.run_cnt, info.run_time_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probes_have_every_variable_that_is_looked_up() {
        let probes = BuiltIn::new("the probes", compile::probes_object()).expect("types");
        for name in ["counting", "start_ns", "fork_group", "untracked", "lost_events"] {
            probes.offset(name);
        }
        for name in ["slot_mask", "takes_file"] {
            probes.variable(name, ".rodata");
        }
        let retired = probes.variable("retired", ".bss");
        assert_eq!(retired.ty.size, MAX_GROUPS * size_of::<ProbeTotals>());
    }

    #[test]
    fn our_own_thread_runs() {
        let tid = nix::unistd::gettid().as_raw() as u32;
        assert_eq!(present_activity(tid), Ok(activity::RUNNING));
        assert!(present_activity(u32::MAX).unwrap_err().contains("no thread"));
    }
}
