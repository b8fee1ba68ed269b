// SPDX-License-Identifier: GPL-2.0-only
/*
 * BORE's bursts: what a task has run since it last slept or yielded, and what that costs it.
 *
 * The penalty of a burst grows with its logarithm, and a task's score, in nice levels, with its
 * penalty. A new task begins with the average penalty of its siblings, which the parent keeps for
 * its children, and the thread group's leader for its threads: the keeper.
 *
 * The versions differ in the functions that are declared here without a body.
 */
#ifndef FAIRGROUND_BURST_H
#define FAIRGROUND_BURST_H

#include "nice.h"

/* The worst score: as many nice levels as there are. */
#define MAX_SCORE (NICE_LEVELS - 1)

/* The penalties of a keeper's children or threads: sum, number, and when they were averaged. */
struct offspring {
	u64 sum, number;
	u64 average, averaged_at;
};

struct burst {
	u64 time;	/* of the current burst, ns */
	u64 current;	/* its penalty */
	u64 prev;	/* the penalty of the bursts before, smoothed */
	u64 penalty;	/* in effect: `prev`, or `current` if that is higher */
	u64 told;	/* as the keeper counts it */
	s32 keeper;	/* the keeper's pid; 0: none */
	u32 score;	/* in nice levels */
	struct offspring offspring;
};

/* A task's burst; NULL for no task of ours. */
static inline struct burst *burst_of(struct task_struct *p);
/* The penalty of a burst of this length (`calc_burst_penalty`). */
static inline u64 calc_burst_penalty(u64 burst_ns);
/* The score of a penalty (`update_burst_score`). */
static inline u32 score_of(u64 penalty);
/* What is stored when a burst ends (`binary_smooth`). */
static inline u64 binary_smooth(u64 old, u64 new);
/* Whether the average of a keeper's offspring must be calculated again (`burst_cache_expired`). */
static inline bool burst_cache_expired(const struct offspring *offspring, u64 now);
/* Whether a task never has a penalty. */
static inline bool is_exempt(const struct task_struct *p);

static inline u64 least_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 most_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* 1 + log2 with this number of fractional bits, piecewise linear; 0 of 0 (`log2p1_u64_u32fp`). */
static inline u64 log2_plus_1(u64 number, u32 bits)
{
	u32 width = number ? 64 - __builtin_clzll(number) : 0;

	return number ? (u64)width << bits | number << (64 - width) << 1 >> (64 - bits) : 0;
}

/* By how much a number exceeds a threshold. */
static inline u64 excess(u64 number, u64 threshold)
{
	return number > threshold ? number - threshold : 0;
}

/* The average penalty of a keeper's offspring (`update_burst_cache`). */
static inline u64 average_penalty(struct offspring *offspring)
{
	u64 now = scx_bpf_now(), number = offspring->number;

	if (burst_cache_expired(offspring, now)) {
		offspring->average = number ? offspring->sum / number : 0;
		offspring->averaged_at = now;
	}
	return offspring->average;
}

/* The keeper of a task's penalty; NULL if it has died. */
static inline struct burst *keeper_of(struct task_struct *p, const struct burst *burst)
{
	struct task_struct *keeper = p->pid == p->tgid ? p->real_parent : p->group_leader;

	return keeper && keeper->pid == burst->keeper ? burst_of(keeper) : NULL;
}

/* Updates the keeper's sum when the task's penalty has changed. */
static inline void tell_keeper(struct task_struct *p, struct burst *burst)
{
	struct burst *keeper = keeper_of(p, burst);

	if (!keeper || burst->told == burst->penalty)
		return;
	__sync_fetch_and_add(&keeper->offspring.sum, burst->penalty - burst->told);
	burst->told = burst->penalty;
}

/*
 * A new task begins with the penalty of the task that forks it, or with the average of its siblings
 * if that is more (`inherit_from_parent`, `inherit_from_thread_group`).
 */
static inline void inherit_penalty(struct task_struct *p, struct burst *burst)
{
	struct task_struct *forker = bpf_get_current_task_btf();
	bool is_thread = p->pid != p->tgid;
	struct burst *parent = burst_of(forker);
	struct burst *keeper = is_thread ? burst_of(forker->group_leader) : parent;

	if (!parent || !keeper)
		return;
	burst->prev = most_of(parent->prev, average_penalty(&keeper->offspring));
	burst->keeper = is_thread ? forker->tgid : forker->pid;
	__sync_fetch_and_add(&keeper->offspring.number, 1);
}

/* A task that exits is no sibling any more. */
static inline void leave_keeper(struct task_struct *p, const struct burst *burst)
{
	struct burst *keeper = keeper_of(p, burst);

	if (!keeper)
		return;
	__sync_fetch_and_add(&keeper->offspring.sum, -burst->told);
	__sync_fetch_and_add(&keeper->offspring.number, -1ULL);
}

/* Calculates penalty and score after the burst has changed (`update_penalty`). */
static inline void update_penalty(struct task_struct *p, struct burst *burst)
{
	u32 score = burst->score;

	burst->current = calc_burst_penalty(burst->time);
	burst->penalty = is_exempt(p) ? 0 : most_of(burst->prev, burst->current);
	burst->score = score_of(burst->penalty);
	if (burst->score != score)
		tell_keeper(p, burst);
}

/* It sleeps or yields, which ends its burst (`restart_burst`). */
static inline void restart_burst(struct task_struct *p, struct burst *burst)
{
	burst->prev = binary_smooth(burst->prev, burst->current);
	burst->time = 0;
	update_penalty(p, burst);
}

#endif /* FAIRGROUND_BURST_H */
