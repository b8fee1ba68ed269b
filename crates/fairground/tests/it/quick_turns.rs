// SPDX-License-Identifier: GPL-2.0-only
//! An author's day: run again when a file is saved, and results as tests for CI.

use std::io::{BufRead, BufReader, Lines};
use std::process::{ChildStderr, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, project};

const RUN: &str =
    "run --on sim --workload ./tiny.toml --scheduler ./mine.bpf.c --scheduler fifo --blocks 6";

fn round_robin(slice_us: u32) -> String {
    let text = std::fs::read_to_string(project("schedulers/vtime.bpf.c")).expect("a scheduler");
    let changed = text.replace("slice_us = 20000", &format!("slice_us = {slice_us}"));
    assert_ne!(text, changed, "vtime's slice has another name or value");
    changed
}

/// The next line that has these words.
fn line_with<Reader: BufRead>(lines: &mut Lines<Reader>, words: &str) -> String {
    let found = lines.by_ref().map(|line| line.expect("text")).find(|line| line.contains(words));
    found.unwrap_or_else(|| panic!("no line has '{words}'"))
}

#[test]
fn a_saved_file_runs_again_and_the_change_is_told() {
    let bench = Bench::new();
    bench.write("mine.bpf.c", &round_robin(19_999));
    let experiment = "question = \"Which is better?\"\non = [\"sim\"]\nmachines = [\"uniprocessor\"]\n\
                      baseline = \"fifo\"\nblocks = 6\n\
                      [[scheduler]]\nname = \"fifo\"\nfile = \"fifo\"\n\
                      [[scheduler]]\nname = \"mine\"\nfile = \"mine.bpf.c\"\n\
                      [[workload]]\nname = \"tiny.toml\"\n";
    bench.write("ours.toml", experiment);
    let mut watching = bench
        .process(&["run", "./ours.toml", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary");
    let mut told: Lines<BufReader<ChildStderr>> =
        BufReader::new(watching.stderr.take().expect("a pipe")).lines();
    let mut shown: Lines<BufReader<ChildStdout>> =
        BufReader::new(watching.stdout.take().expect("a pipe")).lines();
    let waits = line_with(&mut told, "waiting until ");
    assert!(
        ["mine.bpf.c", "ours.toml", "tiny.toml"].iter().all(|name| waits.contains(name)),
        "{waits}"
    );

    bench.write("mine.bpf.c", "int broken\n");
    line_with(&mut told, "mine.bpf.c:");
    line_with(&mut told, "waiting until ");

    bench.write("mine.bpf.c", &round_robin(500));
    let changes = line_with(&mut shown, "since the last run: ");
    assert!(!changes.contains(": 0 of"), "{changes}");
    let change = line_with(&mut shown, "mine");
    assert!(change.contains("worse") || change.contains("better"), "{change}");
    line_with(&mut told, "waiting until ");

    kill(Pid::from_raw(watching.id() as i32), Signal::SIGINT).expect("a signal");
    assert_eq!(watching.wait().expect("its end").code(), Some(130));
}

#[test]
fn results_are_tests_for_ci() {
    let bench = Bench::new();
    bench.write("mine.bpf.c", &round_robin(19_999));
    let lost = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
                void BPF_STRUCT_OPS(lost_enqueue, struct task_struct *p, u64 flags)\n\
                {\n\tscx_bpf_error(\"lost <%d>\", p->pid);\n}\n\
                SCX_OPS_DEFINE(lost_ops, .enqueue = (void *)lost_enqueue, .name = \"lost\");\n";
    bench.write("lost.bpf.c", lost);
    let printed = |line: &str, code: i32| {
        let answer = bench.run(&line.split(' ').collect::<Vec<_>>()).code(code);
        String::from_utf8(answer.get_output().stdout.clone()).expect("text")
    };
    let has = |text: &str, words: &str| assert!(text.contains(words), "{words}:\n{text}");

    let run = printed(&format!("{RUN} --scheduler ./lost.bpf.c --format junit"), 1);
    has(&run, "<testsuite name=\"adhoc\" tests=\"18\" failures=\"6\" errors=\"0\" skipped=\"0\">");
    has(&run, "<testcase classname=\"mine\" name=\"tiny on uniprocessor (sim), trial ");
    has(&run, "<failure message=\"ejected: ");
    has(&run, "lost &lt;");

    for slice_us in [500, 19_999] {
        bench.write("mine.bpf.c", &round_robin(slice_us));
        printed(&format!("{RUN} --store gate.db"), 0);
    }
    let gate = printed("history --gate --store gate.db --format junit", 1);
    has(&gate, "<failure message=\"mine");
    has(&gate, "<testcase classname=\"fifo\"");
    bench.line("history --store gate.db --format junit").code(2);

    let check = printed("check --no-boot ./mine.bpf.c --format junit", 0);
    has(&check, "<testcase classname=\"scheduler\" name=\"./mine.bpf.c\">");
    let folder = bench.path("mine.folder");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::copy(bench.path("mine.bpf.c"), folder.join("mine.bpf.c")).expect("a copy");
    let check = printed("check --no-boot ./mine.folder --format junit", 0);
    has(&check, "<testcase classname=\"scheduler\" name=\"./mine.folder\">");
    // What refuses one CPU is checked on two.
    bench.write("even.bpf.c", &round_robin(500));
    bench.write("even.toml", "[[refuse]]\nif = '= cpus % 2'\nwhy = 'it pairs CPUs'\n");
    let check = printed("check --no-boot ./even.bpf.c --format junit", 0);
    has(&check, "failures=\"0\"");
    let wrong = printed("check --no-boot ./nothing.bpf.c --format junit", 2);
    has(&wrong, "failures=\"1\"");

    let soak = "soak soak_short --on sim --machine uniprocessor --workload ./tiny.toml --blocks 1 \
                --scheduler ./lost.bpf.c --format junit";
    has(&printed(soak, 1), "<testcase classname=\"lost\"");
}

#[test]
fn the_inside_of_a_scheduler_is_shown() {
    let bench = Bench::new();
    let text = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
                const volatile u64 constant = 7;\nu64 enqueues;\n\
                struct { u32 high, low; } classes;\ns32 of_cpu[4] = {0, -1};\nu64 ring[64];\n\
                void BPF_STRUCT_OPS(mine_enqueue, struct task_struct *p, u64 flags)\n\
                {\n\tif (!enqueues++)\n\t\tbpf_printk(\"first %llu\", constant);\n\
                \tclasses.low++;\n\tof_cpu[scx_bpf_task_cpu(p) & 3]--;\n\tring[enqueues & 63] = 3;\n\
                \tscx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, flags);\n}\n\
                SCX_OPS_DEFINE(mine_ops, .enqueue = (void *)mine_enqueue, .name = \"mine\");\n";
    bench.write("mine.bpf.c", text);
    let explained = bench.line("explain --workload ./tiny.toml --scheduler ./mine.bpf.c").success();
    let shown = String::from_utf8_lossy(&explained.get_output().stdout).into_owned();
    let (_, inside) = shown.split_once("Its variables at the end\n").expect("variables");
    assert!(inside.contains("  enqueues = ") && !inside.contains("enqueues = 0"), "{inside}");
    assert!(inside.contains("  classes = {high 0, low "), "{inside}");
    assert!(inside.contains("  of_cpu = [-") && inside.contains(", -1, 0, 0]\n"), "{inside}");
    assert!(inside.contains("  ring = 64 values: 0 … "), "{inside}");
    assert!(!inside.contains("constant"), "{inside}");
    let run = bench.line(&RUN.replace("--blocks 6", "--blocks 1 --exploratory")).success();
    let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(told.contains("bpf_printk of mine: 1 line\n    first 7\n"), "{told}");
}
