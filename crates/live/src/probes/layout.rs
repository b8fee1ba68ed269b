// SPDX-License-Identifier: GPL-2.0-only
//! What the probes and their reader share.

pub use compile::probe_types::{
    ProbeEvent, ProbeSeries, ProbeTally, ProbeTask, ProbeTotals, probe_activity as activity,
    probe_detail::PREEMPTED, probe_event_kind as event_kind,
};
use compile::probe_types::{probe_measure, probe_size, probe_spent};

pub const MAX_GROUPS: usize = probe_size::MAX_GROUPS as usize;
/// Of one histogram: [`model::histogram::bucket`] of waits up to 2^40 ns.
pub const BUCKETS: usize = probe_size::BUCKETS as usize;
/// Histograms of one group.
pub const MEASURES: usize = probe_measure::MEASURES as usize;
pub const WAKEUPS: usize = probe_measure::WAKEUPS as usize;
pub const OTHER_WAITS: usize = probe_measure::OTHER_WAITS as usize;
/// Places in `ProbeInterval::ns`.
pub const BUSY: usize = probe_spent::BUSY as usize;
pub const WAITED: usize = probe_spent::WAITED as usize;

/// The smallest sample; 0 when there is none.
pub fn smallest_ns(tally: &ProbeTally) -> u64 {
    if tally.count == 0 { 0 } else { !tally.min_complement }
}

pub fn add_tally(sum: &mut ProbeTally, other: &ProbeTally) {
    sum.count += other.count;
    sum.max_ns = sum.max_ns.max(other.max_ns);
    sum.min_complement = sum.min_complement.max(other.min_complement);
}

pub fn add_totals(sum: &mut ProbeTotals, other: &ProbeTotals) {
    sum.tasks += other.tasks;
    sum.cpu_time_ns += other.cpu_time_ns;
    sum.voluntary_switches += other.voluntary_switches;
    sum.involuntary_switches += other.involuntary_switches;
    sum.migrations += other.migrations;
    add_tally(&mut sum.wakeups, &other.wakeups);
    add_tally(&mut sum.other_waits, &other.other_waits);
}

#[cfg(test)]
mod tests {
    use super::*;

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
