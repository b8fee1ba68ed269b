// SPDX-License-Identifier: GPL-2.0-only
//! Whether anything on this machine heeds the utilisation clamps of a workload.

use std::fs;
use std::path::Path;

use model::Trial;
use model::util_clamp::NO_CLAMPS;

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
    use super::*;

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
