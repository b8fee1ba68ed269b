// SPDX-License-Identifier: GPL-2.0-only
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
#ifndef FAIRGROUND_PREEMPT_H
#define FAIRGROUND_PREEMPT_H

#include "common.h"

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

#endif /* FAIRGROUND_PREEMPT_H */
