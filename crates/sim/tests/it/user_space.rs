// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler's user space sets: variables of every type, members of the ops table, sizes of
//! maps, and calls of programs.

use model::{KnobValue, Knobs, Machine, Record, SchedulerChoice, Trial};

use sim::native::run;

use crate::common::{compiled, compiled_text, hogs_and_sleepers, trial_of};

const TEXT: &str = r#"
#include <scx/common.bpf.h>
char _license[] SEC("license") = "GPL";

enum mode { SLOW, FAST = 7 };
struct pair { u32 a, b; };
struct cpu_arg { s32 cpu_id; s32 sibling; };

const volatile u64 capacity[4] = { 9, 9, 9, 9 };
const volatile enum mode mode;
const volatile struct pair pairs[2];
const volatile char label[8] = "none";
const volatile bool threads;
u64 in_bss[2];
s32 in_data = 3;
u32 calls, pair_calls, on_cpu;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, u64);
} slots SEC(".maps");

struct place { u32 cpu; u32 most[2]; };
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 2);
    __type(key, u32); __type(value, struct place);
} places SEC(".maps");
const volatile s32 __other[4];

SEC("syscall")
int enable(struct cpu_arg *input) { calls = calls * 10 + input->cpu_id + 1; return 0; }

SEC("syscall")
int couple(struct cpu_arg *input) { pair_calls = pair_calls * 100 + input->cpu_id * 10 + input->sibling; return 0; }

SEC("syscall")
int last(struct cpu_arg *input) { on_cpu = bpf_get_smp_processor_id(); return calls ? 0 : -2; }

SEC("syscall")
int refuse(struct cpu_arg *input) { return -22; }

s32 BPF_STRUCT_OPS_SLEEPABLE(user_init)
{
    u32 key = 2, one = 1, cpu;
    struct place *place;

    bpf_printk("%llu %llu %llu", capacity[0], capacity[1], capacity[2]);
    bpf_printk("%d %u %u %s %d", mode, pairs[0].b, pairs[1].a, label, threads);
    bpf_printk("%llu %d", in_bss[1], in_data);
    bpf_printk("%d", bpf_map_lookup_elem(&slots, &key) != NULL);
    bpf_printk("%u %u", calls, pair_calls);
    bpf_for(cpu, 0, 2)
        if ((place = bpf_map_lookup_percpu_elem(&places, &one, cpu)))
            bpf_printk("%u %u %d", place->cpu, place->most[1], __other[cpu]);
    return 0;
}

void BPF_STRUCT_OPS(user_exit, struct scx_exit_info *info) { bpf_printk("last on %u", on_cpu); }

SCX_OPS_DEFINE(user_ops, .init = (void *)user_init, .exit = (void *)user_exit, .name = "user");
"#;

/// The lines that it prints, or why it did not run, with these values on two CPUs of one core.
fn run_with(values: &str) -> Record {
    let native = compiled_text("user", TEXT);
    let mut trial: Trial = trial_of("user", &[], 2, 5, hogs_and_sleepers(1));
    let machine = Machine { smt: 2, capacity: vec![1024, 512], ..(*trial.machine).clone() };
    trial.machine = machine.into();
    let SchedulerChoice::File { settings, .. } = &mut trial.contestant.scheduler else {
        return run(&trial, None);
    };
    *settings = serde_json::from_str::<Knobs>(values).expect("values");
    run(&trial, Some(&native))
}

