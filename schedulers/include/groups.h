// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control groups and sessions: the weight that a task has among the tasks of all groups.
 *
 * A group's weight is split among its runnable tasks and child groups by their weights. In Linux
 * each CPU has its part of a group's weight, the part of the group's load that is there
 * (`calc_group_shares`), and a task has the part of that which its weight is of that load. The load
 * of the CPU cancels out: a task's weight is multiplied by weight / load of each group that it is
 * in, load being that of all CPUs. With these weights all tasks of a CPU are in one queue, as in
 * Peter Zijlstra's "flatten the pick" of 2026; a task gets the present one whenever it joins a
 * queue or begins to run, and at ticks.
 *
 * Without groups a task's weight is its own, and nothing here runs.
 *
 * Functions that walk up the groups, or along a queue, are global: the verifier walks them once,
 * and not for each state of each caller, which takes ten times as long.
 */
#ifndef FAIRGROUND_GROUPS_H
#define FAIRGROUND_GROUPS_H

#include "common.h"

/* More groups than these are as their parents; a power of two. */
#define MAX_GROUPS 1024
/* Groups may be in so many others; those of deeper ones count no more. */
#define MAX_LEVELS 10
/* The weight of a group whose `cpu.weight` is 100, and of one with `cpu.idle`. */
#define GROUP_WEIGHT 1024ULL
#define USUAL_CGROUP_WEIGHT 100
/* Weights are counted in 64ths as soon as there are groups: parts may be small. */
#define PART_SHIFT 6
/* The least and the largest part: products of weights and virtual times fit into 64 bits. */
#define LEAST_PART 8
#define LARGEST_PART (1ULL << 26)

/* A group; number 0 is the root, whose tasks have their own weights. */
struct fair_group {
	u32 parent;
	u32 weight;
	u32 is_used;
	bool is_idle;
	/* The session whose group it is; 0: it is a control group. */
	u64 session;
	/* The number and the weights of its runnable tasks and of its child groups that have some. */
	u64 nr_running, load;
	/* Its weight in the load of its parent; 0 if none of its tasks is runnable. */
	u64 counted;
	/* What it may use in a period, 0 for no limit; what it may save; what is left. */
	u64 quota_ns, period_ns, burst_ns;
	s64 balance;
	bool has_begun, is_throttled;
};

static struct fair_group fair_groups[MAX_GROUPS];
/* There are groups besides the root; some have quotas. */
static bool has_groups, has_quotas;

/* A CPU has to look which tasks are to be parked, as throttle.h does. */
static bool must_sort[MAX_CPUS];

/*
 * The group that a task is in, and the weight in the group's load; 0 if it is not runnable. Of a
 * task whose group is throttled, the lower limit of its CPU's vruntimes then.
 */
struct group_member {
	u32 group;
	u32 weight;
	u64 parked_at;
	/* The session that has brought the task there; 0: none. */
	u64 session;
};

static inline struct fair_group *group_at(u32 number)
{
	return &fair_groups[number & (MAX_GROUPS - 1)];
}

/*
 * Adds to the load of a group, and `nr` to its runnable children: 1, 0 or -1. With the first or
 * the last of them the group itself joins or leaves its parent (`update_cfs_group`).
 */
__noinline s32 add_load(u32 number, s64 weight, s64 nr)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS; level++) {
		struct fair_group *group = group_at(number);
		u64 before = __sync_fetch_and_add(&group->nr_running, nr);
		u64 after = nr > 0 ? group->weight : 0;

		__sync_fetch_and_add(&group->load, weight);
		if (!number || !nr || before != (nr < 0))
			break;
		weight = after - __sync_lock_test_and_set(&group->counted, after);
		number = group->parent;
	}
	return 0;
}

/* Gives a group a weight, which its parent's load then has, too (`sched_group_set_shares`). */
static inline void weigh_group(struct fair_group *group, u32 weight)
{
	u64 before;

	group->weight = weight;
	if (!group->nr_running)
		return;
	before = __sync_lock_test_and_set(&group->counted, weight);
	add_load(group->parent, (s64)weight - before, 0);
}

/* Counts a runnable task in its group with its present weight (`account_entity_enqueue`). */
static inline void join_group(struct group_member *member, u32 weight)
{
	if (member->weight == weight)
		return;
	add_load(member->group, (s64)weight - member->weight, !member->weight);
	member->weight = weight;
}

/* Stops counting a task that is not runnable any more (`account_entity_dequeue`). */
static inline void leave_group(struct group_member *member)
{
	if (!member->weight)
		return;
	add_load(member->group, -(s64)member->weight, -1);
	member->weight = 0;
}

/*
 * Returns the weight among all tasks of one with this weight in its group. `is_new` tells whether
 * the task is not counted in the group yet (`calc_group_shares`).
 */
__noinline u32 part_of(u32 number, u32 weight, bool is_new)
{
	u64 part = (u64)weight << PART_SHIFT, joins = is_new ? weight : 0, load;
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		struct fair_group *group = group_at(number);

		load = group->load + joins;
		joins = group->counted ? 0 : group->weight;
		part = part * group->weight / (load ?: 1);
		number = group->parent;
	}
	return part < LEAST_PART ? LEAST_PART : part > LARGEST_PART ? LARGEST_PART : part;
}

/* Returns 2^32 / weight for such a weight. */
static inline u64 inverse_part(u32 part)
{
	return (1ULL << (32 + PART_SHIFT)) / (part ?: 1);
}

/* Tells whether a group, or one that it is in, is idle: its tasks are as with SCHED_IDLE. */
__noinline bool is_in_idle_group(u32 number)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		if (group_at(number)->is_idle)
			return true;
		number = group_at(number)->parent;
	}
	return false;
}

/* Tells whether a task may not run because a group that it is in is throttled (`throttled`). */
__noinline bool is_throttled(u32 number)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		if (group_at(number)->is_throttled)
			return true;
		number = group_at(number)->parent;
	}
	return false;
}

/* Makes each CPU look which tasks are to be parked, and which not any more. */
static inline void sort_all(void)
{
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus)
		*of_cpu(must_sort, cpu) = true;
}

/* Takes what a task has run from the balances of its groups (`account_cfs_rq_runtime`). */
__noinline s32 charge_groups(u32 number, u64 ran_ns)
{
	bool is_new = false;
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		struct fair_group *group = group_at(number);
		s64 left;

		number = group->parent;
		if (!group->quota_ns)
			continue;
		left = __sync_fetch_and_add(&group->balance, -(s64)ran_ns) - (s64)ran_ns;
		if (left > 0 || group->is_throttled)
			continue;
		group->is_throttled = true;
		is_new = true;
	}
	if (is_new)
		sort_all();
	return 0;
}

#endif /* FAIRGROUND_GROUPS_H */
