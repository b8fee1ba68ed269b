// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers in C, run through the whole simulator.

use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use compile::native::Native;
use model::*;

use crate::common::reference::Fifo;
use sim::native::{Host, NativeScheduler, run};
use sim::{TaskLayout, run_ops};

const SECOND: Duration = Duration::from_secs(1);

/// Six tasks on two CPUs: hogs and sleepers.
fn trial(file: &str, knobs: &[(&str, KnobValue)]) -> Trial {
    let group = |name: &str, steps: serde_json::Value| {
        let count = 3;
        serde_json::json!({ "name": name, "count": count, "steps": steps })
    };
    let steps = serde_json::json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
    let workload = serde_json::json!({
        "name": "mixed",
        "duration_us": 200_000,
        "task": [group("hog", serde_json::json!([{ "run_us": 1000 }])), group("sleeper", steps)],
    });
    let knobs = knobs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let scheduler = SchedulerChoice::File { file: file.into(), sha256: String::new(), knobs };
    Trial {
        contestant: Contestant { name: file.into(), kernel: None, scheduler },
        workload: serde_json::from_value(workload).expect("a workload"),
        machine: serde_json::from_value(serde_json::json!({ "name": "two", "cpus": 2 }))
            .expect("a machine"),
        timeout_ms: 10_000,
        ..Trial::default()
    }
}

fn supervise(
    trial: &Trial,
    scheduler: Option<&Native>,
    timeout: Duration,
    stop: &AtomicBool,
) -> Record {
    sim::native::supervise(trial, scheduler, timeout, stop)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn builtin(name: &str) -> Native {
    let source = compile::resolve(name, Path::new(".")).expect("it is built in");
    compile::native::native(&source).expect("it is compiled")
}

/// A scheduler that is fifo, but for what is given: functions, and lines of the table.
fn scheduler(name: &str, code: &str, ops: &str) -> Native {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("{name}.bpf.c"));
    let text = format!(
        "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n{code}\n\
         SCX_OPS_DEFINE({name}_ops, {ops} .name = \"{name}\");\n"
    );
    std::fs::write(&path, text).expect("the temporary folder can be written");
    let source = compile::resolve(&path.display().to_string(), Path::new(".")).expect("a file");
    compile::native::native(&source).unwrap_or_else(|error| panic!("{error}"))
}

/// A scheduler with a body of `enqueue`, which stands in line 3.
fn with_enqueue(name: &str, body: &str) -> Native {
    let code = format!(
        "void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 flags) {{ {body} }}"
    );
    scheduler(name, &code, &format!(".enqueue = (void *){name}_enqueue,"))
}

/// What a broken scheduler's record says. It must not take long.
fn ending(native: &Native) -> Outcome {
    let begin = Instant::now();
    let record =
        supervise(&trial(&native.name, &[]), Some(native), 20 * SECOND, &AtomicBool::new(false));
    // A fifth of it where nothing else runs; tests have company.
    assert!(begin.elapsed() < 5 * SECOND, "{:?}", begin.elapsed());
    record.outcome
}

/// One of the schedulers in the folder `native`, next to this file.
fn in_file(name: &str) -> Native {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native");
    let source = compile::resolve(&format!("./{name}.bpf.c"), &folder).expect("the file is there");
    compile::native::native(&source).unwrap_or_else(|error| panic!("{error}"))
}

/// What it prints while a trial runs.
fn printed(name: &str) -> Vec<String> {
    let record =
        supervise(&trial(name, &[]), Some(&in_file(name)), 20 * SECOND, &AtomicBool::new(false));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record.provenance.printed
}

#[test]
fn a_policy_in_c_does_what_it_does_in_rust() {
    let policies: [(&str, Rc<dyn sim::Ops>); 1] = [("fifo", Rc::new(Fifo::default()))];
    for (name, rust) in policies {
        let trial = trial(name, &[]);
        let native = supervise(&trial, Some(&builtin(name)), 20 * SECOND, &AtomicBool::new(false));
        let expected = run_ops(&trial, Some(rust), TaskLayout::compact());
        assert!(native.outcome.is_ok(), "{:?}", native.outcome);
        assert!(!native.measured.metrics.is_empty());
        assert_eq!(native.measured, expected.measured, "{name}");
    }
}