#[test]
fn the_values_are_in_memory_before_the_first_callback() {
    let untouched = run_with("{}").provenance.printed;
    assert_eq!(
        untouched,
        ["9 9 9", "0 0 0 none 0", "0 3", "0", "0 0", "0 0 0", "0 0 0", "last on 0"]
    );
    let record = run_with(
        r#"{"capacity": "= capacity", "mode": "FAST", "pairs": [{"b": 2}, {"a": 3}],
            "label": "short", "threads": "= smt", "in_bss": [0, 5], "in_data": -4,
            "__other": "= sibling", "maps.slots": 4, "ops.flags": "SCX_OPS_ENQ_EXITING",
            "ops.timeout_ms": 5000,
            "start": [{"program": "enable", "args": {"cpu_id": "= cpu"}, "for": "cpus"},
                      {"program": "couple", "args": {"cpu_id": "= cpu", "sibling": "= sibling"},
                       "for": "smt"},
                      {"map": "places", "key": 1, "for": "cpus", "on": "= cpu",
                       "args": {"cpu": "= cpu", "most": [0, 9]}},
                      {"program": "last", "when": "enabled", "on": "= slowest"}]}"#,
    );
    let expected =
        ["1024 512 9", "7 2 3 short 1", "5 -4", "1", "12 110", "0 9 1", "1 9 0", "last on 1"];
    assert_eq!(record.provenance.printed, expected, "{:?}", record.outcome);
}

/// The kernel's types, with the members of the table in another order.
const TYPES: &str = "typedef _Bool bool; typedef unsigned char __u8; typedef unsigned short __u16;\n\
    typedef unsigned int __u32, u32, __wsum; typedef int s32, __s32; typedef short __s16;\n\
    typedef unsigned long long u64, __u64; typedef long long __s64; typedef __u16 __be16, __sum16;\n\
    typedef __u32 __be32; typedef __u64 __be64; enum { BPF_MAP_TYPE_ARRAY = 2 };\n\
    struct task_struct {\n int pid;\n};\n\
    struct sched_ext_ops { u64 flags; void (*enqueue)(struct task_struct *, u64); char name[128]; };\n";

const OWN_TYPES: &str = "#include \"vmlinux.h\"\n#include <bpf/bpf_helpers.h>\n\
    #include <bpf/bpf_tracing.h>\nchar _license[] SEC(\"license\") = \"GPL\"; u64 seen;\n\
    void scx_bpf_dsq_insert(struct task_struct *p, u64 id, u64 slice, u64 flags) __ksym;\n\
    SEC(\"struct_ops/enqueue\") void BPF_PROG(enqueue, struct task_struct *p, u64 flags)\n\
    { scx_bpf_dsq_insert(p, 1ULL << 63 | 1, 1000000, flags); }\n\
    SEC(\".struct_ops.link\")\n\
    struct sched_ext_ops own = { .enqueue = (void *)enqueue, .name = \"own\" };\n";

#[test]
fn members_of_the_table_are_where_the_simulator_has_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("vmlinux.h"), TYPES).expect("it can be written");
    let file = folder.path().join("own.bpf.c");
    std::fs::write(&file, OWN_TYPES).expect("it can be written");
    let native = compiled(&file).unwrap_or_else(|error| panic!("{error}"));
    let flags = KnobValue::Text("SCX_OPS_ENQ_EXITING".into());
    let trial = trial_of("own", &[("ops.flags", flags)], 2, 5, hogs_and_sleepers(1));
    let outcome = run(&trial, Some(&native)).outcome;
    assert!(outcome.is_ok(), "{outcome:?}");
}

#[test]
fn what_cannot_be_done_is_the_reason() {
    let reason = |values: &str| run_with(values).outcome.reason().to_owned();
    let failed = reason(r#"{"start": [{"program": "refuse"}]}"#);
    assert!(
        failed.contains("the program refuse, which its settings call, failed (-22)"),
        "{failed}"
    );
    let passed_over = reason(r#"{"start": [{"program": "refuse", "may_fail": true}]}"#);
    assert_eq!(passed_over, "");
    let beyond = reason(r#"{"start": [{"map": "places", "key": 2}]}"#);
    assert!(beyond.contains("the map places has no value with the key 2"), "{beyond}");
    assert!(reason(r#"{"ops.flag": 1}"#).contains("no knob ops.flag"));
}
