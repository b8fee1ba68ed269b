// SPDX-License-Identifier: GPL-2.0-only
/*
 * BORE's bursts: what a task has run since it last slept or yielded, and what that costs it.
 *
 * The penalty of a burst grows with its logarithm, and a task's score, in nice levels, with its
 * penalty. A new process begins with an average of its parent's children, a new thread with one of
 * its group. The original walks through lists of tasks; here each task tells its keeper, the parent
 * or the group's leader, what it counts, and the keeper stores the sum. The knobs must be defined
 * before.
 */
#ifndef FAIRGROUND_BURST_H
#define FAIRGROUND_BURST_H

#include "common.h"

/* The highest score: there are as many nice levels. */
#define MAX_SCORE (NICE_LEVELS - 1)
/* The longest chain of only children that is followed. */
#define MAX_CHAIN 16

/*
 * The sum and the number of what a keeper's children or threads count, and what a new one inherits,
 * with the time when that was calculated (`struct bore_bc`, `struct sched_burst_cache`).
 */
struct offspring {
	u64 sum, number;
	u64 penalty, timestamp;
};

struct burst {
	u64 time;	/* the length of the current burst, ns */
	u64 current;	/* the penalty of the current burst */
	u64 prev;	/* the smoothed penalty of the bursts before */
	u64 penalty;	/* the penalty in effect: the higher one of these two */
	u64 told;	/* what its keeper counts for it */
	s32 keeper;	/* the keeper's pid; 0 if it has none */
	u32 score;	/* in nice levels */
	struct offspring children, threads;
};

/*
 * Returns 1 + log2 of a number with so many fractional bits, piecewise linear; 0 of 0
 * (`log2p1_u64_u32fp`).
 */
static inline u64 log2_plus_1(u64 number, u32 bits)
{
	u32 width = number ? 64 - __builtin_clzll(number) : 0;

	return number ? (u64)width << bits | number << (64 - width) << 1 >> (64 - bits) : 0;
}

/* Returns by how much a number exceeds a threshold, 0 if it does not. */
static inline u64 excess(u64 number, u64 threshold)
{
	return number > threshold ? number - threshold : 0;
}

/* Returns a task's burst; NULL for a task that is not ours (`p->bore`). */
static inline struct burst *burst_of(struct task_struct *p);

#include "bore_eras.h"

/*
 * Returns what a child counts for: a child that has one child itself counts as that does
 * (`inherit_from_ancestor_hub`).
 */
static inline u64 counts_for(const struct burst *burst)
{
	return follows_chains() && burst->children.number == 1 ? burst->children.sum :
								 counted(burst->penalty);
}

/*
 * Updates the sum of a task's keeper when what the task counts has changed, and those of the
 * keeper's ancestors.
 */
static inline void tell_keeper(struct task_struct *p, struct burst *burst)
{
	u32 step;

	bpf_for(step, 0, MAX_CHAIN) {
		bool is_child = !is_thread(p);
		struct task_struct *above = is_child ? p->real_parent : p->group_leader;
		struct burst *keeper = above && above->pid == burst->keeper ? burst_of(above) : NULL;
		u64 new = is_child ? counts_for(burst) : counted(burst->penalty), old;

		if (!keeper || burst->told == new)
			break;
		old = __sync_lock_test_and_set(&burst->told, new);
		__sync_fetch_and_add(is_child ? &keeper->children.sum : &keeper->threads.sum,
				     new - old);
		if (!is_child)
			break;
		p = above;
		burst = keeper;
	}
}

/* Adds a task to what its keeper counts. */
static inline void join_keeper(struct task_struct *p, struct burst *burst,
			       struct task_struct *above)
{
	struct burst *keeper = burst_of(above);
	bool is_child = !is_thread(p);

	if (!keeper || keeper == burst)
		return;
	burst->told = counted(burst->penalty);
	burst->keeper = above->pid;
	__sync_fetch_and_add(is_child ? &keeper->children.sum : &keeper->threads.sum, burst->told);
	__sync_fetch_and_add(is_child ? &keeper->children.number : &keeper->threads.number, 1ULL);
	tell_keeper(above, keeper);
}

/* The bit `PF_KTHREAD` of `p->flags`. */
#define KERNEL_THREAD 0x200000

/*
 * Tells whether a task is a kernel thread that has no penalty (`task_is_bore_eligible`, negated).
 */
