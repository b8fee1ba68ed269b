// SPDX-License-Identifier: GPL-2.0-only
//! Totals name groups that exist, and have unique names.

use model::Workload;
use model::metric::PROGRAM;

use super::{Checked, fault};
use crate::near::advice;

pub fn check(workload: &Workload) -> Checked {
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
