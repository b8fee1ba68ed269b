// SPDX-License-Identifier: GPL-2.0-only
//! The whole pipeline in the simulator: no kernel, no compiler, no privileges, nothing but the
//! binary.

use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Bench, stderr, stdout};

/// Two built-in files on the tiny workload; `sim` is what answers when nobody says who.
const RACE: &str = "--scheduler fifo --scheduler vtime --workload tiny.toml";

fn race(more: &str) -> String {
    format!("run --exploratory {RACE} {more}")
}

#[test]
fn an_experiment_needs_nothing_but_the_binary() {
    let bench = Bench::new();
    let nothing = bench.path("empty");
    std::fs::create_dir(&nothing).expect("a folder");
    let mut run = bench.fairground(&race("--blocks 6").split(' ').collect::<Vec<_>>());
    run.env("PATH", &nothing).env("HOME", &nothing).env_remove("FAIRGROUND_HOME");
    let run = run.assert().success();
    assert!(stdout(&run).contains("vtime"), "{}", stdout(&run));
    assert!(std::fs::read_dir(&nothing).expect("the folder").next().is_none());
    let records = bench.records("fairground.db");
    assert_eq!(records.len(), 12);
    for record in &records {
        assert!(record.outcome.is_ok(), "{:?}", record.outcome);
        assert_eq!(record.provenance.kernel_release, "simulated");
        assert_eq!(record.provenance.scheduler_after.sched_ext_ops, record.trial.contestant.name);
        let share = record.measured.value("cpu_share", "hog").expect("a share");
        assert!((0.8..1.0).contains(&share), "{share}");
    }
    bench.run(&["report", "-o", "race.html"]).success();
}

#[test]
fn one_trial_runs_by_hand_on_any_backend_that_can() {
    let bench = Bench::new();
    let plan = stdout(&bench.line(&format!("plan --on vm {RACE} --exploratory")).success());
    let first = plan.lines().next().expect("a trial");
    let answer = bench.fairground(&["trial", "--on", "sim"]).write_stdin(first).assert().success();
    let record: model::Record = serde_json::from_str(&stdout(&answer)).expect("a record");
    assert_eq!(record.trial.backend, model::Backend::Sim);
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
}

#[test]
fn what_cannot_be_simulated_is_told_before_anything_runs() {
    let bench = Bench::new();
    let refused = bench.line("run --scheduler kernel:7 --workload tiny.toml").code(2);
    assert!(stderr(&refused).contains("--on vm"), "{}", stderr(&refused));
    assert!(!bench.path("fairground.db").exists());
    let partly = bench.line(&race("--scheduler kernel:7 --blocks 1")).success();
    assert!(stderr(&partly).contains("kernel's own scheduler"), "{}", stderr(&partly));
    assert_eq!(bench.records("fairground.db").len(), 2);
}

#[test]
fn a_broken_scheduler_costs_its_own_trials_only() {
    let broken = [
        ("null_pointer", "crashed", "enqueue uses a null pointer (", "null_pointer.bpf.c:22)"),
        ("spins", "hung", "dispatch does not end", ""),
        ("double_dispatch", "ejected", "already direct-dispatched", "double_dispatch.bpf.c:20)"),
        ("bad_queue", "ejected", "non-existent DSQ 0xbad", "bad_queue.bpf.c:19)"),
        ("lacking", "unsupported", "the model has no scx_bpf_moonlight()", "lacking.bpf.c:21: "),
    ];
    let bench = Bench::new();
    let files: Vec<String> =
        broken.iter().map(|(name, ..)| crate::common::scheduler(name)).collect();
    let named: String = files.iter().map(|file| format!(" --scheduler {file}")).collect();
    bench.line(&(race("--blocks 3 --jobs 1") + &named)).code(1);
    let records = bench.records("fairground.db");
    assert_eq!(records.len(), 3 * (2 + broken.len()));
    for (name, outcome, what, place) in broken {
        let its = || records.iter().filter(|record| record.trial.contestant.name == name);
        for record in its() {
            let reason = record.outcome.reason();
            assert_eq!(record.outcome.word(), outcome, "{name}: {reason}");
            assert!(reason.contains(what) && reason.contains(place), "{name}: {reason}");
        }
        // The shortest: what else the host does only adds.
        let wall_ms = its().map(|record| record.provenance.wall_ms).min();
        assert!(wall_ms.is_some_and(|ms| ms < 1_000), "{name} took {wall_ms:?} ms");
    }
    let fine = records.iter().filter(|record| record.outcome.is_ok());
    assert_eq!(fine.count(), 6, "fifo and vtime are none the worse for it");
}

