// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel tells of control groups, and what it does not tell of sessions.
 *
 * Schedulers that have groups name these callbacks in their tables. Linux 6.12 to 6.16 tell no
 * quota, and those to 6.18 not which group is idle.
 */
#ifndef FAIRGROUND_GROUP_OPS_H
#define FAIRGROUND_GROUP_OPS_H

#include "sessions.h"
#include "throttle.h"

/* The numbers of groups by the ids of their cgroups. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} group_numbers SEC(".maps");

static inline u32 group_number(u64 id)
{
	u32 *number = bpf_map_lookup_elem(&group_numbers, &id);

	return number ? *number : 0;
}

static inline u32 number_of_cgroup(struct cgroup *cgrp)
{
	return group_number(cgrp->kn->id);
}

/* Gives a group the weight that follows from its `cpu.weight` (`cpu_weight_write_u64`). */
static inline void set_group_weight(u32 number, u32 cgroup_weight)
{
	u32 weight = (cgroup_weight * GROUP_WEIGHT + USUAL_CGROUP_WEIGHT / 2) /
		     USUAL_CGROUP_WEIGHT ?: 1;

	weigh_group(number, group_at(number)->is_idle ? IDLE_WEIGHT : weight);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fair_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	u64 id = cgrp->kn->id;
	struct fair_group *group;
	u32 number;

	if (!cgrp->level)
		return 0;
	number = take_group();
	if (!number)
		return 0;
	group = group_at(number);
	group->parent = group_number(cgrp->self.parent->cgroup->kn->id);
	group->is_idle = bpf_core_field_exists(args->sched_idle) && args->sched_idle;
	set_group_weight(number, args->weight);
	if (create_parked())
		return -ENOMEM;
	has_groups = true;
	if (bpf_core_field_exists(args->bw_quota_us))
		set_bandwidth(number, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return bpf_map_update_elem(&group_numbers, &id, &number, BPF_ANY);
}

void BPF_STRUCT_OPS_SLEEPABLE(fair_cgroup_exit, struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 number = group_number(id);

	if (!number)
		return;
	bpf_map_delete_elem(&group_numbers, &id);
	group_at(number)->quota_ns = 0;
	group_at(number)->is_throttled = false;
	group_at(number)->is_used = 0;
}

void BPF_STRUCT_OPS(fair_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	struct fair_task *task = fair_task(p);

	if (!task)
		return;
	leave_group(&task->member);
	task->member.group = number_of_cgroup(to);
	task->member.session = 0;
}

void BPF_STRUCT_OPS(fair_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	u32 number = number_of_cgroup(cgrp);

	if (number)
		set_group_weight(number, weight);
}

void BPF_STRUCT_OPS(fair_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	u32 number = number_of_cgroup(cgrp);

	if (number)
		set_bandwidth(number, period_us, quota_us, burst_us);
}

/* A group that is idle no more has the weight that it is told next, 100 until then. */
void BPF_STRUCT_OPS(fair_cgroup_set_idle, struct cgroup *cgrp, bool is_idle)
{
	u32 number = number_of_cgroup(cgrp);

	if (!number)
		return;
	group_at(number)->is_idle = is_idle;
	set_group_weight(number, USUAL_CGROUP_WEIGHT);
}

/* Handles `ops.init_task`: the task is in a group from its beginning. */
static inline s32 make_grouped_task(struct task_struct *p, struct scx_init_task_args *args)
{
	s32 err = make_fair_task(p, args->fork);
	struct fair_task *task = fair_task(p);

	if (task && bpf_core_field_exists(args->cgroup) && args->cgroup)
		task->member.group = number_of_cgroup(args->cgroup);
	if (session_of(p))
		has_groups = true;
	return err;
}

/* What a scheduler's table says of groups. */
#define GROUP_CALLBACKS \
	.cgroup_init = (void *)fair_cgroup_init, \
	.cgroup_exit = (void *)fair_cgroup_exit, \
	.cgroup_move = (void *)fair_cgroup_move, \
	.cgroup_set_weight = (void *)fair_cgroup_set_weight, \
	.cgroup_set_bandwidth = (void *)fair_cgroup_set_bandwidth, \
	.cgroup_set_idle = (void *)fair_cgroup_set_idle

#endif /* FAIRGROUND_GROUP_OPS_H */
