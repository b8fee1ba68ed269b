// SPDX-License-Identifier: GPL-2.0-only
//! What control groups have to do with waits, in words.

use stats::explain::{GroupCause, Limit};

use super::sentences::{share, time};

/// `Its group …` had used its quota or its share.
pub fn sentence(cause: &GroupCause) -> String {
    let (name, lasted) = (&cause.group, time(cause.ns));
    match cause.limit {
        Limit::Quota { quota_ns, period_ns } => {
            let (quota, period) = (time(quota_ns), time(period_ns));
            format!(
                "Its group `{name}` had used its quota of {quota} in {period}, and none of its \
                 tasks ran for {lasted}."
            )
        }
        Limit::Share { weight: 0, .. } => {
            format!("Its group `{name}` is idle, and others ran for {lasted}.")
        }
        Limit::Share { weight, of, used_ns, of_ns, before_ns } => {
            let had = if cause.had_its_share() { "had used its" } else { "has a small" };
            let (part, used) = (share(weight, of), share(used_ns, of_ns));
            format!(
                "Its group `{name}` {had} share, {part} (weight {weight} of {of}): it had {used} \
                 of its parent's CPU time in {}, and others ran for {lasted}.",
                time(before_ns)
            )
        }
    }
}
