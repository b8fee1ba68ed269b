// SPDX-License-Identifier: GPL-2.0-only
//! `schbench -j FILE`: quantiles of wake-up and request latency in microseconds, and requests per
//! second. It keeps no histogram, so its quantiles become single numbers.

use model::Metric;
use serde_json::Value;

use super::{Fault, ImportedTrial, PROGRAM, member, text};

/// Its names of quantiles, and Fairground's.
const STATISTICS: [(&str, &str); 5] = [
    ("pct50.0", "p50"),
    ("pct90.0", "p90"),
    ("pct99.0", "p99"),
    ("pct99.9", "p999"),
    ("max", "max"),
];

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.contains("\"wakeup_latency_pct")
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document: Value = serde_json::from_str(content)?;
    let numbers = member(&document, "int")?;
    let mut imported =
        ImportedTrial::new("schbench", "schbench: messages wake workers, workers serve requests");
    imported.headline = vec!["wakeup_latency_ns.p99 program".into()];
    for (theirs, ours) in
        [("wakeup_latency", "wakeup_latency_ns"), ("request_latency", "response_time_ns")]
    {
        for (quantile, statistic) in STATISTICS {
            let Some(value) = numbers.get(format!("{theirs}_{quantile}")) else { continue };
            let us = value.as_f64().filter(|us| us.is_finite() && *us >= 0.0);
            let us = us.ok_or_else(|| format!("`{theirs}_{quantile}` is not a time"))?;
            let name = format!("{ours}.{statistic}");
            imported.measured.metrics.push(Metric::number(&name, PROGRAM, us * 1e3));
        }
    }
    let rate = numbers.get("rps_pct50.0").and_then(Value::as_f64).filter(|rate| *rate > 0.0);
    rate.into_iter().for_each(|rate| imported.number("iterations_per_second", rate));
    if imported.measured.value("wakeup_latency_ns.p50", PROGRAM).is_none() {
        return Err("`int.wakeup_latency_pct50.0` is missing".into());
    }
    // The loaded sched_ext scheduler, or `none`.
    let ops = text(&document, "/normal/sched_ext");
    imported.contestant = if ops == "none" { String::new() } else { ops.into() };
    let version = text(&document, "/normal/version");
    if !version.is_empty() {
        imported.programs.insert("schbench".into(), version.into());
    }
    let command = text(&document, "/normal/cmdline");
    imported.notes.push(format!("its command: {command}"));
    imported.notes.push("iterations_per_second is the median of its seconds".into());
    Ok(vec![imported])
}
