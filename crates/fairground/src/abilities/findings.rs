// SPDX-License-Identifier: GPL-2.0-only
//! From what was seen to what works, what is lacking and what gets it.

use compile::NoCompiler;
use live::loader::Obstacle;
use process::packages::install;
use serde::Serialize;
use vm::{NoKvm, emulator, qemu};

use super::machine_facts::{Image, MachineFacts};

/// One thing that Fairground can do on some machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub name: &'static str,
    pub option: &'static str,
    pub works: bool,
    /// Whether trials are executed by it: one of these is enough to measure something.
    #[serde(skip)]
    pub executes: bool,
    pub with: String,
    pub lacks: Vec<Lack>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lack {
    pub what: String,
    /// The command that gets it, or what to do.
    pub remedy: String,
}

fn lack(what: impl Into<String>, remedy: impl Into<String>) -> Lack {
    Lack { what: what.into(), remedy: remedy.into() }
}

pub fn findings(facts: &MachineFacts) -> Vec<Finding> {
    let mut all = vec![simulator(facts), own_files(facts), one_cpu(facts), several_cpus(facts)];
    all.extend([real_time(facts), running_kernel(facts), programs(facts)]);
    all.extend(downloads(facts));
    all
}

pub fn something_works(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.executes && finding.works)
}

fn complete(name: &'static str, option: &'static str, with: String, lacks: Vec<Lack>) -> Finding {
    let works = lacks.is_empty();
    let with = if works { with } else { String::new() };
    Finding { name, option, works, executes: true, with, lacks }
}

fn simulator(facts: &MachineFacts) -> Finding {
    let remedy = "report it, with this output";
    let lacks = facts.simulator.as_ref().err().map(|why| lack(why, remedy));
    complete("simulator", "--on sim", "one trial ran".into(), lacks.into_iter().collect())
}

fn own_files(facts: &MachineFacts) -> Finding {
    let remedy = |why: &NoCompiler| match why {
        NoCompiler::Missing => install("clang-19"),
        NoCompiler::Chosen(_) => "unset BPF_CLANG".into(),
    };
    let lacks = facts.compiler.as_ref().err().map(|why| lack(why.to_string(), remedy(why)));
    let with = facts.compiler.clone().unwrap_or_default();
    let (name, lacks) = ("your own scheduler's file", lacks.into_iter().collect());
    Finding { executes: false, ..complete(name, "--scheduler FILE", with, lacks) }
}

fn one_cpu(facts: &MachineFacts) -> Finding {
    let counted_by = match &facts.emulator {
        Ok(Some(version)) => version,
        _ => words(&facts.qemu),
    };
    let with = format!("{counted_by}; {}", releases(facts));
    complete("virtual machine, one CPU in virtual time", "--on vm", with, facts.no_machine())
}

fn several_cpus(facts: &MachineFacts) -> Finding {
    let mut lacks = facts.no_machine();
    match &facts.emulator {
        Ok(Some(_)) => {}
        Ok(None) => {
            let packages: Vec<&str> =
                facts.emulator_tools.iter().map(|(_, package)| *package).collect();
            if !packages.is_empty() {
                let names: Vec<&str> = facts.emulator_tools.iter().map(|(name, _)| *name).collect();
                let what = format!("building the emulator needs {}", names.join(", "));
                lacks.push(lack(what, install(&packages.join(" "))));
            }
            lacks.push(lack("the emulator is not built", emulator::COMMAND));
        }
        Err(why) if facts.kernels.as_ref().err() == Some(why) => {}
        Err(why) => lacks.push(lack(why, emulator::COMMAND)),
    }
    let with = match &facts.emulator {
        Ok(Some(version)) => version.clone(),
        _ => String::new(),
    };
    complete("virtual machine, several CPUs in virtual time", "--on vm", with, lacks)
}

fn real_time(facts: &MachineFacts) -> Finding {
    let mut lacks = facts.no_machine();
    if let Err(why) = &facts.kvm {
        let remedy = match why {
            NoKvm::Denied(_) => {
                "sudo usermod -aG kvm $USER, then log in again; emulated until then"
            }
            NoKvm::Absent(_) => {
                "switch virtualisation on in the firmware or in the hypervisor; emulated until then"
            }
            NoKvm::NoBoot(_) | NoKvm::NoQemu(_) => {
                "another host or hypervisor; emulated on this one"
            }
        };
        lacks.push(lack(why.short(), remedy));
    }
    let with = "a kernel booted".into();
    complete("virtual machine in real time (KVM)", "--on vm", with, lacks)
}

