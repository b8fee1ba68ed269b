// SPDX-License-Identifier: GPL-2.0-only
/*
 * BORE's bursts: what a task has run since it last slept or yielded, and what that costs it.
 *
 * The penalty of a burst grows with its logarithm, and a task's score, in nice levels, with its
 * penalty. A new process begins with an average of its parent's children, a new thread with one of
 * its group. Sums replace the walks through lists of tasks: each task tells its keeper, the parent
 * or the group's leader, what it counts there. The knobs must be defined before.
 */
#ifndef FAIRGROUND_BURST_H
#define FAIRGROUND_BURST_H

#include "nice.h"

/* The worst score: as many nice levels as there are. */
#define MAX_SCORE (NICE_LEVELS - 1)
/* Chains of only children that are followed are no longer. */
#define MAX_CHAIN 16

/*
 * What a keeper's children or threads count, how many they are, and what a new one inherits, stored
 * since then (`struct bore_bc`, `struct sched_burst_cache`).
 */
struct offspring {
	u64 sum, number;
	u64 penalty, timestamp;
};

struct burst {
	u64 time;	/* of the current burst, ns */
	u64 current;	/* its penalty */
	u64 prev;	/* the penalty of the bursts before, smoothed */
	u64 penalty;	/* in effect: `prev`, or `current` if that is higher */
	u64 told;	/* what it counts at its keeper */
	s32 keeper;	/* the keeper's pid; 0: none */
	u32 score;	/* in nice levels */
	struct offspring children, threads;
};

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

/* A task's burst; NULL for no task of ours (`p->bore`). */
static inline struct burst *burst_of(struct task_struct *p);

/*
 * What differs between the versions, and between the kernels beneath them. 10714, 50906 and 60703
 * are 1.7.14, 5.9.6 and 6.7.3. Nothing else in BORE reads `version` and `era`.
 */
#define is_on_cfs (version < 40000)
#define is_bore_6 (version >= 60000)

/* The EEVDF beneath, if no other is asked for: Linux 6.14 or 7.x. */
static inline u32 base_of_version(void)
{
	return is_bore_6 ? 70000 : 61400;
}

/* The penalty of each doubling (`sched_burst_penalty_scale`). */
static inline u64 penalty_scale(void)
{
	if (burst_penalty_scale >= 0)
		return burst_penalty_scale;
	return is_bore_6 ? 1536 : 1280;
}

/* In BORE 6, what does not count of a penalty (`scaled_tolerance`). */
static inline u64 scaled_tolerance(void)
{
	return (u64)burst_penalty_offset * 256 * penalty_scale() / 1024;
}

/*
 * The penalty of a burst of this length: in BORE 1 the length itself, else its logarithm, of which
 * BORE 5 subtracts the offset here, and BORE 6 when the penalty counts (`calc_burst_penalty`).
 */
static inline u64 calc_burst_penalty(u64 burst_ns)
{
	u64 greed = log2_plus_1(burst_ns, 8);

	if (is_on_cfs)
		return burst_ns;
	if (is_bore_6)
		return greed * penalty_scale() / 1024;
	return least_of(excess(greed, (u64)burst_penalty_offset * 256) * penalty_scale() >> 16,
			MAX_SCORE * 4);
}

/* What a penalty counts in a score and in an average (`adj_score`). */
static inline u64 counted(u64 penalty)
{
	return is_bore_6 ? excess(penalty, scaled_tolerance()) : penalty;
}

/* The score of a penalty, in nice levels (`scaled_penalty_score`, `update_burst_score`). */
static inline u32 score_of(u64 penalty)
{
	if (is_on_cfs)
		penalty = excess(log2_plus_1(penalty, 10), (u64)burst_penalty_offset * 1024) *
			  (u64)burst_penalty_scale >> 20;
	else
		penalty = is_bore_6 ? counted(penalty) / 256 : penalty / 4;
	return least_of(penalty, MAX_SCORE);
}

/*
 * What is stored when a burst ends. In BORE 1 it rises and falls by a quarter, later it rises
 * slowly and falls at once (`binary_smooth`).
 */
static inline u64 binary_smooth(u64 old, u64 new)
{
	u64 round_up = is_bore_6 ? (1ULL << burst_smoothness) - 1 : 0;

	if (is_on_cfs)
		return (new + old * ((1ULL << burst_smoothness) - 1)) >> burst_smoothness;
	if (new <= old)
		return old - ((old - new) >> burst_smoothness_short);
	return old + ((new - old + round_up) >> burst_smoothness);
}

