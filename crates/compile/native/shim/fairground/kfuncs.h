/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every kfunc and helper that the model has, in one list. What is not here is left to the linker,
 * which refuses it and names the place.
 */
#ifndef FAIRGROUND_KFUNCS_H
#define FAIRGROUND_KFUNCS_H

struct fairground_map;

/* Memory of an arena, as the ecosystem's `__arena`. */
#define FAIRGROUND_ARENA void __attribute__((address_space(1)))

/*
 * Answered by the simulator: result, name, parameters, arguments. Its `native/kfuncs.rs` has a
 * function for each name. Where the ecosystem knows several forms of a kfunc, it is the
 * newest one.
 */
#define FAIRGROUND_CALLS(K)								\
	K(s32, scx_bpf_create_dsq, (u64 dsq, s32 node), (dsq, node))			\
	K(void, scx_bpf_destroy_dsq, (u64 dsq), (dsq))					\
	K(s32, scx_bpf_dsq_nr_queued, (u64 dsq), (dsq))					\
	K(bool, scx_bpf_dsq_insert___v2___compat,					\
	  (struct task_struct *p, u64 dsq, u64 slice, u64 flags), (p, dsq, slice, flags)) \
	K(bool, __scx_bpf_dsq_insert_vtime,						\
	  (struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args), (p, args)) \
	K(bool, scx_bpf_dsq_move_to_local___v2___compat, (u64 dsq, u64 flags), (dsq, flags)) \
	K(void, scx_bpf_dsq_move_set_slice___new,					\
	  (struct bpf_iter_scx_dsq *it, u64 slice), (it, slice))			\
	K(void, scx_bpf_dsq_move_set_vtime___new,					\
	  (struct bpf_iter_scx_dsq *it, u64 vtime), (it, vtime))			\
	K(bool, scx_bpf_dsq_move___new,							\
	  (struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 flags),	\
	  (it, p, dsq, flags))								\
	K(bool, scx_bpf_dsq_move_vtime___new,						\
	  (struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 flags),	\
	  (it, p, dsq, flags))								\
	K(u32, scx_bpf_dispatch_nr_slots, (void), ())					\
	K(void, scx_bpf_dispatch_cancel, (void), ())					\
	K(void, scx_bpf_dsq_reenq___compat, (u64 dsq, u64 flags), (dsq, flags))		\
	K(u32, scx_bpf_reenqueue_local___v1, (void), ())				\
	K(struct task_struct *, scx_bpf_dsq_peek, (u64 dsq), (dsq))			\
	K(int, bpf_iter_scx_dsq_new,							\
	  (struct bpf_iter_scx_dsq *it, u64 dsq, u64 flags), (it, dsq, flags))		\
	K(struct task_struct *, bpf_iter_scx_dsq_next, (struct bpf_iter_scx_dsq *it), (it)) \
	K(void, bpf_iter_scx_dsq_destroy, (struct bpf_iter_scx_dsq *it), (it))		\
	K(void, scx_bpf_events, (struct scx_event_stats *events, size_t size), (events, size)) \
	K(struct task_struct *, scx_bpf_tid_to_task, (u64 tid), (tid))			\
	K(bool, scx_bpf_task_set_lazy_resched___new, (struct task_struct *p, bool lazy), (p, lazy)) \
	K(s32, fairground_locked_cpu, (void), ())					\
	K(s32, fairground_cid, (s32 cid), (cid))					\
	K(void, scx_bpf_cid_topo___v2,							\
	  (s32 cid, struct scx_cid_topo *out, size_t size), (cid, out, size))		\
	K(void *, bpf_cgrp_storage_get,							\
	  (void *map, struct cgroup *cgroup, void *value, u64 flags),			\
	  (map, cgroup, value, flags))							\
	K(long, bpf_cgrp_storage_delete, (void *map, struct cgroup *cgroup), (map, cgroup)) \
	K(s32, scx_bpf_select_cpu_dfl,							\
	  (struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle),		\
	  (p, prev_cpu, wake_flags, is_idle))						\
	K(s32, __scx_bpf_select_cpu_and,						\
	  (struct task_struct *p, const struct cpumask *cpus,				\
	   struct scx_bpf_select_cpu_and_args *args), (p, cpus, args))			\
	K(void, scx_bpf_kick_cpu, (s32 cpu, u64 flags), (cpu, flags))			\
	K(void, scx_bpf_exit_bstr,							\
	  (s64 code, char *fmt, unsigned long long *data, u32 size), (code, fmt, data, size)) \
	K(void, scx_bpf_error_bstr,							\
	  (char *fmt, unsigned long long *data, u32 size), (fmt, data, size))		\
	K(void, scx_bpf_dump_bstr,							\
	  (char *fmt, unsigned long long *data, u32 size), (fmt, data, size))		\
	K(u32, scx_bpf_cpuperf_cap, (s32 cpu), (cpu))					\
	K(u32, scx_bpf_cpuperf_cur, (s32 cpu), (cpu))					\
	K(void, scx_bpf_cpuperf_set, (s32 cpu, u32 perf), (cpu, perf))			\
	K(u32, scx_bpf_nr_node_ids, (void), ())						\
	K(int, scx_bpf_cpu_node, (s32 cpu), (cpu))					\
	K(const struct cpumask *, fairground_possible_cpumask, (void), ())		\
	K(const struct cpumask *, fairground_idle_cpumask, (int node), (node))		\
	K(const struct cpumask *, fairground_idle_smtmask, (int node), (node))		\
	K(bool, scx_bpf_test_and_clear_cpu_idle, (s32 cpu), (cpu))			\
	K(s32, scx_bpf_pick_idle_cpu, (const cpumask_t *cpus, u64 flags), (cpus, flags)) \
	K(s32, scx_bpf_pick_any_cpu, (const cpumask_t *cpus, u64 flags), (cpus, flags))	\
	K(s32, scx_bpf_pick_idle_cpu_node,						\
	  (const cpumask_t *cpus, int node, u64 flags), (cpus, node, flags))		\
	K(s32, scx_bpf_pick_any_cpu_node,						\
	  (const cpumask_t *cpus, int node, u64 flags), (cpus, node, flags))		\
	K(bool, scx_bpf_task_running, (const struct task_struct *p), (p))		\
	K(s32, scx_bpf_task_cpu, (const struct task_struct *p), (p))			\
	K(struct task_struct *, scx_bpf_cpu_curr, (s32 cpu), (cpu))			\
	K(u64, scx_bpf_now, (void), ())							\
	K(bool, scx_bpf_task_set_slice___new, (struct task_struct *p, u64 slice), (p, slice)) \
	K(bool, scx_bpf_task_set_dsq_vtime___new, (struct task_struct *p, u64 vtime), (p, vtime)) \
	K(struct task_struct *, fairground_task_from_pid, (s32 pid), (pid))		\
	K(void, fairground_unowned, (const char *kfunc, void *caller), (kfunc, caller))	\
	K(u64, bpf_ktime_get_ns, (void), ())						\
	K(u64, bpf_jiffies64, (void), ())						\
	K(u32, bpf_get_prandom_u32, (void), ())						\
	K(struct task_struct *, bpf_get_current_task_btf, (void), ())			\
	K(long, bpf_trace_vprintk,							\
	  (const char *fmt, u32 fmt_size, const void *data, u32 size),			\
	  (fmt, fmt_size, data, size))							\
	K(long, bpf_snprintf,								\
	  (char *to, u32 to_size, const char *fmt, u64 *data, u32 size),		\
	  (to, to_size, fmt, data, size))						\
	K(long, bpf_timer_init, (struct bpf_timer *timer, void *map, u64 flags),	\
	  (timer, map, flags))								\
	K(long, bpf_timer_set_callback, (struct bpf_timer *timer, void *callback),	\
	  (timer, callback))								\
	K(long, bpf_timer_start, (struct bpf_timer *timer, u64 nsecs, u64 flags),	\
	  (timer, nsecs, flags))							\
	K(long, bpf_timer_cancel, (struct bpf_timer *timer), (timer))			\
	K(void *, fairground_map_lookup, (struct fairground_map *map, const void *key),	\
	  (map, key))									\
	K(void *, fairground_storage_make,						\
	  (struct fairground_map *map, struct task_struct *p, void *value, u64 flags),	\
	  (map, p, value, flags))							\
	K(long, bpf_task_storage_delete, (void *map, struct task_struct *p), (map, p))	\
	K(long, bpf_map_update_elem,							\
	  (void *map, const void *key, const void *value, u64 flags), (map, key, value, flags)) \
	K(long, bpf_map_delete_elem, (void *map, const void *key), (map, key))		\
	K(void *, bpf_map_lookup_percpu_elem, (void *map, const void *key, u32 cpu),	\
	  (map, key, cpu))								\
	K(long, bpf_for_each_map_elem,							\
	  (void *map, void *callback, void *context, u64 flags), (map, callback, context, flags)) \
	K(long, bpf_map_push_elem, (void *map, const void *value, u64 flags),		\
	  (map, value, flags))								\
	K(long, bpf_map_pop_elem, (void *map, void *value), (map, value))		\
	K(long, bpf_map_peek_elem, (void *map, void *value), (map, value))		\
	K(void *, fairground_ring_reserve, (void *map, u64 size), (map, size))		\
	K(void, fairground_ring_settle, (void *data), (data))				\
	K(long, bpf_ringbuf_output, (void *map, void *data, u64 size, u64 flags),	\
	  (map, data, size, flags))							\
	K(u64, bpf_ringbuf_query, (void *map, u64 flags), (map, flags))			\
	K(long, bpf_user_ringbuf_drain,							\
	  (void *map, void *callback, void *context, u64 flags), (map, callback, context, flags)) \
	K(FAIRGROUND_ARENA *, bpf_arena_alloc_pages,					\
	  (void *map, FAIRGROUND_ARENA *at, u32 pages, int node, u64 flags),		\
	  (map, at, pages, node, flags))						\
	K(void, bpf_arena_free_pages, (void *map, FAIRGROUND_ARENA *at, u32 pages),	\
	  (map, at, pages))								\
	K(int, bpf_arena_reserve_pages, (void *map, FAIRGROUND_ARENA *at, u32 pages),	\
	  (map, at, pages))								\
	K(u64, fairground_clock_task, (u32 cpu), (cpu))					\
	K(u64, fairground_clock_pelt, (u32 cpu), (cpu))					\
	K(u32, fairground_llc_id, (u32 cpu), (cpu))					\
	K(u32, fairground_llc_size, (u32 cpu), (cpu))					\
	K(void *, fairground_allocate, (u64 size), (size))				\
	K(void, fairground_free, (void *memory, u64 size), (memory, size))		\
	K(u32, bpf_cpumask_any_distribute, (const struct cpumask *cpus), (cpus))	\
	K(u32, bpf_cpumask_any_and_distribute,						\
	  (const struct cpumask *a, const struct cpumask *b), (a, b))			\
	K(void *, memcpy, (void *to, const void *from, size_t size), (to, from, size))	\
	K(void *, memmove, (void *to, const void *from, size_t size), (to, from, size))	\
	K(void *, memset, (void *to, int byte, size_t size), (to, byte, size))		\
	K(int, memcmp, (const void *a, const void *b, size_t size), (a, b, size))	\
	FAIRGROUND_PAUSES(K)

