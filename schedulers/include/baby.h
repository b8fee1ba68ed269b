// SPDX-License-Identifier: GPL-2.0-only
/*
 * What makes one task better than another in Baby's variants. The scheduler has defined the knobs
 * and `struct task_ctx` and `struct cpu_ctx`, which are named here, before it includes this.
 */
#ifndef FAIRGROUND_BABY_H
#define FAIRGROUND_BABY_H

#include "credit.h"

#define MS 1000000LL
#define SECOND 1000000000LL
#define LIFE_WINDOW_NS (5 * SECOND)	/* hrrn */
#define LEVEL_WINDOW_NS (5 * SECOND)	/* mlfq */
/* Behind all. */
#define LAST (1LL << 62)

/* Ticks per second. */
extern unsigned long CONFIG_HZ __kconfig;

/* Its nice value, as it has been raised. */
static inline s64 own_nice(const struct task_struct *p, const struct task_ctx *task)
{
	return nice_of(p) - task->better;
}

/* How much further off than at nice 0 a deadline is. */
static inline s64 deadline_factor(s64 nice)
{
	if (nice < -10)
		return -1080000 + (nice + 20) * 100000;
	if (nice < 0)
		return -80000 + (nice + 10) * 1000;
	return nice ? 1080000 + (nice - 1) * 10000 : 0;
}

static inline u64 next_deadline(const struct task_struct *p, const struct task_ctx *task, u64 now)
{
	return now + deadline_ns + deadline_factor(own_nice(p, task));
}

static inline void renew(const struct task_struct *p, struct task_ctx *task)
{
	u64 now = scx_bpf_now();

	if (task->deadline < now)
		task->deadline = next_deadline(p, task, now);
}

/* What running for so long costs: nice adds to each account, of a tick and more, the same. */
static inline u64 cost_of(s64 nice, s64 ran)
{
	s64 factor = 40 * CONFIG_HZ / 1000;
	s64 more = nice * MS, added = 0;

	/* Division of a signed number: not every BPF instruction set has one. */
	if (factor)
		added = more < 0 ? -(s64)((u64)-more / factor) : (s64)((u64)more / factor);
	return ran + added > 1 ? ran + added : 1;
}

/* Its life so far, in units of what it has run of that. */
static inline s64 response_ratio(u64 life, u64 vruntime)
{
	return life / (vruntime | 1);
}

/* After 5 s its life has lasted for 2.5 s, in about the same ratio. */
static inline void shorten_life(struct task_ctx *task, u64 now)
{
	u64 life = now - task->start, ratio;

	if (life <= LIFE_WINDOW_NS)
		return;
	ratio = (life << 7) / ((task->vruntime >> 3) | 1);
	task->start = now - LIFE_WINDOW_NS / 2;
	task->vruntime = ((u64)LIFE_WINDOW_NS << 9) / (ratio ?: 1);
}

/* By its use of the last window, or if there is none of this one: 1 (best) … 16. */
static inline u32 level_of(const struct task_ctx *task)
{
	u64 bursts = task->prev_bursts ?: task->bursts;

	return bursts < 209 * MS ? 1 : bursts < 523 * MS ? 2 : bursts < 1140 * MS ? 4 :
	       bursts < 2400 * MS ? 8 : 16;
}

static inline void count_burst(struct task_ctx *task, u64 ran, u64 window, u64 now)
{
	task->bursts += ran;
	if (now - task->start <= window)
		return;
	task->prev_bursts = task->bursts;
	task->bursts = 0;
	task->start = now;
}

/* Whether who has used so much may be preempted: it does not seem to be about to end (dl). */
static inline bool is_unguarded(u64 prev_bursts, u64 bursts)
{
	return !guard || !prev_bursts || prev_bursts + hog_margin_ns >= burst_window_ns ||
	       bursts >= prev_bursts || prev_bursts > bursts + guard_ns;
}

/* The smaller, the better. Who runs has run for so long since its last account. */
static inline s64 key_of(const struct task_struct *p, const struct task_ctx *task, u64 unaccounted)
{
	u64 cost = unaccounted ? cost_of(nice_of(p), unaccounted) : 0;

	if (variant == CREDIT)
		return -(s64)offer_of(task);
	if (task->yielded)
		return LAST;
	if (variant == VIRTUAL_TIME)
		return task->vruntime + cost;
	if (variant == RESPONSE_RATIO)
		return -response_ratio(scx_bpf_now() - task->start, task->vruntime + cost);
	return task->deadline + (variant == FEEDBACK ? (u64)task->level << 56 : 0);
}

/* Accounts for what the running task has had since the last account. */
static inline void account(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	struct cpu_ctx *here = cpu_ctx(cpu);
	u64 ran = p->se.sum_exec_runtime - task->sum_exec, now = scx_bpf_now();

	task->sum_exec = p->se.sum_exec_runtime;
	if (here->is_charged || !ran)
		return;
	here->since = now;
	if (variant == VIRTUAL_TIME || variant == RESPONSE_RATIO) {
		task->vruntime += cost_of(nice_of(p), ran);
		here->min_vruntime = task->vruntime;
		if (variant == RESPONSE_RATIO)
			shorten_life(task, now);
	} else if (variant == DEADLINE || variant == FEEDBACK) {
		count_burst(task, ran, variant == DEADLINE ? burst_window_ns : LEVEL_WINDOW_NS, now);
		task->level = level_of(task);
		renew(p, task);
	}
}

/* A task joins a CPU's tasks, other than by waking up where it slept. */
static inline void place(struct task_struct *p, struct task_ctx *task, s32 cpu)
{
	if (variant == VIRTUAL_TIME)
		task->vruntime = cpu_ctx(cpu)->min_vruntime;
	else if (variant == RESPONSE_RATIO && task->is_new)
		task->start = scx_bpf_now();
	else if (variant == DEADLINE || variant == FEEDBACK)
		task->deadline = next_deadline(p, task, scx_bpf_now());
	task->cpu = cpu;
}

/* Whether the task that runs has had its slice (mlfq). */
static inline bool has_had_slice(struct task_ctx *task, s32 cpu)
{
	return task->sum_exec - cpu_ctx(cpu)->picked >= deadline_ns * task->level;
}

/* Whether a woken task takes the CPU from this one. */
static inline bool beats(struct task_struct *p, struct task_ctx *task, struct task_struct *curr,
			 s32 cpu)
{
	struct task_ctx *other = ctx_of(curr);
	u64 since = scx_bpf_now() - cpu_ctx(cpu)->since;

	if (variant == DEADLINE && !is_unguarded(other->prev_bursts, other->bursts + since))
		return false;
	if (has_idle_policy(curr) && !has_idle_policy(p))
		return true;
	if (p->policy != POLICY_NORMAL)
		return false;
	if (variant == ROUND_ROBIN)
		return true;
	if (own_nice(p, task) > own_nice(curr, other))
		return false;
	if (variant == FEEDBACK && task->level == other->level && has_had_slice(other, cpu))
		return true;
	return key_of(p, task, 0) < key_of(curr, other, since);
}

/* Who sleeps early becomes better by a level, for good. */
static inline void raise(const struct task_struct *p, struct task_ctx *task)
{
	bool counts = adaptive_priority && task->is_early && (variant == DEADLINE || variant == FEEDBACK);

	task->better += counts && own_nice(p, task) > -20;
}

#endif /* FAIRGROUND_BABY_H */
