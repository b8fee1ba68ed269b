// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own example schedulers and self-tests, unmodified. They are not part of the
//! project: the test wants the sources of a 7.x kernel in `FAIRGROUND_LINUX` (Debian's package
//! linux-source-7.3, unpacked) and says so when there are none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{KnobValue, Outcome, Seed, Trial};

/// What is to happen.
enum Expected {
    /// It runs to the end.
    Runs,
    /// It is thrown out or refused, for a reason with these words.
    Reason(&'static str),
}
use Expected::{Reason, Runs};

const EXAMPLES: &str = "tools/sched_ext";
const SELFTESTS: &str = "tools/testing/selftests/sched_ext";

/// Folder, file, what the user-space program would set (`nr_cpu_ids` is the machine's), what is to
/// happen.
type Case = (&'static str, &'static str, &'static [(&'static str, KnobValue)], Expected);

const CASES: &[Case] = &[
    (EXAMPLES, "scx_simple", &[], Runs),
    (EXAMPLES, "scx_simple", &[("fifo_sched", KnobValue::Bool(true))], Runs),
    (
        EXAMPLES,
        "scx_central",
        &[("nr_cpu_ids", KnobValue::Int(4)), ("slice_ns", KnobValue::Int(20_000_000))],
        Runs,
    ),
    (EXAMPLES, "scx_cpu0", &[], Runs),
    // It defines a function that the ecosystem's newer header has as a macro; and it is about
    // control groups.
    (EXAMPLES, "scx_flatcg", &[], Reason("scx_flatcg.bpf.c:135:")),
    (EXAMPLES, "scx_pair", &[], Reason("the model has no scx_bpf_task_cgroup() (line 266)")),
    // Arenas, in both.
    (EXAMPLES, "scx_qmap", &[], Reason("scx/bpf_arena_common.bpf.h")),
    (EXAMPLES, "scx_sdt", &[], Reason("scx/bpf_arena_common.bpf.h")),
    // Its policy is a user-space program.
    (EXAMPLES, "scx_userland", &[], Reason("User scheduler pid uninitialized")),
    (SELFTESTS, "allowed_cpus", &[], Runs),
    (SELFTESTS, "create_dsq", &[], Runs),
    // It uses a macro in a way that the ecosystem's header does not allow.
    (SELFTESTS, "cyclic_kick_wait", &[], Reason("incompatible function pointer types")),
    (SELFTESTS, "ddsp_bogus_dsq_fail", &[], Reason("non-existent DSQ 0xcafef00d")),
    (SELFTESTS, "ddsp_vtimelocal_fail", &[], Reason("cannot use vtime ordering for built-in DSQs")),
    (SELFTESTS, "dequeue", &[], Runs),
    // DIVERGES: unloading leaves tasks in the scheduler's queues until ops.exit() has run; a kernel
    // empties them before.
    (SELFTESTS, "dequeue_iter", &[], Reason("attempting to destroy in-use dsq")),
    (SELFTESTS, "dequeue_remote", &[], Runs),
    (SELFTESTS, "dsp_local_on", &[], Runs),
    (SELFTESTS, "enable_cmask", &[], Reason("the model has no scx_bpf_nr_cids()")),
    (SELFTESTS, "enq_last_no_enq_fails", &[], Reason("SCX_OPS_ENQ_LAST requires ops.enqueue()")),
    (SELFTESTS, "enq_select_cpu", &[], Runs),
    (SELFTESTS, "exit", &[], Reason("unregistered from BPF")),
    (SELFTESTS, "hotplug", &[], Reason("one scheduler to a file")),
    (SELFTESTS, "init_enable_count", &[], Runs),
    (SELFTESTS, "maximal", &[], Reason("maximal_sched_switch (tp_btf/sched_switch)")),
    (SELFTESTS, "maybe_null", &[], Runs),
    (SELFTESTS, "maybe_null_fail_dsp", &[], Reason("dispatch uses a null pointer")),
    (SELFTESTS, "maybe_null_fail_yld", &[], Runs),
    (SELFTESTS, "minimal", &[], Runs),
    (SELFTESTS, "nohz_tick", &[], Runs),
    (SELFTESTS, "non_scx_kfunc_deny", &[], Reason("no struct sched_ext_ops")),
    (SELFTESTS, "numa", &[], Runs),
    // The same.
    (SELFTESTS, "peek_dsq", &[], Reason("attempting to destroy in-use dsq")),
    (SELFTESTS, "prog_run", &[], Runs),
    (SELFTESTS, "rt_stall", &[], Runs),
    (SELFTESTS, "select_cpu_dfl", &[], Runs),
    (SELFTESTS, "select_cpu_dfl_nodispatch", &[], Runs),
    (SELFTESTS, "select_cpu_dispatch", &[], Runs),
    (SELFTESTS, "select_cpu_dispatch_bad_dsq", &[], Reason("non-existent DSQ 0xcafef00d")),
    (SELFTESTS, "select_cpu_dispatch_dbl_dsp", &[], Reason("already direct-dispatched")),
    (SELFTESTS, "select_cpu_vtime", &[], Runs),
];