/*
 * What is inherited of a keeper whose offspring has this average: the average, or if that is more
 * the keeper's own penalty, which BORE 1 does not count (`update_burst_cache`).
 */
static inline u64 inheritance(const struct burst *keeper, u64 average)
{
	u64 most = most_of(average, counted(keeper->penalty));

	if (is_on_cfs)
		return average;
	return is_bore_6 ? least_of(most, 40 * 256 - 1) + scaled_tolerance() : most;
}

/* Whether an average is too old. BORE 1 stores none (`burst_cache_expired`). */
static inline bool burst_cache_expired(const struct offspring *offspring, u64 now)
{
	return is_on_cfs || !offspring->timestamp ||
	       now - offspring->timestamp > burst_cache_lifetime_ns;
}

/* Whether new processes inherit at all (`task_fork_bore`). */
static inline bool processes_inherit(void)
{
	return burst_inherit_type || !is_bore_6;
}

/*
 * Whether ancestors and descendants count where tasks have one child only
 * (`sched_burst_inherit_type`, in BORE 5 `sched_burst_fork_atavistic`).
 */
static inline bool follows_chains(void)
{
	return burst_inherit_type > 1;
}

/* Whether a new weight counts for what has just run, and not only from then on (`update_curr`). */
static inline bool scores_before_accounting(void)
{
	return !is_bore_6;
}

/* How many tasks a CPU may have on which slices are protected (`pick_eevdf`). */
static inline u64 parity_threshold(void)
{
	return is_bore_6 || !burst_parity_threshold ? ~0ULL : burst_parity_threshold;
}

/* Who has half a slice until its deadline: a new task (1), before 7.x also a woken one (2). */
static inline u32 deadline_boosts(void)
{
	u32 mask = is_bore_6 ? 3 : deadline_boost_mask;

	return era < 70000 ? mask : mask & 1;
}

/* Whether the limit of lag is halved, so that it is one slice: before 7.x (`entity_lag`). */
static inline bool halves_lag_limit(void)
{
	return era < 70000;
}

/* Whether a task with a lower penalty preempts as one with a shorter slice (`do_preempt_short`). */
static inline bool penalty_counts_as_slice(void)
{
	return is_bore_6 && era >= 70000;
}

/* Whether it only makes the CPU choose again, and ends no protection (`PREEMPT_SHORT_BORE`). */
static inline bool penalty_forces_choice(void)
{
	return is_bore_6 && era < 70000;
}

/* Whether a sleeper returns with the lag with which it left (`requeue_delayed_entity`). */
static inline bool sleepers_keep_lag(void)
{
	return is_bore_6 && era < 70000;
}

/*
 * Whether a task that runs or waits keeps protection and all lag with a new weight. Before 7.x it
 * loses its protection, and lag beyond the limit (`reweight_entity`).
 */
static inline bool reweight_keeps_all(void)
{
	return era >= 70000;
}

/* A child that has one child itself counts as that does; `inherit_from_ancestor_hub` descends. */
static inline u64 counts_for(const struct burst *burst)
{
	return follows_chains() && burst->children.number == 1 ? burst->children.sum :
								 counted(burst->penalty);
}

/* Updates the keeper's sum when what the task counts has changed, and those of its ancestors. */
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

/* A task counts from now on. */
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

/* `PF_KTHREAD` of `p->flags`. */
#define KERNEL_THREAD 0x200000

/* Whether it is a kernel thread that has no penalty (`task_is_bore_eligible`, negated). */
static inline bool is_exempt(const struct task_struct *p)
{
	return burst_exclude_kthreads && p->flags & KERNEL_THREAD;
}

/* A task that exits does not count any more. */
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

/* What is stored, or is calculated anew (`inherit_from_parent`). */
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

/* The parent, or if the new task is its first child the next ancestor that has several children. */
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
 * A new task begins with what the task that forks it has of earlier bursts, or with what it
 * inherits if that is more (`inherit_from_ancestor_hub`, `inherit_from_thread_group`).
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

/* For `ops.init_task`, of a task that is forked or has been there before (`task_fork_bore`). */
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
