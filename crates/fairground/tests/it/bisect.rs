// SPDX-License-Identifier: GPL-2.0-only
//! `bisect` finds the commit that was planted, skips what cannot be judged, runs nothing twice, and
//! leaves the user's checkout as it is.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Bench, stderr, stdout};

const ASK: [&str; 5] = ["bisect", "--workload", "./waker.toml", "--blocks", "6"];

/// A waker waits for as many slices as there are hogs.
const WAKER: &str = r#"duration_us = 200000
headline = ["longest_wait_ns waker"]

[[task]]
name = "waker"
jitter_us = 1000
steps = [{ run_us = 10 }, { sleep_us = 5000 }]

[[task]]
name = "hog"
count = 2
steps = [{ run_us = 1000 }]
"#;

/// The folder of a scheduler whose slice is in a header elsewhere in its tree.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("waker.toml", WAKER);
    std::fs::create_dir_all(bench.path("tree/sched")).expect("a folder");
    std::fs::create_dir_all(bench.path("tree/include")).expect("a folder");
    let text = "#include <scx/common.bpf.h>\n#include \"../include/slice.h\"\n\n\
        char _license[] SEC(\"license\") = \"GPL\";\n\n\
        void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 enq_flags)\n{\n\
        \tscx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, enq_flags);\n}\n\n\
        SCX_OPS_DEFINE(mine, .enqueue = (void *)mine_enqueue, .name = \"mine\");\n";
    bench.git(&["init", "--quiet", "tree"]);
    bench.write("tree/sched/mine.bpf.c", text);
    bench
}

/// Commits a slice; the subject says which.
fn commit(bench: &Bench, subject: &str, slice: &str) {
    bench.write("tree/include/slice.h", &format!("#define SLICE {slice}\n"));
    bench.git(&["-C", "tree", "add", "."]);
    bench.git(&["-C", "tree", "commit", "--quiet", "--allow-empty", "--message", subject]);
    bench.git(&["-C", "tree", "tag", subject]);
}

fn ask(bench: &Bench, rest: &str) -> assert_cmd::assert::Assert {
    let rest: Vec<&str> = rest.split(' ').collect();
    bench.run(&[&ASK[..], &["--tree", "tree/sched", "--file", "mine.bpf.c"], &rest].concat())
}

#[test]
fn the_planted_commit_is_found_and_nothing_runs_twice() {
    let bench = bench();
    let slices = [
        ("start", "2000000"),
        ("words", "2000000"),
        ("broken", "NOTHING"),
        ("tuned", "2000001"),
        ("long", "20000000"),
        ("more", "20000001"),
        ("last", "20000002"),
    ];
    slices.iter().for_each(|(subject, slice)| commit(&bench, subject, slice));
    let before = bench.git(&["-C", "tree", "status", "--porcelain=v2", "--branch", "--ignored"]);
    let found = ask(&bench, "--good start").success();
    let said = stdout(&found);
    let last = said.split("first bad commit: ").nth(1).expect("a commit");
    let first_line = last.lines().next().unwrap_or_default();
    assert!(first_line.ends_with(" long"), "{said}");
    assert!(last.contains("  worse  mine  ") && last.contains(" % [+"), "{said}");
    assert!(!said.contains("/tmp"), "{said}");
    assert!(stderr(&found).contains("left to test: about "), "{}", stderr(&found));
    let records = bench.records("fairground.db").len();
    assert!(records.is_multiple_of(6) && records <= 30, "each text once, {records} trials");
    let again = ask(&bench, "--good start").success();
    assert_eq!(stdout(&again), said);
    assert_eq!(bench.records("fairground.db").len(), records, "nothing ran again");
    let after = bench.git(&["-C", "tree", "status", "--porcelain=v2", "--branch", "--ignored"]);
    assert_eq!(before, after);
}

#[test]
fn skipped_neighbours_leave_several_commits() {
    let bench = bench();
    let slices =
        [("start", "2000000"), ("broken", "NOTHING"), ("long", "20000000"), ("last", "20000001")];
    slices.iter().for_each(|(subject, slice)| commit(&bench, subject, slice));
    let said = stdout(&ask(&bench, "--good start --bad last").code(4));
    let (_, end) = said.split_once("first bad commit: one of these commits").expect("several");
    let subjects: Vec<&str> = end.lines().filter_map(|line| line.split(' ').nth(3)).collect();
    assert_eq!(subjects[1..3], ["broken", "long"], "{said}");
    assert!(end.contains("worse  mine"), "{said}");
}

