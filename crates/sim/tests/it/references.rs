// SPDX-License-Identifier: GPL-2.0-only
//! What the verifier of a kernel refuses and the simulator notices while the scheduler runs:
//! references that are not released, and kfuncs in callbacks that may not call them.

use crate::native::{ending, with_enqueue};

/// What `enqueue` does first, and what is said of it.
const REFUSED: &[(&str, &str)] = &[
    (
        "struct bpf_cpumask *m = bpf_cpumask_create(); if (m) bpf_cpumask_set_cpu(0, m);",
        "what bpf_cpumask_create() acquires is never released",
    ),
    (
        "struct task_struct *t = bpf_task_from_pid(p->pid); (void)t;",
        "what bpf_task_from_pid() acquires is never released",
    ),
    (
        "struct cgroup *g = scx_bpf_task_cgroup(p); struct task_struct *t = bpf_task_acquire(p);\n\
         bpf_cgroup_release(g); (void)t;",
        "what bpf_task_acquire() acquires is never released",
    ),
    (
        "bpf_cpumask_empty(scx_bpf_get_idle_cpumask());",
        "what scx_bpf_get_idle_cpumask() acquires is never released",
    ),
    (
        "struct cgroup *g = scx_bpf_task_cgroup(p); (void)g;",
        "what scx_bpf_task_cgroup() acquires is never released",
    ),
    ("bpf_rcu_read_lock();", "what bpf_rcu_read_lock() acquires is never released"),
    (
        "struct bpf_cpumask *m = bpf_cpumask_create();\n\
         if (m) { bpf_cpumask_release(m); bpf_cpumask_release(m); }",
        "bpf_cpumask_release() releases what this callback has not acquired",
    ),
    ("bpf_task_release(p);", "bpf_task_release() releases what this callback has not acquired"),
    (
        "scx_bpf_create_dsq(p->pid, -1);",
        "a kernel allows scx_bpf_create_dsq() only in init, exit, init_task, ",
    ),
    (
        "scx_bpf_dsq_move_to_local(SCX_DSQ_GLOBAL, 0);",
        "a kernel allows scx_bpf_dsq_move_to_local() only in dispatch",
    ),
    (
        "scx_bpf_dispatch_nr_slots();",
        "a kernel allows scx_bpf_dispatch_nr_slots() only in dispatch",
    ),
];

/// What balances.
const RUN: &[&str] = &[
    "struct task_struct *t = bpf_task_from_pid(p->pid); if (t) bpf_task_release(t);",
    "const struct cpumask *a = scx_bpf_get_idle_cpumask(), *b = scx_bpf_get_online_cpumask();\n\
     scx_bpf_put_idle_cpumask(a); scx_bpf_put_cpumask(b);",
    "struct cgroup *g = scx_bpf_task_cgroup(p), *h = bpf_cgroup_acquire(g);\n\
     bpf_cgroup_release(g); bpf_cgroup_release(h);",
    "bpf_rcu_read_lock(); bpf_preempt_disable(); bpf_preempt_enable(); bpf_rcu_read_unlock();",
    "bool is_idle; scx_bpf_select_cpu_dfl(p, 0, 0, &is_idle);",
];

#[test]
fn what_the_verifier_refuses_is_named_with_its_line() {
    for (body, part) in REFUSED {
        let outcome = ending(&with_enqueue("wrong", body));
        let reason = outcome.reason();
        assert_eq!(outcome.word(), "ejected", "{body}: {reason}");
        assert!(reason.contains(part), "{body}: {reason}");
        let is_placed = reason.contains(", in enqueue (") && reason.contains("wrong.bpf.c:");
        assert!(is_placed, "{body}: {reason}");
    }
}

#[test]
fn released_references_are_no_error() {
    for body in RUN {
        let body = format!("{body} scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, flags);");
        let outcome = ending(&with_enqueue("right", &body));
        assert!(outcome.is_ok(), "{body}: {}", outcome.reason());
    }
}

#[test]
fn damaged_memory_is_the_schedulers_crash() {
    let body = "struct bpf_cpumask *m = bpf_cpumask_create(); int i; if (!m) return;\n\
                for (i = 0; i < 4; i++) ((volatile u64 *)(m + 1))[i] = 1;\n\
                bpf_cpumask_release(m);";
    let outcome = ending(&with_enqueue("wild", body));
    assert_eq!(outcome.word(), "crashed", "{}", outcome.reason());
    let what = "wild: enqueue has damaged memory outside its own variables";
    assert!(outcome.reason().starts_with(what), "{}", outcome.reason());
}
