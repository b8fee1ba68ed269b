/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names and forms of older headers, for schedulers that were written with them. Each means what
 * its successor means, which also runs on older kernels.
 */
#ifndef FAIRGROUND_OLDER_NAMES_H
#define FAIRGROUND_OLDER_NAMES_H

/* Of Linux 6.12. */
#define scx_bpf_dispatch(p, dsq_id, slice, enq_flags)					\
	scx_bpf_dsq_insert(p, dsq_id, slice, enq_flags)
#define scx_bpf_dispatch_vtime(p, dsq_id, slice, vtime, enq_flags)			\
	scx_bpf_dsq_insert_vtime(p, dsq_id, slice, vtime, enq_flags)
#define scx_bpf_consume(dsq_id) scx_bpf_dsq_move_to_local(dsq_id)
#define scx_bpf_dispatch_from_dsq(it, p, dsq_id, enq_flags)				\
	scx_bpf_dsq_move(it, p, dsq_id, enq_flags)
#define scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, enq_flags)			\
	scx_bpf_dsq_move_vtime(it, p, dsq_id, enq_flags)
#define scx_bpf_dispatch_from_dsq_set_slice(it, slice) scx_bpf_dsq_move_set_slice(it, slice)
#define scx_bpf_dispatch_from_dsq_set_vtime(it, vtime) scx_bpf_dsq_move_set_vtime(it, vtime)

/* Until Linux 7.0 it had one argument. */
static __always_inline bool fairground_move_to_local(u64 dsq_id, u64 enq_flags)
{
	return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
}
#undef scx_bpf_dsq_move_to_local
#define scx_bpf_dsq_move_to_local(dsq_id, ...)						\
	FAIRGROUND_MOVE_TO_LOCAL(dsq_id, ##__VA_ARGS__, 0)
#define FAIRGROUND_MOVE_TO_LOCAL(dsq_id, enq_flags, ...)				\
	fairground_move_to_local(dsq_id, enq_flags)

/* Until Linux 6.18 it said how many tasks it has put back, in ops.cpu_release() only. */
#ifdef FAIRGROUND_REENQUEUED
#define scx_bpf_reenqueue_local() scx_bpf_reenqueue_local___v1()
#endif

/* Macros of older headers, which chose between names. */
#define __COMPAT_scx_bpf_dsq_move(it, p, dsq_id, enq_flags)				\
	scx_bpf_dsq_move(it, p, dsq_id, enq_flags)
#define __COMPAT_scx_bpf_dsq_move_vtime(it, p, dsq_id, enq_flags)			\
	scx_bpf_dsq_move_vtime(it, p, dsq_id, enq_flags)
#define __COMPAT_scx_bpf_dsq_move_set_slice(it, slice) scx_bpf_dsq_move_set_slice(it, slice)
#define __COMPAT_scx_bpf_dsq_move_set_vtime(it, vtime) scx_bpf_dsq_move_set_vtime(it, vtime)
#define __COMPAT_scx_bpf_dispatch_from_dsq(it, p, dsq_id, enq_flags)			\
	scx_bpf_dsq_move(it, p, dsq_id, enq_flags)
#define __COMPAT_scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, enq_flags)		\
	scx_bpf_dsq_move_vtime(it, p, dsq_id, enq_flags)
#define __COMPAT_scx_bpf_dispatch_from_dsq_set_slice(it, slice)				\
	scx_bpf_dsq_move_set_slice(it, slice)
#define __COMPAT_scx_bpf_dispatch_from_dsq_set_vtime(it, vtime)				\
	scx_bpf_dsq_move_set_vtime(it, vtime)
#ifndef __COMPAT_scx_bpf_task_cgroup
#define __COMPAT_scx_bpf_task_cgroup(p) scx_bpf_task_cgroup(p)
#endif
#ifndef __COMPAT_scx_bpf_now
#define __COMPAT_scx_bpf_now() scx_bpf_now()
#endif
#ifndef __COMPAT_SCX_KICK_IDLE
#define __COMPAT_SCX_KICK_IDLE SCX_KICK_IDLE
#endif

/* What was a kfunc in an older header may be a function here, which always exists. */
#undef bpf_ksym_exists
#define bpf_ksym_exists(sym) (!!sym)

#endif /* FAIRGROUND_OLDER_NAMES_H */
