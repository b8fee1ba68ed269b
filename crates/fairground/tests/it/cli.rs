// SPDX-License-Identifier: GPL-2.0-only
//! What users read: lists, and errors that say what to write instead.

use expect_test::expect;

use crate::common::{Bench, project, stderr, stdout};

#[test]
fn lists_show_every_file() {
    let bench = Bench::new();
    for (kind, folder) in ["workloads", "machines", "experiments", "cares"].map(|kind| (kind, kind))
    {
        let list = stdout(&bench.run(&["list", kind]).success());
        let json = stdout(&bench.run(&["list", kind, "--format", "json"]).success());
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        for file in std::fs::read_dir(project(folder)).expect("the project's folder") {
            let name = file.expect("a file").path();
            let name = name.file_stem().expect("a name").to_string_lossy().into_owned();
            assert!(
                list.lines().any(|line| line.starts_with(&format!("{name} "))),
                "{name}: {list}"
            );
            let items = json[kind].as_array().expect("items");
            let item = items.iter().find(|item| item["name"] == name.as_str()).expect("the item");
            assert!(!item["about"].as_str().expect("a sentence").is_empty(), "{name}");
            assert!(!item["backends"].as_array().expect("backends").is_empty(), "{name}");
        }
    }
}

#[test]
fn the_list_has_all_kinds() {
    let bench = Bench::new();
    let mut list = bench.fairground(&["list", "--format", "json"]);
    let list = list.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    let list: serde_json::Value = serde_json::from_str(&stdout(&list)).expect("JSON");
    let kinds: Vec<&String> = list.as_object().expect("an object").keys().collect();
    assert_eq!(
        kinds,
        ["schedulers", "workloads", "machines", "experiments", "claims", "cares", "kernels"]
    );
    let schedulers = list["schedulers"].as_array().expect("schedulers");
    for name in ["fifo", "vtime", "rr", "kernel", "policy:CLASS"] {
        assert!(schedulers.iter().any(|scheduler| scheduler["name"] == name), "{name}");
    }
}

#[test]
fn without_kernels_it_says_how_to_get_some() {
    let bench = Bench::new();
    let mut list = bench.fairground(&["list", "kernels"]);
    let list = list.env("FAIRGROUND_HOME", bench.path("home")).assert().success();
    expect![[r#"
        no kernels yet; `fairground kernel pull` gets them
    "#]]
    .assert_eq(&stdout(&list));
}

#[test]
fn a_plan_is_one_trial_per_line_and_repeats_itself() {
    let bench = Bench::new();
    let arguments =
        ["plan", "--on", "live", "--scheduler", "policy:other", "--scheduler", "policy:batch"];
    let arguments = [&arguments[..], &["--workload", "tiny.toml", "--blocks", "3"]].concat();
    let first = stdout(&bench.run(&arguments).success());
    let trials: Vec<model::Trial> =
        first.lines().map(|line| serde_json::from_str(line).expect("a trial")).collect();
    assert_eq!(trials.len(), 6);
    assert!(trials.iter().all(|trial| trial.workload.name == "tiny"));
    assert_eq!(stdout(&bench.run(&arguments).success()), first);
    let other = [&arguments[..], &["--seed", "2"]].concat();
    assert_ne!(stdout(&bench.run(&other).success()), first);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let bench = Bench::new();
    for (verb, arguments) in [("plan", "quick"), ("list", "--format json")] {
        let program = env!("CARGO_BIN_EXE_fairground");
        let pipe = format!("{program} {verb} {arguments} | head -c 1 >/dev/null");
        let shell = format!("{pipe}; test ${{PIPESTATUS[0]}} -eq 0");
        let mut bash = assert_cmd::Command::new("bash");
        bash.args(["-c", &shell]).current_dir(bench.path("")).assert().success().stderr("");
    }
}

#[test]
fn the_exec_step_gets_nothing_but_an_end() {
    let assert = Bench::new().run(&["--exit-now"]).success();
    assert_eq!(stdout(&assert) + &stderr(&assert), "");
}

#[test]
fn a_scheduler_that_does_not_compile_stops_everything_with_file_and_line() {
    let bench = Bench::new();
    let file = crate::common::scheduler("no_compile");
    let arguments = ["run", "--scheduler", &file, "--workload", "tiny.toml", "--offline"];
    let said = stderr(&bench.run(&arguments).code(2));
    assert!(said.contains("no_compile.bpf.c:17"), "{said}");
    assert!(said.contains("NO_SUCH_QUEUE"), "{said}");
}
