// SPDX-License-Identifier: GPL-2.0-only
//! Machines that lack something, each as one changed fact.

use super::*;
use crate::abilities::machine_facts::Programs;

fn able() -> MachineFacts {
    MachineFacts {
        release: "6.12.94+deb13-amd64".into(),
        simulator: Ok(()),
        compiler: Ok("clang-19, version 19".into()),
        qemu: Ok("QEMU emulator version 10.0.8".into()),
        kernels: Ok(vec![Image { release: "7.3.4".into(), sched_ext: true }]),
        kvm: Ok(()),
        emulator: Ok(Some("QEMU emulator version 10.0.13".into())),
        emulator_tools: Vec::new(),
        mirror: Some(Ok(())),
        obstacles: Vec::new(),
        programs: Programs { workloads: 3, complete: 3, packages: Default::default() },
    }
}

fn broken(facts: &MachineFacts) -> Vec<&'static str> {
    findings(facts).iter().filter(|finding| !finding.works).map(|finding| finding.name).collect()
}

fn lacks(facts: &MachineFacts) -> Vec<(String, String)> {
    let all = findings(facts).into_iter().flat_map(|finding| finding.lacks);
    let mut all: Vec<_> = all.map(|lack| (lack.what, lack.remedy)).collect();
    all.dedup();
    all
}

const MACHINES: [&str; 3] = [
    "virtual machine, one CPU in virtual time",
    "virtual machine, several CPUs in virtual time",
    "virtual machine in real time (KVM)",
];

#[test]
fn a_machine_with_everything_lacks_nothing() {
    assert!(broken(&able()).is_empty() && lacks(&able()).is_empty());
    assert!(something_works(&findings(&able())));
}

#[test]
fn without_a_network_a_missing_kernel_is_copied_from_elsewhere() {
    let no_network = Some(Err("Temporary failure resolving".to_owned()));
    let facts = MachineFacts { mirror: no_network.clone(), ..able() };
    assert_eq!(broken(&facts), ["downloads"]);
    let bare = MachineFacts { kernels: Ok(Vec::new()), ..able() };
    assert_eq!(lacks(&bare)[0].1, "fairground kernel pull");
    let facts = MachineFacts { mirror: no_network, ..bare };
    assert_eq!(lacks(&facts)[0].1, "fairground kernel use --running, or kernel use FILE");
    assert_eq!(
        findings(&MachineFacts { mirror: None, ..able() }).len(),
        findings(&able()).len() - 1
    );
}

#[test]
fn an_old_kernel_is_told_from_one_without_sched_ext() {
    let of = |release: &str| {
        let obstacles = vec![Obstacle::NoSchedExt];
        lacks(&MachineFacts { release: release.into(), obstacles, ..able() })[0].0.clone()
    };
    assert_eq!(
        of("6.1.0-50-amd64"),
        "Linux 6.1.0-50-amd64 is older than 6.12 and has no sched_ext"
    );
    assert_eq!(of("5.15.0"), "Linux 5.15.0 is older than 6.12 and has no sched_ext");
    assert_eq!(of("6.12.3"), "Linux 6.12.3 was built without sched_ext");
    assert_eq!(of("7.0"), "Linux 7.0 was built without sched_ext");
    assert!(of("6.11.9").contains("older") && of("6.18+").contains("without"));
}

#[test]
fn a_missing_emulator_names_what_its_build_needs() {
    let emulator_tools = vec![("ninja", "ninja-build"), ("glib-2.0", "libglib2.0-dev")];
    let facts = MachineFacts { emulator: Ok(None), emulator_tools, ..able() };
    assert_eq!(broken(&facts), [MACHINES[1]]);
    let remedies: Vec<String> = lacks(&facts).into_iter().map(|(_, remedy)| remedy).collect();
    assert_eq!(
        remedies,
        [install("ninja-build libglib2.0-dev"), "fairground kernel emulator build".into()]
    );
}

#[test]
fn a_home_that_nobody_names_is_said_once_for_each_machine() {
    let why = "neither FAIRGROUND_HOME nor HOME is set; set FAIRGROUND_HOME";
    let facts = MachineFacts { kernels: Err(why.into()), emulator: Err(why.into()), ..able() };
    assert_eq!(lacks(&facts), [(why.into(), "export FAIRGROUND_HOME=FOLDER".into())]);
}

#[test]
fn a_machine_that_can_execute_nothing_fails() {
    let facts = MachineFacts {
        simulator: Err("failed: no fork".into()),
        qemu: Err("not found".into()),
        obstacles: vec![Obstacle::NoSchedExt],
        ..able()
    };
    assert!(!something_works(&findings(&facts)));
}
