// SPDX-License-Identifier: GPL-2.0-only
//! What a machine lacks for recording.

use std::fs;
use std::path::Path;

/// The oldest kernel: `bpf_task_pt_regs`.
const OLDEST: (u32, u32) = (5, 15);

/// Bits of the effective capabilities (`capabilities(7)`).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

const REMEDY: &str = "run it with sudo, or give the program the capabilities with `sudo setcap \
                      cap_bpf,cap_perfmon+ep FILE`";

/// Everything that keeps this process from recording on this kernel, a sentence each; empty if
/// nothing does.
pub fn obstacles() -> Vec<String> {
    let mut found: Vec<String> =
        [kernel(), space().map(|why| why + "; record outside"), capabilities()]
            .into_iter()
            .flatten()
            .collect();
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        found.push("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF), which recording needs".into());
    }
    found
}

fn kernel() -> Option<String> {
    let release = nix::sys::utsname::uname().ok()?.release().to_string_lossy().into_owned();
    too_old(&release)
}

fn too_old(release: &str) -> Option<String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let version = (numbers.next()?, numbers.next()?);
    (version < OLDEST).then(|| format!("recording needs Linux 5.15 or newer; this is {release}"))
}

/// The kernel's numbers of tasks are those of its first name space. A kernel without such name
/// spaces has no such file.
pub(crate) fn space() -> Option<String> {
    let space = fs::read_link("/proc/self/ns/pid");
    let is_other = space.is_ok_and(|space| space != Path::new("pid:[4026531836]"));
    is_other
        .then(|| "inside a PID name space (a container) task numbers are not the kernel's".into())
}

fn capabilities() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    lacking(effective(&status)?)
}

fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Before there were the others, CAP_SYS_ADMIN was needed, and it still includes them.
fn lacking(effective: u64) -> Option<String> {
    let has = |bit: u32| effective >> bit & 1 == 1;
    let wanted = [("CAP_BPF", CAP_BPF), ("CAP_PERFMON", CAP_PERFMON)];
    let missing: Vec<&str> =
        wanted.iter().filter(|(_, bit)| !has(*bit)).map(|(name, _)| *name).collect();
    (!has(CAP_SYS_ADMIN) && !missing.is_empty())
        .then(|| format!("recording needs {}: {REMEDY}", missing.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capabilities_are_named() {
        let all = u64::MAX;
        assert_eq!(lacking(all), None);
        assert_eq!(lacking(1 << CAP_SYS_ADMIN), None);
        assert_eq!(lacking(1 << CAP_BPF | 1 << CAP_PERFMON), None);
        let neither = lacking(0).expect("nothing is allowed");
        assert!(neither.starts_with("recording needs CAP_BPF and CAP_PERFMON: run it with sudo"));
        let one = lacking(1 << CAP_BPF).expect("half is allowed");
        assert!(one.starts_with("recording needs CAP_PERFMON: "), "{one}");
    }

    #[test]
    fn capabilities_are_read_from_the_kernels_text() {
        assert_eq!(effective("Name:\tx\nCapEff:\t000001ffffffffff\n"), Some(0x1ff_ffff_ffff));
        assert_eq!(effective("Name:\tx\n"), None);
    }

    #[test]
    fn older_kernels_are_named() {
        assert_eq!(too_old("5.15.0-91-generic"), None);
        assert_eq!(too_old("7.3-rc1"), None);
        let said = too_old("5.10.0-28-amd64").expect("it is too old");
        assert_eq!(said, "recording needs Linux 5.15 or newer; this is 5.10.0-28-amd64");
    }
}
