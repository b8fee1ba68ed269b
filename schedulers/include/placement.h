// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where EEVDF's tasks begin that join a queue: their vruntimes, by the lag that they left with, and
 * their deadlines. The scheduler has defined the knobs and `slice_of()`.
 */
#ifndef FAIRGROUND_PLACEMENT_H
#define FAIRGROUND_PLACEMENT_H

#include "delayed.h"

/* No lag is more than this. */
static inline s64 lag_limit(const struct task_struct *p, const struct fair_task *task)
{
	u64 limit = era >= 70000 ? slice_of(p) + TICK_NS : 2 * slice_of(p);

	return fair_time(p, task, limit < TICK_NS ? TICK_NS : limit) >> LAG_SHIFT;
}

/* Where a task begins that joins a queue. Returns the new sums, as of the last account. */
static __always_inline struct sums place(const struct task_struct *p, struct fair_task *task,
					 u32 cpu, struct sums sums, bool is_woken)
{
	bool keeps = !is_woken && task->left_weight && place_rel_deadline && era >= 61200;
	u64 vslice = fair_time(p, task, slice_of(p));
	u32 weight = fair_weight(p, task);

	reweight(task, weight);
	sums = join_with_lag(task, cpu, sums, weight, place_lag ? task->vlag : 0);
	if (HAS_HALF_SLICE(task, is_woken))
		vslice /= 2;
	task->deadline = task->vruntime + (keeps ? task->rel_deadline : vslice);
	return sums;
}

/* A sleeper that stayed in the average comes back. What it is owed by now it does not get. */
static __always_inline struct sums requeue_delayed(const struct task_struct *p,
						   struct fair_task *task, u32 cpu, u64 vruntime)
{
	s32 old_cpu = task->load.cpu;
	struct sleeper *sleeper = sleeper_at(old_cpu, task->place);
	bool has_place = sleeper->pid == p->pid;
	s64 weight = has_place ? end_sleep(sleeper, old_cpu) : 0, limit = lag_limit(p, task);
	s64 vlag = weight ? lag_of(task, live_sums(old_cpu), limit) : has_place ? sleeper->vlag : 0;

	if (weight && (vlag <= 0 || !delay_zero) && old_cpu == cpu && weight == fair_weight(p, task)) {
		load_join(&task->load, cpu, weight);
		task->deadline = task->vruntime + task->rel_deadline;
		return average_sums(cpu);
	}
	if (weight)
		average_add(old_cpu, -weight, -weight * (s64)task->vruntime);
	task->vlag = vlag > 0 && delay_zero ? 0 : vlag > limit ? limit : vlag;
	return place(p, task, cpu, sums_at(cpu, vruntime), true);
}

/*
 * Puts a task into the average of a CPU, whose running one is at `vruntime`. Returns the average's
 * sums then.
 */
static __always_inline struct sums join(const struct task_struct *p, struct fair_task *task,
					s32 cpu, u64 vruntime, bool is_woken)
{
	struct sums sums;

	if (task->load.weight)
		leave_average(task, live_sums(task->load.cpu), lag_limit(p, task));
	sums = task->is_delayed ? requeue_delayed(p, task, cpu, vruntime) :
				  place(p, task, cpu, sums_at(cpu, vruntime), is_woken);
	task->is_delayed = false;
	return advanced(sums, cpu, vruntime);
}

/* Whether a CPU's average counts it. */
static inline bool is_on(const struct fair_task *task, s32 cpu)
{
	return task->load.weight && task->load.cpu == cpu;
}

#endif /* FAIRGROUND_PLACEMENT_H */
