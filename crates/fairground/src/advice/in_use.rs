// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler in use: that of the kernel which runs here, on every backend.

use std::path::Path;

use anyhow::Result;
use model::Backend;
use vm::kernels::{self, Kernel};

/// A kernel's version: 6 and 18 of `6.18.44`.
pub type Version = (u32, u32);

/// The scheduler in use, as it can take part in a race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// As `--scheduler` has it. Two stand for a kernel that cannot be booted: the nearest older one
    /// and the nearest newer one.
    pub options: Vec<String>,
    /// Why the options are not that kernel's own scheduler; empty if they are.
    pub stands_for: String,
}

/// The version of a release; (0, 0) for what is none.
pub fn version(release: &str) -> Version {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map_while(|word| word.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

impl InUse {
    /// `fair`: `cfs`, `eevdf`, `bore_cfs` or `bore`, the scheduler of the kernel `release`. `home`
    /// has the kernels that can be booted.
    pub fn of(
        backend: Backend,
        release: &str,
        fair: &str,
        home: Option<&Path>,
        offline: bool,
    ) -> Result<InUse> {
        let (major, minor) = version(release);
        if backend.uses_running_kernel() {
            return Ok(InUse {
                options: vec![format!("kernel:{major}.{minor}")],
                ..InUse::default()
            });
        }
        if let Some(own) = patched(fair, (major, minor)) {
            return Ok(own);
        }
        if !backend.boots_kernels() {
            let option = format!("{fair} era={}", era((major, minor)));
            return Ok(InUse { options: vec![option], ..InUse::default() });
        }
        let stored = home.map(kernels::list).transpose()?.unwrap_or_default();
        Ok(booted(release, &bootable(&stored, offline)))
    }
}

/// What files call a version: 61800 is 6.18.
fn era((major, minor): Version) -> u32 {
    major * 10_000 + minor * 100
}

/// What stands for a kernel with BORE: no kernel that can be booted has it, so its file does.
fn patched(fair: &str, version: Version) -> Option<InUse> {
    let option = match fair {
        "bore" => format!("bore base_era={}", era(version)),
        "bore_cfs" => fair.to_owned(),
        _ => return None,
    };
    let (major, minor) = version;
    let stands_for = format!(
        "Linux {major}.{minor} here runs BORE (kernel.sched_bore is 1), for which stands what is \
         nearest: the file {option}."
    );
    Some(InUse { options: vec![option], stands_for })
}

/// The kernels that can be booted by name, with their versions, the oldest first. The minor version
/// of what is still to be downloaded is not always known.
fn bootable(stored: &[Kernel], offline: bool) -> Vec<(Version, String)> {
    let unnamed = stored.iter().filter(|kernel| !kernel.is_named && !kernel.name.contains('/'));
    let mut known: Vec<(Version, String)> =
        unnamed.map(|kernel| (version(&kernel.release), kernel.name.clone())).collect();
    for name in kernels::NAMES.iter().copied().filter(|_| !offline) {
        let (major, minor) = version(name);
        let minor = if name.contains('.') { minor } else { u32::MAX };
        if known.iter().all(|(_, known)| known != name) {
            known.push(((major, minor), name.to_owned()));
        }
    }
    known.sort();
    known
}

/// The kernel of this release's series, else the nearest ones.
fn booted(release: &str, bootable: &[(Version, String)]) -> InUse {
    let wanted = version(release);
    let option = |(_, name): &(Version, String)| format!("kernel:{name}");
    if let Some(own) = bootable.iter().rev().find(|(version, _)| *version == wanted) {
        return InUse { options: vec![option(own)], ..InUse::default() };
    }
    let older = bootable.iter().rev().find(|(version, _)| *version < wanted);
    let newer = bootable.iter().find(|(version, _)| *version > wanted);
    let nearest: Vec<&(Version, String)> = older.into_iter().chain(newer).collect();
    let names: Vec<String> = nearest.iter().map(|(_, name)| format!("Linux {name}")).collect();
    let (major, minor) = wanted;
    let get = if major >= 7 {
        format!("kernel pull {major}.{minor}")
    } else {
        "kernel use --running".to_owned()
    };
    InUse {
        options: nearest.into_iter().map(option).collect(),
        stands_for: format!(
            "For Linux {major}.{minor}, which is in use and cannot be booted, stands what is \
             nearest: {}; `fairground {get}` would get its own.",
            names.join(" and ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_have_the_era_of_the_kernel_that_runs() {
        let sim = |release, fair| {
            let in_use = InUse::of(Backend::Sim, release, fair, None, true).expect("no kernels");
            in_use.options.join(", ")
        };
        assert_eq!(sim("6.18.44-fc-v657", "eevdf"), "eevdf era=61800");
        assert_eq!(sim("6.12.117+deb13-amd64", "eevdf"), "eevdf era=61200");
        assert_eq!(sim("7.3.4", "eevdf"), "eevdf era=70300");
        assert_eq!(sim("5.10.0-8-amd64", "cfs"), "cfs era=51000");
        for on in [Backend::Sim, Backend::Vm] {
            let bore = InUse::of(on, "6.18.4-cachyos", "bore", None, true).expect("no kernels");
            assert_eq!(bore.options, ["bore base_era=61800"]);
            assert!(bore.stands_for.contains("Linux 6.18 here runs BORE"), "{}", bore.stands_for);
        }
        assert_eq!(sim("6.1.9", "bore_cfs"), "bore_cfs");
        let live = InUse::of(Backend::Live, "6.18.44", "eevdf", None, true).expect("no kernels");
        assert_eq!(live.options, ["kernel:6.18"]);
    }

    #[test]
    fn a_kernel_is_booted_itself_or_its_neighbours_stand_for_it() {
        let have = [((6, 1), "6.1"), ((6, 12), "6.12"), ((7, 3), "7")];
        let have = have.map(|(version, name)| (version, name.to_owned()));
        let booted = |release: &str| booted(release, &have);
        assert_eq!(
            booted("6.12.1"),
            InUse { options: vec!["kernel:6.12".into()], ..InUse::default() }
        );
        assert_eq!(booted("7.3.9").options, ["kernel:7"]);
        let between = booted("6.18.44");
        assert_eq!(between.options, ["kernel:6.12", "kernel:7"]);
        let said = &between.stands_for;
        assert!(said.contains("For Linux 6.18") && said.contains("6.12 and Linux 7;"), "{said}");
        assert_eq!(booted("5.10.0").options, ["kernel:6.1"]);
        assert_eq!(booted("7.4.0").options, ["kernel:7"]);
        assert!(booted("7.4.0").stands_for.contains("`fairground kernel pull 7.4`"));
    }

    #[test]
    fn what_can_be_downloaded_can_be_booted_unless_offline() {
        assert!(bootable(&[], true).is_empty());
        let names: Vec<String> = bootable(&[], false).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, kernels::NAMES);
    }
}
