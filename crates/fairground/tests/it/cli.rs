// SPDX-License-Identifier: GPL-2.0-only
//! What users read: lists, and errors that say what to write instead.
//!
//! The verbs as users meet them: the table, help, completions and the manual page.
//!
//! `exit_codes.txt`: commands as a stranger types them, the exit code and the first line on
//! standard error. `UPDATE_EXPECT=1` writes the answers anew.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use expect_test::{expect, expect_file};

use crate::common::{Bench, project, simulated, stderr, stdout};

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
    let plan = simulated("tiny.toml", "fifo", "6").join(" ");
    bench.line(&format!("run {plan}")).success();
    let traced = "--scheduler fifo --workload tiny.toml";
    for (verb, arguments) in [
        ("plan", "quick"),
        ("list", "--format json"),
        ("list", "schedulers"),
        ("run", &format!("{plan} 2>/dev/null")),
        ("explain", traced),
        ("compare", ""),
        ("compare", "--format json"),
        ("history", ""),
        ("export json", ""),
        ("export csv", ""),
    ] {
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
    assert!(!bench.path("fairground.db").exists(), "no store is left behind");
}

#[test]
fn alone_it_shows_its_verbs() {
    let shown = Bench::new().run(&[]).success();
    expect![[r#"
        Compare Linux CPU schedulers under the same rules

        Ask:
          recommend  Say which scheduler suits you on this machine, or that it makes no difference
          run        Run an experiment; every trial leaves one record in the store
          load       Use a scheduler on this kernel until Ctrl-C
          ab         Switch schedulers while you play, and say which one serves the game best
          record     Record what the tasks of this machine do, as a workload that replays it
        Read:
          list       Show what there is: schedulers, workloads, machines, experiments, claims, cares, kernels
          compare    Compare records: a table with intervals, or whether two stores are identical
          report     Write the report, one HTML file that needs no network; of a folder of shared files, a site
          explain    Say why tasks waited: what ran instead, which decisions made it, which CPUs idled
          history    Show an experiment's numbers session after session; exit code 1 if the newest is worse
          bisect     Find the commit of a git tree that made a scheduler worse, by an experiment's gate
        Exchange:
          import     Read shared files, chunks' records, or other programs' results, into the store
          share      Make one small sealed file of an experiment's records, for others to import
          export     Export records, histograms and traces to other tools' formats
        Trust:
          check      Verify cheaply that every file parses, compiles and loads
          doctor     Say what this machine can do, and which commands get what is missing; check a store
          fidelity   Show how far the simulator is from a kernel, or schedulers' files from their counterparts
          soak       Run schedulers under all kinds of stress: which are ejected, which lose a task or a CPU
          replicate  Repeat published experiments, and say which findings are reproduced
        Plumbing:
          plan       Print an experiment's trials, or cut them into chunks for other machines; run nothing
          trial      Run one JSON trial from stdin, or a chunk of trials; write a JSON record for each
          get        Build schedulers that people use today: scx_lavd, scx_bpfland, …; list them
          kernel     Get, build and add kernels to boot, and the emulator that several virtual CPUs need

        Examples:
          fairground recommend                             which scheduler suits you
          fairground run quick                             race schedulers, simulated and on real kernels
          fairground run quick --scheduler ./mine.bpf.c    add your own to the race

        `fairground VERB --help` says more.
    "#]]
    .assert_eq(&stdout(&shown));
}

#[test]
fn help_has_the_verbs_in_groups() {
    let bench = Bench::new();
    let (short, long) = (bench.run(&["-h"]).success(), bench.run(&["--help"]).success());
    assert_eq!(stdout(&short), stdout(&long));
    let (help, verbs) = (stdout(&long), stdout(&bench.run(&[]).success()));
    assert!(help.contains("Usage: fairground [VERB]\n\nAsk:\n  recommend "), "{help}");
    let (_, rows) = verbs.split_once("Ask:\n").expect("a group");
    let (rows, _) = rows.split_once("\n\n").expect("examples");
    assert!(help.contains(rows), "{help}");
}

#[test]
fn completions_and_the_manual_know_every_verb() {
    let bench = Bench::new();
    let verbs = stdout(&bench.run(&[]).success());
    let verbs: Vec<&str> = verbs
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|word| !word.is_empty() && *word != "fairground")
        .collect();
    assert!(verbs.len() > 8, "{verbs:?}");
    let manual = stdout(&bench.run(&["doctor", "manual"]).success());
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&bench.run(&["doctor", "completions", shell]).success());
        for verb in &verbs {
            assert!(script.contains(verb), "{shell}: {verb}");
            assert!(manual.contains(&format!("fairground\\-{verb}(1)")), "{verb}");
        }
    }
    bench.run(&["doctor", "manual", "-o", "."]).success();
    assert!(bench.path("fairground-run.1").exists());
}

const TABLE: &str = include_str!("exit_codes.txt");

