// SPDX-License-Identifier: GPL-2.0-only
//! `bisect` finds the commit that was planted, skips what cannot be judged, runs nothing twice, and
//! leaves the user's checkout as it is.

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
