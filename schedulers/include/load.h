// SPDX-License-Identifier: GPL-2.0-only
/*
 * The load of each CPU: number and weight of its runnable tasks, the running one included.
 *
 * The kernel may move a task by itself, so each task stores where it is counted. A CPU that pulls a
 * task subtracts it from another CPU's numbers, hence the atomic additions.
 */
#ifndef FAIRGROUND_LOAD_H
#define FAIRGROUND_LOAD_H

#include "common.h"

/* A CPU's tasks. */
struct load {
	u64 weight;
	u64 nr_running;
};

/* Where a task is counted; `weight` is 0 if it is counted nowhere. */
struct load_member {
	s32 cpu;
	u32 weight;
};

static struct load loads[MAX_CPUS];

static inline u64 nr_running_on(s32 cpu)
{
	return of_cpu(loads, cpu)->nr_running;
}

static inline void load_leave(struct load_member *member)
{
	struct load *load = of_cpu(loads, member->cpu);

	if (!member->weight)
		return;
	__sync_fetch_and_add(&load->weight, -(u64)member->weight);
	__sync_fetch_and_add(&load->nr_running, -1ULL);
	member->weight = 0;
}

/* Counts a task on a CPU, and not on any other. */
static inline void load_join(struct load_member *member, s32 cpu, u32 weight)
{
	struct load *load = of_cpu(loads, cpu);

	if (member->weight == weight && member->cpu == cpu)
		return;
	load_leave(member);
	__sync_fetch_and_add(&load->weight, weight);
	__sync_fetch_and_add(&load->nr_running, 1ULL);
	member->cpu = cpu;
	member->weight = weight;
}

#endif /* FAIRGROUND_LOAD_H */
