// SPDX-License-Identifier: GPL-2.0-only
//! What CPUs see of each other while the kernel works on both.

use model::Trial;
use serde_json::{Value, json};

use crate::common::{run_fifo, trial_of, value};
use crate::rarer_members::ran;

/// A system call takes long, so that much can happen during one.
fn slow_calls(file: &str, duration_ms: u64, tasks: Value) -> Trial {
    let mut trial = trial_of(file, &[], 2, duration_ms, tasks);
    trial.machine.costs.syscall_ns = 5_000;
    trial
}

#[test]
fn the_cpu_that_is_kicked_takes_the_task_although_the_wakers_cpu_falls_idle() {
    let text = "void BPF_STRUCT_OPS(kicks_enqueue, struct task_struct *p, u64 flags) {\n\
        scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, flags);\n\
        if (flags & SCX_ENQ_WAKEUP)\n\
            scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT); }\n\
        s32 BPF_STRUCT_OPS(kicks_select_cpu, struct task_struct *p, s32 prev_cpu, u64 flags) {\n\
        return prev_cpu; }";
    let tasks = json!([
        {"name": "waker", "affinity": [0], "delay_us": 1000, "repeat": 1,
         "steps": [{"run_us": 500}, {"semaphore_post": "work"}, {"sleep_us": 1000}]},
        {"name": "woken", "affinity": [1], "repeat": 1,
         "steps": [{"affinity": [0, 1]}, {"semaphore_wait": "work"}, {"run_us": 300}]},
        {"name": "hog", "affinity": [1], "delay_us": 500, "repeat": 1,
         "steps": [{"run_us": 3000}]}]);
    let trial = slow_calls("kicks", 10, tasks);
    let table = ".enqueue = (void *)kicks_enqueue, .select_cpu = (void *)kicks_select_cpu";
    let record = ran(&trial, text, "SCX_OPS_DEFINE", table);
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    assert_eq!(value(&record, "migrations", "woken"), 0.0);
}

#[test]
fn a_task_that_is_woken_on_its_way_to_sleep_stays_awake() {
    let tasks = json!([
        {"name": "poster", "affinity": [0],
         "steps": [{"run_between_us": {"least": 1, "most": 60}}, {"semaphore_post": "work"}]},
        {"name": "taker", "affinity": [1],
         "steps": [{"semaphore_wait": "work"}, {"run_between_us": {"least": 1, "most": 60}}]}]);
    let record = run_fifo(&slow_calls("x", 1_000, tasks));
    let [posts, takes] =
        ["poster", "taker"].map(|group| value(&record, "iterations_per_second", group));
    assert!(posts > 10_000.0 && takes > 0.9 * posts.min(20_000.0), "{posts} {takes}");
}

#[test]
fn a_timer_that_expires_on_the_way_to_sleep_is_not_lost() {
    let steps = json!([{"sleep_us": 1}, {"run_us": 10}]);
    let tasks = json!([
        {"name": "left", "affinity": [0], "steps": steps},
        {"name": "right", "affinity": [1], "steps": steps}]);
    let record = run_fifo(&slow_calls("x", 100, tasks));
    for group in ["left", "right"] {
        let rounds = value(&record, "iterations_per_second", group);
        assert!((20_000.0..70_000.0).contains(&rounds), "{group} {rounds}");
        let cpu_ns = value(&record, "cpu_time_ns", group);
        // Each round computes for 10 us: none is left out.
        assert!(cpu_ns >= rounds * 0.1 * 10_000.0, "{group} {rounds} {cpu_ns}");
    }
}
