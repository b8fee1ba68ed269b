// SPDX-License-Identifier: GPL-2.0-only
//! What `fairground explain` shows of a scheduler: its callbacks, queues, variables and maps. The
//! scheduler counts for itself, and both must agree.

use expect_test::expect;
use model::Costs;
use serde_json::Value;

use crate::common::{Bench, stdout};

const COUNTING: &str = r#"#include <scx/common.bpf.h>
char _license[] SEC("license") = "GPL";
#define QUEUE 7
struct task_ctx { u64 runs; bool unused; };
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} dispatches SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");
u64 enqueued;
s64 runs[4];
u64 same = 5;
s32 BPF_STRUCT_OPS(own_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}
void BPF_STRUCT_OPS(own_enqueue, struct task_struct *p, u64 flags)
{
	enqueued++;
	scx_bpf_dsq_insert(p, QUEUE, 4000000, flags);
}
void BPF_STRUCT_OPS(own_dispatch, s32 cpu, struct task_struct *prev)
{
	u32 key = 2;
	u64 *n = bpf_map_lookup_elem(&dispatches, &key);
	if (n)
		(*n)++;
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}
void BPF_STRUCT_OPS(own_running, struct task_struct *p)
{
	struct task_ctx *t = bpf_task_storage_get(&tasks, p, 0, 0);
	s32 cpu = bpf_get_smp_processor_id();
	if (t)
		t->runs++;
	if (cpu >= 0 && cpu < 4)
		runs[cpu]--;
}
s32 BPF_STRUCT_OPS_SLEEPABLE(own_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}
SCX_OPS_DEFINE(own_ops, .enqueue = (void *)own_enqueue, .dispatch = (void *)own_dispatch,
	       .running = (void *)own_running, .init_task = (void *)own_init_task,
	       .init = (void *)own_init, .name = "own");
"#;

/// Three hogs on two CPUs for 400 ms, longer than samples of a millisecond suffice for.
const HOGS: &str = "# SPDX-License-Identifier: GPL-2.0-only
about = \"hogs\"
duration_us = 400000

[[task]]
name = \"hog\"
count = 3
steps = [{ run_us = 1000 }]
";

fn explained(more: &[&str]) -> String {
    let bench = Bench::new();
    bench.write("own.bpf.c", COUNTING);
    bench.write("hogs.toml", HOGS);
    // Only the tasks' own work and callbacks take time.
    bench.write_machine("machine.toml", 2, &Costs { callback_ns: 100, ..Costs::FREE });
    let words = ["explain", "--scheduler", "./own.bpf.c", "--workload", "./hogs.toml"];
    let words = [&words[..], &["--machine", "./machine.toml"], more].concat();
    stdout(&bench.run(&words).success())
}

#[test]
fn what_is_shown_is_what_the_scheduler_counted() {
    let json: Value = serde_json::from_str(&explained(&["--format", "json"])).expect("JSON");
    let inside = &json["inside"];
    let list = |of: &Value| of.as_array().expect("a list").clone();
    let calls = |name: &str| {
        let callbacks = list(&inside["callbacks"]);
        let found = callbacks.iter().find(|callback| callback["name"] == name).expect("it ran");
        assert_eq!(found["time_ns"].as_u64(), Some(100 * found["calls"].as_u64().expect("calls")));
        found["calls"].as_u64().expect("calls")
    };
    let variables = list(&inside["variables"]);
    let enqueued = variables.iter().find(|one| one["name"] == "enqueued").expect("it changed");
    let values: Vec<u64> =
        list(&enqueued["values"]).iter().map(|value| value.as_u64().expect("a number")).collect();
    assert_eq!(values[values.len() - 1] - values[0], calls("enqueue"));
    assert_eq!((enqueued["interval_ns"].as_u64(), values.len()), (Some(4_000_000), 101));
    assert!(values.is_sorted() && values[0] < values[50] && values[50] < values[100]);
    let queues = list(&json["explanation"]["queues"]);
    assert_eq!(queues[0]["queue"]["shared"], 7);
    assert_eq!(queues[0]["insertions"].as_u64(), Some(calls("enqueue")));
    let queued: f64 = list(&queues[0]["depth_over_time"])
        .iter()
        .map(|depth| depth.as_f64().expect("a number"))
        .sum();
    // One of three hogs waits at any time, in one of 24 intervals as in another.
    assert!((23.5..24.5).contains(&queued), "{queued}");
    assert!(variables.iter().all(|one| one["name"] != "same"), "it did not change");
    let names: Vec<Value> = variables.iter().map(|one| one["part"].clone()).collect();
    assert_eq!(names, [Value::Null, "min".into(), "median".into(), "max".into()]);
}

#[test]
fn the_inside_of_a_scheduler_on_a_terminal() {
    let shown = explained(&[]);
    let (_, inside) = shown.split_once("\nIts callbacks\n").expect("its title");
    expect![[r#"
                                       calls per second  mean time share of CPUs
          enqueue                        158        395     100 ns        <0.1 %
          dispatch                       157        392     100 ns        <0.1 %
          running                        158        395     100 ns        <0.1 %
          A call takes what the machine's [costs] say, not what the code takes.

        Its queues
                           put in depth median  p99  max wait median     p99     max depth over time
          queue 7             158            1    1    2     4.00 ms 5.00 ms 5.00 ms ████████████████████████
          local, CPU 0         81            0    0    1        0 ns    0 ns    0 ns
          local, CPU 1         77            0    0    1        0 ns    0 ns    0 ns

        Its variables over time
                                       first       last        min     median        max over time
          enqueued                         0        158          0         78        158 ▁▁▂▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇██
          runs[]                           0        -77        -81        -37          0 ███▇▇▇▆▆▆▅▅▅▄▄▄▃▃▃▃▂▂▂▁▁

        Its variables at the end
          enqueued = 158
          runs = [-81, -77, 0, 0]

        Its maps at the end
          tasks: task storage, 4 entries
            runs: 0 … 53 … 53; most: 53 of hog/1, 53 of hog/2, 52 of hog/0
            0 everywhere: unused
          dispatches: per-CPU array, 1 of 4 entries
            its value: 77 … 82 … 82; most: 82 of 2 on CPU 0, 77 of 2 on CPU 1

        What is not known of it
          missing: the map ring: only arrays, hashes and storage are read
    "#]].assert_eq(inside);
}

#[test]
fn a_trial_without_a_trace_looks_nowhere() {
    let bench = Bench::new();
    bench.write("own.bpf.c", COUNTING);
    bench.write("hogs.toml", HOGS);
    let line = "run --on sim --scheduler ./own.bpf.c --workload ./hogs.toml --blocks 2 \
                --exploratory --trace";
    bench.line(line).success();
    let records = bench.records("fairground.db");
    for record in &records {
        assert_eq!(record.provenance.inside.is_empty(), !record.trial.trace);
        let text = serde_json::to_string(&record.provenance).expect("plain data");
        assert_eq!(text.contains("inside"), record.trial.trace);
    }
    assert!(records.iter().any(|record| record.trial.trace), "one is traced");
}
