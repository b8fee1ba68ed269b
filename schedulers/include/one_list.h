// SPDX-License-Identifier: GPL-2.0-only
/*
 * Baby's one list: who of all that wait for a CPU is the best, and whether a tick looks for that.
 * The scheduler has included `baby.h` before.
 */
#ifndef FAIRGROUND_ONE_LIST_H
#define FAIRGROUND_ONE_LIST_H

/* Looks at all that wait; each that is not `winner` bids more, if there is one. */
static __noinline void scan(s32 cpu, struct best *best, s32 winner)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct task_ctx *task = ctx_of(p);

		if (!winner)
			consider(best, p, -key_of(p, task, 0));
		else if (p->pid != winner)
			raise_bid(task);
	}
}

/* The best of all, if that is not who ran till now. Of equals the newest, who ran being that. */
static inline bool pick(s32 cpu, struct task_struct *prev, struct task_ctx *task)
{
	u32 i;

	if (variant == ROUND_ROBIN)
		return scx_bpf_dsq_move_to_local(cpu, 0);
	bpf_for(i, 0, ATTEMPTS) {
		struct best best = {};

		if (task)
			consider(&best, prev, -key_of(prev, task, 0));
		scan(cpu, &best, 0);
		if (!best.pid)
			return false;
		if (variant == CREDIT) {
			scan(cpu, &best, best.pid);
			if (task && prev->pid != best.pid)
				raise_bid(task);
		}
		if (task && best.pid == prev->pid)
			return false;
		if (take(cpu, best.pid))
			return true;
	}
	return scx_bpf_dsq_move_to_local(cpu, 0);
}

/* It begins to run. */
static inline void set_next(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->curr = p->pid;
	here->picked = task->sum_exec = p->se.sum_exec_runtime;
	here->since = scx_bpf_now();
	here->is_charged = false;
	if ((variant == DEADLINE || variant == FEEDBACK) && own_nice(p, task) >= 0)
		renew(p, task);
	if (variant == CREDIT)
		take_turn(p, task, cpu);
}

/* Whether somebody waits who is not worse than the one that runs. */
static __noinline bool is_challenged(struct task_struct *curr, s32 cpu)
{
	s64 key = key_of(curr, ctx_of(curr), 0);
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (key_of(p, ctx_of(p), 0) <= key)
			return true;
	}
	return false;
}

/* Whether a tick ends the turn of the task that runs. */
static inline bool is_over(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	u64 ran = task->sum_exec - cpu_ctx(cpu)->picked;

	if (variant == CREDIT && ran >= cr_slice_ns && !waiting(cpu))
		set_next(p, task, cpu);
	if (!waiting(cpu))
		return false;
	if (variant == ROUND_ROBIN)
		return true;
	if (variant == CREDIT)
		return ran >= cr_slice_ns;
	if (variant == DEADLINE && !is_unguarded(task->prev_bursts, task->bursts))
		return false;
	if (variant == FEEDBACK && task->level > 1 && !has_had_slice(task, cpu))
		return false;
	return is_challenged(p, cpu);
}

#endif /* FAIRGROUND_ONE_LIST_H */
