// SPDX-License-Identifier: GPL-2.0-only
/* Distances between CPUs, as this kernel describes caches and memory nodes. */
#ifndef FAIRGROUND_NEAR_H
#define FAIRGROUND_NEAR_H

#include <scx/percpu.bpf.h>

#include "common.h"

/* Hardware siblings share their cache, too; this kernel does not tell them apart. */
enum { SAME_CPU, SAME_CACHE, SAME_NODE, OTHER_NODE, NR_DISTANCES };

struct place {
	s32 cache;
	s32 node;
};

static struct place places[MAX_CPUS];

/* Notes the cache and the node of each CPU. For `ops.init`. */
static inline void note_places(void)
{
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		of_cpu(places, cpu)->cache = cpu_llc_id(cpu);
		of_cpu(places, cpu)->node = __COMPAT_scx_bpf_cpu_node(cpu);
	}
}

static inline u32 distance(u32 a, u32 b)
{
	const struct place *here = of_cpu(places, a), *there = of_cpu(places, b);

	if (a == b)
		return SAME_CPU;
	if (here->cache == there->cache)
		return SAME_CACHE;
	return here->node == there->node ? SAME_NODE : OTHER_NODE;
}

/*
 * Returns the CPUs from the nearest to the farthest for 0 ≤ i < NR_DISTANCES * nr_cpus, and -1 in
 * between. They go upwards from a CPU of the lower half, downwards from one of the upper half.
 */
static inline s32 nth_nearest(u32 cpu, u32 i)
{
	u32 step = i % nr_cpus, other = cpu < nr_cpus / 2 ? cpu + step : cpu + nr_cpus - step;

	other = other < nr_cpus ? other : other - nr_cpus;
	return distance(cpu, other) == i / nr_cpus ? (s32)other : -1;
}

/* Returns the CPU with the fewest tasks, the nearest of equals. */
static inline s32 least_loaded_near(const struct task_struct *p, s32 prev_cpu)
{
	s32 best = prev_cpu;
	u32 i;

	bpf_for(i, 0, NR_DISTANCES * nr_cpus) {
		s32 cpu = nth_nearest(prev_cpu, i);

		if (cpu >= 0 && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) &&
		    nr_running_on(cpu) < nr_running_on(best))
			best = cpu;
	}
	return best;
}

/*
 * The group of each CPU. CPUs that are no farther from each other than a distance are a group,
 * named by its first one.
 */
static u32 groups[MAX_CPUS];

static inline u32 group_of(s32 cpu)
{
	return *of_cpu(groups, cpu);
}

static inline u32 first_within(u32 cpu, u32 farthest)
{
	u32 first;

	bpf_for(first, 0, cpu) {
		if (distance(cpu, first) <= farthest)
			return first;
	}
	return cpu;
}

/* Groups the CPUs that are no farther from each other than this. For `ops.init`. */
static inline void make_groups(u32 farthest)
{
	u32 cpu;

	note_places();
	bpf_for(cpu, 0, nr_cpus)
		*of_cpu(groups, cpu) = first_within(cpu, farthest);
}

#endif /* FAIRGROUND_NEAR_H */
