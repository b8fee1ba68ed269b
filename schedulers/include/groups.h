// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control groups and sessions: the weight that a task has among the tasks of all groups.
 *
 * A group's weight is split among its runnable tasks and child groups by their weights. In Linux
 * each CPU has its part of a group's weight, the part of the group's load that is there
 * (`calc_group_shares`), and a task has the part of that which its weight is of that load. The load
 * of the CPU cancels out: a task's weight is multiplied by weight / load of each group that it is
 * in, load being that of all CPUs. With these weights all tasks of a CPU are in one queue, as in
 * Linux 7.3 ("flatten the pick" of Peter Zijlstra); a task gets the present one whenever it joins a
 * queue or begins to run, and at ticks.
 *
 * What the CPUs share is the group's weight or, since Linux 7.3, a multiple of it, see
 * `enum spread`.
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

/*
 * How a group's weight is spread over the CPUs: the values of `cgroup_mode` in Linux 7.3. Each CPU
 * has the whole weight (up), or its part of the weight (smp), of the weight times the group's
 * runnable tasks, but not more than the CPUs (concur), times the CPUs (max), or times the runnable
 * tasks (tasks).
 */
enum spread { SPREAD_UP, SPREAD_SMP, SPREAD_CONCUR, SPREAD_MAX, SPREAD_TASKS };

/*
 * The average of runnable tasks is a fixed-point number with this many fractional bits. What is
 * older than 32 ms has half the weight, as in PELT.
 */
#define RUNNABLE_SHIFT 20
#define RUNNABLE_HALF_LIFE_NS (32 * 1000000ULL)

/* What is runnable in a group: on all CPUs, or on one where each CPU has the whole weight. */
struct group_load {
	/* The number and the weights of its runnable tasks and of its child groups that have some. */
	u64 nr_running, load;
	/* Its weight in the load of its parent; 0 if none of its tasks is runnable. */
	u64 counted;
};

/* A group; number 0 is the root, whose tasks have their own weights. */
struct fair_group {
	u32 parent;
	u32 weight;
	u32 is_used;
	bool is_idle;
	/* The session whose group it is; 0: it is a control group. */
	u64 session;
	struct group_load load;
	/* Its runnable tasks, with those of its child groups; their average, and when it was made. */
	u64 nr_tasks, runnable_avg, averaged_ns;
	/* What it may use in a period, 0 for no limit; what it may save; what is left. */
	u64 quota_ns, period_ns, burst_ns;
	s64 balance;
	bool has_begun, is_throttled;
};

static struct fair_group fair_groups[MAX_GROUPS];
/* There are groups besides the root; some have quotas. */
static bool has_groups, has_quotas;
/*
 * The mode in force, and how many CPUs run. The mode is volatile because the compiler would see
 * that some schedulers never change it, and would pass no CPU to functions that then do not need
 * one; the verifier wants each argument.
 */
static volatile u32 spread_in_force = SPREAD_SMP;
static u32 group_cpus = 1;

/* The loads of groups on each CPU, by number and CPU. Only SPREAD_UP needs them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64 * MAX_GROUPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct group_load);
} loads_of_cpus SEC(".maps");

/* A CPU has to look which tasks are to be parked, as throttle.h does. */
static bool must_sort[MAX_CPUS];

/*
 * The group that a task is in, and the weight in the group's load; 0 if it is not runnable. Of a
 * task whose group is throttled, the lower limit of its CPU's vruntimes then.
 */
struct group_member {
	u32 group;
	u32 weight;
	/* The CPU where it is counted. */
	s32 cpu;
	u64 parked_at;
	/* The session that has brought the task there; 0: none. */
	u64 session;
};

static inline struct fair_group *group_at(u32 number)
{
	return &fair_groups[number & (MAX_GROUPS - 1)];
}

/* Returns the load of a group that counts on a CPU. */
static inline struct group_load *load_at(u32 number, s32 cpu)
{
	u64 key = (u64)cpu << 32 | number;
	struct group_load *load, none = {};

	if (spread_in_force != SPREAD_UP)
		return &group_at(number)->load;
	load = bpf_map_lookup_elem(&loads_of_cpus, &key);
	if (!load) {
		bpf_map_update_elem(&loads_of_cpus, &key, &none, BPF_NOEXIST);
		load = bpf_map_lookup_elem(&loads_of_cpus, &key);
	}
	return load ?: &group_at(number)->load;
}

/* Tells whether a group's weight depends on how many of its tasks are runnable. */
static inline bool counts_tasks(void)
{
	return spread_in_force == SPREAD_TASKS ||
	       (spread_in_force == SPREAD_CONCUR && group_cpus > 1);
}

/* Brings the average of a group's runnable tasks up to date (`tg->runnable_avg`). */
static inline void update_runnable_avg(struct fair_group *group)
{
	u64 now = scx_bpf_now(), passed = now - group->averaged_ns;
	u64 half_lives = passed / RUNNABLE_HALF_LIFE_NS, rest = passed % RUNNABLE_HALF_LIFE_NS;
	s64 present = group->nr_tasks << RUNNABLE_SHIFT, missing = present - group->runnable_avg;
	bool is_less = missing < 0;
	u64 distance = is_less ? -missing : missing;

	distance >>= half_lives < 63 ? half_lives : 63;
	distance -= distance * rest / (2 * RUNNABLE_HALF_LIFE_NS);
	group->runnable_avg = is_less ? present + distance : present - distance;
	group->averaged_ns = now;
}

