// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where EEVDF's tasks begin that join a queue: their vruntimes, by the lag that they left with, and
 * their deadlines. The scheduler has defined the knobs, `slice_of()` and `lag_limit()`.
 */
#ifndef FAIRGROUND_PLACEMENT_H
#define FAIRGROUND_PLACEMENT_H

#include "delayed.h"

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

/* A sleeper that stayed in the average comes back. What it is owed by now it does not get. */
static __always_inline u64 requeue_delayed(const struct task_struct *p, struct fair_task *task,
					   u32 cpu)
{
	s32 old_cpu = task->load.cpu;
	struct sleeper *sleeper = sleeper_at(old_cpu, task->place);
	bool has_place = sleeper->pid == p->pid;
	s64 weight = has_place ? end_sleep(sleeper, old_cpu) : 0, limit = lag_limit(p);
	s64 vlag = weight ? lag_of(task, live_sums(old_cpu), limit) : has_place ? sleeper->vlag : 0;

	if (weight && (vlag <= 0 || !delay_zero) && old_cpu == cpu && weight == weight_of(p)) {
		load_join(&task->load, cpu, weight);
		return task->vruntime + task->rel_deadline;
	}
	if (weight)
		average_add(old_cpu, -weight, -weight * (s64)task->vruntime);
	task->vlag = vlag > 0 && delay_zero ? 0 : vlag > limit ? limit : vlag;
	return place(p, task, cpu, live_sums(cpu), true);
}

/* Puts a task into a CPU's average, unless it is there already. Returns its deadline. */
static inline u64 join(const struct task_struct *p, struct fair_task *task, s32 cpu, bool is_woken)
{
	bool is_counted = task->load.weight;

	if (is_counted && task->load.cpu == cpu)
		return p->scx.dsq_vtime;
	if (is_counted)
		leave_average(task, live_sums(task->load.cpu), p->scx.dsq_vtime, lag_limit(p));
	if (task->is_delayed) {
		task->is_delayed = false;
		return requeue_delayed(p, task, cpu);
	}
	return place(p, task, cpu, live_sums(cpu), is_woken);
}

#endif /* FAIRGROUND_PLACEMENT_H */
