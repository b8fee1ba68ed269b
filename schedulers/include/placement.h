// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the fair class of Linux places tasks.
 *
 * A CPU's load is the weight of its runnable tasks. A woken task runs on an idle CPU, else on the
 * waker's or its previous one; a new task on the CPU with the least load.
 */
#ifndef FAIRGROUND_PLACEMENT_H
#define FAIRGROUND_PLACEMENT_H

#include "fair.h"

/* A CPU that is no more than this heavier than another one, in percent, is as loaded. */
#define IMBALANCE_PCT 117
/* How much heavier the previous CPU may be than the waker's, in percent: half of that. */
#define WAKE_AFFINE_BIAS 108

/* The speed of each CPU, and how much more a load is on it. 1024 is full speed, 0 no CPU. */
static u32 capacities[MAX_CPUS], slownesses[MAX_CPUS];

/* Returns a CPU's load, relative to its speed (`avg_load`). */
static inline u64 load_of(u32 cpu)
{
	return of_cpu(loads, cpu)->weight * *of_cpu(slownesses, cpu) / 1024;
}

/* Returns a task's weight as the CPUs count it. */
static inline u32 task_weight(struct task_struct *p)
{
	return fair_weight(p, fair_task(p));
}

/* Returns the waker's CPU or the previous one, whichever has less weight (`wake_affine`). */
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

/*
 * Returns the CPU with the least load for a new task: its maker's, unless another one has clearly
 * less (`sched_balance_find_dst_cpu`).
 */
static inline s32 find_idlest_cpu(const struct task_struct *p, s32 prev_cpu)
{
	u64 mine = load_of(prev_cpu), least = mine;
	s32 found = prev_cpu;
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		u64 load = load_of(cpu);

		if (load < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			least = load;
			found = cpu;
		}
	}
	if (100 * mine <= IMBALANCE_PCT * least && bpf_cpumask_test_cpu(prev_cpu, p->cpus_ptr))
		return prev_cpu;
	return found;
}

/*
 * Returns an idle CPU, else the one where the task is likely to run soonest
 * (`select_task_rq_fair`).
 */
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

#endif /* FAIRGROUND_PLACEMENT_H */
