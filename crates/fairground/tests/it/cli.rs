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

/// Bad input ends with exit code 2 before anything runs, and says what to write instead.
#[test]
fn bad_input_is_refused_with_what_to_write() {
    let bench = Bench::new();
    bench.write("a.toml", "question = \"Why?\"\nblocks = \n");
    bench.write("b.toml", "question = \"Why?\"\nblokcs = 3\n");
    let none = "question = \"Why?\"\n\n[[scheduler]]\nfile = \"none.bpf.c\"\n\n[[workload]]\n\
                name = \"tiny.toml\"\n";
    bench.write("c.toml", none);
    bench.write("notes.db", &"not a database at all, just a long text. ".repeat(20));
    let race = "run --on live --scheduler policy:other --workload tiny.toml";
    for (arguments, said) in [
        (
            "run quikc",
            "fairground: quikc: unknown experiment; did you mean 'quick'? looked in ./experiments/ \
             and among the built-in ones (`fairground list experiments`); a path works too",
        ),
        (
            "plan quick --scheduler vtme",
            "fairground: --scheduler vtme: no scheduler 'vtme'; did you mean 'vtime'?",
        ),
        (
            "plan quick --workload mesaging",
            "fairground: --workload mesaging: unknown workload 'mesaging'; did you mean \
             'messaging'? looked in ./workloads/ and among",
        ),
        (
            "plan quick --machine uniprocesor",
            "fairground: uniprocesor: unknown machine; did you mean 'uniprocessor'?",
        ),
        (
            "run quick --baseline musqs",
            "fairground: --baseline: unknown scheduler 'musqs'; did you mean 'muqss'?",
        ),
        ("rnu quick", "error: unrecognized subcommand 'rnu'\n\nUsage: fairground [VERB]"),
        ("run quick --on simulator", "[possible values: sim, vm, live]"),
        (
            "run a.toml",
            "fairground: a.toml:2:10: string values must be quoted, expected literal string",
        ),
        ("run b.toml", "fairground: b.toml:2:1: unknown field 'blokcs'; did you mean 'blocks'?"),
        (
            "run c.toml",
            "fairground: c.toml:4:1: none.bpf.c: cannot be read as a scheduler: No such file or \
             directory (os error 2); if it was deleted: `fairground check` names every file that \
             mentions it",
        ),
        (
            &format!("{race} --store notes.db"),
            "fairground: notes.db: not a Fairground store (it does not begin as SQLite's files \
             do); choose another file with `--store FILE`",
        ),
        (
            "compare --store none.db",
            "fairground: none.db: no such store; `fairground run` makes one, `--store FILE` names \
             another",
        ),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let refused = bench.run(&words).code(2);
        assert_eq!(stdout(&refused), "", "{arguments}");
        assert!(stderr(&refused).contains(said), "{arguments}: {}", stderr(&refused));
    }
}

#[test]
fn a_trial_must_be_one() {
    let bench = Bench::new();
    let assert = bench.fairground(&["trial"]).write_stdin("{\"schema\": 1}").assert().code(2);
    expect![[r#"
        fairground: standard input: not one trial (missing field `experiment` at line 1 column 13); `fairground plan` prints some
    "#]].assert_eq(&stderr(&assert));
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
