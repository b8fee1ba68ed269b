// SPDX-License-Identifier: GPL-2.0-only
//! The interface of sched_ext from Linux 6.12 on: every kfunc, member of `struct sched_ext_ops` and
//! flag, and what the simulator does with it.
//!
//! A test compares the tables with the BTF of kernels; what they lack is a failure. The book lists
//! what is harmless and what is refused.

use Support::{Gone, Harmless, Internal, Modelled, Refused};

/// What the simulator does with a part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// What the kernel does.
    Modelled,
    /// Nothing, because it has no effect on what is modelled: why.
    Harmless(&'static str),
    /// The kernel's own: what a scheduler may not use is refused as the kernel refuses it.
    Internal,
    /// A scheduler that uses it is `unsupported`, by this name.
    Refused,
    /// What older kernels do; the newest has it no more, and refuses a scheduler that needs it:
    /// what to use instead.
    Gone(&'static str),
}

/// A kfunc or a member.
pub type Named = (&'static str, Support);

/// A flag: its name and value in Linux 7.x.
pub type Flag = (&'static str, u64, Support);

const FULL_SPEED: Support = Harmless("CPUs run at full speed, as under `performance`");

/// The kfuncs of sched_ext by the kernel's names.
pub const KFUNCS: &[Named] = &[
    ("__scx_bpf_dsq_insert_vtime", Modelled),
    ("__scx_bpf_select_cpu_and", Modelled),
    ("bpf_iter_scx_dsq_destroy", Modelled),
    ("bpf_iter_scx_dsq_new", Modelled),
    ("bpf_iter_scx_dsq_next", Modelled),
    ("scx_bpf_cgroup_nr_cpus", Modelled),
    ("scx_bpf_cid_curr", Modelled),
    ("scx_bpf_cid_node", Modelled),
    ("scx_bpf_cid_override", Refused),
    ("scx_bpf_cid_to_cpu", Modelled),
    ("scx_bpf_cid_topo", Modelled),
    ("scx_bpf_cidperf_cap", Modelled),
    ("scx_bpf_cidperf_cur", Modelled),
    ("scx_bpf_cidperf_set", FULL_SPEED),
    ("scx_bpf_cpu_curr", Modelled),
    ("scx_bpf_cpu_node", Modelled),
    ("scx_bpf_cpu_rq", Gone("scx_bpf_cpu_curr() or scx_bpf_locked_rq()")),
    ("scx_bpf_cpu_to_cid", Modelled),
    ("scx_bpf_cpuperf_cap", Modelled),
    ("scx_bpf_cpuperf_cur", Modelled),
    ("scx_bpf_cpuperf_set", FULL_SPEED),
    ("scx_bpf_create_dsq", Modelled),
    ("scx_bpf_destroy_dsq", Modelled),
    ("scx_bpf_dispatch_cancel", Modelled),
    ("scx_bpf_dispatch_nr_slots", Modelled),
    ("scx_bpf_dsq_insert", Modelled),
    ("scx_bpf_dsq_insert___v2", Modelled),
    ("scx_bpf_dsq_insert_vtime", Modelled),
    ("scx_bpf_dsq_move", Modelled),
    ("scx_bpf_dsq_move_set_slice", Modelled),
    ("scx_bpf_dsq_move_set_vtime", Modelled),
    ("scx_bpf_dsq_move_to_local", Modelled),
    ("scx_bpf_dsq_move_to_local___v2", Modelled),
    ("scx_bpf_dsq_move_vtime", Modelled),
    ("scx_bpf_dsq_nr_queued", Modelled),
    ("scx_bpf_dsq_peek", Modelled),
    ("scx_bpf_dsq_reenq", Modelled),
    ("scx_bpf_dump_bstr", Harmless("only a dump shows it, and dumps are the simulator's own")),
    ("scx_bpf_error_bstr", Modelled),
    ("scx_bpf_events", Modelled),
    ("scx_bpf_exit_bstr", Modelled),
    ("scx_bpf_get_idle_cpumask", Modelled),
    ("scx_bpf_get_idle_cpumask_node", Modelled),
    ("scx_bpf_get_idle_smtmask", Modelled),
    ("scx_bpf_get_idle_smtmask_node", Modelled),
    ("scx_bpf_get_online_cpumask", Modelled),
    ("scx_bpf_get_possible_cpumask", Modelled),
    ("scx_bpf_kick_cid", Modelled),
    ("scx_bpf_kick_cpu", Modelled),
    ("scx_bpf_locked_rq", Modelled),
    ("scx_bpf_now", Modelled),
    ("scx_bpf_nr_cids", Modelled),
    ("scx_bpf_nr_cpu_ids", Modelled),
    ("scx_bpf_nr_node_ids", Modelled),
    ("scx_bpf_nr_online_cids", Modelled),
    ("scx_bpf_online_cmask", Refused),
    ("scx_bpf_pick_any_cpu", Modelled),
    ("scx_bpf_pick_any_cpu_node", Modelled),
    ("scx_bpf_pick_idle_cpu", Modelled),
    ("scx_bpf_pick_idle_cpu_node", Modelled),
    ("scx_bpf_put_cpumask", Modelled),
    ("scx_bpf_put_idle_cpumask", Modelled),
    ("scx_bpf_reenqueue_local", Modelled),
    ("scx_bpf_reenqueue_local___v2", Modelled),
    ("scx_bpf_select_cpu_and", Modelled),
    ("scx_bpf_select_cpu_dfl", Modelled),
    ("scx_bpf_sub_caps", Refused),
    ("scx_bpf_sub_dispatch", Refused),
    ("scx_bpf_sub_grant", Refused),
    ("scx_bpf_sub_kill_bstr", Refused),
    ("scx_bpf_sub_revoke", Refused),
    ("scx_bpf_task_cgroup", Modelled),
    ("scx_bpf_task_cid", Modelled),
    ("scx_bpf_task_cpu", Modelled),
    ("scx_bpf_task_running", Modelled),
    ("scx_bpf_task_set_dsq_vtime", Modelled),
    ("scx_bpf_task_set_lazy_resched", Modelled),
    ("scx_bpf_task_set_slice", Modelled),
    ("scx_bpf_test_and_clear_cpu_idle", Modelled),
    ("scx_bpf_this_cid", Modelled),
    ("scx_bpf_tid_to_task", Modelled),
];

const ALWAYS_ONLINE: Support = Harmless("all CPUs are always online");
const OWN_DUMPS: Support = Harmless("dumps are the simulator's own");

const ROOT_HAS_ALL: Support = Harmless("no task of the root scheduler has to be rescued");

/// The members of `struct sched_ext_ops`. One that is refused must be zero.
pub const MEMBERS: &[Named] = &[
    ("select_cpu", Modelled),
    ("enqueue", Modelled),
    ("dequeue", Modelled),
    ("dispatch", Modelled),
    ("tick", Modelled),
    ("runnable", Modelled),
    ("running", Modelled),
    ("stopping", Modelled),
    ("quiescent", Modelled),
    ("yield", Modelled),
    ("core_sched_before", Harmless("core scheduling is off")),
    ("set_weight", Modelled),
    ("set_cpumask", Modelled),
    ("update_idle", Modelled),
    ("init_task", Modelled),
    ("exit_task", Modelled),
    ("enable", Modelled),
    ("disable", Modelled),
    ("dump", OWN_DUMPS),
    ("dump_cpu", OWN_DUMPS),
    ("dump_task", OWN_DUMPS),
    ("cgroup_init", Modelled),
    ("cgroup_exit", Modelled),
    ("cgroup_prep_move", Modelled),
    ("cgroup_move", Modelled),
    ("cgroup_cancel_move", Modelled),
    ("cgroup_set_weight", Modelled),
    ("cgroup_set_bandwidth", Modelled),
    ("cgroup_set_idle", Modelled),
    ("sub_attach", Refused),
    ("sub_detach", Refused),
    ("sub_caps_updated", Refused),
    ("sub_ecaps_updated", Refused),
    ("sub_cid_sched_updated", Refused),
    ("sub_child_ecaps_updated", Refused),
    ("cpu_online", ALWAYS_ONLINE),
    ("cpu_offline", ALWAYS_ONLINE),
    ("init_cids", Modelled),
    ("init", Modelled),
    ("exit", Modelled),
    ("dispatch_max_batch", Modelled),
    ("flags", Modelled),
    ("timeout_ms", Modelled),
    ("exit_dump_len", OWN_DUMPS),
    ("hotplug_seq", ALWAYS_ONLINE),
    ("cid_shard_size", Modelled),
    ("rescue_bandwidth_ppt", ROOT_HAS_ALL),
    ("rescue_quantum_us", ROOT_HAS_ALL),
    ("sub_cgroup_id", Refused),
    ("name", Modelled),
    ("priv", Internal),
    ("cpu_acquire", Modelled),
    ("cpu_release", Modelled),
];

/// What `struct sched_ext_ops_cid` calls otherwise: its name, and that of the cpu form, whose
/// support it has.
pub const CID_MEMBERS: &[(&str, &str)] = &[
    ("select_cid", "select_cpu"),
    ("set_cmask", "set_cpumask"),
    ("dump_cid", "dump_cpu"),
    ("cpuctl_init", "cgroup_init"),
    ("cpuctl_exit", "cgroup_exit"),
    ("cpuctl_prep_move", "cgroup_prep_move"),
    ("cpuctl_move", "cgroup_move"),
    ("cpuctl_cancel_move", "cgroup_cancel_move"),
    ("cpuctl_set_weight", "cgroup_set_weight"),
    ("cpuctl_set_bandwidth", "cgroup_set_bandwidth"),
    ("cpuctl_set_idle", "cgroup_set_idle"),
    ("cid_online", "cpu_online"),
    ("cid_offline", "cpu_offline"),
];

/// `ops.flags`.
pub const OPS_FLAGS: &[Flag] = &[
    ("SCX_OPS_KEEP_BUILTIN_IDLE", 1, Modelled),
    ("SCX_OPS_ENQ_LAST", 1 << 1, Modelled),
    ("SCX_OPS_ENQ_EXITING", 1 << 2, Modelled),
    ("SCX_OPS_SWITCH_PARTIAL", 1 << 3, Modelled),
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", 1 << 4, Harmless("no task disables its migration")),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", 1 << 5, Harmless("the waker's CPU does each wake-up")),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", 1 << 6, Modelled),
    ("SCX_OPS_ALWAYS_ENQ_IMMED", 1 << 7, Modelled),
    ("SCX_OPS_TID_TO_TASK", 1 << 8, Modelled),
    ("SCX_OPS_LAZY_RESCHED", 1 << 9, Modelled),
    ("SCX_OPS_ENQ_BLOCKED", 1 << 10, Harmless("there is no proxy execution")),
    ("SCX_OPS_HAS_CPU_PREEMPT", 1 << 56, Internal),
];

/// Flags of an enqueue: what `ops.enqueue` is given, and what a scheduler may ask for.
pub const ENQ_FLAGS: &[Flag] = &[
    ("SCX_ENQ_WAKEUP", 1, Modelled),
    ("SCX_ENQ_HEAD", 1 << 16, Modelled),
    ("SCX_ENQ_CPU_SELECTED", 1 << 20, Modelled),
    ("SCX_ENQ_PREEMPT", 1 << 32, Modelled),
    ("SCX_ENQ_IMMED", 1 << 33, Modelled),
    ("SCX_ENQ_RESCUE", 1 << 34, Modelled),
    ("SCX_ENQ_PREEMPT_LAZY", 1 << 35, Modelled),
    ("SCX_ENQ_REENQ", 1 << 40, Modelled),
    ("SCX_ENQ_LAST", 1 << 41, Modelled),
    ("SCX_ENQ_BLOCKED", 1 << 42, Refused),
    ("SCX_ENQ_CLEAR_OPSS", 1 << 56, Internal),
    ("SCX_ENQ_DSQ_PRIQ", 1 << 57, Internal),
    ("SCX_ENQ_NESTED", 1 << 58, Internal),
    ("SCX_ENQ_GDSQ_FALLBACK", 1 << 59, Internal),
    ("SCX_ENQ_IGNORE_CAPS", 1 << 60, Internal),
    ("SCX_ENQ_APPLY_SLICE", 1 << 61, Internal),
    ("SCX_ENQ_SLICE_DFL", 1 << 62, Internal),
];

/// What `ops.dequeue` is given.
pub const DEQ_FLAGS: &[Flag] = &[
    ("SCX_DEQ_SLEEP", 1, Modelled),
    ("SCX_DEQ_CORE_SCHED_EXEC", 1 << 32, Harmless("core scheduling is off")),
    ("SCX_DEQ_SCHED_CHANGE", 1 << 33, Modelled),
];

/// What `ops.select_cpu` is given.
pub const WAKE_FLAGS: &[Flag] = &[
    ("SCX_WAKE_FORK", 4, Modelled),
    ("SCX_WAKE_TTWU", 8, Modelled),
    ("SCX_WAKE_SYNC", 16, Modelled),
];

/// Flags of `scx_bpf_kick_cpu()`.
pub const KICK_FLAGS: &[Flag] = &[
    ("SCX_KICK_IDLE", 1, Modelled),
    ("SCX_KICK_PREEMPT", 2, Modelled),
    ("SCX_KICK_WAIT", 4, Harmless("nothing runs between a kick and its effect")),
    ("SCX_KICK_PREEMPT_LAZY", 8, Modelled),
];

/// Flags of the kfuncs that pick an idle CPU.
pub const PICK_FLAGS: &[Flag] =
    &[("SCX_PICK_IDLE_CORE", 1, Modelled), ("SCX_PICK_IDLE_IN_NODE", 2, Modelled)];

/// Flags of `scx_bpf_dsq_reenq()`.
pub const REENQ_FLAGS: &[Flag] = &[
    ("SCX_REENQ_ANY", 1, Modelled),
    ("SCX_REENQ_CAP_REVOKE", 2, Internal),
    ("SCX_REENQ_TSR_RQ_OPEN", 1 << 32, Internal),
    ("SCX_REENQ_TSR_NOT_FIRST", 1 << 33, Internal),
];

/// Flags of `bpf_iter_scx_dsq_new()`.
pub const ITER_FLAGS: &[Flag] = &[("SCX_DSQ_ITER_REV", 1 << 16, Modelled)];

const BUILTIN: u64 = 1 << 63;

/// The queues that the kernel has by itself.
pub const DSQ_IDS: &[Flag] = &[
    ("SCX_DSQ_FLAG_BUILTIN", BUILTIN, Modelled),
    ("SCX_DSQ_FLAG_LOCAL_ON", 1 << 62, Modelled),
    ("SCX_DSQ_INVALID", BUILTIN, Internal),
    ("SCX_DSQ_GLOBAL", BUILTIN | 1, Modelled),
    ("SCX_DSQ_LOCAL", BUILTIN | 2, Modelled),
    ("SCX_DSQ_BYPASS", BUILTIN | 3, Internal),
    ("SCX_DSQ_REJECT", BUILTIN | 4, Internal),
    ("SCX_DSQ_RESCUE", BUILTIN | 5, Internal),
    ("SCX_DSQ_LOCAL_ON", BUILTIN | 1 << 62, Modelled),
    ("SCX_DSQ_LOCAL_CPU_MASK", 0xffff_ffff, Modelled),
];

/// Why a scheduler ends (`scx_exit_info.kind`).
pub const EXIT_KINDS: &[Flag] = &[
    ("SCX_EXIT_NONE", 0, Internal),
    ("SCX_EXIT_DONE", 1, Internal),
    ("SCX_EXIT_UNREG", 64, Modelled),
    ("SCX_EXIT_UNREG_BPF", 65, Modelled),
    ("SCX_EXIT_UNREG_KERN", 66, ALWAYS_ONLINE),
    ("SCX_EXIT_SYSRQ", 67, Harmless("nobody is at the keyboard")),
    ("SCX_EXIT_PARENT", 68, NO_PARENT),
    ("SCX_EXIT_PARENT_KILL", 69, NO_PARENT),
    ("SCX_EXIT_ERROR", 1024, Modelled),
    ("SCX_EXIT_ERROR_BPF", 1025, Modelled),
    ("SCX_EXIT_ERROR_STALL", 1026, Modelled),
    ("SCX_EXIT_ERROR_REENQ", 1027, Modelled),
    ("SCX_EXIT_ERROR_RESCUE", 1028, ROOT_HAS_ALL),
];

const NO_PARENT: Support = Harmless("nested schedulers are refused");

/// The flags by the kernel's enumeration.
pub const ENUMS: &[(&str, &[Flag])] = &[
    ("scx_ops_flags", OPS_FLAGS),
    ("scx_enq_flags", ENQ_FLAGS),
    ("scx_deq_flags", DEQ_FLAGS),
    ("scx_wake_flags", WAKE_FLAGS),
    ("scx_kick_flags", KICK_FLAGS),
    ("scx_pick_idle_cpu_flags", PICK_FLAGS),
    ("scx_reenq_flags", REENQ_FLAGS),
    ("scx_dsq_iter_flags", ITER_FLAGS),
    ("scx_dsq_id_flags", DSQ_IDS),
    ("scx_exit_kind", EXIT_KINDS),
];

/// The refused flags as one number.
pub const fn refused(flags: &[Flag]) -> u64 {
    let (mut bits, mut index) = (0, 0);
    while index < flags.len() {
        if matches!(flags[index].2, Refused) {
            bits |= flags[index].1;
        }
        index += 1;
    }
    bits
}

/// The first refused flag among these bits.
pub fn first_refused(flags: &[Flag], bits: u64) -> Option<&'static str> {
    let refused = |flag: &&Flag| flag.2 == Refused && bits & flag.1 != 0;
    flags.iter().find(refused).map(|flag| flag.0)
}

#[cfg(test)]
mod tests;