/*
 * Returns how many tasks of a group are runnable on average, rounded down, at least 1. What Linux
 * sums up of the CPUs lags by up to a 64th, so that n busy tasks count as n - 1 (`tg_tasks`,
 * `update_tg_load_avg`).
 */
static inline u64 tg_tasks(const struct fair_group *group)
{
	return (group->runnable_avg - group->runnable_avg / 128) >> RUNNABLE_SHIFT ?: 1;
}

/*
 * Returns the weight that the CPUs share, by the mode in force. With SPREAD_MAX no CPU has more
 * than the weight of nice -20; the tasks are taken to be spread evenly (`calc_concur_shares`,
 * `calc_max_shares`, `calc_tasks_shares`).
 */
static inline u64 shared_weight(const struct fair_group *group)
{
	u64 weight = group->weight, tasks = group->nr_tasks ?: 1, most;

	switch (spread_in_force) {
	case SPREAD_UP:
	case SPREAD_SMP:
		return weight;
	case SPREAD_MAX:
		most = nice_weights[0] * least_of(tasks, group_cpus);
		return least_of(weight * group_cpus, most);
	case SPREAD_TASKS:
		return weight * tg_tasks(group);
	default:
		return weight * least_of(tg_tasks(group), group_cpus);
	}
}

/*
 * Adds to the load of a group, and `nr` to its runnable children: 1, 0 or -1. With the first or
 * the last of them the group itself joins or leaves its parent (`update_cfs_group`).
 */
__noinline s32 add_load(u32 number, s32 cpu, s64 weight, s64 nr)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS; level++) {
		struct fair_group *group = group_at(number);
		struct group_load *load = load_at(number, cpu);
		u64 before = __sync_fetch_and_add(&load->nr_running, nr);
		u64 after = nr > 0 ? shared_weight(group) : 0;

		__sync_fetch_and_add(&load->load, weight);
		if (!number || !nr || before != (nr < 0))
			break;
		weight = after - __sync_lock_test_and_set(&load->counted, after);
		number = group->parent;
	}
	return 0;
}

/* Counts `nr` more runnable tasks in a group and in those that it is in (`h_nr_runnable`). */
__noinline s32 count_tasks(u32 number, s64 nr)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		struct fair_group *group = group_at(number);

		if (counts_tasks())
			update_runnable_avg(group);
		__sync_fetch_and_add(&group->nr_tasks, nr);
		number = group->parent;
	}
	return 0;
}

/* Gives a group that counts on a CPU its present weight there (`update_cfs_group`). */
static inline void update_counted(u32 number, s32 cpu)
{
	struct group_load *load = load_at(number, cpu);
	u64 before = load->counted, present = shared_weight(group_at(number));

	if (before && before != present &&
	    __sync_val_compare_and_swap(&load->counted, before, present) == before)
		add_load(group_at(number)->parent, cpu, present - before, 0);
}

/*
 * Gives a group, and those that it is in, the weights that follow from how many of their tasks are
 * runnable.
 */
__noinline s32 update_groups(u32 number, s32 cpu)
{
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		update_runnable_avg(group_at(number));
		update_counted(number, cpu);
		number = group_at(number)->parent;
	}
	return 0;
}

/* Gives a group a weight, which its parent's load then has, too (`sched_group_set_shares`). */
static inline void weigh_group(u32 number, u32 weight)
{
	u32 cpu, cpus = spread_in_force == SPREAD_UP ? nr_cpus : 1;

	group_at(number)->weight = weight;
	bpf_for(cpu, 0, cpus)
		update_counted(number, cpu);
}

/* Stops counting a task that is not runnable any more (`account_entity_dequeue`). */
static inline void leave_group(struct group_member *member)
{
	if (!member->weight)
		return;
	add_load(member->group, member->cpu, -(s64)member->weight, -1);
	count_tasks(member->group, -1);
	member->weight = 0;
}

/*
 * Counts a runnable task in its group with its present weight, on a CPU
 * (`account_entity_enqueue`).
 */
static inline void join_group(struct group_member *member, s32 cpu, u32 weight)
{
	if (counts_tasks())
		update_groups(member->group, cpu);
	if (spread_in_force == SPREAD_UP && member->cpu != cpu)
		leave_group(member);
	if (member->weight == weight)
		return;
	if (!member->weight)
		count_tasks(member->group, 1);
	add_load(member->group, cpu, (s64)weight - member->weight, !member->weight);
	member->cpu = cpu;
	member->weight = weight;
}

/*
 * Returns the weight among all tasks of one with this weight in its group. `is_new` tells whether
 * the task is not counted in the group yet (`calc_group_shares`).
 */
__noinline u32 part_of(u32 number, s32 cpu, u32 weight, bool is_new)
{
	u64 part = (u64)weight << PART_SHIFT, joins = is_new ? weight : 0, load;
	u32 level;

	for (level = 0; level < MAX_LEVELS && number; level++) {
		struct fair_group *group = group_at(number);
		struct group_load *there = load_at(number, cpu);
		u64 shared = shared_weight(group);

		load = there->load + joins;
		joins = there->counted ? 0 : shared;
		part = part * shared / (load ?: 1);
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

/* Handles `ops.init`: spreads weights in this mode over the CPUs that run. */
static inline void init_spread(enum spread mode, u32 cpus)
{
	spread_in_force = mode;
	group_cpus = cpus ?: 1;
}

#endif /* FAIRGROUND_GROUPS_H */
