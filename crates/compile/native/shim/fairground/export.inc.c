/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the simulator reads when it loads the object; its `native/export.rs` has the same
 * structures.
 */

struct fairground_named {
	const char *name;
	u64 value;
};

#define TASK_FIELDS(F)									\
	F(scx.slice) F(scx.dsq_vtime) F(scx.weight) F(scx.flags) F(scx.selected_cpu)	\
	F(scx.disallow) F(scx.lazy_resched) F(scx.dsq) F(scx.ddsp_dsq_id)		\
	F(scx.ddsp_enq_flags) F(sched_task_group)					\
	F(scx.runnable_at) F(scx.tid) F(se.exec_start) F(se.sum_exec_runtime)		\
	F(se.slice) F(se.custom_slice) F(se.load.weight) F(sched_info.pcount)		\
	F(sched_info.run_delay) F(sched_info.last_arrival) F(sched_info.last_queued)	\
	F(in_iowait) F(utime) F(start_boottime) F(sched_class) F(cgroups) F(real_cred)	\
	F(cred) F(signal) F(thread_node) F(thread_pid) F(fairground_signal)		\
	F(fairground_pid)								\
	F(thread_info.cpu) F(prio) F(static_prio)					\
	F(normal_prio) F(rt_priority) F(policy) F(flags) F(nr_cpus_allowed) F(on_cpu)	\
	F(cpus_ptr) F(pid) F(tgid) F(__state) F(wake_cpu) F(recent_used_cpu) F(mm)	\
	F(real_parent) F(parent) F(group_leader) F(nvcsw) F(nivcsw) F(start_time) F(comm) \
	F(cpus_mask)