#[test]
fn every_builtin_scheduler_runs() {
    for source in compile::builtin() {
        let native = builtin(&source.name);
        let trial = trial(&source.name, &[]);
        let first = supervise(&trial, Some(&native), 20 * SECOND, &AtomicBool::new(false));
        assert!(first.outcome.is_ok(), "{}: {:?}", source.name, first.outcome);
        let again = supervise(&trial, Some(&native), 20 * SECOND, &AtomicBool::new(false));
        assert_eq!(first.measured, again.measured, "{}: not the same twice", source.name);
    }
}

#[test]
fn globals_are_fresh_for_every_trial() {
    let code = "int runs;\n\
        s32 BPF_STRUCT_OPS_SLEEPABLE(fresh_init) { bpf_printk(\"%d\", ++runs); return 0; }";
    let native = scheduler("fresh", code, ".init = (void *)fresh_init,");
    for _ in 0..2 {
        // Two trials in one process.
        assert_eq!(run(&trial("fresh", &[]), Some(&native)).provenance.printed, ["1"]);
    }
}

#[test]
fn knobs_are_set_and_unknown_ones_named() {
    let code = "const volatile u32 slice_us = 5;\
        const volatile bool lazy; const volatile s8 shift;\n\
        s32 BPF_STRUCT_OPS_SLEEPABLE(knobs_init) {\
            bpf_printk(\"%u %d %d\", slice_us, lazy, shift); return 0; }";
    let native = scheduler("knobs", code, ".init = (void *)knobs_init,");
    let run = |knobs: &[_]| run(&trial("knobs", knobs), Some(&native));
    let all = [
        ("slice_us", KnobValue::Int(4_000_000_000)),
        ("lazy", KnobValue::Bool(true)),
        ("shift", KnobValue::Int(-3)),
    ];
    assert_eq!(run(&all).provenance.printed, ["4000000000 1 -3"]);
    let reason = |name, value| run(&[(name, value)]).outcome.reason().to_owned();
    let unknown = reason("slice", KnobValue::Int(1));
    assert_eq!(unknown, "knobs has no knob slice; there are lazy, shift, slice_us");
    for (name, value) in [("shift", KnobValue::Int(128)), ("slice_us", KnobValue::Int(-1))] {
        assert!(reason(name, value).contains("does not fit"), "{}", reason(name, value));
    }
    assert!(reason("lazy", KnobValue::Int(1)).contains("Bool"));
}

#[test]
fn a_null_pointer_is_a_record() {
    let Outcome::Crashed { text } = ending(&with_enqueue("null", "*(volatile int *)0 = 1;")) else {
        panic!("it crashes")
    };
    assert!(
        text.starts_with("null: enqueue uses a null pointer (") && text.contains(":3)"),
        "{text}"
    );
}

#[test]
fn a_null_pointer_for_a_kfunc_is_a_record() {
    let body = "scx_bpf_dsq_insert(NULL, SCX_DSQ_GLOBAL, 0, flags);";
    let Outcome::Ejected { reason, .. } = ending(&with_enqueue("none", body)) else {
        panic!("it is thrown out")
    };
    assert!(reason.contains("scx_bpf_dsq_insert() was given 0x0, which is no task"), "{reason}");
}

#[test]
fn an_endless_loop_is_a_record() {
    let Outcome::Hung { reason } = ending(&with_enqueue("spin", "for (volatile int i = 0;; i++);"))
    else {
        panic!("it hangs")
    };
    assert!(
        reason.starts_with("spin: enqueue does not end (") && reason.contains(":3)"),
        "{reason}"
    );
}

#[test]
fn a_full_stack_is_a_record() {
    let code = "static int deep(volatile int n) { char c[4096]; *(volatile char *)c = n;\
        return n ? deep(n - 1) + c[0] : 0; }\n\
        void BPF_STRUCT_OPS(deep_enqueue, struct task_struct *p, u64 flags) { deep(1 << 30); }";
    let native = scheduler("deep", code, ".enqueue = (void *)deep_enqueue,");
    assert!(matches!(ending(&native), Outcome::Crashed { .. }));
}

