// SPDX-License-Identifier: GPL-2.0-only
//! The structures of `probes.h` as Rust sees them. A test compares them with the object's BTF.

use model::series::PLACES;

/// The most task groups.
pub const MAX_GROUPS: usize = 64;

/// Buckets of one histogram: [`model::histogram::bucket`] of waits up to 2^40 ns.
pub const BUCKETS: usize = (40 - 11) * 1024 + 2048;

/// The histograms of a group: waits after wake-ups, and waits for other reasons.
pub const MEASURES: usize = 2;

/// The first histogram.
pub const WAKEUPS: usize = 0;

/// The second histogram.
pub const OTHER_WAITS: usize = 1;

/// `enum probe_activity`.
pub mod activity {
    /// The slot is unused.
    pub const FREE: u32 = 0;
    /// On a CPU.
    pub const RUNNING: u32 = 1;
    /// Runnable, but not running.
    pub const WAITING: u32 = 2;
    /// Blocked.
    pub const ASLEEP: u32 = 3;
    /// Ended.
    pub const DEAD: u32 = 4;
}

/// `enum probe_event_kind`.
pub mod event_kind {
    /// `sched_switch`.
    pub const SWITCH: u32 = 0;
    /// `sched_waking`.
    pub const WAKING: u32 = 1;
    /// `sched_process_fork`.
    pub const FORK: u32 = 2;
    /// A task has put bytes into a stream.
    pub const SENT: u32 = 4;
    /// A task has taken bytes out of a stream.
    pub const TAKEN: u32 = 5;
}

/// In [`Event::detail`]: the task could have run on.
pub const PREEMPTED: u32 = 1 << 31;

/// A count of samples with their exact extremes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The number of samples.
    pub count: u64,
    /// The largest.
    pub max_ns: u64,
    /// The complement of the smallest.
    pub min_complement: u64,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.min_complement = self.min_complement.max(other.min_complement);
    }

    /// The smallest sample; 0 when there is none.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { !self.min_complement }
    }
}

/// The state of a task.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskSlot {
    /// The kernel's number of the task.
    pub pid: u32,
    /// Its group.
    pub group: u32,
    /// One of [`activity`].
    pub activity: u32,
    /// Where it ran last, or −1.
    pub cpu: i32,
    /// When its present activity began.
    pub since_ns: u64,
    /// When it was woken and has not run since, or 0.
    pub woken_ns: u64,
    /// Time on CPUs.
    pub cpu_time_ns: u64,
    /// It blocked.
    pub voluntary_switches: u64,
    /// It could have run on.
    pub involuntary_switches: u64,
    /// It ran on another CPU than before.
    pub migrations: u64,
    /// Waits after wake-ups.
    pub wakeups: Tally,
    /// Waits after a fork, a preemption or a yield.
    pub other_waits: Tally,
    /// The group of the child that it forks next, plus one; 0: the table's.
    pub next_child: u64,
    /// Makes it 128 bytes, so that an index is a shift.
    pub padding: u64,
}

/// The counts of tasks whose slots are in use again.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// The number of tasks.
    pub tasks: u64,
    /// Time on CPUs.
    pub cpu_time_ns: u64,
    /// They blocked.
    pub voluntary_switches: u64,
    /// They could have run on.
    pub involuntary_switches: u64,
    /// They ran on another CPU than before.
    pub migrations: u64,
    /// Waits after wake-ups.
    pub wakeups: Tally,
    /// Waits after a fork, a preemption or a yield.
    pub other_waits: Tally,
}

impl Totals {
    /// Adds others.
    pub fn add(&mut self, other: &Totals) {
        self.tasks += other.tasks;
        self.cpu_time_ns += other.cpu_time_ns;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.migrations += other.migrations;
        self.wakeups.add(&other.wakeups);
        self.other_waits.add(&other.other_waits);
    }
}

/// In [`Interval`]: running.
pub const BUSY: usize = 0;

/// In [`Interval`]: waiting for a CPU.
pub const WAITED: usize = 1;

/// The counts of a CPU in one interval of [`model::series`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Spans of time that begin or end in it.
    pub ns: [u64; 2],
    /// How many more spans fill intervals from here on than fill those before.
    pub filled: [i64; 2],
    /// Switches away from tasks.
    pub switches: u64,
    /// New tasks.
    pub forks: u64,
    /// Makes it 64 bytes.
    pub padding: [u64; 2],
}

/// The counts of a CPU over time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpuSeries {
    /// Where the interval of its latest switch begins, and where it ends.
    pub present_ns: [u64; 2],
    /// That interval's place.
    pub place: u64,
    /// Makes it 64 bytes.
    pub padding: [u64; 5],
    /// One for each place.
    pub intervals: [Interval; PLACES],
}

