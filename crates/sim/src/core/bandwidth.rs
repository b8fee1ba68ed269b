// SPDX-License-Identifier: GPL-2.0-only
//! The parameters of deadline tasks, and the bandwidth that they reserve.

use model::{Policy, PolicyClass};

/// The whole of a CPU in the fixed-point numbers of bandwidths (`BW_UNIT`).
pub const WHOLE_CPU: u64 = 1 << 20;
const PERIOD_US: u64 = 1_000_000;
const LEAST_RUNTIME_NS: u64 = 1024;

/// What a deadline task reserves, ns.
pub struct Reservation {
    /// CPU time in each period.
    pub runtime: u64,
    /// The time from a release to its deadline.
    pub deadline: u64,
    /// The time from a release to the next.
    pub period: u64,
}

impl Reservation {
    /// The parameters of a policy; a parameter that is 0 follows from the others.
    pub fn new(policy: &Policy) -> Reservation {
        let deadline = if policy.deadline_us == 0 { policy.period_us } else { policy.deadline_us };
        let period = if policy.period_us == 0 { deadline } else { policy.period_us };
        Reservation {
            runtime: policy.runtime_us * 1_000,
            deadline: deadline * 1_000,
            period: period * 1_000,
        }
    }

    /// Whether the kernel would accept the parameters (`__checkparam_dl`).
    pub fn is_valid(&self) -> bool {
        let Reservation { runtime, deadline, period } = *self;
        deadline > 0 && runtime >= LEAST_RUNTIME_NS && runtime <= deadline && deadline <= period
    }

    /// Whether the remaining budget is too large for the time to the deadline at the reserved rate:
    /// `dl_entity_overflow()`, with the same reduced precision.
    pub fn overflows(&self, left: i64, until_deadline: u64) -> bool {
        let left = u128::from((left.max(0) as u64) >> 10) * u128::from(self.deadline >> 10);
        left > u128::from(until_deadline >> 10) * u128::from(self.runtime >> 10)
    }
}

/// `sched_rt_runtime_us` as a share of its period, in units of bandwidth; -1 means no limit.
pub fn limit(rt_runtime_us: i64) -> Option<u64> {
    u64::try_from(rt_runtime_us).ok().map(|us| us * WHOLE_CPU / PERIOD_US)
}

/// The bandwidth that a policy reserves; 0 for policies of other classes.
pub fn reserved(policy: &Policy) -> u64 {
    let Reservation { runtime, period, .. } = Reservation::new(policy);
    match policy.class {
        PolicyClass::Deadline if period > 0 => runtime * WHOLE_CPU / period,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_wake_up_rule_is_that_of_the_cbs() {
        let given = Reservation { runtime: 4 * MS, deadline: 8 * MS, period: 8 * MS };
        assert!(given.overflows(2 * MS as i64, 3 * MS));
        assert!(!given.overflows(2 * MS as i64, 5 * MS));
    }

    #[test]
    fn parameters_are_checked() {
        let is_valid = |runtime_us, deadline_us, period_us| {
            let policy = Policy { runtime_us, deadline_us, period_us, ..Policy::default() };
            Reservation::new(&policy).is_valid()
        };
        assert!(is_valid(10, 0, 100));
        assert!(!is_valid(1, 0, 100) && !is_valid(50, 20, 100));
        assert!(!is_valid(50, 200, 100));
    }
}
