// SPDX-License-Identifier: GPL-2.0-only
/* Idle and busy CPUs: finding, waking and interrupting them. */
#ifndef FAIRGROUND_IDLE_H
#define FAIRGROUND_IDLE_H

#include "common.h"

/*
 * Wakes an idle CPU that may run the task, which has just been queued: it will look for work. A
 * woken task has looked for an idle CPU before, but a CPU may have become idle just after that, and
 * a task whose slice is over does not look at all. Returns false if no CPU is idle.
 */
static inline bool kick_idle_cpu_for(const struct task_struct *p)
{
	s32 cpu;

	/* Its only CPU looks for itself. */
	if (p->nr_cpus_allowed == 1)
		return false;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu < 0)
		return false;
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return true;
}

/* For `ops.select_cpu`: takes the last CPU if that idles, else the best idle one, else -1. */
static inline s32 claim_idle_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool found = scx_bpf_test_and_clear_cpu_idle(prev_cpu);
	s32 cpu = prev_cpu;

	if (!found)
		cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags & ~SCX_WAKE_SYNC, &found);
	return found ? cpu : -1;
}

static inline bool is_idle(s32 cpu)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	bool result = bpf_cpumask_test_cpu(cpu, idle);

	scx_bpf_put_idle_cpumask(idle);
	return result;
}

/* Makes a CPU choose again, whatever it does. */
static inline void wake_or_preempt(s32 cpu)
{
	scx_bpf_kick_cpu(cpu, is_idle(cpu) ? SCX_KICK_IDLE : SCX_KICK_PREEMPT);
}

/* Whether the task that `ops.dispatch` gets could continue: it does not go to sleep. */
static inline bool could_go_on(const struct task_struct *prev)
{
	return prev && (prev->scx.flags & SCX_TASK_QUEUED);
}

/*
 * Preemption without an interrupt.
 *
 * A woken task that its CPU would choose is put into the CPU's local DSQ, and sched_ext makes the
 * running task stop (`SCX_ENQ_PREEMPT`). The CPU switches without `ops.dispatch`, and the running
 * task is put back by `ops.stopping` and `ops.enqueue`. A kick does the same by an interrupt, which
 * costs more than the switch.
 *
 * A task in a local DSQ has left the scheduler's order, so there is never more than one. If others
 * come before it runs, as after one that is even better or a real-time task, the CPU chooses again
 * when it begins to run.
 */
/* Whether tasks have come to a CPU while one was in its local DSQ. */
static bool others_came[MAX_CPUS];

/* How many tasks are in a CPU's local DSQ: they run next. */
static inline u32 nr_next_on(s32 cpu)
{
	return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu);
}

/*
 * For `ops.enqueue`, if the task preempts the running one, and would be chosen before all that
 * wait: it runs next. Returns false if there is another already, and the CPU has to choose.
 */
static inline bool run_at_once(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	if (nr_next_on(cpu))
		return false;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_INF, enq_flags | SCX_ENQ_PREEMPT);
	return true;
}

/* For `ops.enqueue`: a task that was not on this CPU joins those that wait. */
static inline void note_other(s32 cpu)
{
	if (nr_next_on(cpu))
		*of_cpu(others_came, cpu) = true;
}

/* For `ops.running`: whether the CPU has to choose again. */
static inline bool must_choose_again(s32 cpu)
{
	bool *came = of_cpu(others_came, cpu), result = *came;

	*came = false;
	return result;
}

#endif /* FAIRGROUND_IDLE_H */
