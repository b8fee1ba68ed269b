// SPDX-License-Identifier: GPL-2.0-only
/*
 * Balancing by counting runnable tasks.
 *
 * The scheduler's `struct cpu_ctx`, which it has defined before it includes this, has `curr`, the
 * pid of the running task, `need_resched` and `balance_due`; and the scheduler defines `waiting()`.
 */
#ifndef FAIRGROUND_COUNTS_H
#define FAIRGROUND_COUNTS_H

#include "common.h"

/* Returns how many tasks wait for a CPU. */
static u32 waiting(s32 cpu);

/* Returns how many tasks are runnable on a CPU, with the running one. */
static inline u32 nr_running(s32 cpu)
{
	return waiting(cpu) + (cpu_ctx(cpu)->curr != 0);
}

/* Makes a CPU choose again. */
static inline void resched_cpu(s32 cpu)
{
	cpu_ctx(cpu)->need_resched = true;
	wake_or_preempt(cpu);
}

/*
 * Wakes a CPU in whose queue a task has just been put, if it idles or is about to. `is_idle()` is
 * not enough: it is true only after the CPU has looked for work in vain, and a task that comes
 * after the look and before that would wait while the CPU idles. The kick waits until the CPU has
 * chosen.
 */
static inline void wake_up_for_work(s32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/*
 * Does the same where the run queue is locked, as in `ops.enqueue`, so that it is known whether a
 * task runs.
 */
static inline void wake_up_if_free(s32 cpu)
{
	if (!cpu_ctx(cpu)->curr)
		wake_up_for_work(cpu);
}

/*
 * Returns the CPU with the fewest runnable tasks that a task may use, going round from `start`;
 * `prev_cpu` if none has fewer. All loops over CPUs here are out of line: the verifier would walk
 * an inlined loop again for each state in which its callers can be.
 */
static __noinline s32 fewest_cpu(const struct task_struct *p, s32 prev_cpu, u32 start)
{
	u32 step, fewest = nr_running(prev_cpu);
	s32 found = prev_cpu;

	bpf_for(step, 0, nr_cpus) {
		u32 cpu = next_cpu(start, step);
		u32 count = nr_running(cpu);

		if (count < fewest && bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
			fewest = count;
			found = cpu;
		}
	}
	return found;
}

/*
 * The CPUs with the most and with the fewest runnable tasks, the lowest ones of equals, and these
 * numbers.
 */
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
 * Tells whether this CPU balances at its tick. CPU 0 balances for all. If it idles, the ticks of
 * CPUs where tasks wait wake it.
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
