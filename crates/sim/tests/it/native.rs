// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers in C, run through the whole simulator.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use compile::native::Native;
use model::{CpuFacts, KnobValue, Machine, Outcome, Record, Seed, Trial};

use crate::common::reference::Fifo;
use crate::common::{builtin, compiled, compiled_text, hogs_and_sleepers, trial_of};
use sim::native::{Host, NativeScheduler, run};
use sim::{TaskLayout, run_ops};

/// Six tasks on two CPUs.
fn trial(file: &str, knobs: &[(&str, KnobValue)]) -> Trial {
    trial_of(file, knobs, 2, 200, hogs_and_sleepers(3))
}

fn supervise(trial: &Trial, scheduler: &Native) -> Record {
    crate::common::supervise(trial, scheduler).unwrap_or_else(|error| panic!("{error}"))
}

/// A scheduler that is fifo, but for what is given: functions, and lines of the table.
fn scheduler(name: &str, code: &str, ops: &str) -> Native {
    compiled_text(
        name,
        &format!(
            "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n{code}\n\
             SCX_OPS_DEFINE({name}_ops, {ops} .name = \"{name}\");\n"
        ),
    )
}

/// A scheduler with a body of `enqueue`, which stands in line 3.
pub fn with_enqueue(name: &str, body: &str) -> Native {
    let code = format!(
        "void BPF_STRUCT_OPS({name}_enqueue, struct task_struct *p, u64 flags) {{ {body} }}"
    );
    scheduler(name, &code, &format!(".enqueue = (void *){name}_enqueue,"))
}

/// What a broken scheduler's record says. It must not take long.
pub fn ending(native: &Native) -> Outcome {
    let begin = Instant::now();
    let record = supervise(&trial(&native.name, &[]), native);
    // A fifth of it where nothing else runs; tests have company.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    record.outcome
}

/// One of the schedulers in the folder `native`, next to this file.
fn in_file(name: &str) -> Native {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native");
    compiled(&folder.join(format!("{name}.bpf.c"))).unwrap_or_else(|error| panic!("{error}"))
}

/// What it prints while a trial runs.
fn printed(name: &str) -> Vec<String> {
    let record = supervise(&trial(name, &[]), &in_file(name));
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record.provenance.printed
}

#[test]
fn a_policy_in_c_does_what_it_does_in_rust() {
    let trial = trial("fifo", &[]);
    let native = supervise(&trial, &builtin("fifo"));
    let expected = run_ops(&trial, Some(Rc::new(Fifo::default())), TaskLayout::compact());
    assert!(native.outcome.is_ok(), "{:?}", native.outcome);
    assert!(!native.measured.metrics.is_empty());
    assert_eq!(native.measured, expected.measured);
}

#[test]
fn every_builtin_scheduler_runs() {
    for source in compile::builtin() {
        let native = builtin(&source.name);
        let trial = trial(&source.name, &[]);
        let first = supervise(&trial, &native);
        assert!(first.outcome.is_ok(), "{}: {:?}", source.name, first.outcome);
        let again = supervise(&trial, &native);
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
        let why = reason(name, value);
        assert!(why.contains("out of range"), "{why}");
    }
    assert!(reason("lazy", KnobValue::Int(2)).contains("bool holds 0 … 1"));
}