fn source() -> Option<PathBuf> {
    let folder = std::env::var_os("FAIRGROUND_LINUX").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: set FAIRGROUND_LINUX to the sources of a 7.x kernel");
    }
    folder
}

fn trial(file: &str, knobs: &[(&str, KnobValue)]) -> Trial {
    let worker = |name: &str, steps: serde_json::Value| {
        let count = 5;
        serde_json::json!({ "name": name, "count": count, "steps": steps })
    };
    let sleeper = serde_json::json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
    let hog = serde_json::json!([{ "run_us": 1000 }]);
    let knobs: serde_json::Map<String, serde_json::Value> =
        knobs.iter().map(|(name, value)| ((*name).into(), serde_json::json!(value))).collect();
    serde_json::from_value(serde_json::json!({
        "schema": model::trial::SCHEMA, "experiment": "examples", "backend": "sim",
        "contestant": { "name": file, "scheduler": {
            "kind": "file", "file": file, "sha256": "", "knobs": knobs } },
        "workload": { "name": "mixed", "duration_us": 300_000,
            "task": [worker("hog", hog), worker("sleeper", sleeper)] },
        "machine": { "name": "four", "cpus": 4 },
        "seed": Seed(1), "block": 0, "boot": 0, "position": 0, "timeout_ms": 10_000,
    }))
    .expect("a trial")
}

/// How it ends, in words; empty if it runs well.
fn ending(path: &Path, knobs: &[(&str, KnobValue)]) -> String {
    let resolved = compile::resolve(&path.display().to_string(), Path::new("."));
    let native = match resolved.and_then(|source| compile::native::native(&source)) {
        Ok(native) => native,
        Err(error) => return error.to_string(),
    };
    let trial = trial(&native.name, knobs);
    let record = sim::native::supervise(&trial, Some(&native), Duration::from_secs(20));
    match record.outcome {
        Outcome::Ok => String::new(),
        other => format!("{}: {}", other.word(), other.reason()),
    }
}

#[test]
fn the_kernels_examples_run_or_are_refused_by_name() {
    let Some(linux) = source() else { return };
    let mut surprises = Vec::new();
    for (folder, file, knobs, expected) in CASES {
        let ending = ending(&linux.join(folder).join(format!("{file}.bpf.c")), knobs);
        let first =
            ending.lines().next().unwrap_or_default().replace(&*linux.to_string_lossy(), "");
        println!("{file}: {}", if ending.is_empty() { "runs" } else { &first });
        let is_expected = match expected {
            Runs => ending.is_empty(),
            Reason(words) => ending.contains(words),
        };
        if !is_expected {
            surprises.push(format!("{file}: {ending}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}
