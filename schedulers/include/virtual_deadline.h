// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core of BFS and MuQSS: equal slices, each with a virtual deadline.
 *
 * The deadline is set when the slice is refilled: the nicer a task is, the later.
 */
#ifndef FAIRGROUND_VIRTUAL_DEADLINE_H
#define FAIRGROUND_VIRTUAL_DEADLINE_H

#include "common.h"
#include "turn.h"

/*
 * The scheduler's knobs: a slice, in milliseconds of 2^20 ns; and whether a woken task may preempt.
 */
extern const volatile u64 rr_interval_ms;
extern const volatile bool wakeup_preemption;

/* What is stored of a task. */
struct task_ctx {
	u64 deadline;		/* ns */
	struct task_turn turn;
	struct load_member load;	/* MuQSS: where it is counted */
	bool is_new;
	bool child_first;	/* it is new, and its maker makes room for it */
	bool first_time_slice;	/* BFS: half of it was its parent's */
	bool synchronous;	/* its waker is about to sleep */
	bool has_cpu;		/* an idle CPU takes it */
};
DEFINE_TASK_CTX()

/* The task that a CPU runs, as other CPUs see it. */
struct cpu_ctx {
	u64 deadline;
	u32 prio;
};
DEFINE_CPU_CTX()

/* Gives a task a new slice and a new deadline (`time_slice_expired`). */
static void refill(const struct task_struct *p, struct task_ctx *task);

/* Classes of tasks; the smaller, the better. Tasks of other classes are never preempted. */
enum { PRIO_REAL_TIME, PRIO_NORMAL, PRIO_IDLE };

/* How far away a deadline is, in 1/128 of a slice, by `nice_index()`. */
static u32 prio_ratios[NICE_LEVELS];

/* Makes each ratio a tenth more than the one before it (`prio_ratios`). */
static inline void make_ratios(u32 first)
{
	u32 i, ratio = first;

	bpf_for(i, 0, NICE_LEVELS) {
		prio_ratios[i % NICE_LEVELS] = ratio;
		ratio = ratio * 11 / 10;
	}
}

/* Returns the ratio of a task's nice value (`task_prio_ratio`). */
static inline u64 ratio_of(const struct task_struct *p)
{
	return prio_ratios[nice_index(p) % NICE_LEVELS];
}

/* Returns how far away a new deadline is, ns (`task_deadline_diff`). */
static inline u64 virtual_offset(const struct task_struct *p)
{
	return ratio_of(p) * rr_interval_ms * (NS_PER_SHORT_MS / 128);
}

static inline u32 prio_of(const struct task_struct *p)
{
	return has_idle_policy(p) ? PRIO_IDLE : PRIO_NORMAL;
}

static inline bool is_batch(const struct task_struct *p)
{
	return p->policy == POLICY_BATCH;
}

/*
 * Tells whether a task may preempt the running one. A batch task only preempts a worse class
 * (`deadline_before`).
 */
static inline bool is_before(const struct task_struct *p, u64 deadline, const struct cpu_ctx *there)
{
	u32 prio = prio_of(p);

	return prio < there->prio ||
	       (prio == there->prio && !is_batch(p) && time_before(deadline, there->deadline));
}

/* Notes that a task runs on a CPU, from now on or with a new slice (`set_rq_task`). */
static inline void note_running(s32 cpu, const struct task_struct *p, struct task_ctx *task)
{
	struct cpu_ctx *here = cpu_ctx(cpu);

	here->deadline = task->deadline;
	here->prio = prio_of(p);
	begin_turn(cpu, &task->turn);
}

static inline void note_stopping(s32 cpu, struct task_struct *p, bool runnable)
{
	cpu_ctx(cpu)->prio = PRIO_REAL_TIME;
	leave_turn(cpu, p, &ctx_of(p)->turn, runnable);
}

/*
 * Gives a task that stops a new slice and deadline if it needs them, as a batch task always does
 * (`check_deadline`).
 */
static inline void check_deadline(const struct task_struct *p, struct task_ctx *task)
{
	if (is_used_up(&task->turn) || is_batch(p))
		refill(p, task);
}

/* Does the same for a task that goes to sleep (`check_deadline` in `schedule`). */
static inline void check_sleeper(struct task_struct *p, u64 deq_flags)
{
	if (deq_flags & SCX_DEQ_SLEEP)
		check_deadline(p, ctx_of(p));
}

/*
 * Returns the task that has run until now if it could continue, with a new slice if it needs one;
 * else NULL.
 */
static inline struct task_struct *contender(struct task_struct *prev)
{
	struct task_ctx *task;

	if (!could_go_on(prev))
		return NULL;
	task = ctx_of(prev);
	charge(&task->turn);
	check_deadline(prev, task);
	return prev;
}

/* Lets a task continue. */
static inline void keep(s32 cpu, struct task_struct *prev)
{
	scx_bpf_task_set_slice(prev, SCX_SLICE_INF);
	note_running(cpu, prev, ctx_of(prev));
}

/*
 * Looks for an idle CPU for a queued task. If there is none, a new task may make its maker choose
 * again, and is first at equal deadlines. Returns true if the scheduler is to look for a task to
 * preempt (`wake_up_new_task`).
 */
static inline bool wants_to_preempt(const struct task_struct *p, struct task_ctx *task,
				    u64 enq_flags)
{
	bool has_cpu = task->has_cpu || kick_idle_cpu_for(p);
	bool is_new = task->is_new, child_first = task->child_first;
	bool quiet = task->synchronous || prio_of(p) == PRIO_IDLE || !wakeup_preemption;

	task->is_new = task->child_first = task->has_cpu = task->synchronous = false;
	if (!has_cpu && child_first)
		scx_bpf_kick_cpu(bpf_get_smp_processor_id(), SCX_KICK_PREEMPT);
	return !has_cpu && !child_first && !quiet && (is_new || enq_flags & SCX_ENQ_WAKEUP);
}

/*
 * Gives a new task its parent's deadline and half of its slice. If that is too little, the task
 * keeps what it has been refilled with, and its maker stops, as it does for a new process. A
 * thread's maker is not its parent, but a sibling. Returns whether the task has a part of its
 * maker's slice (`sched_fork`, `wake_up_new_task`).
 */
static inline bool inherit(const struct task_struct *p, struct task_ctx *task)
{
	struct task_ctx *maker = ctx_of(bpf_get_current_task_btf());
	s64 whole = task->turn.time_slice;

	task->is_new = true;
	/* The maker may be a real-time task. */
	if (!maker->turn.charged_ns)
		return false;
	if (split_slice(&maker->turn, &task->turn)) {
		task->child_first = !is_thread(p);
		task->deadline = maker->deadline;
		return true;
	}
	task->child_first = true;
	task->turn.time_slice = whole;
	return false;
}

#endif /* FAIRGROUND_VIRTUAL_DEADLINE_H */
