// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECHO's rounds: who stands where in a CPU's two lists, this round's and the next one's. Lists are
 * sorted by estimate. Whoever comes stands behind the first, be it an equal, and behind smaller
 * ones, but in front of other equals. A DSQ has equals in order of their coming, so they carry
 * stamps. The scheduler has defined `struct task_ctx`, `struct cpu_ctx`, `queue_of()`,
 * `average()` and `account()` before it includes this.
 */
#ifndef FAIRGROUND_ROUNDS_H
#define FAIRGROUND_ROUNDS_H

/* It comes to a list. */
static inline void join(struct task_ctx *task, s32 cpu, u32 queue)
{
	task->cpu = cpu;
	task->queue = queue;
	task->place = task->est;
	task->stamp = ++cpu_ctx(cpu)->stamp;
}

/* Who has run until now goes back into a queue, by the estimate that it had till then. */
static inline void put_prev(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u32 runnable = waiting(cpu) + 1;
	bool is_used;

	account(p, task);
	is_used = task->yielded || (runnable > 1 && task->used >= quota(runnable));
	join(task, cpu, here->round ^ is_used);
	task->used = is_used ? 0 : task->used;
	task->yielded = false;
	task->is_put = true;
	average(task);
}

/* The first of a queue: of those with the smallest estimate the newest that was there when the
 * last first one left, else the oldest. */
static __noinline s32 first_of(u64 dsq, u64 settled)
{
	struct task_struct *p;
	u64 smallest = 0;
	s32 found = 0;

	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (found && p->scx.dsq_vtime != smallest)
			break;
		smallest = p->scx.dsq_vtime;
		if (!found || ctx_of(p)->stamp <= settled)
			found = p->pid;
	}
	return found;
}

/* Whether who has just been put back is the first of this round. */
static inline bool stays(struct task_ctx *task, s32 cpu)
{
	u64 dsq = queue_of(cpu, cpu_ctx(cpu)->round);
	struct task_struct *first = __COMPAT_scx_bpf_dsq_peek(dsq);

	return (dsq & 1) == task->queue && (!first || task->place < first->scx.dsq_vtime);
}

/* The first of this round, else of the next one, which begins with that. */
static inline bool pick(struct task_ctx *prev, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u32 round = here->round & 1, i;
	u64 dsq;

	if (!scx_bpf_dsq_nr_queued(queue_of(cpu, round)) && !(prev && prev->queue == round))
		round = here->round = round ^ 1;
	if (prev && stays(prev, cpu))
		return false;
	dsq = queue_of(cpu, round);
	bpf_for(i, 0, ATTEMPTS) {
		s32 pid = first_of(dsq, here->settled[round]);

		if (!pid)
			return false;
		here->settled[round] = here->stamp;
		if (take(dsq, pid))
			return true;
	}
	return scx_bpf_dsq_move_to_local(dsq, 0);
}

#endif /* FAIRGROUND_ROUNDS_H */
