// SPDX-License-Identifier: GPL-2.0-only
//! What a trial asks of the kernel's groups: a control group's settings in the words of cgroup v2,
//! whether anything here heeds its utilisation clamps, and the switch for autogroup, which a guest
//! has as the trial's machine says, and a host as it is.

use std::fs;
use std::path::Path;

use model::tables::NO_CLAMPS;
use model::{ControlGroup, Provenance, Trial};

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

const SWITCH: &str = "/proc/sys/kernel/sched_autogroup_enabled";
/// What the record calls it.
const FACT: &str = "autogroup";

/// Whether sessions are groups here.
pub fn is_on() -> bool {
    fs::read_to_string(SWITCH).is_ok_and(|value| value.trim() == "1")
}

/// The switch, which is put back when this is dropped.
pub struct Autogroup {
    before: String,
}

impl Autogroup {
    /// Sets the switch, if this is a guest. A trial without sessions on a machine without autogroup
    /// leaves it alone.
    pub fn set(trial: &Trial, provenance: &mut Provenance, in_guest: bool) -> Option<Autogroup> {
        let (wanted, has_sessions) = (trial.machine.autogroup, !trial.workload.sessions.is_empty());
        if !wanted && !has_sessions {
            return None;
        }
        if !in_guest {
            if has_sessions && !is_on() {
                provenance.notes.push("autogroup is off here: sessions have no effect".into());
            }
            return None;
        }
        let before = fs::read_to_string(SWITCH).ok();
        let value = if wanted { "1" } else { "0" };
        match before.filter(|_| fs::write(SWITCH, value).is_ok()) {
            Some(before) => {
                provenance.kernel_facts.insert(FACT.into(), value.into());
                Some(Autogroup { before })
            }
            None => {
                let note = "this kernel has no autogroup (CONFIG_SCHED_AUTOGROUP): sessions have \
                            no effect";
                provenance.notes.extend(wanted.then(|| note.into()));
                None
            }
        }
    }
}

impl Drop for Autogroup {
    fn drop(&mut self) {
        // What cannot be put back counts in this guest's later trials, whose records say so.
        let _ = fs::write(SWITCH, self.before.trim());
    }
}

/// It is there with `CONFIG_UCLAMP_TASK`.
const LIMIT: &str = "proc/sys/kernel/sched_util_clamp_min";
const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

/// What a user should know of a workload with clamps.
pub fn note(trial: &Trial) -> Option<String> {
    trial.workload.has_clamps().then(|| reason(Path::new("/"))).flatten()
}

fn reason(root: &Path) -> Option<String> {
    if !root.join(LIMIT).exists() {
        return Some(format!("{NO_CLAMPS}: the kernel is built without CONFIG_UCLAMP_TASK"));
    }
    let governor = fs::read_to_string(root.join(GOVERNOR)).unwrap_or_default();
    let has = match governor.trim() {
        "schedutil" => return None,
        "" => "the CPUs have no governor".to_owned(),
        other => format!("the CPUs' governor is '{other}'"),
    };
    Some(format!("{NO_CLAMPS} on frequencies: {has}, and only schedutil heeds clamps"))
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

    #[test]
    fn only_schedutil_on_a_kernel_with_clamps_heeds_them() {
        let root = tempfile::tempdir().unwrap();
        let reason = || reason(root.path()).unwrap_or_default();
        let put = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(reason().contains("CONFIG_UCLAMP_TASK"), "{}", reason());
        put(LIMIT, "1024\n");
        assert!(reason().contains("no governor"), "{}", reason());
        put(GOVERNOR, "performance\n");
        assert!(reason().contains("'performance'"), "{}", reason());
        put(GOVERNOR, "schedutil\n");
        assert_eq!(reason(), "");
    }
}
