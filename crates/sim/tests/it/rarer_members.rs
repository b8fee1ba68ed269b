// SPDX-License-Identifier: GPL-2.0-only
//! What few schedulers use, and real ones among them: maps of maps, cids, the classes
//! above, insertions that must run at once or may be lazy.

use model::{Outcome, Record, SchedulerChoice, Trial};
use serde_json::{Value, json};

use crate::common::{compiled_text, hogs_and_sleepers, supervise, trial_of, value};

const HEAD: &str = "#include <scx/common.bpf.h>\nchar _license[] SEC(\"license\") = \"GPL\";\n";

/// A scheduler of these callbacks; `table` are the members beside them.
pub fn ran(trial: &Trial, text: &str, define: &str, table: &str) -> Record {
    let name = &trial.contestant.name;
    let text = format!("{HEAD}{text}\n{define}({name}_ops, {table}, .name = \"{name}\");\n");
    let record = supervise(trial, &compiled_text(name, &text));
    record.unwrap_or_else(|error| panic!("{error}"))
}

/// What a scheduler that runs to the end prints.
pub fn printed(trial: &Trial, text: &str, define: &str, table: &str) -> Vec<String> {
    let record = ran(trial, text, define, table);
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    record.provenance.printed
}

fn small(name: &str) -> Trial {
    trial_of(name, &[], 4, 50, hogs_and_sleepers(3))
}

pub const TO_GLOBAL: &str = "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, flags);";

