// SPDX-License-Identifier: GPL-2.0-only
//! What users read: lists, and errors that say what to write instead.

use expect_test::{Expect, expect};

use crate::common::{Bench, project, stderr, stdout};

/// The command ends with this code, and says this on standard error.
fn refuses(bench: &Bench, arguments: &[&str], code: i32, said: Expect) {
    let assert = bench.run(arguments).code(code);
    assert_eq!(stdout(&assert), "");
    said.assert_eq(&without_lists(&stderr(&assert)));
}

/// Lists of what there is are cut out: a new file must not need an edit here.
fn without_lists(text: &str) -> String {
    let mut text = text.to_owned();
    for opening in ["among the built-in ones: ", "there are "] {
        if let Some((before, after)) = text.split_once(opening) {
            let rest = after.split_once(';').map_or("", |(_, rest)| rest);
            text = format!("{before}{opening}…;{rest}");
        }
    }
    text
}

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
fn the_family_tree_has_every_scheduler_below_its_parent() {
    let bench = Bench::new();
    let tree = stdout(&bench.run(&["list", "schedulers", "--family"]).success());
    let row = |name: &str| tree.lines().position(|line| line.contains(&format!(" {name} ")));
    for member in fairground::lineage::members() {
        let own = row(&member.name).unwrap_or_else(|| panic!("{}: {tree}", member.name));
        if let Some(parent) = member.after.first() {
            assert!(row(parent) < Some(own), "{}: {tree}", member.name);
        }
    }
    let json = stdout(&bench.run(&["list", "--family", "--format", "json"]).success());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.as_array().expect("members").len(), tree.lines().count());
    let said = stderr(&bench.run(&["list", "machines", "--family"]).code(2));
    assert!(said.contains("list schedulers --family"), "{said}");
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
fn unknown_names_get_near_ones() {
    let bench = Bench::new();
    refuses(
        &bench,
        &["run", "quikc"],
        2,
        expect![[r#"
            fairground: quikc: unknown experiment; did you mean 'quick'? looked in ./experiments/ and among the built-in ones (`fairground list experiments`); a path works too
        "#]],
    );
    refuses(
        &bench,
        &["plan", "quick", "--scheduler", "vtme"],
        2,
        expect![[r#"
            fairground: --scheduler vtme: vtme: no built-in scheduler has this name; there are …; a file needs its .bpf.c
        "#]],
    );
    refuses(
        &bench,
        &["plan", "quick", "--workload", "mesaging"],
        2,
        expect![[r#"
            fairground: --workload mesaging: unknown workload 'mesaging'; did you mean 'messaging'? looked in ./workloads/ and among the built-in ones (`fairground list workloads`); a path works too
        "#]],
    );
    refuses(
        &bench,
        &["plan", "quick", "--machine", "uniprocesor"],
        2,
        expect![[r#"
            fairground: uniprocesor: unknown machine; did you mean 'uniprocessor'? looked in ./machines/ and among the built-in ones (`fairground list machines`); a path works too
        "#]],
    );
    refuses(
        &bench,
        &["run", "quick", "--baseline", "cfs"],
        2,
        expect![[r#"
        fairground: --baseline: unknown scheduler 'cfs'; did you mean 'cfs-6.1'?
    "#]],
    );
    refuses(
        &bench,
        &["rnu", "quick"],
        2,
        expect![[r#"
            error: unrecognized subcommand 'rnu'

            Usage: fairground [VERB]

            For more information, try '--help'.
        "#]],
    );
}

#[test]
fn a_broken_experiment_names_line_and_column() {
    let bench = Bench::new();
    bench.write("a.toml", "question = \"Why?\"\nblocks = \n");
    refuses(
        &bench,
        &["run", "a.toml"],
        2,
        expect![[r#"
        fairground: a.toml:2:10: string values must be quoted, expected literal string
    "#]],
    );
    bench.write("b.toml", "question = \"Why?\"\nblokcs = 3\n");
    refuses(
        &bench,
        &["run", "b.toml"],
        2,
        expect![[r#"
        fairground: b.toml:2:1: unknown field 'blokcs'; did you mean 'blocks'?
    "#]],
    );
    bench.write("c.toml", "question = \"Why?\"\n\n[[scheduler]]\nfile = \"none.bpf.c\"\n\n[[workload]]\nname = \"tiny.toml\"\n");
    refuses(
        &bench,
        &["run", "c.toml"],
        2,
        expect![[r#"
            fairground: c.toml:4:1: none.bpf.c: cannot be read as a scheduler: No such file or directory (os error 2); if it was deleted: `fairground check` names every file that mentions it
        "#]],
    );
}

#[test]
fn a_store_that_is_none_is_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.write("notes.db", &"not a database at all, just a long text. ".repeat(20));
    let arguments =
        ["run", "--on", "live", "--scheduler", "policy:other", "--workload", "tiny.toml"];
    let arguments = [&arguments[..], &["--store", "notes.db"]].concat();
    refuses(
        &bench,
        &arguments,
        2,
        expect![[r#"
            fairground: notes.db: not a Fairground store (it does not begin as SQLite's files do); choose another file with `--store FILE`
        "#]],
    );
    refuses(
        &bench,
        &["compare", "--store", "none.db"],
        2,
        expect![[r#"
        fairground: none.db: no such store; `fairground run` makes one, `--store FILE` names another
    "#]],
    );
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
