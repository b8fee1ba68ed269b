// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own example schedulers and self-tests, unmodified. They are not part of the
//! project: the test wants `FAIRGROUND_LINUX` to name the folder that `fairground kernel examples`
//! prints (or the sources of a 7.x kernel). Without it the test says that it is skipped; with `CI`
//! set that is a failure.
//!
//! `FAIRGROUND_BLESS=1 cargo test --release -p fairground-sim --test it linux_examples` rewrites the
//! list in the book's chapter on the simulator.

use std::fmt::Write;
use std::path::PathBuf;

use compile::native::Native;
use model::{Outcome, SchedulerChoice};

use crate::common::{compiled, hogs_and_sleepers, supervise, trial_of};

enum Expected {
    Runs,
    /// It is thrown out for a reason with these words, as in a kernel: that is what it tests.
    Ends(&'static str),
    /// It cannot be run, or is not treated as a kernel would; words of the reason, and why.
    Not(&'static str, &'static str),
}
use Expected::{Ends, Not, Runs};

const EXAMPLES: &str = "tools/sched_ext";
const SELFTESTS: &str = "tools/testing/selftests/sched_ext";

/// Folder, file, what the user-space program would set (JSON), what is to happen.
type Case = (&'static str, &'static str, &'static str, Expected);

/// It pairs each CPU of the first half with one of the second.
const OF_PAIR: &str = r#"{
    "nr_cpu_ids": "= cpus", "pair_batch_dur_ns": 20000000,
    "pair_cpu": "= (cpu + cpus / 2) % cpus", "pair_id": "= cpu % (cpus / 2)",
    "in_pair_idx": "= cpu / (cpus / 2)",
    "maps.pair_ctx": "= cpus / 2", "inner_maps.cgrp_q_arr": true
}"#;

const CASES: &[Case] = &[
    (EXAMPLES, "scx_simple", "{}", Runs),
    (EXAMPLES, "scx_simple", r#"{"fifo_sched": true}"#, Runs),
    (EXAMPLES, "scx_central", r#"{"nr_cpu_ids": "= cpus", "slice_ns": 20000000}"#, Runs),
    (EXAMPLES, "scx_cpu0", "{}", Runs),
    (EXAMPLES, "scx_flatcg", "{}", Runs),
    (EXAMPLES, "scx_pair", OF_PAIR, Runs),
    (
        EXAMPLES,
        "scx_qmap",
        "{}",
        Not("the model has no scx_bpf_sub_dispatch()", "it has schedulers below it"),
    ),
    (EXAMPLES, "scx_sdt", "{}", Runs),
    (
        EXAMPLES,
        "scx_userland",
        "{}",
        Not("User scheduler pid uninitialized", "its policy is a program in user space"),
    ),
    (SELFTESTS, "allowed_cpus", "{}", Runs),
    (SELFTESTS, "create_dsq", "{}", Runs),
    (
        SELFTESTS,
        "cyclic_kick_wait",
        "{}",
        Not(
            "incompatible function pointer types",
            "it uses a macro in a way that the ecosystem's header does not allow",
        ),
    ),
    (SELFTESTS, "ddsp_bogus_dsq_fail", "{}", Ends("non-existent DSQ 0xcafef00d")),
    (SELFTESTS, "ddsp_vtimelocal_fail", "{}", Ends("cannot use vtime ordering for built-in DSQs")),
    (SELFTESTS, "dequeue", "{}", Runs),
    (SELFTESTS, "dequeue_iter", "{}", Runs),
    (SELFTESTS, "dequeue_remote", "{}", Runs),
    (SELFTESTS, "dsp_local_on", "{}", Runs),
    (
        SELFTESTS,
        "enable_cmask",
        "{}",
        Not("changes address space of pointer", "it takes plain pointers for those of an arena"),
    ),
    (SELFTESTS, "enq_last_no_enq_fails", "{}", Ends("SCX_OPS_ENQ_LAST requires ops.enqueue()")),
    (SELFTESTS, "enq_select_cpu", "{}", Runs),
    (SELFTESTS, "exit", "{}", Ends("unregistered from BPF")),
    (
        SELFTESTS,
        "hotplug",
        "{}",
        Not(
            "one scheduler to a file",
            "it holds two schedulers, and CPUs that come and go are not modelled",
        ),
    ),
    (SELFTESTS, "init_enable_count", "{}", Runs),
    (SELFTESTS, "maximal", "{}", Runs),
    (SELFTESTS, "maybe_null", "{}", Runs),
    (
        SELFTESTS,
        "maybe_null_fail_dsp",
        "{}",
        Not(
            "dispatch uses a null pointer",
            "a kernel's verifier refuses it; here it is thrown out at the null pointer",
        ),
    ),
    (
        SELFTESTS,
        "maybe_null_fail_yld",
        "{}",
        Not("", "a kernel's verifier refuses it; here it runs, because nobody yields"),
    ),
    (SELFTESTS, "minimal", "{}", Runs),
    (SELFTESTS, "nohz_tick", "{}", Runs),
    (
        SELFTESTS,
        "non_scx_kfunc_deny",
        "{}",
        Not("no struct sched_ext_ops", "it is no scheduler: it shows what others may not call"),
    ),
    (
        SELFTESTS,
        "numa",
        "{}",
        Not(
            "per-node idle tracking is disabled",
            "its program in user space sets `ops.flags`, which its file leaves at 0",
        ),
    ),
    (SELFTESTS, "peek_dsq", "{}", Runs),
    (SELFTESTS, "prog_run", "{}", Runs),
    (SELFTESTS, "rt_stall", "{}", Runs),
    (SELFTESTS, "select_cpu_dfl", "{}", Runs),
    (SELFTESTS, "select_cpu_dfl_nodispatch", "{}", Runs),
    (SELFTESTS, "select_cpu_dispatch", "{}", Runs),
    (SELFTESTS, "select_cpu_dispatch_bad_dsq", "{}", Ends("non-existent DSQ 0xcafef00d")),
    (SELFTESTS, "select_cpu_dispatch_dbl_dsp", "{}", Ends("already direct-dispatched")),
    (SELFTESTS, "select_cpu_vtime", "{}", Runs),
];

fn source() -> Result<PathBuf, &'static str> {
    let folder = std::env::var_os("FAIRGROUND_LINUX").map(PathBuf::from);
    folder.ok_or("FAIRGROUND_LINUX does not name the kernel's examples")
}

/// Clang takes most of the time, so two of them run at once; the forks of the trials come later.
fn compiled_all(paths: &[PathBuf]) -> Vec<Result<Native, String>> {
    let half = paths.len().div_ceil(2);
    std::thread::scope(|scope| {
        let compile = |path: &PathBuf| compiled(path).map_err(|error| error.to_string());
        let work = move |part: &[PathBuf]| part.iter().map(compile).collect::<Vec<_>>();
        let first = scope.spawn(move || work(&paths[..half]));
        let second = work(&paths[half..]);
        let mut all = first.join().expect("compiling gives errors, not panics");
        all.extend(second);
        all
    })
}

/// How it ends, in words; empty if it runs well.
fn ending(native: Result<Native, String>, set: &str) -> String {
    let native = match native {
        Ok(native) => native,
        Err(error) => return error,
    };
    let mut trial = trial_of(&native.name, &[], 4, 300, hogs_and_sleepers(5));
    if let SchedulerChoice::File { settings, .. } = &mut trial.contestant.scheduler {
        *settings = serde_json::from_str(set).expect("values");
    }
    match supervise(&trial, &native).unwrap_or_else(|error| panic!("{error}")).outcome {
        Outcome::Ok => String::new(),
        other => format!("{}: {}", other.word(), other.reason()),
    }
}

#[test]
fn the_kernels_examples_run_or_are_refused_by_name() {
    testing::beyond_cargo_test!("needs the kernel's examples");
    let linux = testing::need!(source());
    let path = |case: &Case| linux.join(case.0).join(format!("{}.bpf.c", case.1));
    let natives = compiled_all(&CASES.iter().map(path).collect::<Vec<_>>());
    let mut surprises = Vec::new();
    for ((_, file, set, expected), native) in CASES.iter().zip(natives) {
        let ending = ending(native, set);
        let is_expected = match expected {
            Runs => ending.is_empty(),
            Ends(words) => ending.contains(words),
            Not("", _) => ending.is_empty(),
            Not(words, _) => ending.contains(words),
        };
        if !is_expected {
            surprises.push(format!("{file}: {ending}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn list() -> String {
    let is = |wanted: fn(&Expected) -> bool| {
        let mut names: Vec<String> = CASES
            .iter()
            .filter(|case| wanted(&case.3))
            .map(|case| format!("`{}`", case.1))
            .collect();
        names.dedup();
        format!("{}:\n{}", names.len(), wrapped(&names.join(", ")))
    };
    let mut text = format!(
        "Run to the end, {}.\n\nEnd with the error that they are there to provoke, {}.\n\n\
         | do not | why |\n|---|---|\n",
        is(|expected| matches!(expected, Runs)),
        is(|expected| matches!(expected, Ends(_))),
    );
    for (_, file, _, expected) in CASES {
        if let Not(_, why) = expected {
            writeln!(text, "| `{file}` | {why} |").expect("a string takes text");
        }
    }
    text
}

/// Lines that fit the document.
fn wrapped(words: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let line = lines.last_mut().expect("a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + word.len() < WIDTH {
            *line += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

#[test]
fn the_list_in_the_method_is_this_one() {
    let document = "docs/src/method/simulator.md";
    let tests = "-p fairground-sim --test it linux_examples";
    testing::project::expect_generated(document, "kernel examples", tests, &list());
}
