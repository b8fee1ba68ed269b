// SPDX-License-Identifier: GPL-2.0-only
/*
 * EEVDF's pick, and sleepers that stay in a CPU's average (delayed dequeue).
 *
 * Tasks wait in DSQ `cpu` by deadline. A task that goes to sleep while it is not eligible stays in
 * its CPU's average until it would be picked. By then its debt is gone, so that no task gains by a
 * short sleep; and meanwhile it affects the average as if it waited.
 *
 * A CPU's sleepers are added under the lock of its run queue, but a wake-up on another CPU may take
 * one out: the CPU that takes the weight takes the sleeper.
 */
#ifndef FAIRGROUND_EEVDF_QUEUE_H
#define FAIRGROUND_EEVDF_QUEUE_H

#include "eevdf_average.h"

/* A CPU keeps no more sleepers; others leave at once. */
#define MAX_SLEEPERS 64

/* A sleeper in a CPU's average; `vlag` is its lag when it was taken out of there. */
struct sleeper {
	u64 vruntime, deadline;
	s64 vlag;
	u32 weight;
	s32 pid;
};

struct sleepers {
	struct sleeper places[MAX_SLEEPERS];
	/* How many sleep, and how many places have been used since there were none. */
	u64 count, used;
};

static struct sleepers sleepers[MAX_CPUS];

static inline struct sleeper *sleeper_at(s32 cpu, u32 place)
{
	return &of_cpu(sleepers, cpu)->places[place & (MAX_SLEEPERS - 1)];
}

/* Tasks in a CPU's average, runnable or asleep (`cfs_rq->nr_queued`). */
static inline u64 nr_queued_on(s32 cpu)
{
	return nr_running_on(cpu) + of_cpu(sleepers, cpu)->count;
}

/* Whether it has stayed in its CPU's average since it went to sleep. */
static inline bool is_asleep_on(s32 cpu, const struct task_struct *p, const struct fair_task *task)
{
	const struct sleeper *sleeper = sleeper_at(cpu, task->place);

	return sleeper->pid == p->pid && sleeper->weight;
}

/* A task that goes to sleep stays in the average, if there is a place (`set_delayed`). */
static inline bool set_delayed(const struct task_struct *p, struct fair_task *task)
{
	struct sleepers *all = of_cpu(sleepers, task->load.cpu);
	struct sleeper *sleeper;
	u32 place;

	if (!all->count)
		all->used = 0;
	bpf_for(place, 0, MAX_SLEEPERS) {
		sleeper = sleeper_at(task->load.cpu, place);
		if (place < all->used && sleeper->weight)
			continue;
		sleeper->vruntime = task->vruntime;
		sleeper->deadline = task->deadline;
		sleeper->pid = p->pid;
		sleeper->weight = task->load.weight;
		__sync_fetch_and_add(&all->count, 1ULL);
		if (place >= all->used)
			all->used = place + 1;
		task->place = place;
		task->rel_deadline = task->deadline - task->vruntime;
		task->left_weight = task->load.weight;
		load_leave(&task->load);
		return true;
	}
	return false;
}

/*
 * Frees a sleeper's place. Returns its weight in the average, 0 if it is not there
 * (`clear_delayed`).
 */
static inline s64 clear_delayed(struct sleeper *sleeper, s32 cpu)
{
	u32 weight = __sync_lock_test_and_set(&sleeper->weight, 0);

	if (weight)
		__sync_fetch_and_add(&of_cpu(sleepers, cpu)->count, -1ULL);
	return weight;
}

/* A sleeper leaves the average, too (`finish_delayed_dequeue_entity`). */
static inline void dismiss(struct sleeper *sleeper, s32 cpu, struct sums sums)
{
	s64 weight = clear_delayed(sleeper, cpu);

	if (!weight)
		return;
	sleeper->vlag = average_of(sums, sleeper->vruntime) - sleeper->vruntime;
	avg_vruntime_add(cpu, -weight, -weight * (s64)sleeper->vruntime);
}

/*
 * The sleeper that would be picked: eligible, with the earliest deadline, and that before `limit`
 * if there is one.
 */
static __always_inline struct sleeper *next_sleeper(s32 cpu, struct sums sums, const u64 *limit)
{
	struct sleeper *sleeper, *found = NULL;
	struct sleepers *all = of_cpu(sleepers, cpu);
	u32 place;

	if (!all->count)
		return NULL;
	bpf_for(place, 0, all->used) {
		sleeper = sleeper_at(cpu, place);
		if (!sleeper->weight || !vruntime_eligible(sums, sleeper->vruntime) ||
		    (limit && !time_before(sleeper->deadline, *limit)) ||
		    (found && !time_before(sleeper->deadline, found->deadline)))
			continue;
		found = sleeper;
	}
	return found;
}

/*
 * The eligible task with the earliest deadline, but none later than `limit`: its pid, 0 if there is
 * none. With `move` it is moved to run here next; 0 if another CPU was faster (`pick_eevdf`).
 */
static __always_inline s32 pick_eevdf(u32 cpu, struct sums sums, const u64 *limit, bool move)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(cpu);
	struct fair_task *task = p ? fair_task(p) : NULL;

	if (!task || (limit && time_before(*limit, p->scx.dsq_vtime)))
		return 0;
	if (vruntime_eligible(sums, task->vruntime))
		return !move || scx_bpf_dsq_move_to_local(cpu, 0) ? p->pid : 0;
	bpf_for_each(scx_dsq, p, cpu, 0) {
		if (limit && time_before(*limit, p->scx.dsq_vtime))
			break;
		task = fair_task(p);
		if (task && vruntime_eligible(sums, task->vruntime))
			return !move || scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0) ?
			       p->pid : 0;
	}
	return 0;
}

/*
 * Sleepers that would be picked before any waiting task leave the average. Returns the sums that
 * remain (`dequeue_entities` in `pick_next_entity`).
 */
static __always_inline struct sums dismiss_sleepers(u32 cpu, struct sums sums,
						    const struct running *curr)
{
	struct sleeper *sleeper;
	u64 deadline;
	u32 step;

	bpf_for(step, 0, MAX_SLEEPERS) {
		bool may_stay = curr && vruntime_eligible(sums, curr->vruntime);

		sleeper = next_sleeper(cpu, sums, may_stay ? &curr->deadline : NULL);
		if (!sleeper)
			break;
		deadline = sleeper->deadline;
		if (pick_eevdf(cpu, sums, &deadline, false))
			break;
		dismiss(sleeper, cpu, sums);
		sums = average_sums(cpu);
	}
	return sums;
}

#endif /* FAIRGROUND_EEVDF_QUEUE_H */