#[test]
fn a_queue_that_does_not_exist_is_a_record() {
    let native = with_enqueue("bad", "scx_bpf_dsq_insert(p, 0xbad, 0, flags);");
    let Outcome::Ejected { reason, .. } = ending(&native) else { panic!("it is thrown out") };
    assert!(reason.contains("non-existent DSQ 0xbad"), "{reason}");
    // The core finds it out after the callback.
    assert!(reason.contains(", in enqueue (") && reason.ends_with(":3)"), "{reason}");
}

#[test]
fn a_second_dispatch_is_a_record() {
    let body = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);\
        scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);";
    let Outcome::Ejected { reason, .. } = ending(&with_enqueue("twice", body)) else {
        panic!("it is thrown out")
    };
    assert!(reason.contains("already direct-dispatched"), "{reason}");
    assert!(reason.contains(", in enqueue (") && reason.ends_with(":3)"), "{reason}");
}

#[test]
fn a_schedulers_own_error_has_its_words() {
    let body = "scx_bpf_error(\"no room for %s (%d)\", \"hogs\", -7);";
    let Outcome::Ejected { reason, .. } = ending(&with_enqueue("own", body)) else {
        panic!("it leaves")
    };
    assert!(reason.contains("own.bpf.c:3: no room for hogs (-7)"), "{reason}");
}

#[test]
fn callbacks_that_are_never_made_are_refused() {
    let code = "s32 BPF_STRUCT_OPS_SLEEPABLE(groups_init, struct cgroup *c) { return 0; }";
    let native = scheduler("groups", code, ".cgroup_init = (void *)groups_init,");
    let outcome = run(&trial("groups", &[]), Some(&native)).outcome;
    assert_eq!(outcome.reason(), "groups: the simulator never calls ops.cgroup_init");
}

#[test]
fn a_division_by_zero_is_bpfs() {
    assert_eq!(printed("zero"), ["0 100 0", "50 0 25", "0 50 0", "0 100 14"]);
}

#[test]
fn loops_and_iterators_go_round() {
    assert_eq!(printed("loops"), ["310 5 21", "8388608", "6", "15", "cpu 0", "cpu 1"]);
}

#[test]
fn masks_are_the_kernels() {
    assert_eq!(printed("masks"), ["1 1 0", "0 1 1", "1 2 0", "0 0", "0 2 0"]);
}

#[test]
fn maps_are_reached_from_c() {
    assert_eq!(printed("mapping"), ["7 8 1", "5 1 1", "420 -17", "1", "2 0"]);
}

#[test]
fn trees_and_lists_keep_order() {
    assert_eq!(printed("trees"), ["1000 0", "3", "1", "0", "2"]);
}

#[test]
fn timers_expire_in_virtual_time() {
    let notes = printed("timing");
    let [first, last] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(first, "0 -16");
    let words: Vec<i64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    // 200 ms and the time until the tasks have been made, with a timer of 1 ms; the scheduler is
    // unloaded from user space.
    assert!((230..=240).contains(&words[0]), "{last}");
    assert_eq!(words[1..], [64, 1], "{last}");
}

#[test]
fn tasks_are_what_they_are() {
    assert_eq!(printed("tasks"), ["1 0 unregistered from user space"]);
}

#[test]
fn flags_come_from_the_ops_table() {
    let native = in_file("tasks");
    let host = Host { cpus: 2, hz: 1000, seed: Seed(1) };
    let load = |native: &Native| NativeScheduler::load(native, &Default::default(), host);
    let flags = sim::flags::OPS_ENQ_EXITING | sim::flags::OPS_ENQ_MIGRATION_DISABLED;
    assert_eq!(load(&native).map(|scheduler| scheduler.settings().flags), Ok(flags));
}

#[test]
fn a_trial_starts_quickly() {
    let native = builtin("fifo");
    let host = Host { cpus: 1024, hz: 1000, seed: Seed(1) };
    let begin = Instant::now();
    for _ in 0..20 {
        NativeScheduler::load(&native, &Default::default(), host).expect("it loads");
    }
    assert!(begin.elapsed() / 20 < Duration::from_millis(5), "{:?}", begin.elapsed() / 20);
}
