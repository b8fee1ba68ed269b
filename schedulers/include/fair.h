// SPDX-License-Identifier: GPL-2.0-only
/*
 * Placement and pulling in the fair class of Linux.
 *
 * Linux decides by load averages and scheduling domains. Here the weights that are runnable now
 * replace the averages, and sched_ext's search for idle CPUs, which knows caches and cores,
 * replaces the domains.
 */
#ifndef FAIRGROUND_FAIR_H
#define FAIRGROUND_FAIR_H

#include "idle.h"
#include "load.h"
#include "nice.h"
#include "running.h"

/* How much heavier the previous CPU may be than the waker's, half of `imbalance_pct` of 117 %. */
#define WAKE_AFFINE_BIAS 108

/* A task's weight as the CPUs count it. */
static inline u32 task_weight(struct task_struct *p)
{
	return weight_at(p, WEIGHT_INDEX(p, fair_task(p)));
}

/* Of the waker's CPU and the previous one, the one with less weight (`wake_affine`). */
static inline s32 wake_affine(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	s32 this_cpu = bpf_get_smp_processor_id();
	struct load *here = of_cpu(loads, this_cpu), *there = of_cpu(loads, prev_cpu);
	bool is_sync = wake_flags & SCX_WAKE_SYNC;
	u64 mine = here->weight;

	if (this_cpu == prev_cpu || !bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr))
		return prev_cpu;
	if (is_sync) {
		u64 waker = task_weight(bpf_get_current_task_btf());

		/* A waker that is about to sleep does not count. */
		if (here->nr_running == 1 || waker > mine)
			return this_cpu;
		mine -= waker;
	}
	mine += task_weight(p);
	return mine * 100 < there->weight * WAKE_AFFINE_BIAS + is_sync ? this_cpu : prev_cpu;
}

/* The CPU with the least weight, for a new task (`sched_balance_find_dst_cpu`). */
static inline s32 find_idlest_cpu(const struct task_struct *p, s32 prev_cpu)
{
	u64 least = ~0ULL;
	s32 found = prev_cpu;
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		u64 weight = of_cpu(loads, cpu)->weight;

		if (weight < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			least = weight;
			found = cpu;
		}
	}
	return found;
}

/* An idle CPU, else the one where the task is likely to run soonest (`select_task_rq_fair`). */
static inline s32 select_task_rq_fair(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		return cpu;
	if (wake_flags & SCX_WAKE_FORK)
		return find_idlest_cpu(p, prev_cpu);
	return wake_affine(p, prev_cpu, wake_flags);
}

/* The other CPU with most runnable tasks; `cpu` if none has any (`sched_balance_find_src_rq`). */
static inline u32 busiest_cpu(u32 cpu)
{
	u64 most = 0;
	u32 step, found = cpu;

	bpf_for(step, 1, nr_cpus) {
		u32 other = next_cpu(cpu, step);

		if (of_cpu(loads, other)->nr_running > most) {
			most = of_cpu(loads, other)->nr_running;
			found = other;
		}
	}
	return found;
}

/* Work for a CPU that would idle: from the busiest, else from any other (`newidle_balance`). */
static inline bool newidle_balance(u32 cpu)
{
	u32 step, busiest = busiest_cpu(cpu);

	if (busiest != cpu && scx_bpf_dsq_move_to_local(busiest, 0))
		return true;
	bpf_for(step, 1, nr_cpus) {
		u32 other = next_cpu(cpu, step);

		if (of_cpu(loads, other)->nr_running && scx_bpf_dsq_move_to_local(other, 0))
			return true;
	}
	return false;
}

/* The `sched_tunable_scaling` of a time: 0 not, 1 by the CPUs' logarithm, 2 linearly. */
static inline u64 scaled(u64 ns, u32 mode)
{
	u32 cpus = nr_cpus < 8 ? nr_cpus : 8;

	if (mode == 0)
		return ns;
	if (mode == 2)
		return ns * cpus;
	return ns * (1 + (cpus >= 2) + (cpus >= 4) + (cpus >= 8));
}

#endif /* FAIRGROUND_FAIR_H */
