// SPDX-License-Identifier: GPL-2.0-only
/*
 * How EEVDF gives a task another weight while it is in an average.
 *
 * The weight changes with the task's groups, and with its score in BORE. The scheduler includes
 * this where `lag_limit()` is known.
 */
#ifndef FAIRGROUND_REWEIGHT_H
#define FAIRGROUND_REWEIGHT_H

#include "eevdf_queue.h"

/*
 * Gives a queued or running task its present weight; its lag in real time stays. Returns whether
 * the weight has changed (`reweight_entity`).
 */
static __always_inline bool reweight_queued(const struct task_struct *p, struct fair_task *task,
					    u64 *vruntime, u64 *deadline)
{
	s64 old = task->load.weight, limit, new, lag;
	u64 average, before = *vruntime;
	s32 cpu = task->load.cpu;

	count_in_group(p, task);
	new = fair_weight(p, task);
	if (!old || old == new)
		return false;
	limit = lag_limit(p, task);
	average = avg_vruntime(cpu);
	lag = rescale(average - before, old, new);
	if (!reweight_keeps_all())
		lag = lag > limit ? limit : lag < -limit ? -limit : lag;
	*vruntime = average - lag;
	*deadline = average + rescale(*deadline - average, old, new);
	avg_vruntime_add(cpu, new - old, new * *vruntime - old * before);
	load_join(&task->load, cpu, new);
	return true;
}

/*
 * Gives the running task its present weight, by which it may lose its protection
 * (`reweight_entity`).
 */
static inline void reweight_running(struct task_struct *p, struct fair_task *task,
				    struct running *curr)
{
	s64 old = task->load.weight, protected = curr->vprot - curr->vruntime;

	if (!reweight_queued(p, task, &curr->vruntime, &curr->deadline))
		return;
	curr->weight = task->load.weight;
	curr->inverse_weight = has_groups ? inverse_part(curr->weight) :
					    fair_inverse_weight(p, task);
	curr->vslice = virtual_time_at(curr->inverse_weight, curr->slice);
	curr->vprot = curr->vruntime;
	if (reweight_keeps_all())
		curr->vprot += rescale(protected, old, curr->weight);
}

#endif /* FAIRGROUND_REWEIGHT_H */
