// SPDX-License-Identifier: GPL-2.0-only
//! `exit_codes.txt`: commands as a stranger types them, the exit code and the first line on
//! standard error. `UPDATE_EXPECT=1` writes the answers anew.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use expect_test::expect_file;

use crate::common::{Bench, project, simulated};

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
