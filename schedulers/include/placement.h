// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where EEVDF's tasks begin that join a queue: their vruntimes, by the lag that they left with, and
 * their deadlines. The scheduler has defined the knobs and `slice_of()`.
 */
#ifndef FAIRGROUND_PLACEMENT_H
#define FAIRGROUND_PLACEMENT_H

#include "lag.h"

/* No lag is more than this. */
static inline s64 lag_limit(const struct task_struct *p)
{
	u64 limit = era >= 70000 ? slice_of(p) + TICK_NS : 2 * slice_of(p);

	return virtual_time(p, limit < TICK_NS ? TICK_NS : limit) >> LAG_SHIFT;
}

/* Where a task begins that joins a queue. Returns its deadline. */
static __always_inline u64 place(const struct task_struct *p, struct fair_task *task, u32 cpu,
				 struct sums sums, bool is_woken)
{
	bool keeps = !is_woken && task->left_weight && place_rel_deadline && era >= 61200;
	u64 vslice = virtual_time(p, slice_of(p));

	reweight(task, weight_of(p));
	join_with_lag(task, cpu, sums, weight_of(p), place_lag ? task->vlag : 0);
	if (HAS_HALF_SLICE(task, is_woken))
		vslice /= 2;
	return task->vruntime + (keeps ? task->rel_deadline : vslice);
}

/* A sleeper that was not eligible comes back: its debt has become less, or has gone. */
static __always_inline u64 requeue_delayed(const struct task_struct *p, struct fair_task *task,
					   u32 cpu, struct sums sums)
{
	s64 vlag = lag_of(task, sums, lag_limit(p)), least = task->vlag;

	if (vlag < 0 && task->load.cpu == cpu && task->left_weight == weight_of(p)) {
		join_average(task, cpu, task->left_weight);
		return task->vruntime + task->rel_deadline;
	}
	task->vlag = vlag > 0 && delay_zero ? 0 : vlag > least ? vlag : least;
	return place(p, task, cpu, sums, true);
}

/*
 * Puts a task into the average of a CPU, whose running one is at `vruntime`, unless it is there
 * already. Returns its deadline.
 */
static inline u64 join(const struct task_struct *p, struct fair_task *task, s32 cpu, u64 vruntime,
		       bool is_woken)
{
	bool is_counted = task->load.weight;
	struct sums sums;

	if (is_counted && task->load.cpu == cpu)
		return task->deadline;
	if (is_counted)
		leave_average(task, live_sums(task->load.cpu), lag_limit(p));
	sums = sums_at(cpu, vruntime);
	task->deadline = !is_counted && task->is_delayed && is_woken ?
			 requeue_delayed(p, task, cpu, sums) :
			 place(p, task, cpu, sums, is_woken);
	return task->deadline;
}

#endif /* FAIRGROUND_PLACEMENT_H */
