// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delayed dequeue: who goes to sleep while it is not eligible stays in its CPU's average until it
 * would be chosen. By then its debt has become none, so that nobody gains by a short sleep; and
 * meanwhile it holds the average back or up for the others, as if it waited.
 *
 * A CPU's sleepers are added under the lock of its run queue, but may be taken out by whoever wakes
 * one elsewhere: whoever takes the weight takes the sleeper.
 */
#ifndef FAIRGROUND_DELAYED_H
#define FAIRGROUND_DELAYED_H

#include "lag.h"

/* More sleepers of a CPU leave at once. */
#define MAX_SLEEPERS 64

/* Who sleeps in a CPU's average; and its lag when it was taken out of there. */
struct sleeper {
	u64 vruntime, deadline;
	s64 vlag;
	u32 weight;
	s32 pid;
};

struct sleepers {
	struct sleeper places[MAX_SLEEPERS];
	/* How many sleep, and how many places have been used since nobody did. */
	u64 count, used;
};

static struct sleepers sleepers[MAX_CPUS];

static inline struct sleeper *sleeper_at(s32 cpu, u32 place)
{
	return &of_cpu(sleepers, cpu)->places[place & (MAX_SLEEPERS - 1)];
}

/* Tasks in a CPU's average: who can run, and sleepers. */
static inline u64 nr_queued_on(s32 cpu)
{
	return nr_running_on(cpu) + of_cpu(sleepers, cpu)->count;
}

/* Whether it has not been taken out of its CPU's average since it went to sleep. */
static inline bool is_asleep_on(s32 cpu, const struct task_struct *p, const struct fair_task *task)
{
	const struct sleeper *sleeper = sleeper_at(cpu, task->place);

	return sleeper->pid == p->pid && sleeper->weight;
}

/* A task that goes to sleep stays in the average, if there is a place for it. */
static inline bool stay_asleep(const struct task_struct *p, struct fair_task *task)
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

/* It is no sleeper any more. Returns the weight that it has in the average, 0 if in none. */
static inline s64 end_sleep(struct sleeper *sleeper, s32 cpu)
{
	u32 weight = __sync_lock_test_and_set(&sleeper->weight, 0);

	if (weight)
		__sync_fetch_and_add(&of_cpu(sleepers, cpu)->count, -1ULL);
	return weight;
}

/* It leaves the average, too. */
static inline void dismiss(struct sleeper *sleeper, s32 cpu, struct sums sums)
{
	s64 weight = end_sleep(sleeper, cpu);

	if (!weight)
		return;
	sleeper->vlag = average_of(sums, sleeper->vruntime) - sleeper->vruntime;
	average_add(cpu, -weight, -weight * (s64)sleeper->vruntime);
}

/*
 * The sleeper that would be chosen: eligible, with the earliest deadline, and that before `limit`
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
		if (!sleeper->weight || !is_eligible(sums, sleeper->vruntime) ||
		    (limit && !time_before(sleeper->deadline, *limit)) ||
		    (found && !time_before(sleeper->deadline, found->deadline)))
			continue;
		found = sleeper;
	}
	return found;
}

#endif /* FAIRGROUND_DELAYED_H */
