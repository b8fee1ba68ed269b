// SPDX-License-Identifier: GPL-2.0-only
/*
 * The O(1) scheduler's time slices, and its guess who is interactive. The scheduler
 * has defined `struct task_ctx` with the fields, and the knobs, that are named here, before it
 * includes this.
 */
#ifndef FAIRGROUND_SLEEP_AVG_H
#define FAIRGROUND_SLEEP_AVG_H

/* Timer interrupts per second. */
#define HZ (early ? 100 : 1000)
/* As much sleep as is remembered, and how many levels of priority that is worth. */
#define MAX_SLEEP_AVG ((early ? 2 : 1) * NS_PER_SECOND)
#define MAX_BONUS (early ? 28 : 10)
/* Of 100: what a new task inherits of its parent's sleep, and what waiting counts as sleep. */
#define CHILD_PENALTY 95
#define ON_RUNQUEUE_WEIGHT 30
/* How much a parent's own sleep weighs against its dead child's 1. */
#define EXIT_WEIGHT 3
/* J7's longest slice, ticks. */
#define MAX_TIMESLICE 30
/* `TASK_UNINTERRUPTIBLE` of `p->__state`. */
#define UNINTERRUPTIBLE 2

#define STARVATION_LIMIT MAX_SLEEP_AVG	/* for each task that runs */

/* Ticks: J7's 10 … 300 ms, 2.6's 5 … 800 ms. */
static inline s64 task_timeslice(const struct task_struct *p)
{
	u64 room = nice_timeslices ? 19 - nice_of(p) : 19, ms;

	if (early)
		return 1 + 29 * room / 39;
	ms = (room > 19 ? 400 : 100) * (room + 1) / 20;
	return ms > 5 ? ms : 5;
}

static inline u64 current_bonus(const struct task_ctx *task)
{
	return task->sleep_avg * MAX_BONUS / MAX_SLEEP_AVG;
}

/* 0 (best) … 39: nice, better or worse by up to half of the bonus. */
static inline u32 effective_prio(const struct task_struct *p, const struct task_ctx *task)
{
	s32 bonus = interactivity_bonus ? current_bonus(task) - MAX_BONUS / 2 : 0;
	s32 prio = (s32)nice_index(p) - bonus;

	return prio < 0 ? 0 : prio > 39 ? 39 : prio;
}

/* By how much a task must be better than its nice value to be interactive; 2.6. */
static inline s32 delta_of(const struct task_struct *p)
{
	return (s32)(nice_index(p) * 10 / 40) - 5 + 2;
}

static inline bool is_interactive(const struct task_struct *p, const struct task_ctx *task)
{
	s32 prio = task->prio, static_prio = nice_index(p);

	if (early)
		return prio <= 8 || (prio < 24 && prio <= static_prio - 3);
	return prio <= static_prio - delta_of(p);
}

/* SCHED_BATCH: no sleep makes it interactive, and when it wakes up it is expired; 2.6. */
static inline bool is_batch(const struct task_struct *p)
{
	return !early && p->policy == POLICY_BATCH;
}

static inline void forget_sleep(struct task_ctx *task, u64 ns)
{
	task->sleep_avg = ns < task->sleep_avg ? task->sleep_avg - ns : 0;
}

/* What running costs: every tick, or at every schedule() less for who has slept more (2.6). */
static inline void count_run(struct task_ctx *task, u64 ticks)
{
	u64 now = scx_bpf_now(), ran = now - task->timestamp;

	if (early)
		return forget_sleep(task, ticks * (NS_PER_SECOND / HZ));
	if (ticks)
		return;
	forget_sleep(task, (ran < NS_PER_SECOND ? ran : NS_PER_SECOND) / (current_bonus(task) ?: 1));
	task->timestamp = now;
}

/* What a sleep is worth. In 2.6 one long sleep, or one for the disk, does not make interactive. */
static inline void count_sleep(struct task_struct *p, struct task_ctx *task, u64 ns)
{
	u64 ceiling = NS_PER_SECOND / 10 * (5 + delta_of(p) + 1) - NS_PER_SECOND / HZ;
	bool for_disk = task->uninterruptible && !early && p->mm;

	if (is_batch(p))
		ns = 0;
	if (!early && p->mm && task->sleep_avg < ceiling &&
	    (ns > ceiling || (for_disk && task->sleep_avg + ns > ceiling))) {
		task->sleep_avg = ceiling;
		task->interactive_sleep = false;
	} else if (!for_disk || task->sleep_avg < ceiling) {
		task->sleep_avg += ns;
	}
	if (task->sleep_avg > MAX_SLEEP_AVG)
		task->sleep_avg = MAX_SLEEP_AVG;
	task->prio = effective_prio(p, task);
}

/* It falls asleep. */
static inline void note_sleep(const struct task_struct *p, struct task_ctx *task)
{
	task->uninterruptible = p->__state & UNINTERRUPTIBLE;
	task->interactive_sleep = !early && !task->uninterruptible;
	task->timestamp = scx_bpf_now();
}

/* It has waited since it woke up; a part of that is sleep (2.6). */
static inline void count_wait(struct task_struct *p, struct task_ctx *task)
{
	if (task->interactive_sleep)
		count_sleep(p, task, (scx_bpf_now() - task->timestamp) * ON_RUNQUEUE_WEIGHT / 100);
	task->interactive_sleep = false;
	task->timestamp = scx_bpf_now();
}

/* A new task has half of its parent's slice and most of its sleep. */
static inline void inherit(struct task_ctx *parent, struct task_ctx *child)
{
	child->first_time_slice = true;
	child->time_slice = (parent->time_slice + 1) >> 1;
	parent->time_slice >>= 1;
	child->sleep_avg = current_bonus(parent) * CHILD_PENALTY / 100 * MAX_SLEEP_AVG / MAX_BONUS;
	if (early)
		child->sleep_avg = parent->sleep_avg * CHILD_PENALTY / 100;
}

/*
 * What a child leaves goes back to its parent, up to a slice: in 2.6 only of its first slice, and
 * if they are on the same CPU. The parent is judged by its children, in 2.6 by those that have
 * slept less.
 */
static inline void learn_from_child(struct task_ctx *parent, const struct task_ctx *child,
				    bool same_cpu, s64 slice)
{
	s64 sum = parent->time_slice + child->time_slice, most = early ? MAX_TIMESLICE : slice;

	if (early || (child->first_time_slice && same_cpu))
		parent->time_slice = sum < most ? sum : most;
	if (early || child->sleep_avg < parent->sleep_avg)
		parent->sleep_avg = (parent->sleep_avg * EXIT_WEIGHT + child->sleep_avg) /
				    (EXIT_WEIGHT + 1);
}

/*
 * Interactive tasks of equal priority take turns, of 10 ms for the most interactive to 5 s for each
 * CPU (2.6). Whether a turn has ended in the last ticks, and there is slice for another.
 */
static inline bool has_had_turn(struct task_struct *p, struct task_ctx *task, s64 slice, u64 ticks,
				u32 nr_cpus)
{
	u64 missing = MAX_BONUS - current_bonus(task);
	s64 turn = (10LL << (missing > 1 ? missing - 1 : 0)) * nr_cpus;
	s64 used = slice - task->time_slice;

	if (early || used < (s64)ticks || task->time_slice < turn || !is_interactive(p, task))
		return false;
	return (u64)used / turn != (used - ticks) / turn;
}

#endif /* FAIRGROUND_SLEEP_AVG_H */
