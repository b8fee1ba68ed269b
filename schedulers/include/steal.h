// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where ULE's tasks run: the CPU for a woken one, and how the others' load is levelled. The
 * scheduler has included `calendar.h` and `counts.h`, and defined the knobs, before.
 */
#ifndef FAIRGROUND_STEAL_H
#define FAIRGROUND_STEAL_H

static inline void preempt(s32 cpu)
{
	cpu_ctx(cpu)->need_resched = true;
	wake_or_preempt(cpu);
}

/* The priority of who runs on a CPU. */
static inline u32 prio_on(s32 cpu)
{
	return cpu_ctx(cpu)->curr ? cpu_ctx(cpu)->prio : NOBODY;
}

/* The least loaded CPU for a task, of those where it would run at once if `at_once`; else -1. */
static __noinline s32 lowest(struct task_struct *p, s32 prev_cpu, bool at_once)
{
	u32 step, least = ~0U, prio = ctx_of(p)->prio;
	s32 found = -1;

	bpf_for(step, 0, nr_cpus) {
		u32 cpu = prev_cpu + step < nr_cpus ? prev_cpu + step : prev_cpu + step - nr_cpus;
		u32 load = nr_running(cpu);

		if (load < least && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) &&
		    (!at_once || prio_on(cpu) > prio)) {
			least = load;
			found = cpu;
		}
	}
	return found;
}

/* One task goes from the most loaded CPU to the least loaded one. */
static inline void balance_cpus(void)
{
	struct extremes extremes;
	s32 to;

	find_extremes(&extremes);
	to = extremes.laziest;
	cpu_ctx(0)->next_balance = scx_bpf_now() + balance_interval * NS_PER_SECOND / STATHZ *
				   (bpf_get_prandom_u32() % 1024 + 512) / 1024;
	if (balance && extremes.most > extremes.least && migrate(extremes.busiest, to))
		wake_up_for_work(to);
}

/* Work for a CPU that would idle: from the most loaded one, else from the next. */
static inline bool steal(s32 cpu)
{
	struct extremes extremes;
	u32 step;

	if (!steal_idle)
		return false;
	find_extremes(&extremes);
	if (extremes.most >= steal_thresh && migrate(extremes.busiest, cpu))
		return true;
	bpf_for(step, 1, nr_cpus) {
		u32 other = cpu + step < nr_cpus ? cpu + step : cpu + step - nr_cpus;

		if (nr_running(other) >= steal_thresh && migrate(other, cpu))
			return true;
	}
	return false;
}

#endif /* FAIRGROUND_STEAL_H */
