// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers in C, run through the whole simulator.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use compile::native::Native;
use model::trial::SCHEMA;
use model::*;

use super::*;
use crate::{Core, TaskLayout, reference, run_ops};

const SECOND: Duration = Duration::from_secs(1);

/// Six tasks on two CPUs: hogs and sleepers.
fn trial(file: &str, knobs: &[(&str, KnobValue)]) -> Trial {
    let group = |name: &str, steps: serde_json::Value| serde_json::json!({ "name": name, "count": 3, "steps": steps });
    let steps = serde_json::json!([{ "run_us": 200 }, { "sleep_us": 1000 }]);
    let workload = serde_json::json!({
        "name": "mixed",
        "duration_us": 200_000,
        "task": [group("hog", serde_json::json!([{ "run_us": 1000 }])), group("sleeper", steps)],
    });
    let knobs = knobs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let scheduler = SchedulerChoice::File { file: file.into(), sha256: String::new(), knobs };
    Trial {
        schema: SCHEMA,
        experiment: "native".into(),
        backend: Backend::Sim,
        contestant: Contestant { name: file.into(), kernel: None, scheduler },
        workload: serde_json::from_value(workload).expect("a workload"),
        machine: serde_json::from_value(serde_json::json!({ "name": "two", "cpus": 2 }))
            .expect("a machine"),
        seed: Seed(1),
        block: 0,
        boot: 0,
        position: 0,
        timeout_ms: 10_000,
        probes: true,
        trace: false,
    }
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
    let record = supervise(&trial(&native.name, &[]), Some(native), 20 * SECOND);
    // A fifth of it where nothing else runs; tests have company.
    assert!(begin.elapsed() < 5 * SECOND, "{:?}", begin.elapsed());
    record.outcome
}

/// What a scheduler prints in `init`.
fn printed(name: &str, globals: &str, init: &str) -> Vec<String> {
    let code =
        format!("{globals}\ns32 BPF_STRUCT_OPS_SLEEPABLE({name}_init) {{ {init} return 0; }}");
    let native = scheduler(name, &code, &format!(".init = (void *){name}_init,"));
    let record = supervise(&trial(name, &[]), Some(&native), 20 * SECOND);
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record.provenance.notes
}

#[test]
fn a_policy_in_c_does_what_it_does_in_rust() {
    let policies: [(&str, Rc<dyn crate::Ops>); 1] = [("fifo", Rc::new(reference::Fifo::default()))];
    for (name, rust) in policies {
        let trial = trial(name, &[]);
        let native = supervise(&trial, Some(&builtin(name)), 20 * SECOND);
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
        let first = supervise(&trial, Some(&native), 20 * SECOND);
        assert!(first.outcome.is_ok(), "{}: {:?}", source.name, first.outcome);
        let again = supervise(&trial, Some(&native), 20 * SECOND);
        assert_eq!(first.measured, again.measured, "{}: not the same twice", source.name);
    }
}

#[test]
fn globals_are_fresh_for_every_trial() {
    let code = "int runs;\ns32 BPF_STRUCT_OPS_SLEEPABLE(fresh_init) { bpf_printk(\"%d\", ++runs); return 0; }";
    let native = scheduler("fresh", code, ".init = (void *)fresh_init,");
    for _ in 0..2 {
        // Two trials in one process.
        assert_eq!(run(&trial("fresh", &[]), Some(&native)).provenance.notes, ["1"]);
    }
}

#[test]
fn knobs_are_set_and_unknown_ones_named() {
    let code = "const volatile u32 slice_us = 5; const volatile bool lazy; const volatile s8 shift;\n\
        s32 BPF_STRUCT_OPS_SLEEPABLE(knobs_init) {\
            bpf_printk(\"%u %d %d\", slice_us, lazy, shift); return 0; }";
    let native = scheduler("knobs", code, ".init = (void *)knobs_init,");
    let run = |knobs: &[_]| run(&trial("knobs", knobs), Some(&native));
    let all = [
        ("slice_us", KnobValue::Int(4_000_000_000)),
        ("lazy", KnobValue::Bool(true)),
        ("shift", KnobValue::Int(-3)),
    ];
    assert_eq!(run(&all).provenance.notes, ["4000000000 1 -3"]);
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
    assert!(reason.contains("bad"), "{reason}");
}