#[test]
fn without_groups_there_is_the_root() {
    let text = format!(
        "struct {{ __uint(type, BPF_MAP_TYPE_CGRP_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC);\n\
         __type(key, int); __type(value, u64); }} seen SEC(\".maps\");\n\
         s32 BPF_STRUCT_OPS_SLEEPABLE(groups_cgroup_init, struct cgroup *c,\n\
             struct scx_cgroup_init_args *args) {{\n\
         u64 *count = bpf_cgrp_storage_get(&seen, c, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);\n\
         if (count) *count = 7;\n\
         bpf_printk(\"group %llu weight %u\", c->kn->id, args->weight); return 0; }}\n\
         void BPF_STRUCT_OPS(groups_cgroup_exit, struct cgroup *c) {{\n\
         u64 *count = bpf_cgrp_storage_get(&seen, c, 0, 0);\n\
         bpf_printk(\"group %llu has %llu\", c->kn->id, count ? *count : 0); }}\n\
         s32 BPF_STRUCT_OPS(groups_init_task, struct task_struct *p,\n\
             struct scx_init_task_args *args) {{\n\
         u64 *count = bpf_cgrp_storage_get(&seen, args->cgroup, 0, 0);\n\
         if (!count || *count < 7) bpf_printk(\"no storage\"); else ++*count; return 0; }}\n\
         void BPF_STRUCT_OPS(groups_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let table = ".cgroup_init = (void *)groups_cgroup_init, .init_task = (void *)groups_init_task,\n\
        .cgroup_exit = (void *)groups_cgroup_exit, .enqueue = (void *)groups_enqueue";
    let lines = printed(&small("groups"), &text, "SCX_OPS_DEFINE", table);
    assert_eq!(lines[0], "group 1 weight 100");
}

#[test]
fn a_map_can_hold_maps() {
    let text = format!(
        "struct inner {{ __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4);\n\
         __type(key, u32); __type(value, u64); }};\n\
         struct inner first SEC(\".maps\"), second SEC(\".maps\");\n\
         struct {{ __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); __uint(max_entries, 3);\n\
         __type(key, u32); __array(values, struct inner); }} outer SEC(\".maps\") = {{\n\
         .values = {{ &first, &second }} }};\n\
         void BPF_STRUCT_OPS(nested_enqueue, struct task_struct *p, u64 flags) {{\n\
         u32 which = p->pid & 1, key = 3, none = 2, beyond = 9; u64 *v;\n\
         void *map = bpf_map_lookup_elem(&outer, &which);\n\
         if (!map) {{ bpf_printk(\"no map\"); return; }}\n\
         v = bpf_map_lookup_elem(map, &key); if (v) ++*v;\n\
         v = which ? bpf_map_lookup_elem(&second, &key) : bpf_map_lookup_elem(&first, &key);\n\
         if (!v || !*v) bpf_printk(\"another map\");\n\
         if (bpf_map_lookup_elem(&outer, &none) || bpf_map_lookup_elem(&outer, &beyond))\n\
             bpf_printk(\"too many maps\");\n{TO_GLOBAL} }}"
    );
    let table = ".enqueue = (void *)nested_enqueue";
    assert_eq!(printed(&small("nested"), &text, "SCX_OPS_DEFINE", table), [""; 0]);
}

/// Queues of task numbers, one for each half of the CPUs, and what user space tells of each CPU.
const HALVES: &str = "\
    const volatile u32 nr_cpus = 1;\n\
    const volatile u32 RESIZABLE_ARRAY(rodata, half_of);\n\
    const volatile s32 RESIZABLE_ARRAY(rodata, partner);\n\
    struct queue { __uint(type, BPF_MAP_TYPE_QUEUE); __uint(max_entries, 2); __type(value, u32); };\n\
    struct { __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); __type(key, u32);\n\
    __array(values, struct queue); } halves SEC(\".maps\");\n\
    s32 BPF_STRUCT_OPS_SLEEPABLE(filled_init) { s32 cpu; u32 beyond = nr_cpus / 2, got = 0;\n\
    bpf_for(cpu, 0, nr_cpus) {\n\
    u32 *half = (u32 *)ARRAY_ELEM_PTR(half_of, cpu, nr_cpus);\n\
    s32 *other = (s32 *)ARRAY_ELEM_PTR(partner, cpu, nr_cpus); void *queue;\n\
    if (!half || !other) return -22;\n\
    queue = bpf_map_lookup_elem(&halves, half);\n\
    if (!queue || bpf_map_push_elem(queue, &cpu, 0)) return -2;\n\
    bpf_printk(\"%d: half %u partner %d\", cpu, *half, *other); }\n\
    bpf_for(cpu, 0, nr_cpus / 2) { void *queue = bpf_map_lookup_elem(&halves, &cpu);\n\
    if (!queue || !bpf_map_push_elem(queue, &got, 0)) return -7;\n\
    bpf_map_pop_elem(queue, &got); bpf_printk(\"first of %d: %u\", cpu, got); }\n\
    return bpf_map_lookup_elem(&halves, &beyond) ? -1 : 0; }\n";

/// What user space sets for it.
fn of_halves() -> Value {
    json!({
        "nr_cpus": "= cpus", "half_of": "= cpu % (cpus / 2)",
        "partner": "= (cpu + cpus / 2) % cpus",
        "maps.halves": "= cpus / 2", "inner_maps.halves": true,
        "refuse": [{ "if": "= cpus % 2", "why": "halves are equal" }],
    })
}

#[test]
fn user_space_fills_maps_of_maps_and_arrays_by_formulas() {
    let mut trial = small("filled");
    let SchedulerChoice::File { settings, .. } = &mut trial.contestant.scheduler else {
        panic!("a file")
    };
    *settings = serde_json::from_value(of_halves()).expect("settings");
    let text = format!(
        "{HALVES}void BPF_STRUCT_OPS(filled_enqueue, struct task_struct *p, u64 flags) {{\n\
         {TO_GLOBAL} }}"
    );
    let table = ".init = (void *)filled_init, .enqueue = (void *)filled_enqueue";
    let lines = printed(&trial, &text, "SCX_OPS_DEFINE", table);
    let halves = ["0: half 0 partner 2", "1: half 1 partner 3", "2: half 0 partner 0"];
    assert_eq!(lines[..3], halves);
    assert_eq!(lines[3..], ["3: half 1 partner 1", "first of 0: 0", "first of 1: 1"]);
    trial.machine.cpus = 3;
    let Outcome::Unsupported { reason } = ran(&trial, &text, "SCX_OPS_DEFINE", table).outcome
    else {
        panic!("it runs")
    };
    assert_eq!(reason, "filled: halves are equal (CPUs: 3)");
}

#[test]
fn cids_are_numbered_by_topology() {
    let text = format!(
        "s32 BPF_STRUCT_OPS_SLEEPABLE(numbers_init_cids) {{ bpf_printk(\"cids\"); return 0; }}\n\
         s32 BPF_STRUCT_OPS_SLEEPABLE(numbers_init) {{ struct scx_cid_topo t;\n\
         scx_bpf_cid_topo(5, &t);\n\
         bpf_printk(\"%d of %d: core %d %d llc %d %d\", scx_bpf_cpu_to_cid(5), scx_bpf_nr_cids(),\n\
             t.core_cid, t.core_idx, t.llc_cid, t.llc_idx);\n\
         bpf_printk(\"node %d %d shard %d %d\", t.node_cid, t.node_idx, t.shard_cid, t.shard_idx);\n\
         return 0; }}\n\
         void BPF_STRUCT_OPS(numbers_enqueue, struct task_struct *p, u64 flags) {{\n\
         if (scx_bpf_task_cid(p) != scx_bpf_task_cpu(p)) bpf_printk(\"another\");\n\
         scx_bpf_kick_cid(scx_bpf_this_cid(), 0); {TO_GLOBAL} }}"
    );
    let mut trial = small("numbers");
    (trial.machine.cpus, trial.machine.smt) = (8, 2);
    (trial.machine.llcs, trial.machine.nodes) = (2, 2);
    let table = ".init_cids = (void *)numbers_init_cids, .init = (void *)numbers_init,\n\
        .enqueue = (void *)numbers_enqueue, .cid_shard_size = 2";
    let lines = printed(&trial, &text, "SCX_OPS_DEFINE", table);
    assert_eq!(lines, ["cids", "5 of 8: core 4 2 llc 4 1", "node 4 1 shard 4 2"]);
}

#[test]
fn the_cid_form_runs() {
    let text = format!(
        "u64 masks;\n\
         s32 BPF_STRUCT_OPS(form_select_cid, struct task_struct *p, s32 prev, u64 flags)\n\
         {{ return prev; }}\n\
         void BPF_STRUCT_OPS(form_set_cmask, struct task_struct *p, const struct scx_cmask *m)\n\
         {{ if (m->base || m->nr_cids != 4 || m->bits[0] != 15) bpf_printk(\"mask\"); masks++; }}\n\
         void BPF_STRUCT_OPS(form_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL}\n\
         if (!masks) bpf_printk(\"no mask\"); }}"
    );
    let table = ".select_cid = (void *)form_select_cid, .set_cmask = (void *)form_set_cmask,\n\
        .enqueue = (void *)form_enqueue";
    assert_eq!(printed(&small("form"), &text, "SCX_OPS_CID_DEFINE", table), [""; 0]);
}

/// A hog of sched_ext, and a real-time task that takes its CPU now and then.
fn disturbed(name: &str) -> Trial {
    let tasks = json!([
        {"name": "hog", "steps": [{"run_us": 1000}]},
        {"name": "rt", "policy": {"class": "fifo", "priority": 10},
         "steps": [{"run_us": 100}, {"sleep_us": 3000}]}]);
    trial_of(name, &[], 1, 50, tasks)
}

#[test]
fn the_scheduler_knows_when_a_higher_class_has_the_cpu() {
    let text = "u64 turns, back; bool gone;\n\
         void BPF_STRUCT_OPS(above_cpu_release, s32 cpu, struct scx_cpu_release_args *args) {\n\
         if (gone || args->reason != SCX_CPU_PREEMPT_RT || args->task->prio >= 100)\n\
             bpf_printk(\"released\");\n\
         scx_bpf_reenqueue_local(); gone = true; }\n\
         void BPF_STRUCT_OPS(above_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args) {\n\
         if (!gone) bpf_printk(\"acquired\"); gone = false; turns++; }\n\
         void BPF_STRUCT_OPS(above_enqueue, struct task_struct *p, u64 flags) {\n\
         if (flags & SCX_ENQ_REENQ) back++;\n\
         scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_INF, flags); }\n\
         void BPF_STRUCT_OPS(above_exit, struct scx_exit_info *ei) {\n\
         bpf_printk(\"%s\", turns > 10 && back > 10 ? \"often\" : \"never\"); }";
    let table = ".cpu_release = (void *)above_cpu_release, .cpu_acquire = (void *)above_cpu_acquire,\n\
        .enqueue = (void *)above_enqueue, .exit = (void *)above_exit";
    let lines = printed(&disturbed("above"), text, "SCX_OPS_DEFINE", table);
    assert!(lines.iter().all(|line| line == "often"), "{lines:?}");
}

/// A scheduler that inserts by these flags, and prints why tasks come back.
fn immediate(enqueue: &str) -> String {
    format!(
        "u64 immed, preempted;\n\
         void BPF_STRUCT_OPS(immed_enqueue, struct task_struct *p, u64 flags) {{\n\
         u32 why = p->scx.flags & SCX_TASK_REENQ_REASON_MASK;\n\
         if (!!why != !!(flags & SCX_ENQ_REENQ)) bpf_printk(\"no reason\");\n\
         if (why == SCX_TASK_REENQ_IMMED && !immed++) bpf_printk(\"busy\");\n\
         if (why == SCX_TASK_REENQ_PREEMPTED && !preempted++) bpf_printk(\"preempted\");\n\
         {enqueue} }}"
    )
}

#[test]
fn what_must_run_at_once_comes_back_from_a_busy_cpu() {
    let insert = "if (why) scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, flags);\n\
        else scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 1000000, flags | SCX_ENQ_IMMED);";
    let table = ".enqueue = (void *)immed_enqueue";
    let trial = trial_of("immed", &[], 1, 50, hogs_and_sleepers(2));
    let lines = printed(&trial, &immediate(insert), "SCX_OPS_DEFINE", table);
    assert!(lines.contains(&"busy".to_owned()), "{lines:?}");
    let always = insert.replace(" | SCX_ENQ_IMMED", "");
    let table = ".enqueue = (void *)immed_enqueue, .flags = SCX_OPS_ALWAYS_ENQ_IMMED";
    let lines = printed(&trial, &immediate(&always), "SCX_OPS_DEFINE", table);
    assert!(lines.contains(&"busy".to_owned()), "{lines:?}");
    let lines = printed(&disturbed("immed"), &immediate(&always), "SCX_OPS_DEFINE", table);
    assert!(lines.contains(&"preempted".to_owned()), "{lines:?}");
}

#[test]
fn what_must_run_at_once_needs_a_local_queue() {
    let ended = |flag: &str, says: &str| {
        let insert = format!("scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, flags | {flag});");
        let table = ".enqueue = (void *)immed_enqueue";
        let record = ran(&small("immed"), &immediate(&insert), "SCX_OPS_DEFINE", table);
        assert!(record.outcome.reason().contains(says), "{:?}", record.outcome);
    };
    ended("SCX_ENQ_IMMED", "SCX_ENQ_IMMED on a non-local DSQ");
    ended("SCX_ENQ_RESCUE", "SCX_ENQ_RESCUE on a non-local DSQ");
    ended("SCX_ENQ_PREEMPT | SCX_ENQ_PREEMPT_LAZY", "invalid enq_flags");
}

#[test]
fn what_goes_back_for_ever_is_noticed() {
    let insert = "scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 1000000, flags | SCX_ENQ_IMMED);";
    let table = ".enqueue = (void *)immed_enqueue";
    let trial = trial_of("immed", &[], 1, 50, hogs_and_sleepers(2));
    let record = ran(&trial, &immediate(insert), "SCX_OPS_DEFINE", table);
    let reason = record.outcome.reason();
    assert!(reason.contains("reenqueued 257 times without running"), "{reason}");
}

/// How long a sleeper waits at most if it preempts a hog on another CPU by this flag, µs.
fn longest_wait_us(flag: &str) -> f64 {
    let sleeper = json!([{"run_us": 50}, {"sleep_us": 2_700}]);
    let hogs: Value = json!([
        {"name": "hog", "count": 2, "steps": [{"run_us": 100_000}]},
        {"name": "sleeper", "affinity": [1], "steps": sleeper}]);
    let text = format!(
        "void BPF_STRUCT_OPS(lazy_enqueue, struct task_struct *p, u64 flags) {{\n\
         if (p->nr_cpus_allowed == 1) scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 1000000, flags | {flag});\n\
         else scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_INF, flags); }}"
    );
    let trial = trial_of("lazy", &[], 2, 200, hogs);
    let record = ran(&trial, &text, "SCX_OPS_DEFINE", ".enqueue = (void *)lazy_enqueue");
    assert!(record.outcome.is_ok(), "{:?}", record.outcome);
    value(&record, "longest_wait_ns", "sleeper") / 1000.0
}

#[test]
fn a_lazy_preemption_waits_for_the_next_interrupt() {
    let at_once = longest_wait_us("SCX_ENQ_PREEMPT");
    let lazy = longest_wait_us("SCX_ENQ_PREEMPT_LAZY");
    assert!(at_once < 100.0 && lazy < 4_000.0, "{at_once} {lazy}");
}