/* What a scheduler is compiled with whose callbacks interleave, see `interleaved.inc.c`. */
#ifdef FAIRGROUND_RACES
#define FAIRGROUND_PAUSES(K)								\
	K(void, fairground_pause, (void), ())						\
	K(bool, fairground_may_loop, (void), ())					\
	K(int, fairground_lock, (void *lock), (lock))					\
	K(void, fairground_unlock, (void *lock), (lock))
#define FAIRGROUND_WATCHES(K)								\
	K(void, fairground_point, (u64 line), (line))					\
	K(void, fairground_read, (u64 at, u64 line), (at, line))			\
	K(void, fairground_write, (u64 at, u64 line), (at, line))
#else
#define FAIRGROUND_PAUSES(K)
#define FAIRGROUND_WATCHES(K)
#endif

/*
 * Answered inside the object, see `kfuncs.c`. Only names that a scheduler may ask for are needed
 * here.
 */
#define FAIRGROUND_LOCAL(N)								\
	N(scx_bpf_nr_cpu_ids) N(scx_bpf_put_cpumask) N(scx_bpf_put_idle_cpumask)	\
	N(scx_bpf_get_possible_cpumask) N(scx_bpf_get_online_cpumask)			\
	N(scx_bpf_get_idle_cpumask) N(scx_bpf_get_idle_cpumask_node)			\
	N(scx_bpf_get_idle_smtmask) N(scx_bpf_get_idle_smtmask_node)			\
	N(bpf_task_from_pid) N(bpf_ringbuf_reserve) N(bpf_ringbuf_submit)		\
	N(bpf_ringbuf_discard)								\
	N(bpf_task_acquire) N(bpf_task_release) N(bpf_rcu_read_lock) N(bpf_rcu_read_unlock) \
	N(bpf_preempt_disable) N(bpf_preempt_enable) N(bpf_local_irq_save)		\
	N(bpf_local_irq_restore) N(bpf_res_spin_lock) N(bpf_res_spin_unlock)		\
	N(bpf_iter_num_new) N(bpf_iter_num_next) N(bpf_iter_num_destroy)		\
	N(bpf_iter_bits_new) N(bpf_iter_bits_next) N(bpf_iter_bits_destroy)		\
	N(bpf_iter_css_new) N(bpf_iter_css_next) N(bpf_iter_css_destroy)	\
	N(bpf_cpumask_create) N(bpf_cpumask_populate) N(bpf_rbtree_first) N(bpf_rbtree_remove)	\
	N(bpf_list_pop_front) N(bpf_list_pop_back) N(scx_bpf_locked_rq)			\
	N(scx_bpf_task_cgroup___new) N(scx_bpf_cgroup_nr_cpus) N(bpf_cgroup_acquire)	\
	N(bpf_cgroup_release) N(bpf_cgroup_ancestor) N(bpf_cgroup_from_id)		\
	N(bpf_task_under_cgroup) N(scx_bpf_cid_to_cpu) N(scx_bpf_cpu_to_cid)		\
	N(scx_bpf_cid_node) N(scx_bpf_task_cid) N(scx_bpf_this_cid) N(scx_bpf_cid_curr)	\
	N(bpf_dynptr_slice) N(bpf_dynptr_slice_rdwr) N(bpf_dynptr_adjust) N(bpf_dynptr_is_null)	\
	N(bpf_dynptr_is_rdonly) N(bpf_dynptr_size) N(bpf_dynptr_clone)			\
	N(scx_bpf_nr_cids) N(scx_bpf_nr_online_cids) N(scx_bpf_cidperf_cap)		\
	N(scx_bpf_cidperf_cur) N(scx_bpf_cidperf_set___v2) N(scx_bpf_kick_cid___v2)