/// Files of each kind that can be wrong.
fn bench() -> Bench {
    let bench = Bench::new();
    let fifo = std::fs::read_to_string(project("schedulers/fifo.bpf.c")).expect("a scheduler");
    for folder in ["folder", "a", "b"] {
        std::fs::create_dir(bench.path(folder)).expect("a folder");
    }
    bench.write("a/main.bpf.c", &fifo);
    bench.write("b/main.bpf.c", &format!("{fifo}\n// another one\n"));
    bench.write("notes.txt", "just a text\n");
    bench.write("broken.toml", "question =\n");
    bench.write("broken.json", "{\"tasks\":");
    bench.write("no_cpu.toml", "about = \"none\"\ncpus = 0\nmemory_mib = 512\nclock = \"real\"\n");
    bench.write("cpu2.json", r#"{"tasks": {"a": {"cpus": [2], "loop": 1, "run": 1000}}}"#);
    let experiment = |scheduler: &str| {
        let head = "question = \"Why?\"\n\n[[scheduler]]\nfile = \"vtime\"\n";
        let tail = "[[workload]]\nname = \"tiny.toml\"\n";
        format!("{head}{scheduler}\n{tail}")
    };
    bench.write("knob.toml", &experiment("knobs = { slice = 3 }\n"));
    bench.write("value.toml", &experiment("knobs = { slice_us = -3 }\n"));
    bench.write("type.toml", &experiment("knobs = { slice_us = \"3\" }\n"));
    bench.write("twice.toml", &experiment("\n[[scheduler]]\nname = \"b\"\nfile = \"vtime\"\n"));
    let kernel = "\n[[scheduler]]\nkernel = \"mine\"\n";
    bench.write("kernel.toml", &experiment(kernel).replacen('\n', "\non = \"vm\"\n", 1));
    let program = "\n[[scheduler]]\nprogram = [\"scx_nothere\"]\n";
    bench.write("program.toml", &experiment(program).replacen('\n', "\non = \"vm\"\n", 1));
    std::os::unix::fs::symlink("loop.toml", bench.path("loop.toml")).expect("a link");
    let run = ["run", "--store", "fairground.db"];
    bench.run(&[&run[..], &simulated("./tiny.toml", "rr", "6")].concat()).success();
    bench
}

/// The exit code of a line in a shell, and the first line on standard error
/// after what is left out.
fn answer(bench: &Bench, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_fairground"));
    let folders = std::env::var("PATH").unwrap_or_default();
    let own = program.parent().expect("a folder").display();
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", line])
        .current_dir(bench.path(""))
        .env("PATH", format!("{own}:{folders}"))
        .env("FAIRGROUND_HOME", bench.path("home"))
        .env("NO_COLOR", "1")
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = said.lines().filter(|line| !line.starts_with("left out: "));
    let first = lines.next().unwrap_or_default();
    // What is installed, and what runs, differs from host to host.
    let first = first.split("; known are").next().unwrap_or_default();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let series: Vec<&str> = release.split(['.', '-', '+']).take(2).collect();
    let first = first.replace(release, "RELEASE");
    let first = first.replace(&format!("kernel:{}", series.join(".")), "kernel:RUNNING");
    format!("{} {first}", output.status.code().unwrap_or(-1)).trim_end().to_owned()
}

#[test]
fn every_kind_of_mistake_has_its_exit_code() {
    let bench = bench();
    let is_command = |line: &&str| line.starts_with("fairground ");
    let mut answers = String::new();
    for line in TABLE.lines().filter(|line| is_command(line) || line.starts_with('#')) {
        let _ = writeln!(answers, "{line}");
        if is_command(&line) {
            let _ = writeln!(answers, "    {}", answer(&bench, line));
        }
    }
    expect_file!["exit_codes.txt"].assert_eq(&answers);
    let records = bench.records("fairground.db");
    let ran = records.iter().filter(|record| record.trial.experiment != "adhoc").count();
    assert_eq!((records.len(), ran), (12, 0), "nothing else ran");
}

#[test]
fn files_of_one_name_stay_two_contestants() {
    let bench = bench();
    let race = "run --on sim --workload ./tiny.toml --blocks 6 --store two.db --trace=all \
                --scheduler a/main.bpf.c --scheduler b/main.bpf.c";
    let words: Vec<&str> = race.split_whitespace().collect();
    let table = crate::common::stdout(&bench.run(&words).success());
    assert!(table.contains("against a/main") && table.contains("    b/main "), "{table}");
    let exported = bench.line("export csv --store two.db").success();
    let csv = crate::common::stdout(&exported);
    assert!(csv.contains(",main,") && csv.contains(",main (2),"), "{csv}");
    // The file does not name the folders; its owner is told which is which.
    let which = "in it, a/main is 'main', b/main is 'main (2)'";
    let told = crate::common::stderr(&exported);
    assert!(told.contains(which), "{told}");
    let unwritten = bench.line("report --store two.db -o none/two.html").code(2);
    assert!(!crate::common::stderr(&unwritten).contains("left out"));
    let reported = bench.line("report --store two.db -o two.html").success();
    assert!(crate::common::stderr(&reported).contains(which));
    let page = std::fs::read_to_string(bench.path("two.html")).expect("a page");
    assert!(page.contains("main (2)") && !page.contains("a/main"));
    let listed = crate::common::stderr(&bench.line("explain none --store two.db").code(2));
    assert!(listed.contains("  b/main in tiny"), "{listed}");
    bench.run(&words).success();
    let history = crate::common::stdout(&bench.line("history --store two.db").success());
    assert!(!history.contains(" main "), "{history}");
}