#[test]
fn what_the_simulator_lacks_or_leaves_out_is_said() {
    let bench = Bench::new();
    let one = "run --exploratory --blocks 1 --workload tiny.toml --scheduler";
    let lacking = crate::common::scheduler("lacking");
    bench.line(&format!("{one} {lacking}")).code(4);
    bench.write(
        "dumps.bpf.c",
        "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n\
         void BPF_STRUCT_OPS(dumps_dump, struct scx_dump_ctx *dumped) { }\n\
         void BPF_STRUCT_OPS(dumps_running, struct task_struct *p)\n\
         { scx_bpf_cpuperf_set(scx_bpf_task_cpu(p), 512); }\n\
         SCX_OPS_DEFINE(dumps_ops, .dump = (void *)dumps_dump, .running = (void *)dumps_running,\n\
         .name = \"dumps\");\n",
    );
    let said = stderr(&bench.line(&format!("{one} ./dumps.bpf.c")).success());
    let line = "left out in the simulator: dumps: ops.dump: dumps are the simulator's own; \
                scx_bpf_cpuperf_set(): CPUs run at full speed, as under `performance`";
    assert!(said.contains(line), "{said}");
}

#[test]
fn trials_side_by_side_give_the_bytes_that_they_give_one_by_one() {
    let bench = Bench::new();
    let run = |jobs, store| {
        bench.line(&race(&format!("--blocks 6 --jobs {jobs} --store {store}"))).success();
    };
    run("1", "one.db");
    run("4", "four.db");
    bench.run(&["compare", "--identical", "one.db", "four.db"]).success();
    bench.line(&race("--blocks 6 --seed 2 --store other.db")).success();
    bench.run(&["compare", "--identical", "one.db", "other.db"]).code(1);
}

#[test]
fn an_interrupted_simulation_ends_at_once_and_can_go_on() {
    let bench = Bench::new();
    // Some 10^9 switches: it would take minutes.
    let long = "about = \"long\"\nduration_us = 1000000000\n[[task]]\nname = \"t\"\ncount = 2\n\
                steps = [{ run_us = 1 }, \"yield\"]\n";
    bench.write("long.toml", long);
    let arguments = ["run", "--scheduler", "fifo", "--workload", "long.toml", "--blocks", "2"];
    let mut run = bench.process(&arguments);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary");
    std::thread::sleep(Duration::from_millis(500));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a signal");
    let sent = Instant::now();
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    assert!(sent.elapsed() < Duration::from_secs(20), "it took {:?}", sent.elapsed());
    assert_eq!(bench.records("fairground.db").len(), 0);
}

#[test]
fn what_no_verifier_has_seen_is_said_and_who_would_see_it() {
    let bench = Bench::new();
    let folder = bench.path("nothing");
    bench.write(
        "own.bpf.c",
        "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\nu64 table[4];\n\
         void BPF_STRUCT_OPS(own_enqueue, struct task_struct *p, u64 flags)\n\
         {\n\ttable[p->pid] = 1;\n\tscx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, flags);\n}\n\
         SCX_OPS_DEFINE(own_ops, .enqueue = (void *)own_enqueue, .name = \"own\");\n",
    );
    let run = bench.line(&race("--blocks 1 --scheduler ./own.bpf.c")).success();
    let words =
        "not verified: ./own.bpf.c; `fairground check ./own.bpf.c` asks a kernel's verifier";
    assert_eq!(stderr(&run).matches(words).count(), 1, "{}", stderr(&run));
    let mut check = bench.fairground(&["check", "./own.bpf.c"]);
    let check = check.env("XDG_DATA_HOME", &folder).assert().success();
    let said = stdout(&check);
    assert!(said.contains("so no verifier was asked") && said.contains("kernel pull"), "{said}");
    // Only the given file is checked.
    assert!(!said.contains("vtime"), "{said}");
}