#[test]
fn a_second_dispatch_is_a_record() {
    let body = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);\
        scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);";
    let Outcome::Ejected { reason, .. } = ending(&with_enqueue("twice", body)) else {
        panic!("it is thrown out")
    };
    assert!(reason.contains("direct"), "{reason}");
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
    let code = "s32 BPF_STRUCT_OPS_SLEEPABLE(groups_init, struct cgroup *c, struct scx_cgroup_init_args *a) { return 0; }";
    let native = scheduler("groups", code, ".cgroup_init = (void *)groups_init,");
    let outcome = run(&trial("groups", &[]), Some(&native)).outcome;
    assert_eq!(outcome.reason(), "groups: the simulator never calls ops.cgroup_init");
}

#[test]
fn a_division_by_zero_is_bpfs() {
    let globals = "volatile u64 a = 100, z; volatile u32 b = 50, y; volatile u16 c = 25, x;\n\
        volatile u8 e = 9, v; struct { u64 n[4]; u32 m[4]; } volatile t; volatile u32 i = 2;";
    let init = "bpf_printk(\"%llu %llu %u\", a / z, a % z, b / y);\
        bpf_printk(\"%u %u %u\", b % y, c / x, c % x);\
        bpf_printk(\"%u %u %u\", b / t.m[i & 3], b % t.m[i & 3], e / v);\
        bpf_printk(\"%llu %llu %llu\", a / t.n[i & 3], a % t.n[i & 3], a / 7);";
    let expected = ["0 100 0", "50 0 25", "0 50 0", "0 100 14"];
    assert_eq!(printed("zero", globals, init), expected);
}

#[test]
fn loops_and_iterators_go_round() {
    let init = "int i, n = 0, *v, sum = 0; bpf_for(i, 2, 6) { if (i == 4) continue; n += i; }\
        bpf_repeat(3) n += 100; bpf_for(i, 5, 5) n += 1000;\
        bpf_for_each(num, v, 0, 10) { if (*v == 7) break; sum += *v; }\
        bpf_printk(\"%d %d %d\", n, i, sum);\
        sum = 0; while (can_loop) sum++; bpf_printk(\"%d\", sum);\
        int *cpu; for_each_possible_cpu(cpu) bpf_printk(\"cpu %d\", *cpu);";
    let expected = ["310 5 21", "8388608", "cpu 0", "cpu 1"];
    assert_eq!(printed("loops", "", init), expected);
}

#[test]
fn masks_are_the_kernels() {
    let init = "struct bpf_cpumask *m = bpf_cpumask_create(); if (!m) return -ENOMEM;\
        bpf_cpumask_set_cpu(1, m); bpf_cpumask_set_cpu(7, m);\
        bpf_printk(\"%u %u %u\", bpf_cpumask_first(cast_mask(m)), bpf_cpumask_weight(cast_mask(m)),\
            bpf_cpumask_first_zero(cast_mask(m)));\
        bpf_printk(\"%d %d %d\", bpf_cpumask_test_and_set_cpu(0, m), bpf_cpumask_full(cast_mask(m)),\
            bpf_cpumask_test_and_clear_cpu(1, m));\
        bpf_printk(\"%d %u\", bpf_cpumask_subset(cast_mask(m), scx_bpf_get_possible_cpumask()),\
            scx_bpf_nr_cpu_ids()); bpf_cpumask_release(m);";
    assert_eq!(printed("masks", "", init), ["1 1 0", "0 1 1", "1 2"]);
}