static inline bool is_exempt(const struct task_struct *p)
{
	return burst_exclude_kthreads && p->flags & KERNEL_THREAD;
}

/* Subtracts a task that exits from what its keeper counts. */
static inline void leave_keeper(struct task_struct *p, struct burst *burst)
{
	bool is_child = !is_thread(p);
	struct task_struct *above = is_child ? p->real_parent : p->group_leader;
	struct burst *keeper = above && above->pid == burst->keeper ? burst_of(above) : NULL;
	u64 told;

	if (!keeper)
		return;
	told = __sync_lock_test_and_set(&burst->told, 0);
	burst->keeper = 0;
	__sync_fetch_and_add(is_child ? &keeper->children.sum : &keeper->threads.sum, -told);
	__sync_fetch_and_add(is_child ? &keeper->children.number : &keeper->threads.number, -1ULL);
	tell_keeper(above, keeper);
}

/* Returns the stored average, which is calculated anew if it is too old (`inherit_from_parent`). */
static inline u64 inherited(struct offspring *offspring, const struct burst *keeper, u64 sum,
			    u64 number)
{
	u64 now = scx_bpf_now();

	if (burst_cache_expired(offspring, now)) {
		offspring->penalty = inheritance(keeper, number ? sum / number : 0);
		offspring->timestamp = now;
	}
	return offspring->penalty;
}

/*
 * Returns the parent or, if the new task is its first child, the next ancestor that has several
 * children.
 */
static inline struct burst *hub_of(struct task_struct *parent)
{
	struct task_struct *ancestor = parent, *next;
	struct burst *hub = burst_of(parent), *above;
	u64 children = 0;
	u32 step;

	bpf_for(step, 0, MAX_CHAIN) {
		if (!follows_chains() || !hub || hub->children.number > children)
			break;
		next = ancestor->real_parent;
		if (!next || next->pid == ancestor->pid)
			break;
		above = burst_of(next);
		if (!above)
			break;
		ancestor = next;
		hub = above;
		children = 1;
	}
	return hub;
}

/*
 * Gives a new task the penalty of its forker's earlier bursts, or what it inherits if that is more
 * (`inherit_from_ancestor_hub`, `inherit_from_thread_group`).
 */
static inline void inherit_penalty(struct task_struct *p, struct burst *burst,
				   struct task_struct *forker)
{
	struct burst *parent = burst_of(forker), *keeper;
	u64 penalty;

	if (!parent)
		return;
	keeper = is_thread(p) ? burst_of(forker->group_leader) : hub_of(forker);
	if (!keeper)
		return;
	penalty = is_thread(p) ? inherited(&keeper->threads, keeper,
					   keeper->threads.sum + counted(keeper->penalty),
					   keeper->threads.number + 1) :
				 inherited(&keeper->children, keeper, keeper->children.sum,
					   keeper->children.number);
	burst->prev = most_of(parent->prev, penalty);
}

/* Calculates penalty and score after a burst has changed (`update_penalty`). */
static inline void update_penalty(struct task_struct *p, struct burst *burst)
{
	u32 score = burst->score;

	burst->current = calc_burst_penalty(burst->time);
	burst->penalty = is_exempt(p) ? 0 : most_of(burst->prev, burst->current);
	burst->score = score_of(burst->penalty);
	if (burst->score != score)
		tell_keeper(p, burst);
}

/* Ends the burst of a task that sleeps or yields (`restart_burst`). */
static inline void restart_burst(struct task_struct *p, struct burst *burst)
{
	burst->prev = binary_smooth(burst->prev, burst->current);
	burst->time = 0;
	update_penalty(p, burst);
}

/*
 * Handles `ops.init_task` for a task that is forked, or that has existed before (`task_fork_bore`).
 */
static inline void begin_burst(struct task_struct *p, struct burst *burst, bool is_forked,
			       bool inherits)
{
	/* A new task's own pointers are not set yet. */
	struct task_struct *forker = bpf_get_current_task_btf();

	if (is_forked && inherits)
		inherit_penalty(p, burst, forker);
	update_penalty(p, burst);
	if (is_thread(p))
		join_keeper(p, burst, is_forked ? forker->group_leader : p->group_leader);
	else
		join_keeper(p, burst, is_forked ? forker : p->real_parent);
}

#endif /* FAIRGROUND_BURST_H */