/* Variables of the kernel, as schedulers ask for them. */
#define FAIRGROUND_VARIABLES(N) N(&__preempt_count) N(&cpufreq_cpu_data)

/*
 * The kernel's own names of what the ecosystem's headers call by others, for schedulers without
 * these headers, and those of Linux 6.12: each is the same function, see `kfuncs.c`.
 */
#define FAIRGROUND_PLAIN(N)								\
	N(scx_bpf_dispatch, scx_bpf_dsq_insert___v2___compat)				\
	N(scx_bpf_dispatch_vtime, scx_bpf_dsq_insert_vtime___compat)			\
	N(scx_bpf_consume, scx_bpf_dsq_move_to_local___v1)				\
	N(scx_bpf_dispatch_from_dsq, scx_bpf_dsq_move___new)				\
	N(scx_bpf_dispatch_vtime_from_dsq, scx_bpf_dsq_move_vtime___new)		\
	N(scx_bpf_dispatch_from_dsq_set_slice, scx_bpf_dsq_move_set_slice___new)	\
	N(scx_bpf_dispatch_from_dsq_set_vtime, scx_bpf_dsq_move_set_vtime___new)	\
	N(scx_bpf_dsq_insert, scx_bpf_dsq_insert___v2___compat)				\
	N(scx_bpf_dsq_insert___v2, scx_bpf_dsq_insert___v2___compat)			\
	N(scx_bpf_dsq_insert_vtime, scx_bpf_dsq_insert_vtime___compat)			\
	N(scx_bpf_dsq_move, scx_bpf_dsq_move___new)					\
	N(scx_bpf_cid_topo, scx_bpf_cid_topo___v2)					\
	N(scx_bpf_cidperf_set, scx_bpf_cidperf_set___v2)				\
	N(scx_bpf_kick_cid, scx_bpf_kick_cid___v2)					\
	N(scx_bpf_dsq_move_vtime, scx_bpf_dsq_move_vtime___new)				\
	N(scx_bpf_dsq_move_set_slice, scx_bpf_dsq_move_set_slice___new)			\
	N(scx_bpf_dsq_move_set_vtime, scx_bpf_dsq_move_set_vtime___new)			\
	N(scx_bpf_dsq_move_to_local, scx_bpf_dsq_move_to_local___v1)			\
	N(scx_bpf_dsq_move_to_local___v2, scx_bpf_dsq_move_to_local___v2___compat)	\
	N(scx_bpf_dsq_reenq, scx_bpf_dsq_reenq___compat)				\
	N(scx_bpf_reenqueue_local, scx_bpf_reenqueue_local___v1)			\
	N(scx_bpf_reenqueue_local___v2, scx_bpf_reenqueue_local___v1)			\
	N(scx_bpf_select_cpu_and, scx_bpf_select_cpu_and___compat)			\
	N(scx_bpf_task_cgroup, scx_bpf_task_cgroup___new)				\
	N(scx_bpf_task_set_lazy_resched, scx_bpf_task_set_lazy_resched___new)		\
	N(scx_bpf_task_set_slice, scx_bpf_task_set_slice___new)				\
	N(scx_bpf_task_set_dsq_vtime, scx_bpf_task_set_dsq_vtime___new)

