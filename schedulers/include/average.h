// SPDX-License-Identifier: GPL-2.0-only
/*
 * The weighted average V of the vruntimes of a CPU's runnable tasks, which is what an ideal CPU
 * would have given to each by now.
 *
 * With W, the sum of the weights w, and S, the sum of all w * v, V is S / W. S is kept modulo 2^64.
 * That is no loss, because only differences from a vruntime near V are ever asked for, and
 * S - W * v, the sum of all w * (v_i - v), is small and so has a definite sign.
 */
#ifndef FAIRGROUND_AVERAGE_H
#define FAIRGROUND_AVERAGE_H

#include "load.h"

/* W and S. */
struct sums {
	u64 weight;
	u64 weighted;
};

/* Whoever pulls a task changes the sums of another CPU: both change together, or neither. */
struct average {
	struct bpf_spin_lock lock;
	struct sums sums;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct average);
} averages SEC(".maps");

/* Adds a weight, and that times a vruntime; both may be negative. Returns the new sums. */
static inline struct sums average_add(u32 cpu, s64 weight, s64 weighted)
{
	struct average *average = bpf_map_lookup_elem(&averages, &cpu);
	struct sums sums = {};

	if (!average)
		return sums;
	bpf_spin_lock(&average->lock);
	sums.weight = average->sums.weight += weight;
	sums.weighted = average->sums.weighted += weighted;
	bpf_spin_unlock(&average->lock);
	return sums;
}

static inline struct sums average_sums(u32 cpu)
{
	return average_add(cpu, 0, 0);
}

/* Division of a signed number, rounded down: not every BPF instruction set has one. */
static inline s64 divide_down(s64 number, u64 by)
{
	return number < 0 ? -(s64)((-number + by - 1) / by) : (s64)(number / by);
}

/* V, given a vruntime that is not far from it. It is rounded down, so that somebody is eligible. */
static inline u64 average_of(struct sums sums, u64 near)
{
	s64 distance = sums.weighted - sums.weight * near;

	return sums.weight ? near + divide_down(distance, sums.weight) : near;
}

/* Whether a task with this vruntime has had no more than it should: v <= V, without a division. */
static inline bool is_eligible(struct sums sums, u64 vruntime)
{
	return (s64)(sums.weighted - sums.weight * vruntime) >= 0;
}

#endif /* FAIRGROUND_AVERAGE_H */
