// SPDX-License-Identifier: GPL-2.0-only
/*
 * What BFS and MuQSS have in common: equal slices, and a deadline that is set when the slice is
 * refilled, the later the nicer a task is. The scheduler has defined `struct task_ctx`, and the
 * knobs `rr_interval`, `exact_slices` and `wakeup_preemption`; it defines `refill()`.
 */
#ifndef FAIRGROUND_VIRTUAL_DEADLINE_H
#define FAIRGROUND_VIRTUAL_DEADLINE_H

#include "idle.h"
#include "nice.h"

/* What a CPU runs, as others see it. */
struct cpu_ctx {
	u64 deadline;
	u32 prio;
};
#include "cpu_ctx.h"
#include "turn.h"

/* A new slice, and a new deadline. */
static void refill(const struct task_struct *p, struct task_ctx *task);

/* Classes of tasks; the smaller, the better. Who is not ours is never preempted. */
enum { PRIO_REAL_TIME, PRIO_NORMAL, PRIO_IDLE };

/* By `nice_index()`: how far away a deadline is, in 1/128 of a slice. */
static u32 prio_ratios[NICE_LEVELS];

/* Each nice value is a tenth more than the one before it. */
static inline void make_ratios(u32 first)
{
	u32 i, ratio = first;

	bpf_for(i, 0, NICE_LEVELS) {
		prio_ratios[i % NICE_LEVELS] = ratio;
		ratio = ratio * 11 / 10;
	}
}

static inline u64 ratio_of(const struct task_struct *p)
{
	return prio_ratios[nice_index(p) % NICE_LEVELS];
}

/* How far a new deadline is, ns. */
static inline u64 virtual_offset(const struct task_struct *p)
{
	return ratio_of(p) * rr_interval * (NS_PER_SHORT_MS / 128);
}

static inline u32 prio_of(const struct task_struct *p)
{
	return has_idle_policy(p) ? PRIO_IDLE : PRIO_NORMAL;
}

static inline bool is_batch(const struct task_struct *p)
{
	return p->policy == POLICY_BATCH;
}

/* Whether a task may preempt who runs. Batch tasks only do where the class is worse. */
static inline bool is_before(const struct task_struct *p, u64 deadline, const struct cpu_ctx *there)
{
	u32 prio = prio_of(p);

	return prio < there->prio ||
	       (prio == there->prio && !is_batch(p) && time_before(deadline, there->deadline));
}

/* A task runs on a CPU, from now or with a new slice. */
static inline void note_running(s32 cpu, const struct task_struct *p, struct task_ctx *task)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->deadline = task->deadline;
	here->prio = prio_of(p);
	begin_turn(cpu, task);
}

static inline void note_stopping(s32 cpu, struct task_ctx *task, bool runnable)
{
	cpu_ctx(cpu)->prio = PRIO_REAL_TIME;
	leave_turn(cpu, task, runnable);
}

/* Who has run till now and could go on, with a new slice if need be; NULL if nobody. */
static inline struct task_struct *contender(struct task_struct *prev)
{
	struct task_ctx *task;

	if (!could_go_on(prev))
		return NULL;
	task = ctx_of(prev);
	charge(task);
	if (is_used_up(task) || is_batch(prev))
		refill(prev, task);
	return prev;
}

/* It runs on. */
static inline void keep(s32 cpu, struct task_struct *prev)
{
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	note_running(cpu, prev, ctx_of(prev));
}

/*
 * A task has been queued: looks for an idle CPU, else makes its forker choose anew, whose child is
 * first at equal deadlines. True if the scheduler is to look for somebody to preempt.
 */
static inline bool wants_to_preempt(const struct task_struct *p, struct task_ctx *task,
				    u64 enq_flags)
{
	bool has_cpu = task->has_cpu || kick_idle_cpu_for(p), is_new = task->is_new;
	bool quiet = task->synchronous || prio_of(p) == PRIO_IDLE || !wakeup_preemption;

	task->is_new = task->has_cpu = task->synchronous = task->is_displaced = false;
	if (!has_cpu && is_new)
		scx_bpf_kick_cpu(bpf_get_smp_processor_id(), SCX_KICK_PREEMPT);
	return !has_cpu && !is_new && !quiet && (enq_flags & SCX_ENQ_WAKEUP);
}

/*
 * A new task has its parent's deadline and half of its slice. If that is too little, it keeps what
 * it has been refilled with. Returns whether it has a part of its parent's.
 */
static inline bool inherit(struct task_ctx *task)
{
	struct task_ctx *parent = ctx_of(bpf_get_current_task_btf());
	s64 whole = task->time_slice;

	task->is_new = true;
	/* The forker may be a real-time task. */
	if (!parent->charged_ns)
		return false;
	if (split_slice(parent, task)) {
		task->deadline = parent->deadline;
		return true;
	}
	task->time_slice = whole;
	return false;
}

#endif /* FAIRGROUND_VIRTUAL_DEADLINE_H */