/*
 * The modelled kernel has these and the model lacks them. They "exist", so that a scheduler does
 * not quietly take another way: a scheduler that calls one is refused by name.
 */
#define FAIRGROUND_LACKING(N)								\
	N(scx_bpf_cid_override___compat) N(scx_bpf_online_cmask)			\
	N(scx_bpf_sub_caps) N(scx_bpf_sub_dispatch___compat) N(scx_bpf_sub_grant)	\
	N(scx_bpf_sub_kill_bstr) N(scx_bpf_sub_revoke)

/* Decided by the compiler: the strings are constants, so nothing of this is left in the object. */
static __always_inline bool fairground_exists(const char *name)
{
#define FAIRGROUND_CALL_NAME(result, function, parameters, arguments)			\
	if (!__builtin_strcmp(name, #function))						\
		return true;
#define FAIRGROUND_NAME(function, same...)						\
	if (!__builtin_strcmp(name, #function))						\
		return true;
	FAIRGROUND_CALLS(FAIRGROUND_CALL_NAME)
	FAIRGROUND_LOCAL(FAIRGROUND_NAME)
	FAIRGROUND_VARIABLES(FAIRGROUND_NAME)
	FAIRGROUND_PLAIN(FAIRGROUND_NAME)
	FAIRGROUND_LACKING(FAIRGROUND_NAME)
	return false;
}

/* The simulator's functions, each with the simulator itself after its arguments. */
struct fairground_calls {
#define FAIRGROUND_MEMBER(result, function, parameters, arguments) void *function;
	FAIRGROUND_CALLS(FAIRGROUND_MEMBER)
	FAIRGROUND_WATCHES(FAIRGROUND_MEMBER)
};

void *fairground_map_lookup(struct fairground_map *map, const void *key);
void *fairground_storage_make(struct fairground_map *map, struct task_struct *p, void *value,
			      u64 flags);
void *fairground_allocate(u64 size);
void fairground_free(void *memory, u64 size);
void *fairground_object_new(u64 size);
void fairground_unowned(const char *kfunc, void *caller);
const struct cpumask *fairground_possible_cpumask(void);
const struct cpumask *fairground_idle_cpumask(int node);
const struct cpumask *fairground_idle_smtmask(int node);
struct task_struct *fairground_task_from_pid(s32 pid);
void *fairground_ring_reserve(void *map, u64 size);
void fairground_ring_settle(void *data);
s32 fairground_locked_cpu(void);
u64 fairground_clock_task(u32 cpu);
u64 fairground_clock_pelt(u32 cpu);
s32 fairground_cid(s32 cid);
u32 fairground_llc_id(u32 cpu);
u32 fairground_llc_size(u32 cpu);
#ifdef FAIRGROUND_RACES
void fairground_pause(void);
bool fairground_may_loop(void);
int fairground_lock(void *lock);
void fairground_unlock(void *lock);
#endif

#endif /* FAIRGROUND_KFUNCS_H */
