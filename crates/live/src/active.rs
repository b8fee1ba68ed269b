// SPDX-License-Identifier: GPL-2.0-only
//! The active scheduler as the kernel reports it.

use std::fs;

use model::ActiveScheduler;
use model::record::fair_scheduler;

/// Reads which scheduler is active. A missing file leaves its field empty; a kernel without
/// sched_ext has the state `absent`.
pub fn active() -> ActiveScheduler {
    ActiveScheduler {
        sched_ext_state: sched_ext("state").unwrap_or_else(|| "absent".into()),
        sched_ext_ops: sched_ext("root/ops").unwrap_or_default(),
        sched_ext_enable_seq: sched_ext("enable_seq").and_then(|n| n.parse().ok()).unwrap_or(0),
        fair: fair(),
    }
}

/// The trimmed contents of a file below `/sys/kernel/sched_ext`; `None` if there is no such file.
pub(crate) fn sched_ext(file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/kernel/sched_ext/{file}")).ok()?;
    Some(text.trim().to_owned())
}

/// `cfs` or `eevdf`: from the scheduler's debug features where they can be read (which recognises a
/// back-port), otherwise from the release.
fn fair() -> String {
    if let Ok(features) = fs::read_to_string("/sys/kernel/debug/sched/features") {
        return fair_of_features(&features).into();
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    fair_scheduler(release.trim()).into()
}

/// Only EEVDF has the feature `PLACE_LAG`, enabled or disabled (`NO_PLACE_LAG`).
fn fair_of_features(features: &str) -> &'static str {
    if features.contains("PLACE_LAG") { "eevdf" } else { "cfs" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disabled_feature_still_names_its_scheduler() {
        assert_eq!(fair_of_features("NO_PLACE_LAG RUN_TO_PARITY"), "eevdf");
        assert_eq!(fair_of_features("GENTLE_FAIR_SLEEPERS START_DEBIT"), "cfs");
    }
}