fn running_kernel(facts: &MachineFacts) -> Finding {
    let lacks = facts.obstacles.iter().map(|obstacle| {
        let remedy = match obstacle {
            Obstacle::NoSchedExt => NEWER.into(),
            Obstacle::NotRoot => "sudo fairground …".into(),
            Obstacle::NoBtf => "a kernel with CONFIG_DEBUG_INFO_BTF=y".into(),
            Obstacle::Taken { ops, .. } => format!("end the program that has loaded {ops}"),
        };
        let what = match obstacle {
            Obstacle::NoSchedExt if is_older(&facts.release) => {
                format!("Linux {} is older than 6.12 and has no sched_ext", facts.release)
            }
            Obstacle::NoSchedExt => format!("Linux {} was built without sched_ext", facts.release),
            other => other.to_string(),
        };
        lack(what, remedy)
    });
    let (name, option) = ("this kernel", "--on live, load");
    complete(name, option, format!("Linux {} with sched_ext", facts.release), lacks.collect())
}

/// What to do about a kernel without sched_ext.
const NEWER: &str = "boot Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT=y, which Debian 13 has; \
                     --on vm boots one and leaves this machine as it is";

/// Whether a release is older than the first one with sched_ext.
fn is_older(release: &str) -> bool {
    let mut numbers = release.split(['.', '-', '+']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0));
    version < (6, 12)
}

fn programs(facts: &MachineFacts) -> Finding {
    let programs = &facts.programs;
    let packages: Vec<&str> = programs.packages.iter().map(String::as_str).collect();
    let incomplete = programs.workloads - programs.complete;
    let lacks = (incomplete > 0).then(|| {
        let what = format!("{incomplete} of {} lack a program", programs.workloads);
        lack(what, install(&packages.join(" ")))
    });
    Finding {
        name: "workloads with real programs",
        option: "--workload NAME",
        works: programs.complete > 0,
        executes: false,
        with: format!("{} of {}", programs.complete, programs.workloads),
        lacks: lacks.into_iter().collect(),
    }
}

fn downloads(facts: &MachineFacts) -> Option<Finding> {
    let answer = facts.mirror.as_ref()?;
    let remedy = "look at the network and at apt's sources; nothing else needs them";
    let lacks = answer.as_ref().err().map(|why| lack(why, remedy)).into_iter().collect();
    let finding = complete(
        "downloads",
        "kernel pull, kernel emulator build",
        "the package mirror answers".into(),
        lacks,
    );
    Some(Finding { executes: false, ..finding })
}

impl MachineFacts {
    /// What every virtual machine needs and lacks here.
    fn no_machine(&self) -> Vec<Lack> {
        let qemu =
            self.qemu.as_ref().err().map(|_| {
                lack(format!("{} cannot be run", qemu::PROGRAM), install("qemu-system-x86"))
            });
        let kernels = match &self.kernels {
            Ok(kernels) if !kernels.is_empty() => None,
            Ok(_) if matches!(self.mirror, Some(Err(_))) => Some(lack(
                "no kernel is here, and the package mirror does not answer",
                "fairground kernel use --running, or kernel use FILE",
            )),
            Ok(_) => Some(lack("no kernel is here", "fairground kernel pull")),
            Err(why) => Some(lack(why, "export FAIRGROUND_HOME=FOLDER")),
        };
        qemu.into_iter().chain(kernels).collect()
    }
}

fn words(answer: &Result<String, String>) -> &str {
    answer.as_deref().unwrap_or_default()
}

fn releases(facts: &MachineFacts) -> String {
    let kernels = facts.kernels.as_deref().unwrap_or_default();
    let able = kernels.iter().filter(|kernel| kernel.sched_ext).count();
    let newest = kernels.first().map_or("", |kernel: &Image| kernel.release.as_str());
    let kernels = match kernels.len() {
        1 => "1 kernel".into(),
        count => format!("{count} kernels"),
    };
    format!("{kernels}, {able} with sched_ext, the newest {newest}")
}

#[cfg(test)]
mod tests {
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
        findings(facts)
            .iter()
            .filter(|finding| !finding.works)
            .map(|finding| finding.name)
            .collect()
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
}
