// SPDX-License-Identifier: GPL-2.0-only
//! Schedulers keep to what Linux 6.12, the first kernel with sched_ext, can do, so that one file
//! loads on all. A newer name is fine where `<scx/common.bpf.h>` puts the older one in its place.

use crate::{File, expect_none, files};

/// What 6.12 has: kfuncs of sched_ext and others, and helpers, as the header calls them.
const CALLS: &[&str] = &[
    "__COMPAT_scx_bpf_cpu_node",
    "__COMPAT_scx_bpf_dsq_peek",
    "bpf_core_field_exists",
    "bpf_cpumask_",
    "bpf_for",
    "bpf_for_each",
    "bpf_get_current_task_btf",
    "bpf_get_prandom_u32",
    "bpf_get_smp_processor_id",
    "bpf_iter_",
    "bpf_kptr_xchg",
    "bpf_ktime_get_",
    "bpf_list_",
    "bpf_loop",
    "bpf_map_",
    "bpf_obj_",
    "bpf_per_cpu_ptr",
    "bpf_printk",
    "bpf_rbtree_add",
    "bpf_rbtree_first",
    "bpf_rbtree_remove",
    "bpf_rcu_read_",
    "bpf_refcount_acquire",
    "bpf_repeat",
    "bpf_spin_lock",
    "bpf_spin_unlock",
    "bpf_task_acquire",
    "bpf_task_from_pid",
    "bpf_task_release",
    "bpf_task_storage_",
    "bpf_this_cpu_ptr",
    "bpf_timer_",
    "scx_bpf_cpuperf_",
    "scx_bpf_create_dsq",
    "scx_bpf_destroy_dsq",
    "scx_bpf_dispatch_cancel",
    "scx_bpf_dispatch_nr_slots",
    "scx_bpf_dsq_insert",
    "scx_bpf_dsq_insert_vtime",
    "scx_bpf_dsq_move",
    "scx_bpf_dsq_move_set_slice",
    "scx_bpf_dsq_move_set_vtime",
    "scx_bpf_dsq_move_to_local",
    "scx_bpf_dsq_move_vtime",
    "scx_bpf_dsq_nr_queued",
    "scx_bpf_error",
    "scx_bpf_exit",
    "scx_bpf_get_idle_cpumask",
    "scx_bpf_get_idle_smtmask",
    "scx_bpf_get_online_cpumask",
    "scx_bpf_get_possible_cpumask",
    "scx_bpf_kick_cpu",
    "scx_bpf_now",
    "scx_bpf_nr_cpu_ids",
    "scx_bpf_pick_any_cpu",
    "scx_bpf_pick_idle_cpu",
    "scx_bpf_put_cpumask",
    "scx_bpf_put_idle_cpumask",
    "scx_bpf_select_cpu_dfl",
    "scx_bpf_task_cpu",
    "scx_bpf_task_running",
    "scx_bpf_task_set_dsq_vtime",
    "scx_bpf_task_set_slice",
    "scx_bpf_test_and_clear_cpu_idle",
];

/// Its callbacks and settings, but those that newer kernels drop. The loader clears callbacks for
/// control groups on kernels that lack them, and what uses their arguments asks for each field. It
/// also clears flags; those of 6.12 are everywhere.
const OPS: &[&str] = &[
    "select_cpu",
    "enqueue",
    "dequeue",
    "dispatch",
    "tick",
    "runnable",
    "running",
    "stopping",
    "quiescent",
    "yield",
    "core_sched_before",
    "set_weight",
    "set_cpumask",
    "update_idle",
    "init_task",
    "exit_task",
    "enable",
    "disable",
    "cgroup_init",
    "cgroup_exit",
    "cgroup_move",
    "cgroup_set_weight",
    "cgroup_set_bandwidth",
    "cgroup_set_idle",
    "dump",
    "dump_cpu",
    "dump_task",
    "init",
    "exit",
    "flags",
    "dispatch_max_batch",
    "timeout_ms",
    "exit_dump_len",
    "name",
];

#[test]
fn schedulers_call_only_what_6_12_has() {
    let mut complaints = Vec::new();
    for file in schedulers() {
        for (number, line) in file.lines() {
            for name in calls(line).into_iter().filter(|name| !is_allowed(name)) {
                let place = format!("{}:{number}", file.path);
                complaints.push(format!("{place}: Linux 6.12 has no {name}(); do without it"));
            }
        }
    }
    expect_none(complaints);
}

#[test]
fn schedulers_have_only_callbacks_that_6_12_has() {
    let mut complaints = Vec::new();
    for file in schedulers() {
        let table = file.lines().skip_while(|(_, line)| !line.starts_with("SCX_OPS_DEFINE("));
        for (number, line) in table {
            let Some((name, _)) = line.trim().strip_prefix('.').and_then(|l| l.split_once('='))
            else {
                continue;
            };
            if !OPS.contains(&name.trim()) {
                let place = format!("{}:{number}", file.path);
                complaints.push(format!("{place}: Linux 6.12 has no ops.{}", name.trim()));
            }
        }
    }
    expect_none(complaints);
}

#[test]
fn newer_calls_are_found() {
    let newer = "\tif (scx_bpf_cpu_curr(cpu) && bpf_rbtree_left(n) && !scx_bpf_now())";
    let refused: Vec<&str> = calls(newer).into_iter().filter(|name| !is_allowed(name)).collect();
    assert_eq!(refused, ["scx_bpf_cpu_curr", "bpf_rbtree_left"]);
}

/// The schedulers and their shared headers.
fn schedulers() -> Vec<File> {
    let mut files = files();
    files.retain(|file| file.path.starts_with("schedulers/") && file.is(&[".c", ".h"]));
    files
}

/// Names that end in `_` stand for all that begin so.
fn is_allowed(name: &str) -> bool {
    CALLS.iter().any(|call| *call == name || call.ends_with('_') && name.starts_with(call))
}

/// The kernel's functions that a line calls.
fn calls(line: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let before = line.split('(').map(|part| part.rsplit(|c| !is_word(c)).next().unwrap_or(""));
    let count = line.matches('(').count();
    let kernels = |name: &&str| {
        ["bpf_", "scx_bpf_", "__COMPAT_"].iter().any(|prefix| name.starts_with(prefix))
    };
    before.take(count).filter(kernels).collect()
}
