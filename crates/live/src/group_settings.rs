// SPDX-License-Identifier: GPL-2.0-only
//! A control group's settings in the words of cgroup v2.

use model::ControlGroup;

/// The files that settings are written to, and what is written; `has_clamps`: whether the
/// kernel has clamps of the utilisation for groups.
pub fn settings(group: &ControlGroup, has_clamps: bool) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    let mut add = |file, value: Option<String>| files.extend(value.map(|value| (file, value)));
    let is_weighted = group.weight.is_some() || group.nice.is_some();
    // A weight is refused while the group is idle.
    add("cpu.idle", (group.idle || is_weighted).then(|| u8::from(group.idle).to_string()));
    add("cpu.weight", group.weight.map(|weight| weight.to_string()));
    add("cpu.weight.nice", group.nice.map(|nice| nice.to_string()));
    // Without a period, the file keeps the one that it has.
    let period = group.period_us.map(|period_us| format!(" {period_us}")).unwrap_or_default();
    add("cpu.max", group.quota_us.map(|quota_us| format!("{quota_us}{period}")));
    add("cpu.max.burst", (group.burst_us > 0).then(|| group.burst_us.to_string()));
    let clamp = &group.uclamp;
    for (file, value) in [("cpu.uclamp.min", clamp.min), ("cpu.uclamp.max", clamp.max)] {
        add(file, value.filter(|_| has_clamps).map(percent));
    }
    let cpus: Vec<String> = group.cpus.iter().map(u32::to_string).collect();
    add("cpuset.cpus", (!cpus.is_empty()).then(|| cpus.join(",")));
    files
}

/// A clamp in per cent, with as many digits as the kernel keeps.
fn percent(clamp: u32) -> String {
    format!("{:.2}", f64::from(clamp) * 100.0 / 1024.0)
}

#[cfg(test)]
mod tests {
    use model::UtilClamp;

    use super::*;

    #[test]
    fn settings_are_the_kernels_files() {
        let group = ControlGroup {
            name: "a".into(),
            weight: Some(50),
            quota_us: Some(20_000),
            period_us: Some(50_000),
            burst_us: 5_000,
            cpus: vec![0, 2],
            uclamp: UtilClamp { min: Some(0), max: Some(341) },
            ..ControlGroup::default()
        };
        let expected = [
            ("cpu.idle", "0"),
            ("cpu.weight", "50"),
            ("cpu.max", "20000 50000"),
            ("cpu.max.burst", "5000"),
            ("cpu.uclamp.min", "0.00"),
            ("cpu.uclamp.max", "33.30"),
            ("cpuset.cpus", "0,2"),
        ];
        let written = settings(&group, true);
        let written: Vec<_> = written.iter().map(|(file, value)| (*file, &**value)).collect();
        assert_eq!(written, expected);
        assert!(settings(&ControlGroup::default(), true).is_empty());
        assert!(settings(&group, false).iter().all(|(file, _)| !file.contains("uclamp")));
    }
}