#[test]
fn a_note_names_files_as_they_are_in_the_tree() {
    let bench = bench();
    commit(&bench, "start", "2000000");
    commit(&bench, "same", "2000001");
    let said = stderr(&ask(&bench, "--good start --bad same").code(2));
    let note = said.lines().find(|line| line.starts_with("note: scheduler "));
    let note = note.unwrap_or_else(|| panic!("{said}"));
    assert!(note.starts_with("note: scheduler sched/mine.bpf.c includes"), "{note}");
    assert!(note.ends_with(": ../include/slice.h"), "{note}");
}

#[test]
fn programs_that_a_tree_names_are_not_run() {
    let bench = bench();
    commit(&bench, "start", "2000000");
    commit(&bench, "same", "2000001");
    bench.write("tree/.git/info/attributes", "* filter=a=b\n");
    let run = format!("sh -c 'echo >> {}; cat'", bench.path("ran").display());
    let settings = ["filter.a=b.clean", "filter.a=b.smudge", "core.pager"];
    settings.iter().for_each(|key| drop(bench.git(&["-C", "tree", "config", key, &run])));
    bench.git(&["-C", "tree", "config", "filter.a=b.required", "true"]);
    let hook = bench.path("tree/.git/hooks/post-index-change");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    std::fs::write(&hook, format!("#!/bin/sh\n{run} < /dev/null\n")).expect("a hook");
    std::fs::set_permissions(&hook, Permissions::from_mode(0o755)).expect("it may run");
    // Git looks into a file whose time has changed, by its filter.
    let text = std::fs::read(bench.path("tree/include/slice.h")).expect("a header");
    std::fs::write(bench.path("tree/include/slice.h"), text).expect("it can be written");
    ask(&bench, "--good start --bad same").code(2);
    // A clone that lacks an object gets it by the program that its remote names.
    let lost = bench.git(&["-C", "tree", "rev-parse", "start:include/slice.h"]);
    let (folder, file) = lost.trim().split_at(2);
    std::fs::remove_file(bench.path(&format!("tree/.git/objects/{folder}/{file}"))).expect("it");
    let remote = [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", &format!("ext::touch {}", bench.path("ran").display())),
        ("protocol.ext.allow", "always"),
    ];
    remote.iter().for_each(|(key, to)| drop(bench.git(&["-C", "tree", "config", key, to])));
    ask(&bench, "--good start --bad same").failure();
    assert!(!bench.path("ran").exists());
}

#[test]
fn the_help_has_no_option_that_means_nothing() {
    let help = stdout(&Bench::new().run(&["bisect", "--help"]).code(0));
    for option in ["--scheduler", "--baseline", "--resume"] {
        let is_listed = |line: &str| line.trim_start().starts_with(option);
        assert!(!help.lines().any(is_listed), "{help}");
    }
}

#[test]
fn ends_that_are_wrong_are_refused() {
    let bench = bench();
    let refused = |rest: &str, expected: &str| {
        let said = stderr(&ask(&bench, rest).code(2));
        assert!(said.contains(expected), "{rest}: {said}");
    };
    commit(&bench, "start", "2000000");
    commit(&bench, "same", "2000001");
    commit(&bench, "long", "20000000");
    refused("--good nothing", "--good nothing: the tree has no such revision");
    refused("--good=--output=x", "--good --output=x: the tree has no such revision");
    refused("--good start --bad same", "it is not worse than --good");
    refused("--good long --bad start", "exchange them");
    refused("--good start --bad start", "are the same commit");
    refused("--good start --scheduler vtime", "leave it out");
    refused("--good start --baseline start", "bisect compares with --good; leave it out");
    refused("--good start --margin=-1", "write percent, 0 or more");
    refused("--good start --file none.bpf.c", "cannot be used multiple times");
    let lost = ["--tree", "tree", "--file", "mine.bpf.c", "--good", "start"];
    let said = stderr(&bench.run(&[&ASK[..], &lost].concat()).code(2));
    assert!(said.contains("--file mine.bpf.c: not in --good "), "{said}");
    let none = ["--tree", "/", "--file", "mine.bpf.c", "--good", "start"];
    let said = stderr(&bench.run(&[&ASK[..], &none].concat()).code(2));
    assert!(said.contains("--tree /: no git tree"), "{said}");
    bench.write("tree/include/slice.h", "#define SLICE 5\n");
    refused("--good start", "include/slice.h changed since the last commit");
    commit(&bench, "bad", "NOTHING");
    refused("--good bad~2 --bad bad", "cannot be judged: sched/mine.bpf.c:8");
    commit(&bench, "good", "20000000");
    refused("--good bad --bad good", "cannot be judged: sched/mine.bpf.c:8: use of undeclared");
}
