// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler sees of control groups, and what they do without one that heeds them.

use model::{ControlGroup, Trial, Workload};
use serde_json::json;

use crate::common::trial_of;
use crate::rarer_members::{TO_GLOBAL, printed, ran};

/// A workload whose tasks are in groups: `a` with `a/b` and `a/c`, and `d`.
fn grouped(name: &str) -> Trial {
    let groups = json!([
        { "name": "d", "weight": 300 },
        { "name": "a/c", "nice": 5 },
        { "name": "a/b", "quota_us": 20_000, "burst_us": 1_000 },
    ]);
    let steps = json!([{ "run_us": 500 }, { "sleep_us": 500 }]);
    let moves = json!([{ "run_us": 500 }, { "group": "d" }, { "run_us": 500 }, { "group": "" },
        { "set_group": { "name": "a", "weight": 7 } }, { "group": "a/c" }]);
    let tasks = json!([
        { "name": "in_b", "group": "a/b", "steps": steps },
        { "name": "mover", "group": "a/c", "steps": moves },
    ]);
    let trial = trial_of(name, &[], 2, 50, tasks);
    let groups: Vec<ControlGroup> = serde_json::from_value(groups).expect("groups");
    let workload = Workload { control_groups: groups, ..(*trial.workload).clone() };
    Trial { workload: workload.into(), ..trial }
}

