// SPDX-License-Identifier: GPL-2.0-only
//! Linux scheduling policies: which parameters a task can have (`sched(7)`).

use crate::{Policy, PolicyClass};

use crate::play::Refusal;
use crate::play::limits::TIME_US_MAX;

/// The real-time priority that Fairground keeps for itself, so that it can end a trial of any
/// workload.
pub const LAB_PRIORITY: u32 = 99;

/// The classes and the names that files and command lines give them.
pub const CLASSES: [(&str, PolicyClass); 6] = [
    ("other", PolicyClass::Other),
    ("batch", PolicyClass::Batch),
    ("idle", PolicyClass::Idle),
    ("fifo", PolicyClass::Fifo),
    ("rr", PolicyClass::Rr),
    ("deadline", PolicyClass::Deadline),
];

/// The name of a class, as in [`CLASSES`].
pub fn class_name(class: PolicyClass) -> &'static str {
    CLASSES.iter().find(|(_, other)| *other == class).map_or("", |(name, _)| name)
}

pub fn check(policy: &Policy) -> Result<(), Refusal> {
    let Policy { class, nice, priority, runtime_us, deadline_us, period_us, reclaim } = *policy;
    let name = class_name(class);
    let refuse = |message: String, hint: &str| Err(Refusal::new(message, hint));
    let real_time = matches!(class, PolicyClass::Fifo | PolicyClass::Rr);
    if !(-20..=19).contains(&nice) {
        return refuse(format!("nice {nice} is out of range"), "write -20 (most) … 19 (least)");
    }
    if nice != 0 && !matches!(class, PolicyClass::Other | PolicyClass::Batch) {
        return refuse(format!("'{name}' has no nice value"), "nice is for 'other' and 'batch'");
    }
    if real_time {
        check_priority(name, priority)?;
    }
    if !real_time && priority != 0 {
        return refuse(format!("'{name}' has no priority"), "priority is for 'fifo' and 'rr'");
    }
    if reclaim && class != PolicyClass::Deadline {
        return refuse(format!("'{name}' reclaims nothing"), "reclaim is for 'deadline'");
    }
    match class {
        PolicyClass::Deadline => check_deadline(runtime_us, deadline_us, period_us),
        // The slice that the task requests.
        PolicyClass::Other | PolicyClass::Batch if (deadline_us, period_us) == (0, 0) => {
            crate::play::limits::time_ns(runtime_us).map(|_| ())
        }
        _ if (runtime_us, deadline_us, period_us) != (0, 0, 0) => refuse(
            format!("'{name}' has no runtime, deadline or period"),
            "they are for 'deadline'",
        ),
        _ => Ok(()),
    }
}

fn check_priority(class: &str, priority: u32) -> Result<(), Refusal> {
    match priority {
        LAB_PRIORITY => Err(Refusal::new(
            format!("priority {LAB_PRIORITY} is kept for Fairground, which must end the trial"),
            "write 1 … 98",
        )),
        1..LAB_PRIORITY => Ok(()),
        _ => Err(Refusal::new(
            format!("'{class}' needs a priority from 1 to 98"),
            "write e.g. priority = 50; 98 wins",
        )),
    }
}

/// The kernel's rule (`__checkparam_dl`): 1024 ns ≤ runtime ≤ deadline ≤ period.
fn check_deadline(runtime_us: u64, deadline_us: u64, period_us: u64) -> Result<(), Refusal> {
    let relative_us = if deadline_us == 0 { period_us } else { deadline_us };
    let ordered = 2 <= runtime_us && runtime_us <= relative_us && relative_us <= period_us;
    if ordered && period_us <= TIME_US_MAX {
        return Ok(());
    }
    Err(Refusal::new(
        format!(
            "runtime {runtime_us}, deadline {relative_us}, period {period_us} µs are impossible"
        ),
        "write 2 ≤ runtime_us ≤ deadline_us ≤ period_us",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy_of(class: PolicyClass) -> Policy {
        Policy { class, ..Policy::default() }
    }

    #[test]
    fn deadline_parameters_are_ordered() {
        let check = |runtime_us, deadline_us, period_us| {
            let policy = policy_of(PolicyClass::Deadline);
            check(&Policy { runtime_us, deadline_us, period_us, ..policy }).is_ok()
        };
        assert!(check(10, 0, 100) && check(10, 20, 100));
        assert!(!check(1, 0, 100) && !check(50, 20, 100) && !check(50, 200, 100));
        assert!(!check(10, 0, u64::MAX));
    }

    #[test]
    fn the_highest_priority_is_kept_for_the_lab() {
        let priority = |priority| check(&Policy { priority, ..policy_of(PolicyClass::Fifo) });
        assert!(priority(1).is_ok() && priority(98).is_ok());
        assert!(priority(99).unwrap_err().message.contains("kept for Fairground"));
        assert!(priority(0).is_err() && priority(100).is_err());
    }

    #[test]
    fn a_slice_is_no_deadline() {
        assert!(check(&Policy { runtime_us: 3_000, ..policy_of(PolicyClass::Batch) }).is_ok());
        assert!(check(&Policy { runtime_us: u64::MAX, ..policy_of(PolicyClass::Other) }).is_err());
        assert!(check(&Policy { period_us: 1, ..policy_of(PolicyClass::Other) }).is_err());
    }
}
