// SPDX-License-Identifier: GPL-2.0-only
//! Machines that lack something: the lab fails, and no scheduler is blamed.

use std::process::Command;

use crate::common::{Bench, project, stderr};

const TINY: [&str; 8] =
    ["run", "--on", "sim", "--workload", "./tiny.toml", "--blocks", "2", "--exploratory"];

/// `fairground ARGUMENTS` below a limit that the shell sets.
fn limited(bench: &Bench, limit: &str, arguments: &[&str]) -> std::process::Output {
    Command::new("sh")
        .current_dir(bench.path(""))
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_fairground"))
        .args(arguments)
        .output()
        .expect("a shell")
}

#[test]
fn a_machine_without_descriptors_is_the_lab_s_fault() {
    let bench = Bench::new();
    let arguments = [&TINY[..], &["--scheduler", "rr", "--resume"]].concat();
    let output = limited(&bench, "ulimit -n 8", &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("Too many open files"), "{said}");
    let store = bench.path("fairground.db");
    assert!(!store.exists() || bench.records("fairground.db").iter().all(|r| r.outcome.is_ok()));
    bench.run(&arguments).success();
    assert_eq!(bench.records("fairground.db").len(), 2);
}

#[test]
fn the_simulator_needs_no_home() {
    let bench = Bench::new();
    let arguments = [&TINY[..], &["--scheduler", "rr"]].concat();
    let mut command = bench.fairground(&arguments);
    for name in ["HOME", "FAIRGROUND_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    command.assert().success();
}

#[test]
fn a_path_may_have_spaces() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("my own")).expect("a folder");
    let text = std::fs::read_to_string(project("schedulers/fifo.bpf.c")).expect("a scheduler");
    bench.write("my own/a b.bpf.c", &text);
    let plan = ["plan", "--on", "sim", "--workload", "./tiny.toml", "--blocks", "1", "--scheduler"];
    let with = |option: &'static str| bench.run(&[&plan[..], &[option]].concat());
    with("./my own/a b.bpf.c slice_us=3000").success();
    let said = stderr(&with("./my own/no.bpf.c").code(2));
    assert!(said.contains("./my own/no.bpf.c"), "{said}");
}

#[test]
fn a_full_disk_is_named() {
    let bench = Bench::new();
    bench.run(&[&TINY[..], &["--scheduler", "rr"]].concat()).success();
    let said = stderr(&bench.run(&["export", "json", "-o", "/dev/full"]).code(3));
    assert!(said.contains("/dev/full: No space left"), "{said}");
}

#[test]
fn long_names_become_names_of_files() {
    let bench = Bench::new();
    let name = "x".repeat(390);
    let arguments =
        ["plan", "--on", "sim", "--workload", "./tiny.toml", "--scheduler", "rr", "--blocks", "1"];
    bench.run(&arguments).success();
    bench.run(&[&TINY[..], &["--scheduler", "rr"]].concat()).success();
    let store = store::Store::open_readonly(&bench.path("fairground.db")).expect("a store");
    let session = store.sessions().expect("sessions").remove(0);
    let to = store::Store::open(&bench.path("b.db")).expect("a store");
    let id = to.begin(&session).expect("a session");
    for mut record in bench.records("fairground.db") {
        record.trial.contestant.name.clone_from(&name);
        to.append(id, &record).expect("appended");
    }
    bench.run(&["export", "hgrm", "--store", "b.db", "-o", "h"]).success();
    let names = std::fs::read_dir(bench.path("h")).expect("a folder").flatten();
    assert!(names.filter(|file| file.file_name().len() <= 255).count() > 0);
}