/// An event of a trace.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The kernel's monotonic clock.
    pub time_ns: u64,
    /// One of [`event_kind`].
    pub kind: u32,
    /// Where.
    pub cpu: u32,
    /// The task that stopped, the parent, the task that wakes, or the stream.
    pub prev: u32,
    /// The task that runs next, the child, or the task itself.
    pub next: u32,
    /// The kernel's priority of `prev`.
    pub prev_prio: u32,
    /// The kernel's priority of `next`.
    pub next_prio: u32,
    /// A switch: the raw state with [`PREEMPTED`]; a waking: the target CPU; a message:
    /// its bytes.
    pub detail: u32,
    /// A switch: the exit state of `prev`; a waking: `enum record_waker`.
    pub exit_state: u32,
    /// A switch: why `prev` stopped, as the recorder has it.
    pub reason: u32,
    /// Makes it 64 bytes.
    pub padding: u32,
    /// The name of `next`.
    pub comm: [u8; 16],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::variable::members;
    use libbpf_rs::btf::Btf;
    use std::mem::{offset_of, size_of};

    fn offsets(structure: &str) -> Vec<usize> {
        let object = compile::probes_object();
        let btf = Btf::from_raw("probes", object).expect("an object").expect("with BTF");
        let members = members(&btf, structure).expect("the structure is in the object");
        let mut offsets: Vec<usize> = members.iter().map(|member| member.offset).collect();
        offsets.push(members.last().map_or(0, |member| member.end));
        offsets
    }

    #[test]
    fn rust_and_c_agree_on_tasks() {
        let rust = [
            offset_of!(TaskSlot, pid),
            offset_of!(TaskSlot, group),
            offset_of!(TaskSlot, activity),
            offset_of!(TaskSlot, cpu),
            offset_of!(TaskSlot, since_ns),
            offset_of!(TaskSlot, woken_ns),
            offset_of!(TaskSlot, cpu_time_ns),
            offset_of!(TaskSlot, voluntary_switches),
            offset_of!(TaskSlot, involuntary_switches),
            offset_of!(TaskSlot, migrations),
            offset_of!(TaskSlot, wakeups),
            offset_of!(TaskSlot, other_waits),
            offset_of!(TaskSlot, next_child),
            offset_of!(TaskSlot, padding),
            size_of::<TaskSlot>(),
        ];
        assert_eq!(offsets("probe_task"), rust);
    }

    #[test]
    fn rust_and_c_agree_on_events_and_totals() {
        let event = offsets("probe_event");
        assert_eq!(event[8], offset_of!(Event, exit_state));
        assert_eq!(event[9], offset_of!(Event, reason));
        assert_eq!(event[11..], [offset_of!(Event, comm), size_of::<Event>()]);
        let totals = offsets("probe_totals");
        let tallies = [offset_of!(Totals, wakeups), offset_of!(Totals, other_waits)];
        assert_eq!(totals[5..], [tallies[0], tallies[1], size_of::<Totals>()]);
    }

    #[test]
    fn rust_and_c_agree_on_series() {
        let interval = [
            offset_of!(Interval, ns),
            offset_of!(Interval, filled),
            offset_of!(Interval, switches),
            offset_of!(Interval, forks),
            offset_of!(Interval, padding),
            size_of::<Interval>(),
        ];
        assert_eq!(offsets("probe_interval"), interval);
        let series = offsets("probe_series");
        assert_eq!(series[2], offset_of!(CpuSeries, place));
        assert_eq!(series[4..], [offset_of!(CpuSeries, intervals), size_of::<CpuSeries>()]);
    }

    /// The place as `level()` and `number()` of probes.bpf.c compute it.
    fn place(since_ns: u64) -> usize {
        let mut nth = since_ns / 10_000_000 / 60;
        let mut level = 0;
        if nth >> 16 != 0 {
            level = 16;
        } else {
            for step in [8, 4, 2, 1] {
                if nth >> step != 0 {
                    (level, nth) = (level + step, nth >> step);
                }
            }
        }
        let number = ((since_ns / 10_000_000) >> level).min(119);
        (level * 60 + number) as usize
    }

    #[test]
    fn places_are_the_models() {
        let mut since_ns = 1_u64;
        while since_ns < 1 << 48 {
            for near in [since_ns - 1, since_ns, since_ns.next_multiple_of(10_000_000)] {
                assert_eq!(place(near), model::series::place(near), "{near}");
            }
            since_ns += since_ns / 200 + 1;
        }
    }

    /// The bucket as `bucket()` of probes.bpf.c computes it.
    fn bucket(value: u64) -> usize {
        let shift = (64 - (value >> 11).leading_zeros()) as usize;
        if value >> 40 != 0 { BUCKETS - 1 } else { shift * 1024 + (value >> shift) as usize }
    }

    #[test]
    fn buckets_are_the_models() {
        let mut value = 1_u64;
        while value < (1 << 40) - 1 {
            for near in [value - 1, value, value + 1] {
                assert_eq!(bucket(near), model::histogram::bucket(near), "{near}");
            }
            value += value / 150 + 1;
        }
        assert_eq!(bucket((1 << 40) - 1), BUCKETS - 1);
        assert_eq!(bucket(1 << 40), BUCKETS - 1);
        assert_eq!(bucket(0), 0);
    }
}