#[test]
fn maps_are_reached_from_c() {
    let globals = "struct value { u64 n; u32 m; };\n\
        struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 3); __type(key, u32); __type(value, struct value); } array SEC(\".maps\");\n\
        struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 3); __type(key, u32); __type(value, u64); } own SEC(\".maps\");\n\
        struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 3); __type(key, u64); __type(value, u64); } hash SEC(\".maps\");\n\
        struct { __uint(type, BPF_MAP_TYPE_QUEUE); __uint(max_entries, 2); __type(value, u32); } queue SEC(\".maps\");\n\
        static long count(void *map, u64 *key, u64 *value, u64 *sum) { *sum += *key * *value; return 0; }";
    let init = "u32 k = 2, n = 3; struct value *v = bpf_map_lookup_elem(&array, &k);\
        if (v) { v->n = 7; v->m = 8; } v = bpf_map_lookup_elem(&array, &k);\
        bpf_printk(\"%llu %u %d\", v ? v->n : 0, v ? v->m : 0, bpf_map_lookup_elem(&array, &n) == NULL);\
        u64 *o = bpf_map_lookup_elem(&own, &k), *p = bpf_map_lookup_percpu_elem(&own, &k, 1);\
        if (o) *o = 5; bpf_printk(\"%llu %d %d\", o ? *o : 0, p != o, bpf_map_lookup_percpu_elem(&own, &k, 2) == NULL);\
        u64 key = 10, value = 20, sum = 0; bpf_map_update_elem(&hash, &key, &value, BPF_ANY); key = 11;\
        bpf_map_update_elem(&hash, &key, &value, BPF_NOEXIST); bpf_for_each_map_elem(&hash, count, &sum, 0);\
        bpf_printk(\"%llu %ld\", sum, bpf_map_update_elem(&hash, &key, &value, BPF_NOEXIST));\
        bpf_map_delete_elem(&hash, &key); bpf_printk(\"%d\", bpf_map_lookup_elem(&hash, &key) == NULL);\
        bpf_map_push_elem(&queue, &k, 0); bpf_map_push_elem(&queue, &n, 0); u32 got = 0;\
        bpf_map_pop_elem(&queue, &got); bpf_printk(\"%u %ld\", got, bpf_map_push_elem(&queue, &n, 0));";
    let expected = ["7 8 1", "5 1 1", "420 -17", "1", "2 0"];
    assert_eq!(printed("mapping", globals, init), expected);
}

#[test]
fn trees_and_lists_keep_order() {
    let globals = "struct item { struct bpf_rb_node node; struct bpf_list_node link; u64 key; };\n\
        private(T) struct bpf_spin_lock lock; private(T) struct bpf_rb_root root __contains(item, node);\n\
        private(L) struct bpf_spin_lock lock2; private(L) struct bpf_list_head list __contains(item, link);\n\
        static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b) {\
            return container_of(a, struct item, node)->key < container_of(b, struct item, node)->key; }";
    let init = "int i; u64 x = 12345, last = 0, bad = 0, seen = 0; bpf_for(i, 0, 1000) {\
            struct item *n = bpf_obj_new(struct item); if (!n) return -ENOMEM; x = x * 6364136223846793005ULL + 1442695040888963407ULL;\
            n->key = x >> 40; bpf_spin_lock(&lock); bpf_rbtree_add(&root, &n->node, less); bpf_spin_unlock(&lock); }\
        bpf_repeat(1000) { bpf_spin_lock(&lock); struct bpf_rb_node *f = bpf_rbtree_first(&root); if (!f) { bpf_spin_unlock(&lock); break; }\
            f = bpf_rbtree_remove(&root, f); bpf_spin_unlock(&lock); if (!f) break;\
            struct item *n = container_of(f, struct item, node); bad += n->key < last; last = n->key; seen++; bpf_obj_drop(n); }\
        bpf_printk(\"%llu %llu %d\", seen, bad, bpf_rbtree_first(&root) == NULL);\
        bpf_for(i, 0, 4) { struct item *n = bpf_obj_new(struct item); if (!n) return -ENOMEM; n->key = i;\
            bpf_spin_lock(&lock2); if (i % 2) bpf_list_push_front(&list, &n->link); else bpf_list_push_back(&list, &n->link); bpf_spin_unlock(&lock2); }\
        bpf_repeat(4) { bpf_spin_lock(&lock2); struct bpf_list_node *f = bpf_list_pop_front(&list); bpf_spin_unlock(&lock2);\
            if (f) bpf_printk(\"%llu\", container_of(f, struct item, link)->key); }";
    assert_eq!(printed("trees", globals, init), ["1000 0 1", "3", "1", "0", "2"]);
}