#[test]
fn a_scheduler_sees_the_tree_of_groups() {
    let text = format!(
        "struct {{ __uint(type, BPF_MAP_TYPE_CGRP_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC);\n\
         __type(key, int); __type(value, u64); }} seen SEC(\".maps\");\n\
         static void say(const char *order, u32 how) {{\n\
         struct cgroup_subsys_state *css;\n\
         struct cgroup *c = bpf_cgroup_from_id(how == BPF_CGROUP_ITER_ANCESTORS_UP ? 5 : 1);\n\
         if (!c) return;\n\
         bpf_for_each(css, css, &c->self, how)\n\
             bpf_printk(\"%s %s\", order, css->cgroup->kn->name);\n\
         bpf_cgroup_release(c); }}\n\
         s32 BPF_STRUCT_OPS_SLEEPABLE(tree_init) {{\n\
         say(\"pre\", BPF_CGROUP_ITER_DESCENDANTS_PRE);\n\
         say(\"post\", BPF_CGROUP_ITER_DESCENDANTS_POST);\n\
         say(\"up\", BPF_CGROUP_ITER_ANCESTORS_UP);\n\
         say(\"child\", BPF_CGROUP_ITER_CHILDREN); return 0; }}\n\
         s32 BPF_STRUCT_OPS_SLEEPABLE(tree_cgroup_init, struct cgroup *c,\n\
             struct scx_cgroup_init_args *args) {{\n\
         u64 *own = bpf_cgrp_storage_get(&seen, c, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);\n\
         if (own) *own = c->kn->id;\n\
         bpf_printk(\"init %s %u %lld %llu\", c->kn->name, args->weight, args->bw_quota_us,\n\
             args->bw_burst_us); return 0; }}\n\
         void BPF_STRUCT_OPS(tree_cgroup_move, struct task_struct *p, struct cgroup *from,\n\
             struct cgroup *to) {{\n\
         struct cgroup *now = scx_bpf_task_cgroup(p);\n\
         u64 *own = bpf_cgrp_storage_get(&seen, to, 0, 0);\n\
         struct cgroup *up = bpf_cgroup_ancestor(to, 1);\n\
         if (now != to || !own || *own != to->kn->id || p->cgroups->dfl_cgrp != to || !up || up->level != 1)\n\
             bpf_printk(\"wrong\");\n\
         bpf_cgroup_release(now); if (up) bpf_cgroup_release(up); }}\n\
         void BPF_STRUCT_OPS(tree_cgroup_set_weight, struct cgroup *c, u32 weight) {{\n\
         bpf_printk(\"weight %s %u\", c->kn->name, weight); }}\n\
         void BPF_STRUCT_OPS(tree_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let table = ".init = (void *)tree_init, .cgroup_init = (void *)tree_cgroup_init,\n\
        .cgroup_move = (void *)tree_cgroup_move, .enqueue = (void *)tree_enqueue,\n\
        .cgroup_set_weight = (void *)tree_cgroup_set_weight";
    let lines = printed(&grouped("tree"), &text, "SCX_OPS_DEFINE", table);
    let expected = [
        "pre",
        "pre fairground",
        "pre a",
        "pre b",
        "pre c",
        "pre d",
        "post b",
        "post c",
        "post a",
        "post d",
        "post fairground",
        "post",
        "up c",
        "up a",
        "up fairground",
        "up",
        "child fairground",
        "init  100 -1 0",
        "init fairground 100 -1 0",
        "init a 100 -1 0",
        "init b 100 20000 1000",
        "init c 33 -1 0",
        "init d 300 -1 0",
        "weight a 7",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_cpus_of_a_group_are_those_of_what_is_below_it_alone() {
    let text = format!(
        "void BPF_STRUCT_OPS(sets_set_cpumask, struct task_struct *p,\n\
             const struct cpumask *cpus) {{\n\
         if (p->comm[0] == '_') bpf_printk(\"%s %u\", p->comm, bpf_cpumask_first(cpus)); }}\n\
         void BPF_STRUCT_OPS(sets_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let groups = json!([{ "name": "a/b" }, { "name": "c/d" }]);
    let change = json!({ "set_group": { "name": "a", "cpus": [1] } });
    let rest = json!([{ "run_us": 500 }, { "sleep_us": 500 }]);
    let tasks = json!([
        { "name": "_in_b", "group": "a/b", "steps": rest },
        { "name": "_in_d", "group": "c/d", "steps": rest },
        { "name": "writer", "steps": [{ "run_us": 500 }, change, { "sleep_us": 1_000_000 }] },
    ]);
    let trial = trial_of("sets", &[], 2, 50, tasks);
    let control_groups: Vec<ControlGroup> = serde_json::from_value(groups).expect("groups");
    let workload = Workload { control_groups, ..(*trial.workload).clone() };
    let trial = Trial { workload: workload.into(), ..trial };
    let table = ".set_cpumask = (void *)sets_set_cpumask, .enqueue = (void *)sets_enqueue";
    assert_eq!(printed(&trial, &text, "SCX_OPS_DEFINE", table), ["_in_b 1"]);
}

#[test]
fn a_scheduler_can_refuse_a_move() {
    let text = format!(
        "s32 BPF_STRUCT_OPS(strict_cgroup_prep_move, struct task_struct *p, struct cgroup *from,\n\
             struct cgroup *to) {{ return to->level == 3 ? -EPERM : 0; }}\n\
         void BPF_STRUCT_OPS(strict_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let table = ".cgroup_prep_move = (void *)strict_cgroup_prep_move,\n\
        .enqueue = (void *)strict_enqueue";
    let record = ran(&grouped("strict"), &text, "SCX_OPS_DEFINE", table);
    let outcome = format!("{:?}", record.outcome);
    assert!(outcome.contains("ops.cgroup_prep_move() refused it"), "{outcome}");
}

#[test]
fn a_scheduler_without_callbacks_for_groups_is_noted() {
    let text = format!(
        "void BPF_STRUCT_OPS(flat_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let record = ran(&grouped("flat"), &text, "SCX_OPS_DEFINE", ".enqueue = (void *)flat_enqueue");
    let notes = record.provenance.notes.join("\n");
    assert!(notes.contains("no callbacks for control groups"), "{notes}");
}

/// A trial of one task whose steps make and remove the absent groups `b` and `b/c`.
fn remaking(name: &str, steps: serde_json::Value) -> Trial {
    let groups = json!([
        { "name": "a" }, { "name": "b", "weight": 50, "absent": true },
        { "name": "b/c", "absent": true }, { "name": "d" },
    ]);
    let tasks = json!([{ "name": "maker", "steps": steps, "repeat": 1 }]);
    let trial = trial_of(name, &[], 1, 500, tasks);
    let control_groups = serde_json::from_value(groups).expect("groups");
    let workload = Workload { control_groups, ..(*trial.workload).clone() };
    Trial { workload: workload.into(), ..trial }
}

#[test]
fn groups_are_made_and_removed_while_it_runs() {
    let text = format!(
        "struct {{ __uint(type, BPF_MAP_TYPE_CGRP_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC);\n\
         __type(key, int); __type(value, u64); }} seen SEC(\".maps\");\n\
         static void tree(void) {{ struct cgroup_subsys_state *css;\n\
         struct cgroup *c = bpf_cgroup_from_id(1); if (!c) return;\n\
         bpf_for_each(css, css, &c->self, BPF_CGROUP_ITER_DESCENDANTS_POST)\n\
             bpf_printk(\"  %s\", css->cgroup->kn->name);\n\
         bpf_cgroup_release(c); }}\n\
         s32 BPF_STRUCT_OPS_SLEEPABLE(again_cgroup_init, struct cgroup *c,\n\
             struct scx_cgroup_init_args *args) {{\n\
         u64 *own = bpf_cgrp_storage_get(&seen, c, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);\n\
         if (c->level > 1) bpf_printk(\"init %s %u\", c->kn->name, args->weight);\n\
         if (!own || *own) bpf_printk(\"old storage\"); else *own = c->kn->id;\n\
         return 0; }}\n\
         void BPF_STRUCT_OPS(again_cgroup_exit, struct cgroup *c) {{\n\
         u64 *own = bpf_cgrp_storage_get(&seen, c, 0, 0);\n\
         if (!own || *own != c->kn->id) bpf_printk(\"other storage\");\n\
         if (c->level > 1) bpf_printk(\"exit %s\", c->kn->name); }}\n\
         void BPF_STRUCT_OPS(again_cgroup_set_weight, struct cgroup *c, u32 weight) {{\n\
         bpf_printk(\"weight %s %u\", c->kn->name, weight); tree(); }}\n\
         void BPF_STRUCT_OPS(again_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    let table = ".cgroup_init = (void *)again_cgroup_init, .enqueue = (void *)again_enqueue,\n\
        .cgroup_exit = (void *)again_cgroup_exit,\n\
        .cgroup_set_weight = (void *)again_cgroup_set_weight";
    let rounds = json!({ "count": 2, "steps": [
        { "make_group": "b" }, { "make_group": "b/c" }, { "group": "b/c" }, { "run_us": 500 },
        { "group": "a" }, { "remove_group": "b/c" }, { "remove_group": "b" },
    ] });
    let trial = remaking("again", json!([{ "loop": rounds }, { "sleep_us": 300_000 }]));
    let round = [
        "init b 100",
        "weight b 50",
        "  a",
        "  b",
        "  d",
        "  fairground",
        "",
        "init c 100",
        "exit c",
        "exit b",
    ];
    let expected = [&["init a 100", "init d 100"], &round[..], &round, &["exit a", "exit d"]];
    assert_eq!(printed(&trial, &text, "SCX_OPS_DEFINE", table), expected.concat());
}

#[test]
fn a_group_that_is_not_there_ends_the_trial_with_the_reason() {
    let text = format!(
        "void BPF_STRUCT_OPS(gone_enqueue, struct task_struct *p, u64 flags) {{ {TO_GLOBAL} }}"
    );
    for (steps, why) in [
        (json!([{ "group": "b" }]), "is it there? Steps make and remove absent groups"),
        (json!([{ "make_group": "b/c" }]), "is it there?"),
        (json!([{ "set_group": { "name": "b", "weight": 7 } }]), "is it there?"),
        (json!([{ "remove_group": "b" }]), "is it there?"),
        (json!([{ "make_group": "b" }, { "make_group": "b" }]), "it was made before"),
        (
            json!([{ "make_group": "b" }, { "group": "b" }, { "remove_group": "b" }]),
            "tasks or groups are in",
        ),
        (
            json!([{ "make_group": "b" }, { "make_group": "b/c" }, { "remove_group": "b" }]),
            "tasks or groups are in",
        ),
    ] {
        let trial = remaking("gone", steps);
        let record = ran(&trial, &text, "SCX_OPS_DEFINE", ".enqueue = (void *)gone_enqueue");
        let outcome = format!("{:?}", record.outcome);
        assert!(outcome.contains("a task of `maker` could not go on"), "{outcome}");
        assert!(outcome.contains(why), "{outcome}");
    }
}
