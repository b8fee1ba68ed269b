// SPDX-License-Identifier: GPL-2.0-only
//! `doctor` on machines that lack something: no clang, no QEMU, no network, no root, no kernel with
//! sched_ext.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{Bench, project, stderr, stdout};
use testing::need;

fn works(json: &str, name: &str) -> bool {
    finding(json, name)["works"].as_bool().expect("a truth")
}

/// What is lacking and what gets it, as one text.
fn lacks(json: &str, name: &str) -> String {
    finding(json, name)["lacks"].to_string()
}

fn finding(json: &str, name: &str) -> Value {
    let all: Vec<Value> = serde_json::from_str(json).expect("JSON");
    all.into_iter().find(|finding| finding["name"] == name).expect("a finding")
}

const OWN: &str = "your own scheduler's file";
const MACHINE: &str = "virtual machine, one CPU in virtual time";

/// `doctor` with only these programs.
fn with_programs(programs: &[&str]) -> String {
    let bench = Bench::new();
    let folder = bench.path("programs");
    std::fs::create_dir(&folder).expect("a folder");
    for program in programs {
        let path = vm::installed::find(program).expect("a program");
        symlink(path, folder.join(program)).expect("a link");
    }
    let mut doctor = bench.fairground(&["doctor", "--offline", "--format", "json"]);
    doctor.env("PATH", &folder).env("FAIRGROUND_HOME", bench.path("home")).env_remove("BPF_CLANG");
    stdout(&doctor.assert().success())
}

fn clang() -> String {
    let found = compile::compiler().expect("a compiler");
    found.split(',').next().expect("a name").to_owned()
}

#[test]
fn without_clang_the_simulator_works_and_own_files_do_not() {
    let json = with_programs(&["sh"]);
    assert!(works(&json, "simulator") && !works(&json, OWN), "{json}");
    let said = lacks(&json, OWN);
    assert!(
        said.contains("no clang of version 16 or newer") && said.contains("clang-19"),
        "{said}"
    );
}

#[test]
fn without_qemu_own_files_work_and_virtual_machines_do_not() {
    let clang = clang();
    let json = with_programs(&["sh", &clang]);
    assert!(works(&json, "simulator") && works(&json, OWN), "{json}");
    assert!(!works(&json, MACHINE), "{json}");
    let said = lacks(&json, MACHINE);
    assert!(said.contains("qemu-system-x86_64 cannot be run"), "{said}");
    assert!(said.contains("fairground kernel pull"), "{said}");
}

/// Runs a command in an empty home, if this system lets it.
fn inside(wrapper: &[&str], bench: &Bench, arguments: &[&str]) -> Result<Output, String> {
    let wrapped = |end: &[&str]| {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).args(end).env("FAIRGROUND_HOME", bench.path("home"));
        command.current_dir(bench.path(".")).output().ok()
    };
    let able = wrapped(&["true"]).is_some_and(|output| output.status.success());
    let output = wrapped(arguments).filter(|_| able);
    output.ok_or_else(|| format!("{} is refused here", wrapper.join(" ")))
}

#[test]
fn without_a_network_the_mirror_is_what_does_not_work() {
    let bench = Bench::new();
    let doctor = [env!("CARGO_BIN_EXE_fairground"), "doctor", "--format", "json"];
    let output = need!(inside(&["unshare", "-r", "-n"], &bench, &doctor));
    let json = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && works(&json, "simulator"), "{json}");
    assert!(!works(&json, "downloads"), "{json}");
    assert!(lacks(&json, "downloads").contains("look at the network"), "{json}");
    assert!(lacks(&json, MACHINE).contains("fairground kernel use --running"), "{json}");
}

#[test]
fn without_root_schedulers_cannot_be_loaded_here() {
    let bench = Bench::new();
    // The folders of a checkout may be closed to other users.
    let program = bench.path("fairground");
    std::fs::copy(env!("CARGO_BIN_EXE_fairground"), &program).expect("a copy");
    open(&bench.path("."));
    open(&program);
    let program = program.to_string_lossy().into_owned();
    let doctor = [&program, "doctor", "--offline", "--format", "json"];
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    // SAFETY: no arguments.
    let is_root = unsafe { libc::geteuid() } == 0;
    let wrapper = if is_root { &nobody[..] } else { &["env"][..] };
    let output = need!(inside(wrapper, &bench, &doctor));
    let json = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && works(&json, "simulator"), "{json}");
    assert!(!works(&json, "this kernel"), "{json}");
    assert!(lacks(&json, "this kernel").contains("sudo fairground"), "{json}");
}

/// Lets everybody read and enter.
fn open(path: &Path) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("permissions");
}

#[test]
fn people_read_a_table_with_remedies_below() {
    let bench = Bench::new();
    let mut doctor = bench.fairground(&["doctor", "--offline"]);
    let text = stdout(&doctor.env("FAIRGROUND_HOME", bench.path("home")).assert().success());
    assert!(text.starts_with("yes  simulator "), "{text}");
    assert!(text.contains("\n     - no kernel is here\n       fairground kernel pull\n"), "{text}");
}

/// The smallest thing that passes for a bzImage: its version string and where that is.
fn image() -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x300..0x305].copy_from_slice(b"7.3.4");
    image
}

#[test]
fn a_kernel_without_its_configuration_may_have_sched_ext() {
    let bench = Bench::new();
    std::fs::write(bench.path("vmlinuz"), image()).expect("written");
    let mut kernel = bench.fairground(&["kernel", "use", "./vmlinuz", "--name", "bare"]);
    let added = kernel.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    assert!(stdout(&added).contains("sched_ext: unknown, give --config"), "{}", stdout(&added));
    assert!(stderr(&added).contains("give it with --config"), "{}", stderr(&added));
}

#[test]
fn without_any_home_it_says_what_to_set() {
    let bench = Bench::new();
    let mut doctor = bench.fairground(&["doctor", "--offline"]);
    for name in ["FAIRGROUND_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME"] {
        doctor.env_remove(name);
    }
    let text = stdout(&doctor.assert().success());
    assert!(text.contains("export FAIRGROUND_HOME=FOLDER"), "{text}");
}

#[test]
fn without_apt_the_setup_names_the_packages_of_the_distribution() {
    let bench = Bench::new();
    let (folder, system) = (bench.path("programs"), bench.path("os-release"));
    std::fs::create_dir(&folder).expect("a folder");
    for (name, program) in [("sh", "sh"), ("awk", "awk"), ("cargo", "true")] {
        symlink(vm::installed::find(program).expect("a program"), folder.join(name))
            .expect("a link");
    }
    for (words, expected) in [
        (
            "ID=cachyos\nID_LIKE=arch\n",
            "pacman -S munge # no package for slurm-client slurmctld slurmd",
        ),
        ("ID=fedora\n", "dnf install munge slurm slurm-slurmctld slurm-slurmd"),
        ("ID_LIKE=\"opensuse suse\"\n", "zypper install munge slurm slurm-node"),
        ("ID=debian\n", "apt install munge slurm-client slurmctld slurmd"),
        ("ID=nixos\n", "(Debian's names): munge slurm-client slurmctld slurmd"),
    ] {
        std::fs::write(&system, words).expect("a file");
        let mut setup = Command::new(project("scripts/setup.sh"));
        let asked = setup.arg("--like").arg(&system).arg("slurm").env("PATH", &folder).output();
        let said = String::from_utf8(asked.expect("it runs").stderr).expect("text");
        assert!(said.ends_with(&format!("{expected}\n")), "{said}");
    }
}