#[test]
fn timers_expire_in_virtual_time() {
    let code = "struct beat { struct bpf_timer timer; u64 count; };\n\
        struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, u32); __type(value, struct beat); } timers SEC(\".maps\");\n\
        static int fire(void *map, int *key, struct beat *e) {\
            e->count++; bpf_timer_start(&e->timer, 1000000, 0); return 0; }\n\
        s32 BPF_STRUCT_OPS_SLEEPABLE(timer_init) { u32 key = 1; struct beat *e = bpf_map_lookup_elem(&timers, &key);\
            if (!e) return -ENOENT; long twice = bpf_timer_init(&e->timer, &timers, CLOCK_MONOTONIC);\
            bpf_printk(\"%ld %ld\", twice, bpf_timer_init(&e->timer, &timers, CLOCK_MONOTONIC));\
            bpf_timer_set_callback(&e->timer, fire); return bpf_timer_start(&e->timer, 1000000, 0); }\n\
        void BPF_STRUCT_OPS(timer_exit, struct scx_exit_info *ei) { u32 key = 1; struct beat *e = bpf_map_lookup_elem(&timers, &key);\
            if (e) bpf_printk(\"%llu %d %ld\", e->count, ei->kind, bpf_timer_cancel(&e->timer)); }";
    let native =
        scheduler("timer", code, ".init = (void *)timer_init, .exit = (void *)timer_exit,");
    let record = supervise(&trial("timer", &[]), Some(&native), 20 * SECOND);
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    let [first, last] = &record.provenance.notes[..] else {
        panic!("{:?}", record.provenance.notes)
    };
    assert_eq!(first, "0 -16");
    let words: Vec<i64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    // 200 ms with a timer of 1 ms; the scheduler is unloaded from user space.
    assert!((199..=201).contains(&words[0]), "{last}");
    assert_eq!(words[1..], [64, 1], "{last}");
}

#[test]
fn tasks_are_what_they_are() {
    let code = "struct { __uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC); __type(key, int); __type(value, u64); } seen SEC(\".maps\");\n\
        u64 runs, strange, which;\n\
        #define CHECK(n, what) if (!(what)) { strange++; which |= 1 << n; }\n\
        s32 BPF_STRUCT_OPS(tasks_init_task, struct task_struct *p, struct scx_init_task_args *args) {\
            return bpf_task_storage_get(&seen, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM; }\n\
        void BPF_STRUCT_OPS(tasks_running, struct task_struct *p) {\
            u64 *n = bpf_task_storage_get(&seen, p, 0, 0); if (n) (*n)++; runs++; CHECK(0, n)\
            CHECK(1, p->static_prio == 120 && p->scx.weight == 100 && p->nr_cpus_allowed == 2)\
            CHECK(2, bpf_cpumask_test_cpu(1, p->cpus_ptr) && bpf_cpumask_weight(&p->cpus_mask) == 2)\
            CHECK(3, bpf_get_smp_processor_id() == scx_bpf_task_cpu(p))\
            CHECK(4, p->thread_info.cpu == scx_bpf_task_cpu(p))\
            CHECK(5, bpf_task_from_pid(p->pid) == p) }\n\
        void BPF_STRUCT_OPS(tasks_stopping, struct task_struct *p, bool runnable) {\
            CHECK(6, scx_bpf_task_running(p) && bpf_get_current_task_btf() == p && p->on_cpu) }\n\
        void BPF_STRUCT_OPS(tasks_exit, struct scx_exit_info *ei) {\
            bpf_printk(\"%d %llu %llx %s\", runs > 20, strange, which, ei->reason); }";
    let ops = ".init_task = (void *)tasks_init_task, .running = (void *)tasks_running, .stopping = (void *)tasks_stopping, .exit = (void *)tasks_exit,";
    let native = scheduler("tasks", code, ops);
    let record = supervise(&trial("tasks", &[]), Some(&native), 20 * SECOND);
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    assert_eq!(record.provenance.notes, ["1 0 0 unregistered from user space"]);
}

#[test]
fn a_trial_starts_quickly() {
    let native = builtin("fifo");
    let host = Host { cpus: 1024, hz: 1000, seed: Seed(1) };
    let begin = Instant::now();
    for _ in 0..20 {
        NativeScheduler::<Core>::load(&native, &Default::default(), host).expect("it loads");
    }
    assert!(begin.elapsed() / 20 < Duration::from_millis(5), "{:?}", begin.elapsed() / 20);
}