#[test]
fn a_broken_scheduler_is_a_record_with_the_reason_and_the_line() {
    let twice = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);\
        scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);";
    // Name and body; how it ends, the reason's beginning, a part of it, its end.
    for (name, body, word, begin, part, end) in [
        (
            "null",
            "*(volatile int *)0 = 1;",
            "crashed",
            "null: enqueue uses a null pointer (",
            ":3)",
            "",
        ),
        (
            "spin",
            "for (volatile int i = 0;; i++);",
            "hung",
            "spin: enqueue does not end (",
            ":3)",
            "",
        ),
        (
            "none",
            "scx_bpf_dsq_insert(NULL, SCX_DSQ_GLOBAL, 0, flags);",
            "ejected",
            "",
            "scx_bpf_dsq_insert() was given 0x0, which is no task",
            "",
        ),
        // The core finds it out after the callback.
        (
            "bad",
            "scx_bpf_dsq_insert(p, 0xbad, 0, flags);",
            "ejected",
            "",
            "non-existent DSQ 0xbad",
            ":3)",
        ),
        ("twice", twice, "ejected", "", "already direct-dispatched", ":3)"),
        (
            "own",
            "scx_bpf_error(\"no room for %s (%d)\", \"hogs\", -7);",
            "ejected",
            "",
            "own.bpf.c:3: no room for hogs (-7)",
            "",
        ),
    ] {
        let outcome = ending(&with_enqueue(name, body));
        let reason = outcome.reason();
        assert_eq!(outcome.word(), word, "{name}: {reason}");
        assert!(reason.starts_with(begin) && reason.contains(part), "{name}: {reason}");
        assert!(reason.ends_with(end), "{name}: {reason}");
        assert!(end.is_empty() || reason.contains(", in enqueue ("), "{name}: {reason}");
    }
}

#[test]
fn a_wrong_pointer_is_named_without_an_address_of_the_host() {
    for (body, what) in [
        ("struct task_struct *q = 0; q->scx.slice = 3;", "uses a null pointer"),
        ("*(volatile int *)0x7f1234567000 = 1;", "uses an invalid address"),
        ("*(volatile int *)0xdead0000 = 1;", "uses the invalid address 0xdead0000"),
    ] {
        let outcome = ending(&with_enqueue("wrong", body));
        assert_eq!(outcome.word(), "crashed", "{body}: {}", outcome.reason());
        let begin = format!("wrong: enqueue {what} (");
        assert!(outcome.reason().starts_with(&begin), "{body}: {}", outcome.reason());
        assert!(outcome.reason().ends_with(":3)"), "{body}: {}", outcome.reason());
    }
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
fn callbacks_that_are_never_made_are_refused() {
    let code = "s32 BPF_STRUCT_OPS_SLEEPABLE(nested_attach, struct scx_sub_attach_args *args)\
        { return 0; }";
    let native = scheduler("nested", code, ".sub_attach = (void *)nested_attach,");
    let outcome = run(&trial("nested", &[]), Some(&native)).outcome;
    assert_eq!(
        outcome.reason(),
        "nested: use the vm backend: the simulator does not model ops.sub_attach"
    );
}

#[test]
fn programs_print_what_they_print_in_a_kernel() {
    for (name, expected) in [
        // A division by zero gives 0, its remainder the dividend.
        ("zero", &["0 100 0", "50 0 25", "0 50 0", "0 100 14"][..]),
        ("loops", &["310 5 21", "8388608", "6", "15", "cpu 0", "cpu 1"]),
        ("masks", &["1 1 0", "0 1 1", "1 2 0", "0 0", "0 2 0"]),
        ("mapping", &["7 8 1", "5 1 1", "420 -17", "1", "2 0"]),
        // Trees and lists keep their order.
        ("trees", &["1000 0", "3", "1", "0", "2"]),
        ("tasks", &["1 0 unregistered from user space"]),
    ] {
        assert_eq!(printed(name), expected, "{name}");
    }
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

fn host(cpus: u32) -> Host {
    let machine = Machine { cpus, ..Machine::default() };
    Host { cpus: CpuFacts::of(&machine), hz: 1000, seed: Seed(1) }
}

#[test]
fn flags_come_from_the_ops_table() {
    let native = in_file("tasks");
    let host = host(2);
    let load =
        |native: &Native| NativeScheduler::<false>::load(native, &Default::default(), host.clone());
    let flags = sim::flags::OPS_ENQ_EXITING | sim::flags::OPS_ENQ_MIGRATION_DISABLED;
    assert_eq!(load(&native).map(|scheduler| scheduler.settings().flags), Ok(flags));
}
