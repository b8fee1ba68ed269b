// SPDX-License-Identifier: GPL-2.0-only
//! jitterdebugger's `results.json`. Values from 1,000 on are counted there but not in the
//! histogram.

use serde_json::Value;

use super::{Fault, ImportedTrial, text};

/// Whether a text looks like it.
pub fn is(text: &str) -> bool {
    text.contains("\"histogram\"") && text.contains("\"cpu\"") && !text.contains("\"num_threads\"")
}

/// See the module.
pub fn read(content: &str) -> Result<Vec<ImportedTrial>, Fault> {
    let document: Value = serde_json::from_str(content)?;
    let reported = model::parsers::parse("jitterdebugger", content, "")?;
    let mut imported =
        ImportedTrial::new("jitterdebugger", "how late does a timer of SCHED_FIFO wake a task?");
    imported.headline = vec!["timer_lateness_ns.p99 program".into()];
    imported.reported(&reported);
    imported.kernel = text(&document, "/sysinfo/release").into();
    let cpus = document.pointer("/sysinfo/cpus_online").and_then(Value::as_u64);
    imported.cpus = cpus.and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or(0);
    imported.notes.push("its threads are SCHED_FIFO, whatever schedules the other tasks".into());
    Ok(vec![imported])
}
