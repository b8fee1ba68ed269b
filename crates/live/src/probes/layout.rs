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
