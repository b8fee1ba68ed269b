// SPDX-License-Identifier: GPL-2.0-only
//! Headlines and totals name measures and task groups that exist: `wakeup_latency_ns.p99
//! fair_waker`.

use model::Workload;
use model::metric::{MEASURES, PROGRAM, measure};

use super::{Checked, fault};
use crate::source::advice;

const STATISTICS: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

pub fn check_headlines(workload: &Workload) -> Checked {
    for (index, headline) in workload.headline.iter().enumerate() {
        check_one(&format!("headline[{index}]"), workload, headline)?;
    }
    Ok(())
}

/// Checks the headline at `path`.
pub fn check_one(path: &str, workload: &Workload, headline: &str) -> Checked {
    let Some((what, group)) = headline.split_once(' ') else {
        let hint = "write a measure and a task group, e.g. 'completion_ns all'";
        return fault(path, format!("'{headline}' is not a headline"), hint);
    };
    let (name, statistic) = match what.split_once('.') {
        Some((name, statistic)) => (name, Some(statistic)),
        None => (what, None),
    };
    let Some(measure) = measure(name) else {
        let names = MEASURES.iter().map(|measure| measure.name);
        let hint = advice(name, names).unwrap_or_default();
        return fault(path, format!("unknown measure '{name}'"), hint);
    };
    match (measure.distribution, statistic) {
        (true, None) => {
            let hint = format!("write '{name}.p99 {group}'");
            return fault(path, format!("'{name}' is a distribution"), hint);
        }
        (true, Some(statistic)) if !STATISTICS.contains(&statistic) => {
            let hint = advice(statistic, STATISTICS).unwrap_or_default();
            return fault(path, format!("unknown statistic '{statistic}'"), hint);
        }
        (false, Some(_)) => {
            let message = format!("'{name}' is one number, not a distribution");
            return fault(path, message, format!("write '{name} {group}'"));
        }
        _ => {}
    }
    let mut groups: Vec<&str> = workload.tasks.iter().map(|group| group.name.as_str()).collect();
    groups.extend(workload.totals.iter().map(|total| total.name.as_str()));
    groups.push("all");
    if workload.program.is_some() {
        groups.push(PROGRAM);
    }
    if groups.contains(&group) {
        return Ok(());
    }
    let hint = advice(group, groups.iter().copied()).unwrap_or_default();
    fault(path, format!("unknown task group '{group}'"), hint)
}

/// Totals name groups that exist, and have unique names.
pub fn check_totals(workload: &Workload) -> Checked {
    let groups: Vec<&str> = workload.tasks.iter().map(|group| group.name.as_str()).collect();
    for (index, total) in workload.totals.iter().enumerate() {
        let path = format!("total[{index}]");
        let name = total.name.as_str();
        let before = workload.totals[..index].iter().any(|other| other.name == name);
        if before || groups.contains(&name) || name == "all" || name == PROGRAM {
            let hint = "choose another name";
            return fault(format!("{path}.name"), format!("there is a '{name}' already"), hint);
        }
        if total.groups.len() < 2 {
            let hint = "name two task groups or more";
            return fault(format!("{path}.groups"), format!("'{name}' is no total"), hint);
        }
        for (at, group) in total.groups.iter().enumerate() {
            let path = format!("{path}.groups[{at}]");
            if !groups.contains(&group.as_str()) {
                let hint = advice(group, groups.iter().copied()).unwrap_or_default();
                return fault(path, format!("unknown task group '{group}'"), hint);
            }
            if total.groups[..at].contains(group) {
                return fault(path, format!("'{group}' is named twice"), "delete one of them");
            }
        }
    }
    Ok(())
}
