// SPDX-License-Identifier: GPL-2.0-only
/*
 * ULE's judgement of a task: how interactive it is by its sleeping and running of the last seconds,
 * and its priority by that, or by its use of the CPU. Times are FreeBSD's: clock ticks of 1 ms,
 * shifted left by 10. The scheduler has defined the knobs and `struct task_ctx` before it includes
 * this.
 */
#ifndef FAIRGROUND_INTERACT_H
#define FAIRGROUND_INTERACT_H

#include "nice.h"
#include "tick.h"

/* Clock ticks per second, and those at which time is charged. */
#define HZ 1000ULL
#define STATHZ 127ULL
#define TICK_SHIFT 10
#define SECONDS(s) ((s) * HZ << TICK_SHIFT)
/* What one of the latter costs. */
#define TICK_COST ((HZ << TICK_SHIFT) / STATHZ)

#define HISTORY_CAP SECONDS(5)
#define FORK_CAP (SECONDS(1) / 2)
#define SCORE_HALF 50ULL

/* The window of CPU use, and when it is shortened again, clock ticks. */
#define USE_WINDOW (10 * HZ)
#define USE_WINDOW_MAX (11 * HZ)

/* Levels of priority: the interactive tasks', then the others' by use and by nice. */
#define INTERACTIVE_RANGE 32
#define USE_RANGE 32
#define BATCH_RANGE (USE_RANGE + NICE_LEVELS)
#define MIN_IDLE (INTERACTIVE_RANGE + BATCH_RANGE)	/* of SCHED_IDLE */
#define NOBODY 255

/* 0 (has only slept) … 100 (has only run). */
static inline u64 score_of(u64 run, u64 sleep)
{
	u64 unit;

	if (run > sleep) {
		unit = run / SCORE_HALF ?: 1;
		return SCORE_HALF + (SCORE_HALF - sleep / unit);
	}
	if (sleep > run) {
		unit = sleep / SCORE_HALF ?: 1;
		return run / unit;
	}
	return run ? SCORE_HALF : 0;
}

/* Bounds what is remembered. */
static inline void limit_history(struct task_ctx *task)
{
	u64 sum = task->runtime + task->slptime;

	if (sum < HISTORY_CAP)
		return;
	if (sum > 2 * HISTORY_CAP) {
		bool runs = task->runtime > task->slptime;

		task->runtime = runs ? HISTORY_CAP : 1;
		task->slptime = runs ? 1 : HISTORY_CAP;
	} else if (sum > HISTORY_CAP / 5 * 6) {
		task->runtime /= 2;
		task->slptime /= 2;
	} else {
		task->runtime = task->runtime / 5 * 4;
		task->slptime = task->slptime / 5 * 4;
	}
}

/* A new task remembers what its parent does, but little of it. */
static inline void inherit(const struct task_ctx *parent, struct task_ctx *child)
{
	u64 ratio = (parent->runtime + parent->slptime) / FORK_CAP;

	child->runtime = parent->runtime / (ratio ?: 1);
	child->slptime = parent->slptime / (ratio ?: 1);
	child->use = parent->use;
	child->use_first = parent->use_first;
	child->use_last = parent->use_last;
}

/* Brings the CPU use up to date; since the last time the task has run, or it has not. */
static inline void update_use(struct task_ctx *task, u64 now, bool runs)
{
	if (now - task->use_last >= USE_WINDOW) {
		task->use = 0;
		task->use_first = now - USE_WINDOW;
	} else if (now - task->use_first >= USE_WINDOW_MAX) {
		u64 span = task->use_last - task->use_first;

		task->use = task->use / (span ?: 1) * (task->use_last - (now - USE_WINDOW));
		task->use_first = now - USE_WINDOW;
	}
	if (runs)
		task->use += (now - task->use_last) << TICK_SHIFT;
	task->use_last = now;
}

/* The part of the window that it has run, in levels. */
static inline u32 use_levels(const struct task_ctx *task)
{
	u64 span = task->use_last - task->use_first;
	u64 levels = (task->use >> TICK_SHIFT) * USE_RANGE / (span > HZ ? span : HZ);

	return levels < USE_RANGE ? levels : USE_RANGE - 1;
}

/* How many clock ticks there have been. */
static inline u64 clock_ticks(void)
{
	return scx_bpf_now() / (NS_PER_SECOND / HZ);
}

/* Whether a task of this score and nice value is interactive. */
static inline bool is_interactive(u64 score, s32 nice)
{
	return interactivity && (s64)score + nice < (s64)interact;
}

/* 0 (best) …, by its history. */
static inline void set_priority(const struct task_struct *p, struct task_ctx *task)
{
	u64 score = score_of(task->runtime, task->slptime);
	s64 better = (s64)score + nice_of(p);

	if (has_idle_policy(p))
		task->prio = MIN_IDLE;
	else if (is_interactive(score, nice_of(p)))
		task->prio = better > 0 ? (u64)better * INTERACTIVE_RANGE / interact : 0;
	else
		task->prio = INTERACTIVE_RANGE + nice_index(p) + use_levels(task);
}

/* A slice beside so many other tasks, ticks of 127 Hz. */
static inline u64 slice_beside(u32 others)
{
	if (others >= slice_min_divisor)
		return slice / slice_min_divisor;
	return others > 1 ? slice / others : slice;
}

/* The ticks of 127 Hz that the running task has met. */
static inline void charge(struct task_struct *p, struct task_ctx *task)
{
	u64 ticks = pay_ticks(&task->charged_ns, STATHZ);

	update_use(task, clock_ticks(), true);
	task->used += ticks;
	task->runtime += ticks * TICK_COST;
	if (ticks)
		limit_history(task);
	set_priority(p, task);
}

/* It has slept, and begins a slice. */
static inline void wake(struct task_struct *p, struct task_ctx *task)
{
	u64 now = clock_ticks();

	if (task->since) {
		task->slptime += (now - task->since) << TICK_SHIFT;
		limit_history(task);
		task->used = 0;
	}
	task->since = 0;
	update_use(task, now, false);
	set_priority(p, task);
}

#endif /* FAIRGROUND_INTERACT_H */
