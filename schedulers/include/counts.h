// SPDX-License-Identifier: GPL-2.0-only
/*
 * Balancing by counting runnable tasks. The scheduler has defined, before it includes this,
 * `waiting(cpu)`, how many tasks wait for a CPU, and in `struct cpu_ctx` who runs there, `curr`,
 * and `balance_due`.
 */
#ifndef FAIRGROUND_COUNTS_H
#define FAIRGROUND_COUNTS_H

#include "idle.h"

static u32 nr_cpus;

/* Who runs is counted, too. */
static inline u32 nr_running(s32 cpu)
{
	return waiting(cpu) + (cpu_ctx(cpu)->curr != 0);
}

/*
 * Wakes a CPU in whose queue a task has just been put, if it idles or is about to. To ask whether
 * it idles is not enough: that is told only when the CPU has looked for work in vain, and who comes
 * after the look and before the telling would wait while the CPU idles. The kick waits for the CPU
 * to have chosen.
 */
static inline void wake_up_for_work(s32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The same where its run queue is locked, as it is in `ops.enqueue`: who runs there is known. */
static inline void wake_up_if_free(s32 cpu)
{
	if (!cpu_ctx(cpu)->curr)
		wake_up_for_work(cpu);
}

/*
 * The CPU with the fewest runnable tasks that a task may use, going round from `start`; `prev_cpu`
 * if none has fewer.
 */
static __noinline s32 fewest_cpu(const struct task_struct *p, s32 prev_cpu, u32 start)
{
	u32 step, fewest = nr_running(prev_cpu);
	s32 found = prev_cpu;

	bpf_for(step, 0, nr_cpus) {
		u32 cpu = start + step < nr_cpus ? start + step : start + step - nr_cpus;
		u32 count = nr_running(cpu);

		if (count < fewest && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			fewest = count;
			found = cpu;
		}
	}
	return found;
}

/* The CPUs with the most and the fewest runnable tasks, the lowest of equals, and these numbers. */
struct extremes {
	s32 busiest, laziest;
	u32 most, least;
};

static __noinline void find_extremes(struct extremes *found)
{
	u32 cpu;

	*found = (struct extremes){ .least = ~0U };
	bpf_for(cpu, 0, nr_cpus) {
		u32 count = nr_running(cpu);

		if (count > found->most) {
			found->most = count;
			found->busiest = cpu;
		}
		if (count < found->least) {
			found->least = count;
			found->laziest = cpu;
		}
	}
}

/*
 * CPU 0 balances for all, at its ticks; if it idles, it is woken by those of CPUs where tasks wait.
 * Called at a tick; returns whether this CPU is to balance.
 */
static inline bool request_balance(s32 cpu)
{
	if (nr_cpus == 1 || (cpu && (!waiting(cpu) || !is_idle(0))))
		return false;
	cpu_ctx(0)->balance_due = true;
	if (cpu)
		scx_bpf_kick_cpu(0, SCX_KICK_IDLE);
	return !cpu;
}

#endif /* FAIRGROUND_COUNTS_H */