/* Structures that pass between both sides; the simulator's are in `native/abi.rs`. */
#define AT(type, field, offset)								\
	_Static_assert(__builtin_offsetof(struct type, field) == offset, #type "." #field)
AT(scx_exit_info, kind, 0);
AT(scx_exit_info, exit_cpu, 4);
AT(scx_exit_info, exit_code, 8);
AT(scx_exit_info, reason, 24);
AT(scx_exit_info, msg, 48);
AT(scx_exit_info, dump, 56);
AT(scx_init_task_args, fork, 0);
AT(scx_init_task_args, cgroup, 8);
AT(scx_exit_task_args, cancelled, 0);
AT(scx_bpf_select_cpu_and_args, prev_cpu, 0);
AT(scx_bpf_select_cpu_and_args, wake_flags, 8);
AT(scx_bpf_select_cpu_and_args, flags, 16);
AT(scx_bpf_dsq_insert_vtime_args, dsq_id, 0);
AT(scx_bpf_dsq_insert_vtime_args, slice, 8);
AT(scx_bpf_dsq_insert_vtime_args, vtime, 16);
AT(scx_bpf_dsq_insert_vtime_args, enq_flags, 24);
AT(scx_cpu_release_args, reason, 0);
AT(scx_cpu_release_args, task, 8);
AT(scx_cgroup_init_args, weight, 0);
AT(scx_cgroup_init_args, bw_period_us, 8);
AT(scx_cgroup_init_args, bw_quota_us, 16);
AT(scx_cgroup_init_args, bw_burst_us, 24);
AT(scx_cgroup_init_args, sched_idle, 32);
AT(scx_enable_args, cmask_arena_addr, 0);
AT(scx_cmask, nr_cids, 4);
AT(scx_cmask, alloc_words, 8);
AT(scx_cmask, bits, 16);
AT(scx_cid_topo, cluster_idx, 36);
AT(scx_dispatch_q, id, 0);
AT(signal_struct, live, 0);
AT(signal_struct, nr_threads, 4);
AT(signal_struct, thread_head, 8);
AT(signal_struct, pids, 24);
AT(signal_struct, autogroup, 56);
AT(pid, numbers, 8);
AT(list_head, prev, 8);
_Static_assert(sizeof(struct bpf_iter_scx_dsq) >= 48, "the iterator holds the simulator's");

#define OPS_FIELDS(F)									\
	F(select_cpu) F(enqueue) F(dequeue) F(dispatch) F(tick) F(runnable) F(running)	\
	F(stopping) F(quiescent) F(yield) F(core_sched_before) F(set_weight)		\
	F(set_cpumask) F(update_idle) F(init_task) F(exit_task) F(enable) F(disable)	\
	F(dump) F(dump_cpu) F(dump_task) F(cgroup_init) F(cgroup_exit)			\
	F(cgroup_prep_move) F(cgroup_move) F(cgroup_cancel_move) F(cgroup_set_weight)	\
	F(cgroup_set_bandwidth) F(cgroup_set_idle) F(sub_attach) F(sub_detach)		\
	F(sub_caps_updated) F(sub_ecaps_updated) F(sub_cid_sched_updated)		\
	F(sub_child_ecaps_updated) F(cpu_online) F(cpu_offline) F(init_cids) F(init)	\
	F(exit) F(dispatch_max_batch) F(flags) F(timeout_ms) F(exit_dump_len)		\
	F(hotplug_seq) F(cid_shard_size) F(rescue_bandwidth_ppt) F(rescue_quantum_us)	\
	F(sub_cgroup_id) F(name) F(priv) F(cpu_acquire) F(cpu_release)

/* The cid form, by the names of the cpu form, whose callbacks mean the same. */
#define OPS_CID_FIELDS(F)								\
	F(select_cid, select_cpu) F(enqueue, enqueue) F(dequeue, dequeue)		\
	F(dispatch, dispatch) F(tick, tick) F(runnable, runnable) F(running, running)	\
	F(stopping, stopping) F(quiescent, quiescent) F(yield, yield)			\
	F(core_sched_before, core_sched_before) F(set_weight, set_weight)		\
	F(set_cmask, set_cmask) F(update_idle, update_idle) F(init_task, init_task)	\
	F(exit_task, exit_task) F(enable, enable) F(disable, disable) F(dump, dump)	\
	F(dump_cid, dump_cpu) F(dump_task, dump_task) F(cpuctl_init, cgroup_init)	\
	F(cpuctl_exit, cgroup_exit) F(cpuctl_prep_move, cgroup_prep_move)		\
	F(cpuctl_move, cgroup_move) F(cpuctl_cancel_move, cgroup_cancel_move)		\
	F(cpuctl_set_weight, cgroup_set_weight)						\
	F(cpuctl_set_bandwidth, cgroup_set_bandwidth) F(cpuctl_set_idle, cgroup_set_idle) \
	F(sub_attach, sub_attach) F(sub_detach, sub_detach)				\
	F(sub_caps_updated, sub_caps_updated) F(sub_ecaps_updated, sub_ecaps_updated)	\
	F(sub_cid_sched_updated, sub_cid_sched_updated)					\
	F(sub_child_ecaps_updated, sub_child_ecaps_updated) F(cid_online, cpu_online)	\
	F(cid_offline, cpu_offline) F(init_cids, init_cids) F(init, init) F(exit, exit)	\
	F(dispatch_max_batch, dispatch_max_batch) F(flags, flags)			\
	F(timeout_ms, timeout_ms) F(exit_dump_len, exit_dump_len)			\
	F(hotplug_seq, hotplug_seq) F(cid_shard_size, cid_shard_size)			\
	F(rescue_bandwidth_ppt, rescue_bandwidth_ppt)					\
	F(rescue_quantum_us, rescue_quantum_us) F(sub_cgroup_id, sub_cgroup_id)		\
	F(name, name) F(priv, priv)

#define OPS_CID_FIELD(field, name)							\
	{ #name, __builtin_offsetof(struct sched_ext_ops_cid, field) },
#define TASK_FIELD(field) { #field, __builtin_offsetof(struct task_struct, field) },
#define OPS_FIELD(field) { #field, __builtin_offsetof(struct sched_ext_ops, field) },
#define CALL(result, function, parameters, arguments)					\
	{ #function, (u64)&fairground.calls.function },

static const struct fairground_named task_fields[] = {
	TASK_FIELDS(TASK_FIELD) { "size", sizeof(struct task_struct) },
	{ "cpus_mask_bytes", sizeof(cpumask_t) }, {}
};
static const struct fairground_named ops_fields[] = {
	OPS_FIELDS(OPS_FIELD) { "size", sizeof(struct sched_ext_ops) }, {}
};
static const struct fairground_named ops_cid_fields[] = {
	OPS_CID_FIELDS(OPS_CID_FIELD) { "size", sizeof(struct sched_ext_ops_cid) }, {}
};
static const struct fairground_named calls[] = {
	FAIRGROUND_CALLS(CALL) FAIRGROUND_WATCHES(CALL) {}
};

/* What tasks point to. */
static const struct fairground_named objects[] = {
	{ "make_group", (u64)&fairground_make_group },
	{ "remove_group", (u64)&fairground_remove_group },
	{ "make_session", (u64)&fairground_make_session }, { "cred", (u64)&fairground_cred },
	{ "pid_namespace", (u64)&init_pid_ns }, { "dl", (u64)&dl_sched_class },
	{ "rt", (u64)&rt_sched_class }, { "ext", (u64)&ext_sched_class },
	{ "idle", (u64)&idle_sched_class }, {}
};

struct fairground_export {
	struct fairground_state *state;
	const struct fairground_named *task_fields;
	const struct fairground_named *ops_fields;
	/* The value is the address of the slot for the simulator's function. */
	const struct fairground_named *calls;
	u64 *hz;
	const struct fairground_named *objects;
	const struct fairground_named *ops_cid_fields;
};

__attribute__((visibility("default"))) const struct fairground_export fairground_export = {
	.state = &fairground,
	.task_fields = task_fields,
	.ops_fields = ops_fields,
	.calls = calls,
	.hz = &CONFIG_HZ,
	.objects = objects,
	.ops_cid_fields = ops_cid_fields,
};
